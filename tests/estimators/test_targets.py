"""Codes of real numbers behind ECOCClassifier: regressors learn the bits, the nearest target decodes them."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier, SGDRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from codekin import ECOCClassifier, Predictor
from codekin.code import Codebook
from codekin.codebooks import REAL_CODEBOOKS, dense_random
from codekin.codebooks.designs.spectral import random_projection
from codekin.learners import IndependentBits, Softmax
from codekin.learners.estimators import is_plain_linear
from codekin.plots import BitErrorDisplay, CodewordDistanceDisplay, CodingMatrixDisplay
from codekin.samples import Samples


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


@pytest.fixture(scope="module")
def few(digits):
    return digits[0][:300], digits[1][:300]


def circle(n):
    angles = 2 * np.pi * np.arange(n) / n
    places = np.column_stack([np.cos(angles), np.sin(angles)])
    return np.linalg.norm(places[:, None] - places, axis=2)


def real(estimator=None, codebook="random_projection", **options):
    return ECOCClassifier(Ridge() if estimator is None else estimator, codebook=codebook, random_state=0, **options)


# ----- laws ----------------------------------------------------------------------------------------------------------


def test_least_squares_on_signs_as_numbers_is_the_ridge_classifier_under_the_squared_loss(few):
    X, y = few
    matrix = dense_random(10, 12, rng=0).matrix
    signs = ECOCClassifier(RidgeClassifier(), codebook=matrix, loss="squared", decoding="loss", random_state=0)
    numbers = real(codebook=Codebook(matrix, is_real=True), decoding="loss")
    signs.fit(X, y)
    numbers.fit(X, y)
    np.testing.assert_array_equal(numbers.coding_matrix_, signs.coding_matrix_)  # the same search, the same scores
    np.testing.assert_allclose(numbers.bit_margins(X), signs.bit_margins(X), atol=1e-9)
    np.testing.assert_allclose(numbers.decision_function(X), signs.decision_function(X), atol=1e-5)
    np.testing.assert_array_equal(numbers.predict(X), signs.predict(X))
    assert numbers.report(X, y).error_bound == pytest.approx(signs.report(X, y).error_bound)


@pytest.mark.parametrize("codebook", REAL_CODEBOOKS)
def test_least_squares_predicts_the_mean_of_the_targets_by_the_one_hot_outputs(codebook, few):
    X, y = few
    classifier = real(codebook=codebook, n_bits=5, decoding="loss").fit(X, y)
    outputs = Ridge().fit(X, np.eye(10)[y]).predict(X)
    targets = outputs @ classifier.coding_matrix_
    np.testing.assert_allclose(classifier.bit_margins(X), targets, atol=1e-9)
    apart = np.square(targets[:, None] - classifier.coding_matrix_).sum(axis=2)
    np.testing.assert_array_equal(classifier.predict(X), apart.argmin(axis=1))
    np.testing.assert_allclose(-classifier.decision_function(X), apart, atol=1e-4)  # targets have six digits


def test_all_eigenvectors_of_equally_linked_classes_decide_as_one_hot_labels_do(few):
    X, y = few
    for distances in (circle(10), 1 - np.eye(10)):
        classifier = real(codebook="eigen_targets", class_distances=distances, decoding="loss").fit(X, y)
        assert classifier.codebook_.n_bits == 9
        one_hot = Ridge().fit(X, np.eye(10)[y]).predict(X).argmax(axis=1)
        np.testing.assert_array_equal(classifier.predict(X), one_hot)


def test_weights_are_repetitions(few):
    X, y = few
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    matrix = random_projection(10, 4, rng=0)
    weighted = real(codebook=matrix, assignment="identity", decoding="loss").fit(X, y, sample_weight=weights)
    repeated = real(codebook=matrix, assignment="identity", decoding="loss").fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.bit_margins(X), repeated.bit_margins(X), atol=1e-8)
    by_class = real(codebook=matrix, assignment="identity", decoding="loss", class_weight={3: 0.0}).fit(X, y)
    assert 3 not in by_class.predict(X[y != 3])
    assert not np.array_equal(by_class.bit_margins(X), repeated.bit_margins(X))


# ----- what the papers say -------------------------------------------------------------------------------------------


def mean_accuracies(digits, n_bits, **options):
    X, y = digits
    scores = []
    for seed in range(4):
        classifier = ECOCClassifier(Ridge(), n_bits=n_bits, decoding="loss", random_state=seed, **options)
        scores.append(
            classifier.fit(X[seed % 2 :: 2], y[seed % 2 :: 2]).score(X[1 - seed % 2 :: 2], y[1 - seed % 2 :: 2])
        )
    return np.mean(scores)


@pytest.mark.parametrize("n_bits", [3, 5, 9])
def test_eigenvectors_are_at_least_as_good_as_random_projections_on_digits(digits, n_bits):
    eigen = mean_accuracies(digits, n_bits, codebook="eigen_targets")
    assert eigen > mean_accuracies(digits, n_bits, codebook="random_projection", assignment="random")


@pytest.mark.parametrize("n_bits", [5, 9])
def test_similar_projections_for_similar_classes_are_better_than_random_ones(digits, n_bits):
    scores = {
        assignment: mean_accuracies(digits, n_bits, codebook="random_projection", assignment=assignment)
        for assignment in ("preserving", "random", "breaking")
    }
    assert scores["preserving"] > scores["random"] + 0.05
    assert scores["random"] > scores["breaking"] + 0.05


# ----- what works with them ------------------------------------------------------------------------------------------


class Doubled(RegressorMixin, BaseEstimator):
    """A regressor of another library, with predict only."""

    def fit(self, X, y):
        """Learn by least squares."""
        self.model_ = LinearRegression().fit(X, y)
        return self

    def predict(self, X):
        """A column instead of a vector."""
        return self.model_.predict(X)[:, None]


@pytest.mark.parametrize(
    "learner",
    [
        LinearRegression(),
        SGDRegressor(random_state=0),
        SVR(),
        DecisionTreeRegressor(max_depth=8),
        Doubled(),
        make_pipeline(StandardScaler(), Ridge()),
        GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, cv=2),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_any_regressor_learns_digits(learner, few):
    X, y = few
    classifier = real(learner, "eigen_targets", n_bits=6).fit(X[:200], y[:200])
    assert classifier.score(X[200:], y[200:]) > 0.6
    assert len(classifier.estimators_) == 6
    assert classifier.bit_margins(X).shape == (300, 6)
    again = clone(classifier).fit(X[:200], y[:200])
    np.testing.assert_array_equal(again.bit_margins(X), classifier.bit_margins(X))


def test_margins_of_linear_regressors_are_one_product(few):
    X, y = few
    for learner in (Ridge(), LinearRegression(), SGDRegressor(random_state=0)):
        classifier = real(learner, n_bits=4, decoding="loss").fit(X, y)
        assert all(is_plain_linear(one) for one in classifier.estimators_)
        np.testing.assert_allclose(
            classifier.bit_margins(X), np.column_stack([one.predict(X) for one in classifier.estimators_])
        )
        np.testing.assert_allclose(X @ classifier.coef_.T + classifier.intercept_, classifier.bit_margins(X))
    assert not is_plain_linear(Doubled().fit(X, y))


def test_the_result_does_not_depend_on_the_number_of_workers(few):
    X, y = few
    alone, shared = (real(n_bits=4, n_jobs=n_jobs).fit(X, y) for n_jobs in (None, 2))
    np.testing.assert_array_equal(alone.bit_margins(X), shared.bit_margins(X))


def test_batches_are_learned_in_turn(few):
    X, y = few
    classifier = real(SGDRegressor(random_state=0), n_bits=8, decoding="loss")
    for _ in range(20):
        classifier.partial_fit(X[:150], y[:150], classes=np.arange(10)).partial_fit(X[150:], y[150:])
    assert classifier.score(X, y) > 0.7
    weights = np.ones(len(y))
    one, same = (clone(classifier).partial_fit(X, y, classes=np.arange(10), sample_weight=w) for w in (None, weights))
    np.testing.assert_allclose(one.bit_margins(X), same.bit_margins(X))


def test_precomputed_kernels_are_cut_to_the_samples_of_a_fold(few):
    X, y = few
    gram = X @ X.T
    options = {"class_distances": circle(10), "n_bits": 6, "decoding": "learned"}
    by_kernel = real(KernelRidge(alpha=1.0, kernel="precomputed"), **options).fit(gram, y)
    by_features = real(KernelRidge(alpha=1.0, kernel="linear"), **options).fit(X, y)
    np.testing.assert_allclose(by_kernel.predict_proba(gram), by_features.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("codebook", REAL_CODEBOOKS)
def test_learned_decoding_is_better_where_bits_are_few_and_its_probabilities_are_its_own(codebook, digits):
    X, y = digits
    scores = {}
    for decoding in ("loss", "learned"):
        classifier = real(codebook=codebook, n_bits=4, decoding=decoding).fit(X[::2], y[::2])
        assert classifier.decoding_ == decoding
        scores[decoding] = classifier.score(X[1::2], y[1::2])
        probabilities = classifier.predict_proba(X[1::2])
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        np.testing.assert_array_equal(probabilities.argmax(axis=1), classifier.predict(X[1::2]))
    assert scores["learned"] > scores["loss"] + 0.02


def test_auto_learns_the_decoder_of_linear_regressors_if_it_pays(digits):
    X, y = digits
    classifier = real(n_bits=4).fit(X[::2], y[::2])
    assert classifier.decoding_ == "learned"
    assert "learned" in str(classifier.report())
    assert real(DecisionTreeRegressor(max_depth=3), n_bits=4).fit(X[::2], y[::2]).decoding_ == "loss"


def test_explanations_add_up_to_the_scores(few):
    X, y = few
    for decoding in ("loss", "learned"):
        classifier = real(n_bits=4, decoding=decoding).fit(X, y)
        explanation = classifier.explain(X[:20])
        labels, losses = classifier.top_k(X[:20], 1)
        np.testing.assert_allclose(explanation.scores, -losses[:, 0])
        parts = explanation.contributions.sum(axis=1) + explanation.bias + explanation.other["all_classes"]
        np.testing.assert_allclose(parts, explanation.scores, atol=1e-4)
        np.testing.assert_array_equal(labels[:, 0], explanation.labels)


def test_single_predictions_are_those_of_the_classifier(few):
    X, y = few
    classifier = real(codebook="eigen_targets", decoding="loss").fit(X, y)
    predictor = Predictor(classifier)
    assert [predictor.predict(row) for row in X[:20]] == classifier.predict(X[:20]).tolist()
    labels, losses = classifier.top_k(X[:1], 3)
    assert predictor.top_k(X[0], 3) == (labels[0].tolist(), losses[0].tolist())


def test_prediction_sets_cover_as_often_as_they_should(digits):
    X, y = digits
    classifier = real(n_bits=6).fit(X[::3], y[::3])
    classifier.calibrate_sets(X[1::3], y[1::3])
    sets = classifier.predict_sets(X[2::3], coverage=0.9)
    assert 0.85 < np.mean([label in own for label, own in zip(y[2::3], sets, strict=True)]) < 0.96


def test_texts_are_learned_behind_a_vectorizer():
    texts = ["red apple", "green apple", "fast car", "slow car", "tall tree", "old tree"] * 10
    labels = np.repeat(["fruit", "fruit", "vehicle", "vehicle", "plant", "plant"], 1).tolist() * 10
    classifier = real(make_pipeline(TfidfVectorizer(), Ridge()), "eigen_targets").fit(texts, labels)
    assert classifier.score(texts, labels) == 1


def test_classes_of_what_is_not_a_table_count_as_equally_far_apart():
    class Lengths(RegressorMixin, BaseEstimator):
        """Learns from the lengths of texts."""

        def fit(self, X, y):
            """Learn by least squares."""
            self.model_ = LinearRegression().fit(self.features(X), y)
            return self

        def predict(self, X):
            """What a length suggests."""
            return self.model_.predict(self.features(X))

        @staticmethod
        def features(X):
            """The length and its square."""
            return np.array([[len(text), len(text) ** 2] for text in X])

    texts = ["a", "bb", "ccc"] * 5
    with pytest.warns(UserWarning, match="Lengths learns numbers, so all classes count as equally far apart"):
        classifier = real(Lengths(), "eigen_targets", decoding="loss").fit(texts, texts)
    assert classifier.predict(["a", "bb", "ccc"]).tolist() == ["a", "bb", "ccc"]


def test_a_bit_that_is_the_same_for_all_classes_is_a_warning(few):
    X, y = few
    matrix = np.column_stack([random_projection(10, 3, rng=0).matrix, np.full(10, 0.5)])
    with pytest.warns(UserWarning, match="1 of the 4 bits .* bit 3"):
        real(codebook=Codebook(matrix, is_real=True), decoding="loss").fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        real(codebook=Codebook(matrix[:, :3] + 100, is_real=True), decoding="loss").fit(X, y)


# ----- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "codebook", "sentence"),
    [
        (LogisticRegression(), "eigen_targets", r"eigen_targets codebook are real numbers, .* Got LogisticRegression;"),
        ("softmax", "random_projection", r"real numbers, which regressors learn. Got Softmax; use a regressor"),
        (Ridge(), "dense_random", r"dense_random codebook are signs .* Got Ridge, a regressor; use a classifier"),
        (Ridge(), "auto", r"are signs or symbols, which classifiers learn"),
        (Ridge(), "ecoc_one", r"are signs or symbols, which classifiers learn"),
    ],
)
def test_classifiers_learn_signs_and_regressors_numbers(estimator, codebook, sentence, few):
    with pytest.raises(ValueError, match=sentence):
        ECOCClassifier(estimator, codebook=codebook).fit(*few)


def test_learners_themselves_refuse_the_other_kind(few):
    X, y = few
    samples, codes = Samples(X, y), [random_projection(10, 4, rng=0), dense_random(10, 9, rng=0)]
    numbers, signs = (real(codebook=one).set_params(assignment="identity") for one in codes)
    real_code = numbers.fit(X, y).model_.code
    sign_code = signs.set_params(estimator=RidgeClassifier()).fit(X, y).model_.code
    rng = np.random.default_rng(0)
    for learner, code in ((IndependentBits(RidgeClassifier()), real_code), (Softmax(), real_code)):
        for learn in (learner.fit, lambda *given, fit=learner.partial_fit, **named: fit(None, *given, **named)):
            with pytest.raises(ValueError, match="which regressors learn"):
                learn(samples, code, rng=rng)
    with pytest.raises(ValueError, match="which classifiers learn"):
        IndependentBits(Ridge()).fit(samples, sign_code, rng=rng)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"loss": "hinge"}, "loss='hinge' needs bits that are signs"),
        ({"weighted_decoding": True}, "weighted_decoding=True needs bits that may ignore a class"),
        ({"calibrate": "cv"}, "calibrate='cv' needs margins that can be log-odds"),
        ({"n_symbols": 3}, "Got n_symbols=3"),
    ],
)
def test_settings_that_real_bits_cannot_have_are_refused(options, sentence, few):
    with pytest.raises(ValueError, match=sentence):
        real(**options).fit(*few)


def test_an_estimator_that_only_predicts_and_is_no_regressor_is_refused(few):
    class Guess(BaseEstimator):
        """Neither a classifier nor a regressor."""

        def fit(self, X, y):
            """Learn nothing."""

        def predict(self, X):
            """Say nothing."""

    with pytest.raises(ValueError, match="a regressor"):
        ECOCClassifier(Guess()).fit(*few)


def test_pages_displays_and_new_classes_need_signs(few):
    X, y = few
    classifier = real(n_bits=4).fit(X, y)
    with pytest.raises(ValueError, match="can be explored. Got <Codebook random_projection"):
        classifier.explore(X, y)
    with pytest.raises(ValueError, match="Got real codewords; fit again"):
        classifier.add_classes(X[:2], [10, 11])
    for draw in (
        lambda: CodingMatrixDisplay.from_estimator(classifier),
        lambda: CodewordDistanceDisplay.from_estimator(classifier),
        lambda: BitErrorDisplay.from_estimator(classifier, X, y),
    ):
        with pytest.raises(ValueError, match="signs or symbols can be drawn"):
            draw()
