import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from codekin.code import Code
from codekin.learners import IndependentBits
from codekin.learners.estimators import LOG_ODDS_LIMIT
from codekin.learners.independent import ConstantBit, EstimatorBits
from codekin.samples import Samples

MATRIX = np.array([[1, 1, 0], [-1, 1, 1], [-1, -1, -1]], dtype=np.int8)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def fit(learner, iris, matrix=MATRIX, **kwargs):
    X, y = iris
    return IndependentBits(learner, **kwargs).fit(Samples(X, y), Code.of(matrix), rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    "learner",
    [LinearSVC(), LogisticRegression(max_iter=1000), RidgeClassifier(), SGDClassifier(random_state=0), Perceptron()],
)
def test_one_product_for_all_linear_learners_equals_asking_each(learner, iris):
    bits = fit(learner, iris)
    X = iris[0]
    each = np.column_stack([predictor.decision_function(X) for predictor in bits.predictors])
    np.testing.assert_allclose(bits.margins(X), each, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(bits.margins(sparse.csr_array(X)), each, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "learner", [SVC(), DecisionTreeClassifier(), GaussianNB(), GradientBoostingClassifier(n_estimators=5)]
)
def test_margins_point_to_the_side_that_the_learner_predicts(learner, iris):
    bits = fit(learner, iris)
    X = iris[0]
    margins = bits.margins(X)
    for j, predictor in enumerate(bits.predictors):
        decided = margins[:, j] != 0
        np.testing.assert_array_equal(margins[decided, j] > 0, predictor.predict(X)[decided] == 1)


def test_bits_reach_the_learner_as_zeros_and_ones(iris):
    for predictor in fit(DecisionTreeClassifier(), iris).predictors:
        assert predictor.classes_.tolist() == [0, 1]


def test_a_learner_with_the_old_classes_goes_on_learning(iris):
    X, y = iris
    matrix = MATRIX[:, :2]
    old = [SGDClassifier(random_state=0).partial_fit(X, matrix[y, j], classes=[-1, 1]) for j in range(2)]
    learner = IndependentBits(SGDClassifier(random_state=0))
    code = Code.of([[1, 1], [-1, 1], [-1, -1]])
    more = learner.partial_fit(EstimatorBits(old), Samples(X, y), code, rng=np.random.default_rng(0))
    assert [predictor.classes_.tolist() for predictor in more.predictors] == [[-1, 1]] * 2


@pytest.mark.parametrize("matrix", [MATRIX, np.array([[1, -1], [1, 1], [-1, 1]], dtype=np.int8)])
def test_a_precomputed_kernel_gives_the_margins_of_the_kernel_itself(matrix, iris):
    X, y = iris
    plain = fit(SVC(kernel="linear"), iris, matrix)
    kernel = fit(SVC(kernel="precomputed"), (X @ X.T, y), matrix)
    np.testing.assert_allclose(kernel.margins(X[::7] @ X.T), plain.margins(X[::7]), atol=1e-6)


def test_a_learner_that_keeps_no_classes_is_asked_all_the_same(iris):
    class First(BaseEstimator):
        def fit(self, X, y):
            return self

        def decision_function(self, X):
            return X[:, 0]

    np.testing.assert_array_equal(fit(First(), iris).margins(iris[0])[:, 1], iris[0][:, 0])


def test_a_zero_bit_leaves_its_class_out(iris):
    bits = fit(DecisionTreeClassifier(random_state=0), iris)
    X, y = iris
    alone = DecisionTreeClassifier(random_state=0).fit(X[y > 0], np.where(y[y > 0] == 1, 1, -1))
    expected = np.where(alone.predict(X) > 0, LOG_ODDS_LIMIT, -LOG_ODDS_LIMIT)
    np.testing.assert_array_equal(bits.margins(X)[:, 2], expected)


def test_a_bit_of_one_sign_is_constant(iris):
    X, y = iris
    bits = IndependentBits(LinearSVC()).fit(
        Samples(X[y == 0], y[y == 0]), Code.of(MATRIX), rng=np.random.default_rng(0)
    )
    assert bits.predictors[0] == ConstantBit(1)
    assert (bits.margins(X)[:, :2] > 0).all()
    assert (bits.predictors[0].predict(X) == 1).all()
    assert (bits.predictors[0].predict_proba(X) == [0, 1]).all()


def test_certain_probabilities_become_large_but_finite_log_odds(iris):
    margins = fit(DecisionTreeClassifier(), iris).margins(iris[0])
    assert np.abs(margins).max() == LOG_ODDS_LIMIT


def test_fit_params_follow_the_samples_of_a_bit(iris):
    X, y = iris
    weights = np.where(y == 2, 5.0, 1.0)
    bits = fit(LogisticRegression(max_iter=1000), iris, fit_params={"sample_weight": weights})
    alone = LogisticRegression(max_iter=1000).fit(
        X[y > 0], np.where(y[y > 0] == 1, 1, -1), sample_weight=weights[y > 0]
    )
    np.testing.assert_allclose(bits.predictors[2].coef_, alone.coef_)


def test_continuing_leaves_earlier_bits_alone(iris):
    X, y = iris
    learner = IndependentBits(SGDClassifier(random_state=0))
    first = learner.partial_fit(None, Samples(X, y), Code.of(MATRIX), rng=np.random.default_rng(0))
    before = first.margins(X).copy()
    second = learner.partial_fit(first, Samples(X, y), Code.of(MATRIX), rng=np.random.default_rng(0))
    np.testing.assert_array_equal(EstimatorBits(first.predictors).margins(X), before)
    assert not np.array_equal(second.margins(X), before)
