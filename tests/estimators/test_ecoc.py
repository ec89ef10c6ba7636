import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from tests.reference.calibration import expected_calibration_error

from codekin.code import Assignment, Codebook
from codekin.codebooks import CODEBOOKS, REAL_CODEBOOKS
from codekin.decoding import LOSSES
from codekin.estimators import ECOCClassifier
from codekin.learners.estimators import natural_loss

FIXED_WIDTH_SMALL_K = ("exhaustive", "optimised")
OF_TWO_SYMBOLS = [name for name in CODEBOOKS if name not in ("given", "reed_solomon")]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


@pytest.fixture(scope="module")
def few_digits(digits):
    return digits[0][:300], digits[1][:300]


@pytest.mark.parametrize("codebook", OF_TWO_SYMBOLS)
def test_every_codebook_learns_digits(codebook, digits):
    is_few = digits[1] < 6  # those that try columns on folds take seconds with ten classes
    X, y = digits[0][is_few][:300], digits[1][is_few][:300]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # equidistant codebooks say so
        learner = Ridge() if codebook in REAL_CODEBOOKS else RidgeClassifier()
        classifier = ECOCClassifier(learner, codebook=codebook, decoding="loss", random_state=0).fit(X[:200], y[:200])
    assert classifier.score(X[200:], y[200:]) > 0.75
    assert classifier.coding_matrix_.shape == (6, classifier.codebook_.n_bits)


@pytest.mark.parametrize("loss", [*LOSSES, lambda z: np.maximum(0, 2 - z)])
def test_every_loss_decodes(loss, few_digits):
    X, y = few_digits
    classifier = ECOCClassifier(LinearSVC(), loss=loss, n_bits=15, random_state=0).fit(X[:200], y[:200])
    assert classifier.score(X[200:], y[200:]) > 0.7


def test_an_informed_assignment_beats_random_ones_on_digits(digits):
    X, y = digits
    scores = {}
    for assignment in ("random", "preserving", "breaking"):
        models = [
            ECOCClassifier(RidgeClassifier(), n_bits=8, assignment=assignment, decoding="loss", random_state=seed).fit(
                X[::2], y[::2]
            )
            for seed in range(8)
        ]
        scores[assignment] = np.mean([model.score(X[1::2], y[1::2]) for model in models])
    assert scores["preserving"] > scores["random"] + 0.02 > scores["breaking"] + 0.02


def test_the_result_does_not_depend_on_n_jobs(few_digits):
    X, y = few_digits
    for learner in (LinearSVC(), DecisionTreeClassifier()):
        margins = [
            ECOCClassifier(learner, n_bits=6, n_jobs=n_jobs, random_state=3).fit(X, y).bit_margins(X)
            for n_jobs in (1, 2)
        ]
        np.testing.assert_array_equal(margins[0], margins[1])


def test_the_same_seed_gives_the_same_model_and_another_seed_another_one(few_digits):
    X, y = few_digits
    first, again, other = (
        ECOCClassifier(RandomForestClassifier(3), n_bits=6, random_state=seed).fit(X, y).bit_margins(X)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_random_state_that_the_user_set_is_kept(few_digits):
    X, y = few_digits
    classifier = ECOCClassifier(DecisionTreeClassifier(random_state=7), n_bits=5, random_state=0).fit(X, y)
    assert {learner.random_state for learner in classifier.estimators_} == {7}


def test_fitting_leaves_the_given_estimator_alone(few_digits):
    learner = LogisticRegression(max_iter=1000)
    ECOCClassifier(learner, n_bits=5, random_state=0).fit(*few_digits)
    assert not hasattr(learner, "coef_")


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.csc_array])
def test_sparse_input_gives_what_dense_input_gives(container, few_digits):
    X, y = few_digits
    dense = ECOCClassifier(RidgeClassifier(solver="sparse_cg", tol=1e-9), n_bits=8, random_state=0).fit(X, y)
    thin = clone(dense).fit(container(X), y)
    np.testing.assert_array_equal(dense.coding_matrix_, thin.coding_matrix_)
    assert (dense.predict(X) == thin.predict(container(X))).mean() > 0.99


