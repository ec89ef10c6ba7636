"""Arguments of ``fit`` besides the samples: labels in them reach every bit as its own, or not at all."""

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

from codekin import ECOCClassifier, SubclassClassifier

NAMES = np.array(["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay"])


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:300], NAMES[y[:300]], X[300:500], NAMES[y[300:500]]


class Keeper(ClassifierMixin, BaseEstimator):
    """Keeps what its ``fit`` gets, and decides nothing."""

    def fit(self, X, y, sample_weight=None, **given):
        self.y, self.given, self.classes_ = y, given, np.unique(y)
        return self

    def decision_function(self, X):
        return np.zeros(len(X))


class RegressorKeeper(Ridge):
    def fit(self, X, y, **given):
        self.y, self.given = y, given
        return super().fit(X, y)


def bits_of(codebook, X, y, estimator=None, **given):
    classifier = ECOCClassifier(Keeper() if estimator is None else estimator, codebook=codebook, random_state=0)
    fitted = classifier.fit(X, y, **given)
    places = {label: place for place, label in enumerate(fitted.classes_)}
    return fitted, places


@pytest.mark.parametrize("codebook", ["one_vs_rest", "one_vs_one", "sparse_random"])
@pytest.mark.parametrize("as_given", [lambda pair: [pair], lambda pair: pair], ids=["list", "pair"])
def test_a_bit_is_judged_on_its_own_labels_and_without_the_classes_it_ignores(codebook, as_given, digits):
    X, y, X_val, y_val = digits
    weights = np.arange(len(y_val)) + 1.0
    fitted, place = bits_of(codebook, X, y, eval_set=as_given((X_val, y_val)), eval_sample_weight=[weights])
    for bit, keeper in enumerate(fitted.estimators_):
        side = fitted.coding_matrix_[[place[label] for label in y_val], bit]
        given = keeper.given["eval_set"]
        samples, labels = given[0] if isinstance(given, list) else given
        np.testing.assert_array_equal(samples, X_val[side != 0])
        np.testing.assert_array_equal(labels, side[side != 0] > 0)
        np.testing.assert_array_equal(keeper.given["eval_sample_weight"][0], weights[side != 0])


@pytest.mark.parametrize(("samples", "labels"), [("X_val", "y_val"), ("eval_X", "eval_y")])
def test_samples_and_labels_may_be_two_arguments(samples, labels, digits):
    X, y, X_val, y_val = digits
    fitted, place = bits_of("one_vs_one", X, y, **{samples: X_val.tolist(), labels: y_val.tolist()})
    for bit, keeper in enumerate(fitted.estimators_):
        side = fitted.coding_matrix_[[place[label] for label in y_val], bit]
        np.testing.assert_array_equal(keeper.given[labels], side[side != 0] > 0)
        np.testing.assert_array_equal(keeper.given[samples], X_val[side != 0])


def test_several_sets_keep_their_order(digits):
    X, y, X_val, y_val = digits
    fitted, _ = bits_of(
        "one_vs_rest", X, y, eval_X=(X, X_val), eval_y=(y, y_val), eval_sample_weight=[None, y_val == "cat"]
    )
    of_cat = fitted.estimators_[2].given
    np.testing.assert_array_equal(of_cat["eval_y"][0], y == "cat")
    np.testing.assert_array_equal(of_cat["eval_y"][1], y_val == "cat")
    assert of_cat["eval_sample_weight"][0] is None


def test_real_bits_and_symbols_are_judged_on_their_targets(digits):
    X, y, X_val, y_val = digits
    fitted, place = bits_of("eigen_targets", X, y, RegressorKeeper(), X_val=X_val, y_val=y_val)
    for bit, keeper in enumerate(fitted.estimators_):
        expected = fitted.coding_matrix_[[place[label] for label in y_val], bit]
        np.testing.assert_array_equal(keeper.given["y_val"], expected)
    boosting = HistGradientBoostingClassifier(max_iter=2, early_stopping=True)
    columns = ECOCClassifier(boosting, n_symbols=4, random_state=0).fit(X, y, X_val=X_val, y_val=y_val)
    assert columns.score(X_val, y_val) > 0.4


