"""Attributes that scikit-learn's tools use besides predictions."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.ensemble import BaggingClassifier, HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_classifiers_train
from sklearn.utils.validation import has_fit_parameter

from codekin.estimators import ECOCClassifier, ExtremeClassifier
from codekin.learners.estimators import natural_loss


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:400] / 16, y[:400]


@pytest.mark.parametrize(
    ("learner", "takes_weights"),
    [
        (None, True),
        ("softmax", True),
        (LinearSVC(), True),
        (KNeighborsClassifier(), False),
        (make_pipeline(StandardScaler(), LinearSVC()), False),
    ],
)
def test_fit_lists_weights_where_the_learner_takes_them(learner, takes_weights):
    assert has_fit_parameter(ECOCClassifier(learner), "sample_weight") is takes_weights
    assert has_fit_parameter(ECOCClassifier, "sample_weight")


def test_weights_are_taken_by_place_and_by_name_or_refused_in_one_sentence(digits):
    X, y = digits
    weights = np.linspace(0.1, 2, len(y))
    by_place = ECOCClassifier(GaussianNB(), n_bits=12, random_state=0).fit(X, y, weights)
    by_name = ECOCClassifier(GaussianNB(), n_bits=12, random_state=0).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(by_place.bit_margins(X), by_name.bit_margins(X))
    for given in ({"sample_weight": weights}, {"sample_weight": None}):
        classifier = ECOCClassifier(KNeighborsClassifier(), n_bits=12, random_state=0)
        if given["sample_weight"] is None:
            classifier.fit(X, y, **given)
        else:
            with pytest.raises(ValueError, match="KNeighborsClassifier does not accept sample weights"):
                classifier.fit(X, y, **given)


@pytest.mark.parametrize(
    ("learner", "loss"),
    [
        (KNeighborsClassifier(), "logistic"),
        (DecisionTreeClassifier(), "logistic"),
        (CalibratedClassifierCV(LinearSVC()), "logistic"),
        (GridSearchCV(CalibratedClassifierCV(LinearSVC()), {}), "logistic"),
        (make_pipeline(StandardScaler(), CalibratedClassifierCV(LinearSVC())), "logistic"),
        (BaggingClassifier(LogisticRegression()), "logistic"),
        (BaggingClassifier(LinearSVC()), "hinge"),
        (GridSearchCV(LinearSVC(), {}), "hinge"),
        (SVC(), "hinge"),
        (RidgeClassifier(), "squared"),
    ],
)
def test_log_odds_are_decoded_by_the_logistic_loss_whatever_is_around_the_learner(learner, loss):
    assert natural_loss(learner) == loss


def test_the_raw_scores_of_lightgbm_are_log_odds():
    lightgbm = pytest.importorskip("lightgbm")
    assert natural_loss(lightgbm.LGBMClassifier()) == "logistic"


@pytest.mark.parametrize("classifier", [ECOCClassifier(), ExtremeClassifier()])
def test_what_needs_a_fit_says_so(classifier):
    for ask in (
        lambda: classifier.top_k_proba([[0.0]], 1),
        lambda: classifier.predict_log_proba([[0.0]]),
        classifier.report,
        lambda: classifier.n_classes_,
    ):
        with pytest.raises(NotFittedError):
            ask()
    assert not hasattr(classifier, "coef_")


@pytest.mark.parametrize(
    "classifier",
    [
        ECOCClassifier(GaussianNB(), n_bits=12, random_state=0),
        ECOCClassifier("softmax", n_bits=12, random_state=0),
        ExtremeClassifier(random_state=0),
        ExtremeClassifier(rerank="centroid", random_state=0),
    ],
)
def test_logarithms_of_probabilities_are_those_of_the_probabilities(classifier, digits):
    X, y = digits
    classifier.fit(X, y)
    assert classifier.n_classes_ == 10
    logs = classifier.predict_log_proba(X)
    np.testing.assert_allclose(np.exp(logs), classifier.predict_proba(X), rtol=1e-12, atol=1e-300)
    assert np.isfinite(logs).all()


@pytest.mark.parametrize("learner", [LinearSVC(), RidgeClassifier(), SVC(kernel="linear"), "softmax"])
def test_weights_and_intercepts_make_the_margins(learner, digits):
    X, y = digits
    classifier = ECOCClassifier(learner, n_bits=12, random_state=0).fit(X, y)
    assert classifier.coef_.shape == (12, 64)
    np.testing.assert_allclose(X @ classifier.coef_.T + classifier.intercept_, classifier.bit_margins(X), atol=1e-4)
    assert not hasattr(classifier, "feature_importances_")
    selected = SelectFromModel(classifier, max_features=20, threshold=-np.inf).fit(X, y)
    assert selected.transform(X).shape == (400, 20)


def test_importances_are_the_mean_of_the_learned_bits(digits):
    X, y = digits
    classifier = ECOCClassifier(DecisionTreeClassifier(), n_bits=12, random_state=0).fit(X, y)
    means = np.mean([tree.feature_importances_ for tree in classifier.estimators_], axis=0)
    np.testing.assert_allclose(classifier.feature_importances_, means)
    with pytest.raises(AttributeError, match="DecisionTreeClassifier has no coef_"):
        _ = classifier.coef_


def test_ties_of_boosted_trees_pass_the_check_of_scikit_learn():
    trees = HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=3)
    check_classifiers_train("ECOCClassifier", ECOCClassifier(trees, random_state=0))


class Rounded(ClassifierMixin, BaseEstimator):
    """Says one of four things, so that many classes are equally good."""

    def fit(self, X, y):
        self.classes_, self.threshold_ = np.unique(y), np.median(X, axis=0)
        return self

    def decision_function(self, X):
        return np.array([-0.7, -0.1, 0.1, 0.3])[(np.asarray(X) > self.threshold_).sum(axis=1) % 4]


@pytest.mark.parametrize("loss", ["hinge", "logistic", "exponential"])
def test_predict_is_the_largest_value_of_the_decision_function(loss, digits):
    X, y = digits
    for classifier in (
        ECOCClassifier(Rounded(), loss=loss, random_state=0).fit(X, y),
        ExtremeClassifier(loss=loss, random_state=0).fit((X > 0.5)[:, ::9] * 1.0, y),
    ):
        samples = X if isinstance(classifier, ECOCClassifier) else (X > 0.5)[:, ::9] * 1.0
        best = classifier.classes_[classifier.decision_function(samples).argmax(axis=1)]
        np.testing.assert_array_equal(best, classifier.predict(samples))
        one_by_one = np.concatenate([classifier.predict(samples[i : i + 1]) for i in range(40)])
        np.testing.assert_array_equal(one_by_one, classifier.predict(samples)[:40])
