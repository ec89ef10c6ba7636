"""Weights of samples: none is negative, and a class without weight is not there. Features that say nothing."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from codekin import ECOCClassifier, ExtremeClassifier, SubclassClassifier, load_model, save_model
from codekin.samples import EncodedLabels

CLASSIFIERS = {
    "default": ECOCClassifier(random_state=0),
    "one_vs_rest, loss": ECOCClassifier(LinearSVC(), codebook="one_vs_rest", decoding="loss", random_state=0),
    "one_vs_one": ECOCClassifier(DecisionTreeClassifier(), codebook="one_vs_one", random_state=0),
    "dense": ECOCClassifier(DecisionTreeClassifier(), n_bits=12, random_state=0),
    "calibrated": ECOCClassifier(DecisionTreeClassifier(), n_bits=8, calibrate="cv", random_state=0),
    "softmax": ECOCClassifier("softmax", random_state=0),
    "trellis": ExtremeClassifier(random_state=0),
    "tree": ExtremeClassifier(code="tree", random_state=0),
}


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:400] / 16, y[:400]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_class_without_weight_is_as_if_it_had_no_samples(name, digits):
    X, y = digits
    weights = np.where(y == 3, 0.0, 1.0)
    fitted = CLASSIFIERS[name].fit(X, y, sample_weight=weights)
    assert fitted.classes_.tolist() == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    assert 3 not in fitted.predict(X)
    assert fitted.predict_proba(X).shape == (400, 9)
    assert fitted.score(X[y != 3], y[y != 3]) > 0.8


def test_precomputed_kernels_and_class_weights_and_encoded_labels_know_no_class_without_weight(digits):
    X, y = digits
    kernel = ECOCClassifier(SVC(kernel="precomputed"), codebook="one_vs_one", random_state=0)
    assert 3 not in kernel.fit(X @ X.T, y, sample_weight=np.where(y == 3, 0.0, 1.0)).predict(X @ X.T)
    weightless = ECOCClassifier(class_weight={3: 0}, random_state=0).fit(X, y)
    assert 3 not in weightless.classes_
    assert 3 not in weightless.predict(X)
    encoded = EncodedLabels(np.arange(11), y)  # the last class has no samples, and stays
    trellis = ExtremeClassifier(random_state=0).fit(X, encoded, np.where(y == 3, 0.0, 1.0))
    assert trellis.classes_.tolist() == [0, 1, 2, 4, 5, 6, 7, 8, 9, 10]


def test_bagging_of_rare_classes_works(digits):
    X, y = digits
    y = np.where(np.arange(400) < 397, y, 10)  # three samples, which some of the draws do without
    bagged = BaggingClassifier(ECOCClassifier(DecisionTreeClassifier()), 8, max_samples=60, random_state=0).fit(X, y)
    assert {len(one.classes_) for one in bagged.estimators_} == {10, 11}
    np.testing.assert_allclose(bagged.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize("classifier", [ECOCClassifier(), ExtremeClassifier(), SubclassClassifier()], ids=repr)
@pytest.mark.parametrize("weights", [-np.ones(400), np.r_[-0.5, np.ones(399)]], ids=["all", "one"])
def test_negative_weights_are_refused(classifier, weights, digits):
    with pytest.raises(ValueError, match=r"The weights of samples must not be negative. Got -"):
        classifier.fit(*digits, sample_weight=weights)


@pytest.mark.parametrize("sizes", [[30] * 8, [100, 60, 40, 20, 10, 10, 10, 10]], ids=["balanced", "unbalanced"])
@pytest.mark.parametrize("value", [0.0, 1.0, 0.1])
@pytest.mark.parametrize("learner", [LogisticRegression(), LinearSVC(), RidgeClassifier()], ids=repr)
@pytest.mark.parametrize("settings", [{}, {"n_bits": 15}, {"codebook": "one_vs_one"}], ids=repr)
def test_features_that_say_nothing_leave_the_frequencies_of_the_classes(sizes, value, learner, settings):
    y = np.repeat(np.arange(8), sizes)
    X = np.full((len(y), 3), value)
    fitted = ECOCClassifier(learner, decoding="learned", **settings, random_state=0).fit(X, y)
    np.testing.assert_allclose(fitted.predict_proba(X[:1])[0], np.array(sizes) / sum(sizes), atol=0.01)


@pytest.mark.parametrize(
    "estimator",
    [DecisionTreeClassifier(), LogisticRegression(), RandomForestClassifier(3), None],
    ids=repr,
)
@pytest.mark.parametrize("settings", [{}, {"n_bits": 15}, {"codebook": "one_vs_one"}], ids=repr)
def test_the_default_decoding_gives_the_frequencies_if_all_samples_are_alike(estimator, settings, tmp_path):
    y, weights = np.repeat(np.arange(8), 10), np.repeat([1.0, 2, 3, 4, 5, 6, 7, 8], 10)
    X = np.full((80, 3), 0.1)
    fitted = ECOCClassifier(estimator, **settings, random_state=0).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(fitted.predict_proba(X[:1])[0], np.arange(1, 9) / 36, rtol=1e-6)
    assert fitted.predict(X[:1]) == [7]
    again = load_model(save_model(fitted, tmp_path / "model"))
    assert again.predict_proba(X[:1]).tobytes() == fitted.predict_proba(X[:1]).tobytes()


@pytest.mark.parametrize(
    "classifier", [ExtremeClassifier(random_state=0), ExtremeClassifier(code="tree", random_state=0)]
)
def test_features_that_say_nothing_leave_every_path_equally_probable(classifier):
    fitted = classifier.fit(np.ones((240, 3)), np.repeat(np.arange(8), 30))
    np.testing.assert_allclose(fitted.predict_proba(np.ones((1, 3)))[0], 1 / 8, atol=0.01)
