"""The kernel of the index against its definition."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.reference import class_index

from codekin.kernels.class_vectors import best_of_index, best_of_index_in, index_room
from codekin.model.class_vectors import ClassIndex, ClassVectors

seeds = st.integers(0, 2**32 - 1)


def whole_vectors(rng, n_classes, n_features):
    """Vectors of small whole numbers: sums are exact in any order, and there are ties."""
    steps = rng.integers(-4, 7, size=(n_classes, n_features)) * (rng.random((n_classes, n_features)) < rng.random())
    rows = sparse.csr_array(steps)
    return ClassVectors(rows.indptr, rows.indices, rows.data, np.ones(n_classes), n_features), steps


@given(seeds, st.integers(2, 80), st.integers(1, 12), st.integers(1, 20), st.integers(1, 90))
@settings(max_examples=120, deadline=None)
def test_the_best_classes_are_those_of_a_loop_over_all(seed, n_classes, n_features, n_entries, k):
    rng = np.random.default_rng(seed)
    vectors, steps = whole_vectors(rng, n_classes, n_features)
    X = rng.integers(-2, 5, size=(5, n_features)) * (rng.random((5, n_features)) < 0.6)
    found = ClassIndex.of(vectors, n_entries).best(X.astype(np.float32), k)
    np.testing.assert_array_equal(found, class_index.best(class_index.truncated(steps, n_entries), X, k))


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_many_classes_that_are_never_met_change_nothing(seed):
    rng = np.random.default_rng(seed)
    n_classes, n_features = 600, 40
    dense = rng.exponential(size=(n_classes, n_features)) * (rng.random((n_classes, n_features)) < 0.3)
    # A feature of nearly all classes, as in texts: its list is the one that need not be read.
    dense[:, 0] = 0.01 * rng.random(n_classes)
    vectors = ClassVectors.of(dense)
    X = rng.exponential(size=(8, n_features)) * (rng.random((8, n_features)) < 0.2)
    X[:, 0] = 1.0
    found = ClassIndex.of(vectors, n_features).best(X.astype(np.float32), 10)
    scores = X.astype(np.float32).astype(np.float64) @ vectors.to_csr().toarray().astype(np.float64).T
    np.testing.assert_array_equal(found, np.argsort(-scores, axis=1, kind="stable")[:, :10])


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_room_that_was_used_before_and_features_that_come_twice_change_nothing(seed):
    rng = np.random.default_rng(seed)
    vectors, steps = whole_vectors(rng, 30, 9)
    index = ClassIndex.of(vectors, 4)
    room = index_room(2 * 9, 30)
    for _ in range(5):
        features = rng.integers(0, 9, 6).astype(np.int32)
        values = rng.integers(-2, 3, 6).astype(np.float32)
        x = np.zeros((1, 9))
        np.add.at(x[0], features, values)
        row, again, found = (np.array([0, 6]), features, values), np.empty((1, 7), np.intp), np.empty((1, 7), np.intp)
        best_of_index_in(room, row, index.by_class, index.by_list, again)
        best_of_index(row, index.by_class, index.by_list, found)
        np.testing.assert_array_equal(again, class_index.best(class_index.truncated(steps, 4), x, 7))
        np.testing.assert_array_equal(again, found)
        assert not room[0].any()
