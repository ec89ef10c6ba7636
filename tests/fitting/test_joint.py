"""Logistic regression of all classes at once, where a code of its bits is no better."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from codekin import ECOCClassifier, load_model, save_model

NAMES = np.array(["one", "two", "three", "four"])
REGRESSION = LogisticRegression(max_iter=1000)


def few(n_samples=90, seed=0):
    """Too few samples for a learned decoder, so that the regression of all classes is taken without a trial."""
    X, y = make_classification(
        n_samples, 6, n_informative=4, n_classes=4, n_clusters_per_class=1, class_sep=0.7, random_state=seed
    )
    return X, NAMES[y]


@pytest.mark.parametrize("learner", [REGRESSION, make_pipeline(StandardScaler(), REGRESSION)], ids=["plain", "scaled"])
def test_it_has_the_labels_and_probabilities_of_the_learner_itself(learner):
    X, y = few()
    ours, theirs = ECOCClassifier(learner, random_state=0).fit(X, y), clone(learner).fit(X, y)
    assert "one regression for all bits" in ours.report().codebook_reason
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-4)
    assert len(ours.estimators_) == 4


def test_weights_of_samples_count_as_they_do_in_the_learner():
    X, y = few()
    weights = np.random.default_rng(0).uniform(0.1, 4, len(y))
    ours = ECOCClassifier(REGRESSION, random_state=0).fit(X, y, sample_weight=weights)
    theirs = LogisticRegression(max_iter=1000).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-3)
    assert np.abs(ours.predict_proba(X) - clone(REGRESSION).fit(X, y).predict_proba(X)).max() > 0.01


def test_it_is_saved_and_loaded_and_exported_as_linear_bits(tmp_path):
    X, y = few()
    classifier = ECOCClassifier(REGRESSION, random_state=0).fit(X, y)
    save_model(classifier, tmp_path / "model")
    np.testing.assert_array_equal(load_model(tmp_path / "model").predict_proba(X), classifier.predict_proba(X))

    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    from codekin.deploy.export import export_onnx

    session = runtime.InferenceSession(export_onnx(classifier, tmp_path / "model.onnx", k=1))
    labels = session.run(["labels"], {session.get_inputs()[0].name: X})[0]
    np.testing.assert_array_equal(labels.ravel(), classifier.predict(X))


def test_a_code_that_is_clearly_better_is_kept():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = (X[:, 0] > 0) * 2 + (X[:, 1] > 0)
    y[X[:, 0] * X[:, 1] > 1] = 4  # products of margins tell this class from the others
    classifier = ECOCClassifier(REGRESSION, random_state=0).fit(X[:400], y[:400])
    assert "one regression" not in classifier.report().codebook_reason
    assert classifier.score(X[400:], y[400:]) > clone(REGRESSION).fit(X[:400], y[:400]).score(X[400:], y[400:])


def test_the_trial_says_how_many_held_out_samples_either_gets_right():
    X, y = load_digits(return_X_y=True)
    X, y = X[:400] / 16, y[:400]
    reason = ECOCClassifier(random_state=0).fit(X, y).report().codebook_reason
    assert "all classes at once get" in reason
    assert "of 320 held-out samples right, one-vs-rest" in reason


@pytest.mark.parametrize("settings", [{"codebook": "one_vs_rest"}, {"decoding": "loss"}, {"loss": "hinge"}])
def test_what_was_asked_for_is_not_replaced(settings):
    X, y = few()
    assert (
        "one regression"
        not in ECOCClassifier(REGRESSION, **settings, random_state=0).fit(X, y).report().codebook_reason
    )


def test_a_regression_of_one_class_against_the_others_stays_one():
    X, y = few()
    classifier = ECOCClassifier(LogisticRegression(solver="liblinear"), random_state=0).fit(X, y)
    assert "one regression" not in classifier.report().codebook_reason


def test_discriminants_of_features_that_determine_a_class_can_be_weighed():
    rng = np.random.default_rng(0)
    levels = rng.integers(3, size=(800, 4))
    y = np.where(levels[:, 0] == 0, 0, 1 + (levels[:, 1] + levels[:, 2] > 2))
    y[rng.random(800) < 0.1 * (y > 0)] = 3
    X = np.eye(3)[levels].reshape(800, 12)
    ours, theirs = (
        ECOCClassifier(LinearDiscriminantAnalysis(), random_state=0),
        OneVsRestClassifier(LinearDiscriminantAnalysis()),
    )
    ours, theirs = (one.fit(X[:500], y[:500]).score(X[500:], y[500:]) for one in (ours, theirs))
    assert ours > theirs - 0.02