def test_string_labels_and_frames(few_digits):
    X, y = few_digits
    frame = pd.DataFrame(X, columns=[f"pixel {i}" for i in range(64)])
    names = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])[y]
    classifier = ECOCClassifier(LinearSVC(), n_bits=8, random_state=0).fit(frame, names)
    assert set(classifier.predict(frame)) <= set(names)
    assert list(classifier.feature_names_in_) == list(frame.columns)
    assert classifier.estimators_[0].feature_names_in_[0] == "pixel 0"


def test_read_only_memory_maps(few_digits, tmp_path):
    X, y = few_digits
    joblib.dump((X, y), tmp_path / "data")
    X_map, y_map = joblib.load(tmp_path / "data", mmap_mode="r")
    assert not X_map.flags.writeable
    ECOCClassifier(n_bits=5, n_jobs=2, random_state=0).fit(X_map, y_map).predict(X_map)


def test_text_reaches_a_pipeline_and_its_features_make_the_distances():
    texts = ["red apple", "green apple", "blue sky", "grey sky", "fast car", "slow car"] * 5
    labels = ["fruit", "fruit", "weather", "weather", "traffic", "traffic"] * 5
    classifier = ECOCClassifier(make_pipeline(TfidfVectorizer(), LinearSVC()), random_state=0).fit(texts, labels)
    assert classifier.predict(["yellow apple", "a sky", "old car"]).tolist() == ["fruit", "weather", "traffic"]


def test_a_frame_with_words_needs_a_learner_that_takes_words():
    frame = pd.DataFrame({"colour": ["red", "green", "blue"] * 10, "size": np.arange(30)})
    y = ["a", "b", "c"] * 10
    encode = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    learned = ECOCClassifier(make_pipeline(encode, LogisticRegression(max_iter=1000)), random_state=0).fit(frame, y)
    assert learned.score(frame, y) == 1
    with pytest.raises(ValueError, match="could not convert string to float"):
        ECOCClassifier(random_state=0).fit(frame, y)


@pytest.mark.parametrize("learner", [RidgeClassifier(), DecisionTreeClassifier(), SVC()])
def test_two_classes(learner):
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    classifier = ECOCClassifier(learner, random_state=0).fit(X, y)
    assert classifier.codebook_.n_bits == 1
    scores = classifier.decision_function(X)
    assert scores.shape == (100,)
    np.testing.assert_array_equal(classifier.predict(X), classifier.classes_[(scores > 0).astype(int)])
    assert classifier.predict_proba(X).shape == (100, 2)


def test_one_class_is_an_error():
    with pytest.raises(ValueError, match="at least 2 classes. Got 1 class: \\['only'\\]"):
        ECOCClassifier().fit([[0.0], [1.0]], ["only", "only"])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"codebook": "densely"}, "'codebook' parameter must be one of .* Got 'densely'"),
        (
            {"codebook": "one_vs_rest", "n_bits": 5},
            "codebook='one_vs_rest' has 10 bits for 10 classes. Got n_bits=5; leave it out",
        ),
        ({"codebook": [[1, -1], [-1, 1]]}, "has 2 codewords, but the labels have 10"),
        ({"codebook": 2 * np.eye(10) - 1, "n_bits": 3}, "given codebook has 10 bits"),
        ({"class_distances": "mean"}, "'class_distances' parameter must be one of"),
        ({"class_distances": "taxonomy"}, "Make it first: class_distances=taxonomy"),
        ({"class_distances": np.zeros((3, 3))}, "between 3 classes, but the labels have 10"),
        ({"assignment": "best"}, "'assignment' parameter must be one of"),
        ({"assignment": [0, 1, 2]}, "for 3 classes, but the labels have 10"),
        ({"loss": "hinges"}, "'loss' parameter must be one of"),
        ({"n_bits": 0}, "n_bits"),
        ({"calibrate": "yes"}, "calibrate"),
        ({"estimator": 3}, "estimator"),
    ],
)
def test_a_bad_choice_is_named(parameters, message, few_digits):
    with pytest.raises((ValueError, TypeError), match=message):
        ECOCClassifier(**parameters, random_state=0).fit(*few_digits)