def test_a_step_of_a_pipeline_gets_its_own(digits):
    X, y, X_val, y_val = digits
    learner = make_pipeline(StandardScaler(), Keeper())
    fitted = ECOCClassifier(learner, random_state=0).fit(X, y, keeper__eval_set=[(X_val, y_val)])
    assert set(fitted.estimators_[0][-1].given["eval_set"][0][1]) == {0, 1}


@pytest.mark.parametrize("name", ["xgboost", "lightgbm", "scikit-learn"])
def test_early_stopping_is_as_good_as_all_rounds(name, digits):
    X, y, X_val, y_val = digits
    learner = {
        "xgboost": XGBClassifier(n_estimators=40, max_depth=3, early_stopping_rounds=5, verbosity=0),
        "lightgbm": LGBMClassifier(n_estimators=40, early_stopping_round=5, verbosity=-1),
        "scikit-learn": HistGradientBoostingClassifier(max_iter=40, early_stopping=True, n_iter_no_change=5),
    }[name]
    given = {
        "xgboost": {"eval_set": [(X_val, y_val)], "verbose": False},
        "lightgbm": {"eval_X": X_val, "eval_y": y_val},
        "scikit-learn": {"X_val": X_val, "y_val": y_val},
    }[name]
    stopped = ECOCClassifier(learner, codebook="one_vs_rest", random_state=0).fit(X, y, **given)
    assert stopped.score(X_val, y_val) > 0.8
    if name == "xgboost":
        assert min(one.best_iteration for one in stopped.estimators_) > 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            lambda X, y: {"validation": (X, y)},
            "'validation' parameter of fit holds data other than one entry per sample",
        ),
        (lambda X, y: {"y_valid": y}, "'y_valid' parameter of fit holds data"),
        (lambda X, y: {"y_valid": y.tolist()}, "'y_valid' parameter of fit holds data"),
        (lambda X, y: {"settings": {"held_out": {"labels": y}}}, "'settings' parameter of fit holds data"),
        (lambda X, y: {"eval_class_weight": [dict.fromkeys(NAMES, 1.0)]}, "'eval_class_weight' parameter of fit"),
        (lambda X, y: {"X_val": X}, "'X_val' parameter of fit holds data"),
        (lambda X, y: {"eval_set": X}, r"'eval_set' parameter of fit must be samples and labels, \(X, y\)"),
        (lambda X, y: {"eval_set": [(X, y[1:])]}, "'eval_set' parameter of fit has 200 rows for 199 labels"),
        (lambda X, y: {"eval_set": [(X, np.where(y == "cat", "kea", y))]}, "The label 'kea' in the 'eval_set'"),
        (
            lambda X, y: {"eval_set": [(X[y == "cat"], y[y == "cat"])]},
            "No sample of 'eval_set' is of a class that bit 0 ",
        ),
    ],
)
def test_data_that_cannot_be_translated_are_refused(given, message, digits):
    X, y, X_val, y_val = digits
    with pytest.raises(ValueError, match=message):
        bits_of("one_vs_one", X, y, **given(X_val, y_val))


def test_settings_and_data_of_the_samples_or_features_are_passed_on(digits):
    X, y, _, _ = digits
    given = {
        "verbose": False,
        "eval_metric": ["logloss", "auc"],
        "categorical_feature": [0, 3],
        "callbacks": [print],
        "feature_weights": np.ones(64),
        "init_model": None,
        "options": {"depth": 3},
    }
    fitted, _ = bits_of("one_vs_one", X, y, per_sample=np.arange(300), **given)
    kept = fitted.estimators_[0].given
    assert {name: kept[name] for name in given} == given
    np.testing.assert_array_equal(
        kept["per_sample"], np.flatnonzero(fitted.coding_matrix_[:, 0][np.unique(y, return_inverse=True)[1]])
    )


def test_parts_of_classes_are_not_judged_on_labels_of_classes(digits):
    X, y, X_val, y_val = digits
    with pytest.raises(ValueError, match="'eval_set' parameter of fit holds data other than one entry per sample of X"):
        SubclassClassifier(LogisticRegression()).fit(X, y, eval_set=[(X_val, y_val)])
