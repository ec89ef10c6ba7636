"""The compiled pass against one learner and one sample at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.reference.arow import arow

from codekin.kernels.arow import arow_pass, gather_weights


def problem(seed, n_samples=12, n_features=15, n_bits=9, n_classes=4, entries=(-1, 0, 1)):
    rng = np.random.default_rng(seed)
    dense = (rng.normal(size=(n_samples, n_features)) * (rng.random((n_samples, n_features)) < 0.5)).astype(np.float32)
    codewords = rng.choice(entries, size=(n_classes, n_bits)).astype(np.int8)
    classes = rng.integers(0, n_classes, size=n_samples)
    r = rng.choice([0.5, 1.0, 3.0, np.inf], size=n_samples).astype(np.float32)
    order = rng.integers(0, 2 * n_samples, size=3 * n_samples)
    return dense, codewords, classes, r, order


def run(dense, codewords, classes, r, order, *, n_rows=2, ranges=None):
    rows = sparse.csr_array(dense)
    n_bits = codewords.shape[1]
    state = np.zeros((dense.shape[1], n_rows, n_bits), dtype=np.float32)
    state[:, 1] = 1
    arrays = rows.indptr.astype(np.int64), rows.indices, rows.data, classes, codewords, r, order
    for first, last in ranges or [(0, n_bits)]:
        arow_pass(*arrays, 0, state, first, last)
    return state


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_all_bits_at_once_are_the_learners_one_by_one_to_the_last_bit(seed):
    dense, codewords, classes, r, order = problem(seed)
    state = run(dense, codewords, classes, r, order)
    weights, variances, _ = arow(dense, codewords[classes], r, order)
    np.testing.assert_array_equal(state[:, 0], weights)
    np.testing.assert_array_equal(state[:, 1], variances)


def test_column_ranges_do_not_influence_each_other():
    given_problem = problem(3, n_bits=41)
    whole = run(*given_problem)
    np.testing.assert_array_equal(run(*given_problem, ranges=[(17, 41), (0, 1), (1, 17)]), whole)


def test_the_third_row_turns_the_last_weights_into_their_average():
    given_problem = problem(5)
    state = run(*given_problem, n_rows=3)
    dense, codewords, classes, r, order = given_problem
    weights, variances, history = arow(dense, codewords[classes], r, order)
    np.testing.assert_array_equal(state[:, 0], weights)
    np.testing.assert_array_equal(state[:, 1], variances)
    np.testing.assert_allclose(state[:, 0] - state[:, 2] / len(order), history.mean(axis=0), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("n_rows", [2, 3])
def test_gathered_weights_lie_at_the_front(n_rows):
    state = np.random.default_rng(0).normal(size=(7, n_rows, 5)).astype(np.float32)
    weights = state[:, 0].copy()
    gather_weights(state)
    np.testing.assert_array_equal(state.ravel()[: weights.size], weights.ravel())