def test_objects_may_stand_in_for_names(few_digits):
    X, y = few_digits
    codebook = Codebook(np.unique(np.random.default_rng(0).choice([-1, 1], (14, 12)), axis=0))
    assignment = Assignment(np.arange(10)[::-1])
    classifier = ECOCClassifier(
        RidgeClassifier(), codebook=codebook, assignment=assignment, class_distances=lambda X, index: 1 - np.eye(10)
    ).fit(X, y)
    np.testing.assert_array_equal(classifier.coding_matrix_, codebook.matrix[:10][::-1])


def test_more_codewords_than_classes_leaves_the_worst_ones_out(few_digits):
    X, y = few_digits
    codebook = Codebook(np.unique(np.random.default_rng(0).choice([-1, 1], (30, 12)), axis=0))
    classifier = ECOCClassifier(RidgeClassifier(), codebook=codebook, random_state=0).fit(X, y)
    assert classifier.coding_matrix_.shape == (10, 12)
    assert classifier.score(X, y) > 0.8


@pytest.mark.parametrize("calibrate", [None, "cv", "holdout"])
@pytest.mark.parametrize("codebook", ["dense_random", "one_vs_one"])
def test_probabilities_sum_to_one_and_agree_with_logistic_predictions(calibrate, codebook, few_digits):
    X, y = few_digits
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        classifier = ECOCClassifier(
            LinearSVC(), codebook=codebook, loss="logistic", calibrate=calibrate, random_state=0
        )
        classifier.fit(X, y)
    probabilities = classifier.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(classifier.classes_[probabilities.argmax(axis=1)], classifier.predict(X))


def test_calibration_brings_confidence_closer_to_accuracy(digits):
    X, y = digits
    errors = {None: [], "cv": [], "holdout": []}
    for calibrate, collected in errors.items():
        for seed in range(3):
            classifier = ECOCClassifier(GaussianNB(), n_bits=20, calibrate=calibrate, random_state=seed)
            classifier.fit(X[::2], y[::2])
            collected.append(expected_calibration_error(classifier.predict_proba(X[1::2]), y[1::2]))
    assert np.mean(errors["cv"]) < np.mean(errors[None]) / 2
    assert np.mean(errors["holdout"]) < np.mean(errors[None]) / 2


def test_top_k_begins_with_the_prediction_and_follows_the_decision_function(few_digits):
    X, y = few_digits
    classifier = ECOCClassifier(LinearSVC(), n_bits=10, random_state=0).fit(X, y)
    labels, losses = classifier.top_k(X, 3)
    np.testing.assert_array_equal(labels[:, 0], classifier.predict(X))
    assert (np.diff(losses, axis=1) >= 0).all()
    np.testing.assert_allclose(losses[:, 0], -classifier.decision_function(X).max(axis=1))


def test_the_most_probable_labels_have_the_probabilities_of_all(few_digits):
    X, y = few_digits
    classifier = ECOCClassifier(LogisticRegression(), random_state=0).fit(X, y)
    everything = classifier.predict_proba(X)
    labels, best = classifier.top_k_proba(X, 4)
    np.testing.assert_array_equal(best, -np.sort(-everything, axis=1)[:, :4])
    np.testing.assert_array_equal(best, np.take_along_axis(everything, np.searchsorted(classifier.classes_, labels), 1))
    with pytest.raises(ValueError, match="'k' parameter"):
        classifier.top_k_proba(X, 11)


def test_partial_fit_learns_batch_by_batch(digits):
    X, y = digits
    classifier = ECOCClassifier(SGDClassifier(random_state=0), n_bits=12, random_state=0)
    for start in range(0, 1200, 100):
        classifier.partial_fit(X[start : start + 100], y[start : start + 100], classes=np.arange(10))
    assert classifier.score(X[1200:], y[1200:]) > 0.8


