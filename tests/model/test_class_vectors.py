import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from codekin.fitting.learned_vectors import centroids
from codekin.model.class_vectors import ClassVectors, features_of_gaps


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(1, 12), st.sampled_from([1e-6, 1.0, 1e6]))
@settings(max_examples=50, deadline=None)
def test_rounding_is_off_by_half_a_step_of_the_largest_entry(seed, n_classes, n_features, scale):
    rng = np.random.default_rng(seed)
    matrix = scale * rng.normal(size=(n_classes, n_features)) * (rng.random((n_classes, n_features)) < 0.5)
    vectors = ClassVectors.of(sparse.csr_array(matrix))
    half_steps = np.abs(matrix).max(axis=1, keepdims=True) / 127 / 2
    assert (np.abs(vectors.to_csr().toarray() - matrix) <= half_steps * (1 + 1e-4)).all()
    assert vectors.n_classes == n_classes
    assert vectors.n_entries <= (matrix != 0).sum()


def test_an_entry_takes_three_bytes_as_long_as_two_bytes_number_the_features():
    for n_features, n_bytes in ((2**16, 2), (2**16 + 1, 4)):
        vectors = ClassVectors.of(sparse.csr_array(([1.0], ([0], [n_features - 1])), shape=(1, n_features)))
        assert vectors.features.itemsize == n_bytes
        assert vectors.to_csr().indices.tolist() == [n_features - 1]


def test_centroids_are_weighted_means_of_length_one():
    X = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 2.0]])
    classes = np.array([0, 0, 1, 3])
    vectors = ClassVectors.of(centroids(X, classes, n_classes=5, sample_weight=[3.0, 4.0, 1.0, 1.0])).to_csr().toarray()
    expected = np.zeros((5, 3))
    expected[0, :2], expected[3, 2] = (0.6, 0.8), 1
    np.testing.assert_allclose(vectors, expected, atol=0.004)


def test_classes_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match="one entry for each of the 2 samples"):
        ClassVectors.of(centroids(np.eye(2), np.array([0])))
    with pytest.raises(ValueError, match="between 0 and 0. Got values from 0 to 1"):
        ClassVectors.of(centroids(np.eye(2), np.array([0, 1]), n_classes=1))


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_scores_are_dot_products_with_the_vectors_of_the_classes_that_are_named(seed):
    rng = np.random.default_rng(seed)
    vectors = ClassVectors.of(rng.normal(size=(6, 9)) * (rng.random((6, 9)) < 0.5))
    X = rng.normal(size=(8, 9)) * (rng.random((8, 9)) < 0.6)
    classes = rng.integers(-1, 6, (8, 4))
    products = X @ vectors.to_csr().toarray().T
    expected = np.where(classes >= 0, np.take_along_axis(products, classes, axis=1), 0.0)
    np.testing.assert_allclose(vectors.scores(X, classes), expected, atol=1e-5)


def test_features_of_a_class_are_put_in_order_and_must_differ():
    vectors = ClassVectors([0, 2, 2, 4], [5, 1, 1, 0], [1, 2, 3, 4], [1.0, 1.0, 1.0], 6)
    assert vectors.features.tolist() == [1, 5, 0, 1]
    assert vectors.steps.tolist() == [2, 1, 4, 3]
    with pytest.raises(ValueError, match="must differ"):
        ClassVectors([0, 2], [3, 3], [1, 2], [1.0], 6)
    twice = sparse.csr_array((np.ones(2), np.array([3, 3]), np.array([0, 2])), shape=(1, 6))
    assert ClassVectors.of(twice).to_csr().toarray()[0, 3] == 2


def test_the_last_entries_of_a_class_that_are_no_full_round_belong_to_the_first_sum():
    vectors = ClassVectors([0, 6, 7], [0, 1, 2, 3, 4, 5, 2], [1] * 7, [1.0, 1.0], 6)
    indptr, classes, _, turns = vectors.by_feature
    assert indptr.tolist() == [0, 1, 2, 4, 5, 6, 7]
    assert classes.tolist() == [0, 0, 0, 1, 0, 0, 0]
    assert turns.tolist() == [0, 1, 2, 0, 3, 0, 0]


@given(st.integers(0, 2**32 - 1), st.sampled_from([1_000, 2**16, 2**16 + 1, 400_000]))
@settings(max_examples=40, deadline=None)
def test_a_file_holds_three_bytes_an_entry_and_the_same_vectors(seed, n_features):
    rng = np.random.default_rng(seed)
    rows = [np.unique(rng.integers(0, n_features, rng.integers(0, 6))) for _ in range(5)]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    steps = rng.integers(1, 128, indptr[-1])
    vectors = ClassVectors(indptr, np.concatenate(rows), steps, np.ones(5), n_features)
    arrays = vectors.to_arrays()
    if n_features <= 2**16:
        assert arrays["features"] is vectors.features
        return
    is_entry = arrays["steps"] != 0
    features = features_of_gaps(arrays["lengths"].astype(np.int64), arrays["gaps"])
    assert features[is_entry].tolist() == vectors.features.tolist()
    assert arrays["steps"][is_entry].tolist() == vectors.steps.tolist()
    class_of_entry = np.repeat(np.arange(5), arrays["lengths"])[is_entry]
    assert class_of_entry.tolist() == np.repeat(np.arange(5), np.diff(indptr)).tolist()
    assert arrays["gaps"].itemsize + arrays["steps"].itemsize == 3
    assert len(is_entry) - is_entry.sum() <= 5 * (n_features // 65_535)
