"""The learnability matrix predicts the loss of least squares without training."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.linear_model import LinearRegression, Ridge

from codekin.classes import DenseDistances
from codekin.classes.distances import learnability_distances, learnability_matrix
from codekin.classes.vectors import ProductDistances
from codekin.code import Assignment
from codekin.codebooks import trellis_codebook
from codekin.samples import stratified_folds

X, Y = load_digits(return_X_y=True)


def least_squares_errors(bits, sample_weight=None):
    """The mean squared training error of each column of ``bits``, by scikit-learn."""
    targets = bits[Y]
    residuals = targets - LinearRegression().fit(X, targets, sample_weight).predict(X)
    return np.average(residuals**2, axis=0, weights=sample_weight)


@pytest.fixture(scope="module")
def exact():
    return learnability_distances(X, Y, ridge=1e-13)


def test_the_form_of_a_bit_is_its_training_error(exact):
    bits = np.random.default_rng(0).choice([-1.0, 1.0], size=(10, 50))
    forms = np.einsum("ub,uv,vb->b", bits, learnability_matrix(exact), bits)
    np.testing.assert_allclose(forms, least_squares_errors(bits), rtol=0, atol=1e-8)


def test_the_inner_product_with_codeword_distances_is_minus_half_the_total_error(exact):
    coding_matrix = np.random.default_rng(1).choice([-1, 1], size=(10, 6))
    total = least_squares_errors(coding_matrix.astype(float)).sum()
    assert -2 * exact.inner_product(coding_matrix) == pytest.approx(total, abs=1e-8)


def test_rows_add_up_to_zero_with_and_without_a_ridge_and_held_out():
    for options in ({"ridge": 1e-10}, {"ridge": 10.0}, {"held_out": True, "rng": 0}):
        matrix = learnability_matrix(learnability_distances(X, Y, **options))
        assert np.linalg.eigvalsh(matrix).min() > -1e-12, "an error is never negative"
        np.testing.assert_allclose(matrix.sum(axis=1), 0, atol=1e-12)


def test_a_ridge_adds_its_penalty_to_the_error():
    bit = np.where(np.arange(10) % 2, 1.0, -1.0)
    penalty = 0.5 * X.var(axis=0).mean()
    model = Ridge(alpha=penalty * len(X)).fit(X, bit[Y])
    objective = np.mean((bit[Y] - model.predict(X)) ** 2) + penalty * model.coef_ @ model.coef_
    assert bit @ learnability_matrix(learnability_distances(X, Y, ridge=0.5)) @ bit == pytest.approx(objective)


def test_sample_weights_weigh_the_error():
    weight = np.random.default_rng(0).random(len(X))
    bit = np.where(np.arange(10) < 5, 1.0, -1.0)
    matrix = learnability_matrix(learnability_distances(X, Y, ridge=1e-13, sample_weight=weight))
    assert bit @ matrix @ bit == pytest.approx(least_squares_errors(bit[:, None], weight)[0], abs=1e-8)


@pytest.mark.parametrize("held_out", [False, True])
def test_sparse_samples_give_the_same_matrix(held_out):
    options = {"held_out": held_out, "rng": 0}
    dense = learnability_distances(X, Y, **options).matrix()
    np.testing.assert_allclose(learnability_distances(sparse.csr_array(X), Y, **options).matrix(), dense, atol=1e-10)


def test_the_held_out_form_of_a_bit_is_its_cross_validated_error():
    fold = stratified_folds(Y, 4, np.random.default_rng(7))
    bit = np.where(np.isin(np.arange(10), [1, 2, 6]), 1.0, -1.0)
    penalty = 0.2 * X.var(axis=0).mean()
    errors = np.empty(len(X))
    for k in range(4):
        learned = fold != k
        model = Ridge(alpha=penalty * learned.sum()).fit(X[learned], bit[Y[learned]])
        errors[~learned] = (bit[Y] - model.predict(X))[~learned] ** 2
    distances = learnability_distances(X, Y, ridge=0.2, held_out=True, n_folds=4, rng=np.random.default_rng(7))
    assert bit @ learnability_matrix(distances) @ bit == pytest.approx(errors.mean(), rel=1e-9)


def test_as_many_directions_as_the_rank_lose_nothing():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(200, 20)) @ rng.normal(size=(20, 60))
    classes = rng.integers(5, size=200)
    matrix = learnability_distances(wide, classes).matrix()
    projected = learnability_distances(wide, classes, n_components=25, rng=0).matrix()
    np.testing.assert_allclose(projected, matrix, atol=1e-7)


def test_half_the_directions_lose_little(exact):
    off_diagonal = ~np.eye(10, dtype=bool)
    leading = learnability_distances(X, Y, n_components=32, rng=0).matrix()
    assert np.corrcoef(leading[off_diagonal], exact.matrix()[off_diagonal])[0, 1] > 0.95
    random = learnability_distances(X, Y, n_components=32, projection="random", rng=0).matrix()
    assert np.corrcoef(random[off_diagonal], exact.matrix()[off_diagonal])[0, 1] > 0.7


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize(
    "options", [{}, {"held_out": True}, {"sample_weight": np.linspace(0, 1, len(X))}, {"ridge": 2.0}]
)
def test_conjugate_gradients_solve_what_the_covariance_solves(monkeypatch, as_sparse, options):
    expected = learnability_distances(X, Y, rng=0, **options).matrix()
    monkeypatch.setattr("codekin.classes.learnability.MAX_COVARIANCE_FEATURES", 10)
    wrap = sparse.csr_array if as_sparse else np.asarray
    solved = learnability_distances(wrap(X), Y, rng=0, **options).matrix()
    np.testing.assert_allclose(solved, expected, rtol=0, atol=1e-3 * np.abs(expected).max())
    assert not np.array_equal(solved, expected)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_too_many_features_are_projected_unless_told_otherwise(monkeypatch, as_sparse):
    monkeypatch.setattr("codekin.classes.learnability.MAX_COVARIANCE_FEATURES", 10)
    monkeypatch.setattr("codekin.classes.learnability.MAX_ITERATED_PRODUCTS", 10)
    monkeypatch.setattr("codekin.classes.learnability.DEFAULT_COMPONENTS", 40)
    wrap = sparse.csr_array if as_sparse else np.asarray
    projected = learnability_distances(wrap(X), Y, rng=0).matrix()
    np.testing.assert_array_equal(projected, learnability_distances(wrap(X), Y, n_components=40, rng=0).matrix())
    assert not np.array_equal(projected, learnability_distances(wrap(X), Y, n_components=None, rng=0).matrix())
    monkeypatch.setattr("codekin.classes.learnability.MAX_FACTOR_ENTRIES", 200)
    fewer = learnability_distances(wrap(X), Y, rng=0).matrix()
    np.testing.assert_array_equal(fewer, learnability_distances(wrap(X), Y, n_components=20, rng=0).matrix())


def test_many_classes_are_given_in_factors(monkeypatch):
    whole = learnability_distances(X, Y)
    monkeypatch.setattr("codekin.classes.learnability.MAX_DENSE_CLASSES", 9)
    factored = learnability_distances(X, Y)
    assert isinstance(whole, DenseDistances)
    assert isinstance(factored, ProductDistances)
    np.testing.assert_allclose(factored.matrix(), whole.matrix(), atol=1e-14)
    monkeypatch.setattr("codekin.classes.learnability.MAX_COVARIANCE_FEATURES", 10)
    assert learnability_distances(X, Y, n_components=8, rng=0).factors.shape == (10, 9)
    assert learnability_distances(X, Y, n_components=20, rng=0).factors.shape == (10, 10), "no more than classes"
    with pytest.raises(ValueError, match="Using all 64 features needs the dense form, for at most 9 classes"):
        learnability_distances(X, Y, n_components=None)
    with pytest.raises(ValueError, match="at most 9 classes"):
        learnability_distances(X, Y, held_out=True)


def test_factors_can_be_asked_for_and_have_the_same_inner_products():
    for options in ({}, {"n_components": 20, "projection": "svd"}, {"n_components": 20, "projection": "features"}):
        dense = learnability_distances(X, Y, rng=0, form="dense", **options)
        factored = learnability_distances(X, Y, rng=0, form="factored", **options)
        assert isinstance(factored, ProductDistances)
        np.testing.assert_allclose(factored.matrix(), dense.matrix(), atol=1e-12)


def test_factors_come_from_the_features_that_vary_most(monkeypatch):
    monkeypatch.setattr("codekin.classes.learnability.MAX_COVARIANCE_FEATURES", 30)
    leading = np.argsort(-X.var(axis=0), kind="stable")[:30]
    # The penalty is relative to the variance of all features.
    ridge = 0.1 * X.var(axis=0).mean() / X[:, leading].var(axis=0).mean()
    expected = learnability_distances(X[:, leading], Y, ridge=ridge).matrix()
    for wrap in (np.asarray, sparse.csr_array):
        np.testing.assert_allclose(learnability_distances(wrap(X), Y, form="factored").matrix(), expected, atol=1e-12)
    monkeypatch.setattr("codekin.classes.learnability.MAX_FACTOR_ENTRIES", 50)
    assert learnability_distances(X, Y, form="factored").factors.shape == (10, 6)


def test_float32_samples_have_float32_factors():
    narrow = learnability_distances(X.astype(np.float32), Y, form="factored", ridge=1.0)
    assert narrow.factors.dtype == np.float32
    exact = learnability_distances(X, Y, form="factored", ridge=1.0)
    np.testing.assert_allclose(narrow.matrix(), exact.matrix(), atol=1e-6)
    matrix = np.random.default_rng(1).choice([-1, 1], size=(10, 6))
    assert narrow.inner_product(matrix) == pytest.approx(exact.inner_product(matrix), rel=1e-5)
    assert narrow.moments().sum_of_squares == pytest.approx(exact.moments().sum_of_squares, rel=1e-5)


def test_the_factored_score_of_a_trellis_is_the_error_of_its_bits():
    codebook = trellis_codebook(10)
    matrix = codebook.coding_matrix(Assignment(np.random.default_rng(3).permutation(10)))
    factors = learnability_distances(X, Y, ridge=1e-13, form="factored").factors
    explained = np.sum((factors.T @ matrix) ** 2)
    assert codebook.n_bits - explained == pytest.approx(least_squares_errors(matrix.astype(float)).sum(), abs=1e-6)


def test_blocks_of_samples_do_not_change_the_matrix(monkeypatch):
    options = {"held_out": True, "rng": 0}
    whole = learnability_distances(X, Y, **options).matrix()
    monkeypatch.setattr("codekin.classes.least_squares._BLOCK_ENTRIES", 10_000)
    np.testing.assert_allclose(learnability_distances(X, Y, **options).matrix(), whole, atol=1e-12)


def test_features_that_do_not_vary_are_no_obstacle():
    constant = np.ones((6, 3))
    matrix = learnability_matrix(learnability_distances(constant, [0, 0, 1, 1, 2, 2]))
    np.testing.assert_allclose(matrix, np.eye(3) / 3 - 1 / 9, atol=1e-15)


def test_a_large_mean_is_no_obstacle():
    near = learnability_distances(X, Y, ridge=1e-6).matrix()
    np.testing.assert_allclose(learnability_distances(X + 1e6, Y, ridge=1e-6).matrix(), near, atol=1e-8)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"ridge": -1}, "'ridge' parameter must not be negative. Got -1"),
        ({"n_components": 0}, "'n_components' must be at least 1"),
        ({"form": "sparse"}, "'form' must be 'auto', 'dense' or 'factored'. Got 'sparse'"),
        ({"form": "factored", "held_out": True}, "Held-out errors need the dense form"),
        ({"projection": "pca"}, "'projection' must be .* Got 'pca'"),
        ({"held_out": True, "n_folds": 1}, "'n_folds' must be at least 2"),
    ],
)
def test_options_are_checked(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        learnability_distances(X, Y, **options)