def test_partial_fit_knows_classes_that_come_later(few_digits):
    X, y = few_digits
    classifier = ECOCClassifier(SGDClassifier(random_state=0), n_bits=12, random_state=0)
    classifier.partial_fit(X[y < 5], y[y < 5], classes=range(10))
    assert set(classifier.predict(X)) <= set(range(10))
    for _ in range(5):
        classifier.partial_fit(X, y)
    assert set(classifier.predict(X[y >= 5])) & set(range(5, 10))


def test_partial_fit_names_what_is_wrong(few_digits):
    X, y = few_digits
    classifier = ECOCClassifier(SGDClassifier(), random_state=0)
    with pytest.raises(ValueError, match="first call of partial_fit needs the 'classes'"):
        classifier.partial_fit(X, y)
    classifier.partial_fit(X[y < 5], y[y < 5], classes=range(5))
    with pytest.raises(ValueError, match="label .*5.* is not among the 5 classes"):
        classifier.partial_fit(X, y)
    with pytest.raises(ValueError, match="differs from that of the first call"):
        classifier.partial_fit(X[y < 5], y[y < 5], classes=range(6))
    with pytest.raises(ValueError, match="Got calibrate='cv'"):
        ECOCClassifier(SGDClassifier(), calibrate="cv").partial_fit(X, y, classes=range(10))
    assert not hasattr(ECOCClassifier(SVC()), "partial_fit")


def test_a_class_missing_from_a_fold_is_no_obstacle():
    X, y = load_iris(return_X_y=True)
    keep = np.r_[0:50, 50:100, 100]  # one sample of the last class
    for calibrate in ("cv", "holdout"):
        classifier = ECOCClassifier(calibrate=calibrate, random_state=0).fit(X[keep], y[keep])
        assert np.isfinite(classifier.predict_proba(X)).all()


def test_sample_weights_of_zero_are_as_good_as_no_samples(few_digits):
    X, y = few_digits
    weights = np.r_[np.ones(200), np.zeros(100)]
    weighted = ECOCClassifier(RidgeClassifier(), n_bits=8, random_state=0).fit(X, y, sample_weight=weights)
    without = ECOCClassifier(RidgeClassifier(), n_bits=8, random_state=0).fit(X[:200], y[:200])
    np.testing.assert_array_equal(weighted.coding_matrix_, without.coding_matrix_)
    np.testing.assert_allclose(weighted.bit_margins(X), without.bit_margins(X), atol=1e-8)


def test_sample_weights_need_a_learner_that_takes_them(few_digits):
    from sklearn.neighbors import KNeighborsClassifier

    X, y = few_digits
    with pytest.raises(ValueError, match="KNeighborsClassifier does not accept sample weights"):
        ECOCClassifier(KNeighborsClassifier()).fit(X, y, sample_weight=np.ones(300))


def test_metadata_are_routed_where_routing_is_enabled(few_digits):
    X, y = few_digits
    weights = np.random.default_rng(0).random(300)
    with config_context(enable_metadata_routing=True):
        learner = RidgeClassifier().set_fit_request(sample_weight=True)
        routed = ECOCClassifier(learner, n_bits=8, random_state=0).fit(X, y, sample_weight=weights)
        nested = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            ECOCClassifier(learner, n_bits=8).set_fit_request(sample_weight=True),
        ).fit(X, y, sample_weight=weights)
    plain = ECOCClassifier(RidgeClassifier(), n_bits=8, random_state=0).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(routed.bit_margins(X), plain.bit_margins(X))
    assert nested.score(X, y) > 0.8


class Recorder:
    """A callback that counts the tasks it hears of."""

    def __init__(self):
        self.begun, self.ended = [], []

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator, context):
        self.ended.append(context.task_name)

    def teardown(self, estimator, context):
        pass


