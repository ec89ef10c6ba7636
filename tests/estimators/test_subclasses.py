"""Classes that a classifier cannot separate are learned in parts (after Escalera et al., 2008)."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import has_fit_parameter
from tests.crossed import make_crossed_blobs

from codekin import ECOCClassifier, ExtremeClassifier, Predictor, SubclassClassifier
from codekin.data import load_dataset
from codekin.deploy.export import export_onnx

EAGER = {"min_samples": 1, "max_error": 0.0, "min_gain": 0.0}
"""Splits whatever can be split."""
WRAPPED = [
    LogisticRegression(),
    RidgeClassifier(),
    LinearSVC(),
    DecisionTreeClassifier(max_depth=3, random_state=0),
    ECOCClassifier(random_state=0),
    ECOCClassifier(RidgeClassifier(), n_bits=8, decoding="loss", random_state=0),
    ExtremeClassifier(random_state=0),
]
OF_BITS = [
    ECOCClassifier(codebook="one_vs_rest", decoding="loss", random_state=0),
    ECOCClassifier(LinearSVC(), codebook="one_vs_one", decoding="loss", random_state=0),
    ECOCClassifier(RidgeClassifier(), codebook="dense_random", decoding="loss", random_state=0),
]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


@pytest.mark.parametrize(
    ("estimator", "n_classes"),
    [*((one, k) for one in (LogisticRegression(), *OF_BITS[:2]) for k in (2, 3, 4)), (OF_BITS[2], 2)],
    ids=str,
)
def test_classes_of_two_far_blobs_are_near_chance_as_a_whole_and_separated_in_parts(estimator, n_classes):
    X, y = make_crossed_blobs(n_classes)
    X_test, y_test = make_crossed_blobs(n_classes, seed=1)
    whole = clone(estimator).fit(X, y).score(X_test, y_test)
    classifier = SubclassClassifier(estimator).fit(X, y)
    assert whole < 1 / n_classes + 0.2
    assert classifier.score(X_test, y_test) > 0.98
    assert np.bincount(classifier.class_of_part_).max() == 2


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("estimator", WRAPPED, ids=str)
def test_with_one_part_per_class_it_is_the_wrapped_classifier(estimator, digits):
    X, y = digits[0][:400], np.array(list("abcdefghij"))[digits[1][:400]]
    alone = clone(estimator).fit(X, y)
    around = SubclassClassifier(estimator, max_parts=1).fit(X, y)
    np.testing.assert_array_equal(around.predict(digits[0]), alone.predict(digits[0]))
    for name in ("decision_function", "predict_proba", "predict_log_proba"):
        assert hasattr(around, name) == hasattr(alone, name)
        if hasattr(alone, name):
            np.testing.assert_array_equal(getattr(around, name)(digits[0]), getattr(alone, name)(digits[0]))
    assert hasattr(around, "top_k") == hasattr(alone, "top_k")
    if hasattr(alone, "top_k"):
        for one, other in zip(around.top_k(digits[0], 3), alone.top_k(digits[0], 3), strict=True):
            np.testing.assert_array_equal(one, other)
    assert around.class_of_part_.tolist() == list(range(10))


@pytest.mark.parametrize(
    ("estimator", "n_classes"),
    [
        *((one, k) for one in (LogisticRegression(), *OF_BITS, ExtremeClassifier(3)) for k in (2, 3)),
        (DecisionTreeClassifier(max_depth=2), 3),
    ],
    ids=str,
)
def test_probabilities_are_sums_over_parts_and_agree_with_labels_and_scores(estimator, n_classes):
    X, y = make_crossed_blobs(n_classes)
    X = np.abs(X) + X + np.random.default_rng(2).normal(scale=0.1, size=X.shape)  # not too easy
    classifier = SubclassClassifier(estimator, **EAGER | {"min_samples": 20}, random_state=0).fit(X, y)
    assert len(classifier.class_of_part_) > n_classes
    probabilities = classifier.predict_proba(X)
    of_parts = classifier.estimator_.predict_proba(X)
    for k in range(n_classes):
        np.testing.assert_allclose(probabilities[:, k], of_parts[:, classifier.class_of_part_ == k].sum(axis=1))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_allclose(np.exp(classifier.predict_log_proba(X)), probabilities)
    np.testing.assert_array_equal(classifier.predict(X), classifier.classes_[probabilities.argmax(axis=1)])
    np.testing.assert_array_equal(classifier.top_k_proba(X, 1)[0][:, 0], classifier.predict(X))
    assert (np.diff(classifier.top_k_proba(X, n_classes)[1], axis=1) <= 0).all()
    if hasattr(classifier, "decision_function"):
        scores = classifier.decision_function(X)
        best = scores > 0 if n_classes == 2 else scores.argmax(axis=1)
        np.testing.assert_array_equal(classifier.classes_[best.astype(int)], classifier.predict(X))
    if hasattr(classifier, "top_k"):
        labels, losses = classifier.top_k(X, n_classes)
        np.testing.assert_array_equal(labels[:, 0], classifier.predict(X))
        np.testing.assert_allclose(np.exp(-losses).sum(axis=1), 1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_probabilities_a_class_has_the_score_of_its_best_part(n_classes):
    X, y = make_crossed_blobs(n_classes)
    classifier = SubclassClassifier(RidgeClassifier()).fit(X, y)
    scores, of_parts = classifier.decision_function(X), classifier.estimator_.decision_function(X)
    of_classes = np.column_stack([of_parts[:, classifier.class_of_part_ == k].max(axis=1) for k in range(n_classes)])
    np.testing.assert_array_equal(scores, of_classes[:, 1] - of_classes[:, 0] if n_classes == 2 else of_classes)
    np.testing.assert_array_equal(classifier.predict(X), classifier.classes_[of_classes.argmax(axis=1)])
    part = classifier.estimator_.predict(X)
    np.testing.assert_array_equal(classifier.predict(X), classifier.classes_[classifier.class_of_part_[part]])
    assert not hasattr(classifier, "predict_proba")
    assert not hasattr(classifier, "top_k")


def test_the_training_error_falls_with_every_split_and_ends_as_that_of_the_classifier(digits):
    X, y = digits
    classifier = SubclassClassifier(RidgeClassifier()).fit(X, y)
    errors = classifier.training_errors_
    assert (np.diff(errors) < 0).all()
    assert len(classifier.class_of_part_) == 10 + len(errors) - 1 > 10
    assert errors[0] == pytest.approx(1 - RidgeClassifier().fit(X, y).score(X, y))
    assert errors[-1] == pytest.approx(1 - classifier.score(X, y))


def test_parts_of_digits_lower_the_training_error_but_hardly_the_test_error(digits):
    # What a linear classifier gets wrong about digits are not classes in two places: it does not pay.
    X, y = digits
    whole, parts = [], []
    for half in (slice(0, None, 2), slice(1, None, 2)):
        other = np.setdiff1d(np.arange(len(y)), np.arange(len(y))[half])
        whole.append(RidgeClassifier().fit(X[half], y[half]).score(X[other], y[other]))
        classifier = SubclassClassifier(RidgeClassifier()).fit(X[half], y[half])
        assert classifier.training_errors_[-1] < classifier.training_errors_[0]
        parts.append(classifier.score(X[other], y[other]))
    assert abs(np.mean(parts) - np.mean(whole)) < 0.02


def test_yeast_is_not_split_by_default():
    # Its classes overlap; halves of them overlap as much.
    yeast = load_dataset("yeast")
    classifier = SubclassClassifier(RidgeClassifier()).fit(yeast.X, yeast.y)
    assert classifier.class_of_part_.tolist() == list(range(10))


@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(max_depth=2, max_features=1)])
def test_the_same_seed_gives_the_same_classifier(estimator):
    X, y = make_crossed_blobs(3)
    one, other = (SubclassClassifier(estimator, random_state=5).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.class_of_part_, other.class_of_part_)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_a_random_state_of_the_estimator_is_kept_and_a_missing_one_is_set():
    X, y = make_crossed_blobs()
    classifier = SubclassClassifier(ECOCClassifier(DecisionTreeClassifier(), random_state=7), random_state=0).fit(X, y)
    assert classifier.estimator_.random_state == 7
    assert isinstance(classifier.estimator_.estimator.random_state, int)
    assert classifier.estimator.estimator.random_state is None  # the given one is left alone


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_samples_are_split_like_dense_ones(kind):
    X, y = make_crossed_blobs(3)
    X = np.hstack([X, np.zeros((len(X), 3))])
    dense = SubclassClassifier(LogisticRegression(max_iter=1000)).fit(X, y)
    other = SubclassClassifier(LogisticRegression(max_iter=1000)).fit(kind(X), y)
    np.testing.assert_array_equal(other.class_of_part_, dense.class_of_part_)
    np.testing.assert_array_equal(other.predict(kind(X)), dense.predict(X))


def test_frames_pipelines_and_searches_work():
    X, y = make_crossed_blobs(2)
    frame = pd.DataFrame(1000 * X, columns=["width", "height"])
    search = GridSearchCV(
        SubclassClassifier(make_pipeline(StandardScaler(), LogisticRegression())), {"max_parts": [1, 2]}, cv=3
    ).fit(frame, y)
    assert search.best_params_ == {"max_parts": 2}
    assert search.best_estimator_.feature_names_in_.tolist() == ["width", "height"]
    assert search.score(frame, y) > 0.97
    with pytest.raises(ValueError, match="feature names should match"):
        search.predict(frame.rename(columns={"width": "depth"}))


def test_texts_are_split_by_the_features_of_the_pipeline():
    # Either word alone is one class, both and none of them the other one.
    texts = np.array(["red", "blue", "red blue", "grey"] * 30)
    labels = np.array(["one", "one", "other", "other"] * 30)
    estimator = ECOCClassifier(make_pipeline(TfidfVectorizer(), LogisticRegression()), decoding="loss", random_state=0)
    classifier = SubclassClassifier(estimator).fit(texts, labels)
    assert clone(estimator).fit(texts, labels).score(texts, labels) < 0.8
    assert classifier.score(texts, labels) == 1
    assert not hasattr(classifier, "n_features_in_")


def test_weights_count_in_errors_and_reach_the_estimator():
    X, y = make_crossed_blobs()
    weights = np.where(X[:, 0] + X[:, 1] > -0.5, 1.0, 0.0)  # without one blob there is nothing to split
    assert len(SubclassClassifier(LogisticRegression(C=100)).fit(X, y).class_of_part_) > 2
    classifier = SubclassClassifier(LogisticRegression(C=100)).fit(X, y, sample_weight=weights)
    alone = LogisticRegression(C=100).fit(X, y, sample_weight=weights)
    expected = 1 - alone.score(X, y, sample_weight=weights)
    assert classifier.training_errors_[0] == pytest.approx(expected)


def test_weights_are_listed_and_routed_as_the_estimator_wants():
    X, y = make_crossed_blobs()
    assert has_fit_parameter(SubclassClassifier(LogisticRegression()), "sample_weight")
    assert not has_fit_parameter(SubclassClassifier(KNeighborsClassifier()), "sample_weight")
    with pytest.raises(ValueError, match="KNeighborsClassifier does not accept sample weights"):
        SubclassClassifier(KNeighborsClassifier()).fit(X, y, sample_weight=np.ones(len(y)))
    with config_context(enable_metadata_routing=True):
        weights = np.linspace(0.1, 3, len(y))
        wanted = SubclassClassifier(LogisticRegression().set_fit_request(sample_weight=True), max_parts=1)
        np.testing.assert_array_equal(
            wanted.fit(X, y, sample_weight=weights).decision_function(X),
            LogisticRegression().fit(X, y, sample_weight=weights).decision_function(X),
        )


def test_more_parts_than_bits_can_tell_apart_end_the_search():
    X, y = make_crossed_blobs(4)
    estimator = ECOCClassifier(LogisticRegression(), codebook="dense_random", n_bits=2, decoding="loss", random_state=0)
    with pytest.warns(UserWarning, match="Classes stay in 4 parts, since 5 cannot be learned: 2 bits cannot tell 5"):
        classifier = SubclassClassifier(estimator).fit(X, y)
    assert len(classifier.class_of_part_) == 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_parts": 0}, "The 'max_parts' parameter of SubclassClassifier must be an int in the range"),
        ({"min_samples": 0}, "The 'min_samples' parameter of SubclassClassifier must be an int in the range"),
        ({"max_error": 2}, "The 'max_error' parameter of SubclassClassifier must be a float in the range"),
        ({"min_gain": -0.1}, "The 'min_gain' parameter of SubclassClassifier must be a float in the range"),
        ({"estimator": "arow"}, "The 'estimator' parameter of SubclassClassifier must be an object implementing"),
        (
            {"estimator": LogisticRegression(class_weight={"ash": 2})},
            "class_weight={'ash': 2} has labels, but the estimator learns parts of classes, which are numbered",
        ),
        (
            {"estimator": make_pipeline(StandardScaler(), LogisticRegression(class_weight={"ash": 2}))},
            "Use sample_weight instead",
        ),
    ],
)
def test_wrong_choices_are_refused_in_one_sentence(changes, message):
    with pytest.raises(ValueError, match=message):
        SubclassClassifier(**changes).fit(*make_crossed_blobs())


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_samples_that_are_no_table_cannot_be_split():
    class Reader(GaussianNB):
        """Learns from texts, badly."""

        def fit(self, X, y):
            return super().fit([[len(text)] for text in X], y)

        def predict_proba(self, X):
            return super().predict_proba([[len(text)] for text in X])

        def predict(self, X):
            return super().predict([[len(text)] for text in X])

    texts = np.array(["same length", "other words"] * 30)
    with pytest.raises(ValueError, match="Classes are split in a table of numbers. Got samples of another kind"):
        SubclassClassifier(Reader()).fit(texts, np.arange(60) % 2)


def test_scores_of_pairs_are_refused():
    X, y = make_crossed_blobs(3)
    classifier = SubclassClassifier(SVC(kernel="linear", decision_function_shape="ovo"), **EAGER | {"min_samples": 20})
    assert len(classifier.fit(X, y).class_of_part_) > 3
    with pytest.raises(ValueError, match="one score for each of the . parts. SVC has others, of pairs for example"):
        classifier.decision_function(X)


def test_what_needs_one_codeword_per_class_refuses_it(tmp_path):
    X, y = make_crossed_blobs()
    classifier = SubclassClassifier(ECOCClassifier(random_state=0)).fit(X, y)
    with pytest.raises(TypeError, match="Predictor needs an ECOCClassifier, an ExtremeClassifier or a TextClassifier"):
        Predictor(classifier)
    pytest.importorskip("onnx", reason="needs onnx")
    with pytest.raises(TypeError, match="can be exported. Got an object of type SubclassClassifier"):
        export_onnx(classifier, tmp_path / "model.onnx")


def test_predicting_before_fitting_is_an_error():
    with pytest.raises(NotFittedError):
        SubclassClassifier().predict([[0.0]])
