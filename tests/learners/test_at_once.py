"""The bits of one-vs-rest from one fit of all classes."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from codekin import ECOCClassifier, load_model, save_model
from codekin.code import Assignment, Code
from codekin.codebooks import one_vs_rest
from codekin.learners.independent import BitsAtOnce
from codekin.learners.without_samples import approximate_out_of_fold_margins
from codekin.samples import Samples, stratified_folds

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
    assert "one regression of all classes learns all bits" in ours.report().codebook_reason
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


def test_a_decoder_that_sees_products_of_its_scores_is_better():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = (X[:, 0] > 0) * 2 + (X[:, 1] > 0)
    y[X[:, 0] * X[:, 1] > 1] = 4  # products of margins tell this class from the others
    classifier = ECOCClassifier(REGRESSION, random_state=0).fit(X[:400], y[:400])
    assert classifier.decoding_ == "learned"
    assert classifier.score(X[400:], y[400:]) > clone(REGRESSION).fit(X[:400], y[:400]).score(X[400:], y[400:]) + 0.02


@pytest.mark.parametrize("learner", [LinearSVC(random_state=0), RidgeClassifier(), RidgeClassifier(solver="lsqr")])
def test_one_fit_of_all_classes_gives_the_bits_that_separate_fits_give(learner):
    X, y = load_digits(return_X_y=True)
    X, y = X[:500] / 16, NAMES[y[:500] % 4]
    at_once = ECOCClassifier(learner, random_state=0).fit(X, y)
    one_by_one = ECOCClassifier(learner, codebook="one_vs_rest", random_state=0).fit(X, y)
    ours, theirs = (one.model_.first.bits.margins(X) for one in (at_once, one_by_one))
    assert at_once.model_.first.bits.n_bits == 4
    np.testing.assert_allclose(ours, theirs, atol=5e-3)


def test_bits_learned_at_once_do_not_depend_on_the_number_of_workers():
    X, y = few(200)
    first, second = (ECOCClassifier(LinearSVC(), random_state=0, n_jobs=n).fit(X, y) for n in (None, 2))
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))


def test_weights_of_sides_are_not_those_of_classes():
    X, y = few(300)
    weighted = LinearSVC(class_weight="balanced", random_state=0)
    left_open = ECOCClassifier(weighted, random_state=0).fit(X, y)
    alone = LinearSVC(class_weight="balanced", random_state=0).fit(X, y == NAMES[2])
    bit = left_open.model_.first.bits.predictors[list(left_open.classes_).index(NAMES[2])]
    np.testing.assert_allclose(bit.coef_, alone.coef_, atol=1e-3)


def test_a_class_whose_samples_have_no_weight_gets_no_bit_of_all_classes():
    X, y = few(200)
    samples = Samples(X, np.unique(y, return_inverse=True)[1], (y != NAMES[3]).astype(float))
    code = Code(one_vs_rest(4), Assignment(np.arange(4)))
    bits = BitsAtOnce(REGRESSION).fit(samples, code, rng=np.random.default_rng(0))
    assert not bits.are_joint
    assert bits.n_bits == 4


def test_margins_of_a_regression_without_a_fifth_of_the_samples_are_found_without_learning_it_again():
    X, y = load_digits(return_X_y=True)
    X, y = X[:500] / 16, y[:500]
    samples, code = Samples(X, y, None), Code(one_vs_rest(10), Assignment(np.arange(10)))
    for learner in (REGRESSION, make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=1000))):
        bits = BitsAtOnce(learner).fit(samples, code, rng=np.random.default_rng(0))
        found = approximate_out_of_fold_margins(bits, samples, code, n_margins=500, rng=np.random.default_rng(1))
        fold, exact = stratified_folds(y, 5, np.random.default_rng(1)), np.empty((500, 10))
        for number in range(5):
            learned = clone(learner).fit(X[fold != number], y[fold != number])
            exact[fold == number] = learned.decision_function(X[fold == number])
        own = bits.margins(X)
        assert np.abs(found.margins - exact).mean() < 0.15 * np.abs(own - exact).mean()


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