@pytest.mark.parametrize("n_symbols", [2, 4])
@pytest.mark.parametrize(("calibrate", "n_fits"), [(None, 1), ("holdout", 1), ("cv", 6)])
def test_callbacks_hear_of_every_bit(calibrate, n_fits, n_symbols, few_digits):
    pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks since 1.9")
    recorder = Recorder()
    given = {"n_bits": 7, "n_symbols": n_symbols, "calibrate": calibrate, "random_state": 0}
    classifier = ECOCClassifier(RidgeClassifier(), **given)
    classifier.set_callbacks(recorder).fit(*few_digits)
    assert recorder.begun.count("bit") == recorder.ended.count("bit") == 7 * n_fits


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_scikit_learns_progress_bar_works(n_jobs, few_digits, capsys):
    callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks since 1.9")
    classifier = ECOCClassifier(RidgeClassifier(), n_bits=5, n_jobs=n_jobs, random_state=0)
    classifier.set_callbacks(callback.ProgressBar()).fit(*few_digits)
    assert "ECOCClassifier" in capsys.readouterr().out


def test_clone_pickle_and_html(few_digits):
    X, y = few_digits
    classifier = ECOCClassifier(LinearSVC(), n_bits=6, random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(again.predict(X), classifier.predict(X))
    assert not hasattr(clone(classifier), "model_")
    assert "LinearSVC" in classifier._repr_html_()


def test_grid_search_over_nested_parameters(few_digits):
    X, y = few_digits
    grid = {"estimator__C": [0.1, 1.0], "n_bits": [6, 8], "assignment": ["preserving", "random"]}
    search = GridSearchCV(ECOCClassifier(LinearSVC(), random_state=0), grid, cv=2).fit(X, y)
    assert search.best_score_ > 0.6
    assert cross_val_score(search.best_estimator_, X, y, cv=2, scoring="roc_auc_ovr").min() > 0.8


@pytest.mark.parametrize(
    ("learner", "loss"),
    [
        (LinearSVC(), "hinge"),
        (SVC(), "hinge"),
        (SGDClassifier(), "hinge"),
        (SGDClassifier(loss="log_loss"), "logistic"),
        (LogisticRegression(), "logistic"),
        (RidgeClassifier(), "squared"),
        (DecisionTreeClassifier(), "logistic"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "logistic"),
        (GridSearchCV(LinearSVC(), {}), "hinge"),
    ],
)
def test_the_automatic_loss_matches_the_learner(learner, loss):
    assert natural_loss(learner) == loss


def test_a_grid_of_codebooks_and_widths_fits_whatever_can_be_fitted(few_digits):
    X, y = few_digits
    grid = {"codebook": ["one_vs_rest", "one_vs_one", "hadamard", "dense_random"], "n_bits": [None, 3, 10, 45]}
    search = GridSearchCV(ECOCClassifier(RidgeClassifier(), random_state=0), grid, cv=2)
    with pytest.warns(FitFailedWarning) as told:
        search.fit(X, y)
    results = search.cv_results_
    pairs = zip(results["param_codebook"], results["param_n_bits"], results["mean_test_score"], strict=True)
    fitted = {(codebook, n_bits) for codebook, n_bits, score in pairs if score > 0.5}
    of_random = {("dense_random", n_bits) for n_bits in (None, 10, 45)}
    assert fitted == of_random | {("one_vs_rest", None), ("one_vs_rest", 10), ("one_vs_one", None), ("one_vs_one", 45),
                                  ("hadamard", None)}  # fmt: skip
    message = " ".join(str(one.message) for one in told)
    assert "codebook='one_vs_rest' has 10 bits for 10 classes. Got n_bits=45; leave it out, or" in message
    assert "at least 4 are needed. Got codebook='dense_random', n_bits=3." in message


def test_one_column_is_singular():
    with pytest.raises(ValueError, match="2 codewords have only 1 different column, not counting complements"):
        ECOCClassifier(n_bits=2).fit([[0], [1]], [0, 1])
