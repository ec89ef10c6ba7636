import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.svm import LinearSVC

from codekin_studies.splits.svm import LinearSVMs, fit_svms, svm_objectives


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:800] / 16, y[:800]


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_objectives_are_as_small_as_those_of_liblinear(digits, C):
    X, y = digits
    signs = np.column_stack([np.where(y < 5, 1, -1), np.where(y % 2, 1, -1), np.where(y == 8, 1, -1)])
    ours = svm_objectives(fit_svms(X, signs, C=C), X, signs, C=C)
    for j, objective in enumerate(ours):
        other = LinearSVC(loss="hinge", C=C, intercept_scaling=10, max_iter=50_000, random_state=0).fit(X, signs[:, j])
        theirs = svm_objectives(LinearSVMs(other.coef_.T, other.intercept_), X, signs[:, [j]], C=C)
        assert objective <= 1.001 * theirs[0]


def test_a_column_does_not_depend_on_its_company(digits):
    X, y = digits
    signs = np.column_stack([np.where(y < 5, 1, -1), np.where(y == 8, 1, -1)])
    together, alone = fit_svms(X, signs), fit_svms(X, signs[:, 1:])
    np.testing.assert_allclose(together.margins(X)[:, 1], alone.margins(X)[:, 0], atol=2e-3)


def test_constant_features_do_no_harm(digits):
    X, y = digits
    signs = np.where(y == 8, 1, -1)[:, None]
    padded = np.hstack([X, np.zeros((len(X), 2)), np.ones((len(X), 1))])
    assert np.isfinite(fit_svms(padded, signs).weights).all()


def test_a_penalty_must_be_positive():
    with pytest.raises(ValueError, match="'C' parameter must be greater than 0. Got 0 instead"):
        fit_svms([[0.0], [1.0]], [[1], [-1]], C=0)
