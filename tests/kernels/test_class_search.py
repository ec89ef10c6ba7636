"""Passes over a few classes of each sample, and the search for the best ones, against slow versions."""

import numpy as np
import pytest
from tests.reference.class_search import best_classes, best_of_cells, softmax_pass

from codekin.kernels import class_search


@pytest.mark.parametrize("seed", range(5))
def test_a_pass_makes_the_steps_of_softmax_over_the_classes_that_a_row_meets(seed):
    rng = np.random.default_rng(seed)
    n_rows, n_classes, n_features = 30, 12, 7
    rows = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    own, weights = rng.integers(n_classes, size=n_rows), rng.choice([0.5, 1, 2], n_rows).astype(np.float32)
    candidates = rng.integers(-1, n_classes, size=(n_rows, 6)).astype(np.int32)
    vectors, bias = rng.normal(size=(n_classes, n_features)).astype(np.float32), np.zeros(n_classes, np.float32)
    steps = np.full(n_rows, 0.1, np.float32)
    expected = softmax_pass(rows, own, weights, candidates, steps, 0.1, vectors, bias)
    class_search.class_softmax_pass(rows, own, weights, candidates, steps, 0.1, vectors, bias)
    np.testing.assert_allclose(vectors, expected[0], atol=1e-3)
    np.testing.assert_allclose(bias, expected[1], atol=1e-3)


def problem(seed, n_classes, n_features=20, n_rows=15):
    rng = np.random.default_rng(seed)
    vectors = rng.integers(-127, 128, (n_classes, n_features)).astype(np.int8)
    rows = rng.integers(-500, 501, (n_rows, n_features))
    scales, bias = (rng.random(n_classes) + 0.5).astype(np.float32), rng.normal(size=n_classes).astype(np.float32)
    units = np.full(n_rows, 0.01, np.float32)
    exact = (rows @ vectors.T.astype(int)).astype(np.float32) * (scales * units[:, None]) + bias
    return vectors, rows, scales, bias, units, exact


@pytest.mark.parametrize(("n_classes", "n"), [(7, 3), (60, 5), (500, 1), (500, 20)])
def test_the_best_classes_are_found_if_rough_scores_are_as_good_as_exact_ones(n_classes, n):
    vectors, rows, scales, bias, units, exact = problem(n_classes, n_classes)
    found, scores = np.empty((len(rows), n), np.int64), np.empty((len(rows), n), np.float32)
    one, none = np.ones(len(rows), np.float32), np.zeros(n_classes, np.float32)
    own = rows.astype(np.int16), units, vectors, scales, bias
    class_search.best_classes(exact.copy(), none, one, n, np.inf, *own, found, scores)
    assert found.tolist() == best_classes(exact.tolist(), n)
    np.testing.assert_array_equal(scores, np.take_along_axis(exact, found, axis=1))


def test_classes_further_below_the_largest_rough_score_than_the_gap_are_left_out():
    vectors, rows, scales, bias, units, exact = problem(1, 200)
    found, scores = np.empty((len(rows), 3), np.int64), np.empty((len(rows), 3), np.float32)
    one, none = np.ones(len(rows), np.float32), np.zeros(200, np.float32)
    own = rows.astype(np.int16), units, vectors, scales, bias
    class_search.best_classes(exact.copy(), none, one, 3, 1e-9, *own, found, scores)
    assert found[:, 0].tolist() == exact.argmax(axis=1).tolist()
    assert (found[:, 1:] == -1).all()


@pytest.mark.parametrize(("n_cells", "n"), [(1, 1), (2, 4), (3, 60), (6, 40)])
def test_the_best_classes_of_the_best_cells_are_found(n_cells, n):
    vectors, rows, scales, bias, units, exact = problem(2, 90)
    rng = np.random.default_rng(n)
    members, starts = rng.permutation(90).astype(np.int32), np.array([0, 30, 30, 50, 65, 80, 90])  # one is empty
    found, scores = np.empty((len(rows), n), np.int64), np.empty((len(rows), n), np.float32)
    own = rows.astype(np.int16), units, vectors, scales, bias
    # Of cells that are nearly as good, a few more are searched.
    is_best = rng.permuted(np.tile(np.arange(6) < n_cells, (len(rows), 1)), axis=1)
    cells = (is_best + 0.1 * rng.random((len(rows), 6))).astype(np.float32)
    # Sketches are whole vectors here, of which more are rescored than there are.
    rough = vectors[members], (bias / 0.01)[members], rows.astype(np.int16), np.ones(len(rows), np.float32)
    class_search.best_in_cells(cells, n_cells, starts, members, *rough, 90, np.inf, *own, found, scores)
    assert found.tolist() == best_of_cells(cells, n_cells, np.split(members, starts[1:-1]), exact, n)


def test_products_of_integers_are_exact():
    vector, row = np.full(4_000, -127, np.int8), np.full(4_000, 33, np.int16)
    assert class_search._dot_of_integers(vector, row) == -127 * 33 * 4_000
