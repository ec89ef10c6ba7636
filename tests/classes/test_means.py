"""Distances between class means."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist

from codekin.classes import ClassDistances
from codekin.classes.distances import CLASS_DISTANCES_FROM_DATA, mean_distances
from codekin.classes.samples import class_samples
from codekin.samples import stratified_folds


def sparse_blobs(seed=0, n_samples=60, n_features=8, n_classes=4):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n_samples - n_classes)])
    X = np.where(rng.random((n_samples, n_features)) < 0.5, rng.normal(size=(n_samples, n_features)) + y[:, None], 0)
    return X, y


def test_distances_are_those_of_the_class_means():
    X, y = sparse_blobs()
    means = np.array([X[y == k].mean(axis=0) for k in range(4)])
    np.testing.assert_allclose(mean_distances(X, y).matrix(), cdist(means, means), atol=1e-12)
    np.testing.assert_allclose(mean_distances(X, y, squared=True).matrix(), cdist(means, means) ** 2, atol=1e-12)


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array, sparse.coo_matrix, sparse.csc_array])
def test_sparse_samples_give_the_same_distances_and_stay_sparse(form):
    X, y = sparse_blobs()
    distances = mean_distances(form(X), y)
    np.testing.assert_allclose(distances.matrix(), mean_distances(X, y).matrix(), atol=1e-12)
    assert sparse.issparse(distances.vectors)


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.int64])
def test_narrow_types_are_summed_in_float64(dtype):
    X = (np.arange(300).reshape(100, 3) % 100 + 100).astype(dtype)
    y = np.arange(100) % 4
    np.testing.assert_allclose(mean_distances(X, y).matrix(), mean_distances(X.astype(float), y).matrix(), atol=1e-12)


def test_blocks_of_samples_do_not_change_the_means(monkeypatch):
    X, y = sparse_blobs()
    whole = mean_distances(X, y).matrix()
    monkeypatch.setattr("codekin.classes.samples._BLOCK_ENTRIES", 20)
    np.testing.assert_allclose(mean_distances(X, y).matrix(), whole, atol=1e-12)


@pytest.mark.parametrize("name", sorted(CLASS_DISTANCES_FROM_DATA))
def test_a_class_without_samples_is_no_obstacle(name):
    X, y = sparse_blobs(n_classes=3)
    distances = CLASS_DISTANCES_FROM_DATA[name](X, np.array([0, 2, 3])[y], n_classes=5, rng=0)
    assert isinstance(distances, ClassDistances)
    assert distances.n_classes == 5
    assert np.isfinite(distances.matrix()).all()


@pytest.mark.parametrize("name", ["means", "confusion"])
def test_a_class_without_samples_is_at_the_mean_distance(name):
    X, y = sparse_blobs(n_classes=3)
    matrix = CLASS_DISTANCES_FROM_DATA[name](X, np.array([0, 2, 3])[y], n_classes=5, rng=0).matrix()
    known = matrix[np.ix_([0, 2, 3], [0, 2, 3])]
    np.testing.assert_allclose(matrix[[1, 4, 0], [0, 1, 4]], known.sum() / 6)


@pytest.mark.parametrize("name", sorted(CLASS_DISTANCES_FROM_DATA))
@pytest.mark.parametrize("as_sparse", [False, True])
def test_a_sample_of_weight_two_counts_like_two_samples(name, as_sparse):
    X, y = sparse_blobs()
    doubled = np.concatenate([np.arange(60), np.arange(30)])
    weight = np.where(np.arange(60) < 30, 2.0, 1.0)
    wrap = sparse.csr_array if as_sparse else np.asarray
    options = {}
    if name == "confusion":
        from sklearn.linear_model import RidgeClassifier  # a closed form, so that weights are exact

        options = {"estimator": RidgeClassifier()}
    make = CLASS_DISTANCES_FROM_DATA[name]
    weighted = make(wrap(X), y, sample_weight=weight, **options).matrix()
    np.testing.assert_allclose(weighted, make(wrap(X[doubled]), y[doubled], **options).matrix(), atol=1e-9)


@pytest.mark.parametrize("name", sorted(CLASS_DISTANCES_FROM_DATA))
def test_the_same_seed_gives_the_same_distances_and_leaves_the_samples_alone(name):
    X, y = sparse_blobs()
    X_before, y_before = X.copy(), y.copy()
    first, second = (CLASS_DISTANCES_FROM_DATA[name](X, y, rng=3).matrix() for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(y, y_before)


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        (([1.0, 2.0], [0, 1]), {}, "two dimensions"),
        (([["a"], ["b"]], [0, 1]), {}, "hold numbers"),
        (([[1.0], [2.0]], [0.0, 1.0]), {}, "one integer per sample, 2"),
        (([[1.0], [2.0]], [0, -1]), {}, "numbered from 0. Got -1"),
        (([[1.0], [2.0]], [0, 5]), {"n_classes": 3}, "numbered 0 to 2. Got 5"),
        (([[1.0], [2.0]], [0, 1]), {"sample_weight": [1.0]}, "one number per sample"),
        (([[1.0], [2.0]], [0, 1]), {"sample_weight": [1.0, -1.0]}, "not negative"),
        (([[1.0], [np.nan]], [0, 1]), {}, "X must be finite"),
    ],
)
def test_samples_are_checked_in_one_sentence(arguments, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        mean_distances(*arguments, **options)


@given(seed=st.integers(0, 10_000), n_folds=st.integers(2, 9))
@settings(max_examples=30, deadline=None)
def test_folds_share_every_class_evenly(seed, n_folds):
    rng = np.random.default_rng(seed)
    y = rng.integers(5, size=50)
    fold = stratified_folds(y, n_folds, rng)
    for group in [np.ones(50, dtype=bool), *(y == k for k in range(5))]:
        counts = np.bincount(fold[group], minlength=n_folds)
        assert counts.max() - counts.min() <= 1


def test_weights_and_means_of_classes_are_kept_apart_from_missing_ones():
    samples = class_samples([[2.0], [4.0]], [2, 2], n_classes=4)
    assert samples.class_weight.tolist() == [0, 0, 2, 0]
    assert samples.class_means.ravel().tolist() == [0, 0, 3, 0]
