"""Codes with more than two symbols behind ECOCClassifier."""

import json
from hashlib import sha256
from inspect import signature

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

from codekin import ECOCClassifier
from codekin.classes import ClassTree
from codekin.classes.distances import CLASS_DISTANCES_FROM_DATA, embedding_distances
from codekin.code import Codebook
from codekin.codebooks import CODEBOOKS, dense_random
from codekin.learners.estimators import LEAST_PROBABILITY
from codekin.storage import load_model, save_model


class KnowsTen(ClassifierMixin, BaseEstimator):
    """A stand-in for tabular foundation models: it refuses more than ten classes, as they do."""

    max_num_classes_ = 10

    def fit(self, X, y):
        """Learn at most ten classes."""
        self.classes_ = np.unique(y)
        if len(self.classes_) > self.max_num_classes_:
            raise ValueError(f"Number of classes {len(self.classes_)} exceeds the maximal number of 10 classes.")
        self.model_ = GaussianNB().fit(X, y)
        return self

    def predict_proba(self, X):
        """Probabilities of the classes."""
        return self.model_.predict_proba(X)

    def predict(self, X):
        """The most probable class."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


@pytest.fixture(scope="module")
def many():
    """Thirty classes that lie in six groups of five."""
    rng = np.random.default_rng(0)
    class_index = np.arange(600) % 30
    groups, places = rng.normal(size=(6, 8)) * 4, rng.normal(size=(30, 8))
    return (groups[np.arange(30) % 6] + places)[class_index] + rng.normal(size=(600, 8)), class_index


def test_two_symbols_give_the_same_files_as_ever(digits, tmp_path):
    X, y = digits[0][:200], digits[1][:200]
    given = {"n_bits": 6, "assignment": "random", "decoding": "loss", "random_state": 0}
    folders = [
        save_model(ECOCClassifier(RidgeClassifier(), n_symbols=n, **given).fit(X, y), tmp_path / str(n))
        for n in (None, 2)
    ]
    for name in ("model.json", "arrays.safetensors"):
        first, second = ((folder / name).read_bytes() for folder in folders)
        assert first == second


class Sums(ClassifierMixin, BaseEstimator):
    """Whole numbers only: the same bytes on every machine, and with every version of scikit-learn."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        """Sum the samples of both sides."""
        self.classes_ = np.unique(y)
        self.sums_ = np.array([X[y == side].sum(axis=0) for side in self.classes_])
        self.counts_ = np.bincount(y)
        return self

    def decision_function(self, X):
        """How much more alike the samples are to those of side 1, times a whole number."""
        products = X @ self.sums_.T
        return products[:, 1] * self.counts_[0] - products[:, 0] * self.counts_[1]


@pytest.mark.parametrize("n_symbols", [None, 2])
def test_binary_models_are_those_of_the_time_before_symbols(tmp_path, n_symbols):
    X, y = load_digits(return_X_y=True)
    given = {"codebook": "dense_random", "n_bits": 9, "assignment": "random", "decoding": "loss", "random_state": 7}
    classifier = ECOCClassifier(Sums(), n_symbols=n_symbols, **given).fit(X, y)
    found = sha256()
    for one in classifier.estimators_:
        found.update(np.append(one.sums_, [*one.counts_, one.random_state]).astype(np.int64).tobytes())
    found.update(
        classifier.bit_margins(X).astype(np.int64).tobytes() + classifier.predict(X).astype(np.int64).tobytes()
    )
    with pytest.warns(UserWarning, match="Learners of type Sums are stored by skops"):
        found.update((save_model(classifier, tmp_path / "model") / "arrays.safetensors").read_bytes())
    # Computed with the last revision in which codes had two symbols only.
    assert found.hexdigest() == "e66c38722b5141474f2c2e89b339103c898b17b419e57c346103e5be4978a164"


def test_a_learner_that_knows_ten_classes_learns_thirty(many):
    X, y = many
    with pytest.raises(ValueError, match="exceeds the maximal number"):
        KnowsTen().fit(X, y)
    classifier = ECOCClassifier(KnowsTen(), random_state=0).fit(X, y)
    assert classifier.codebook_.n_symbols == 10
    assert classifier.coding_matrix_.shape == (30, 8)
    assert max(len(one.classes_) for one in classifier.estimators_) == 10
    assert classifier.score(X, y) > 0.6


def test_as_many_symbols_as_classes_are_the_learner_itself(digits):
    X, y = digits
    alone, coded = GaussianNB().fit(X, y), ECOCClassifier(GaussianNB(), n_symbols=10).fit(X, y)
    assert coded.coding_matrix_.shape == (10, 1)
    assert (coded.predict(X) == alone.predict(X)).mean() > 0.999
    np.testing.assert_allclose(coded.predict_proba(X), alone.predict_proba(X), atol=2e-3)


@pytest.mark.parametrize("learner", [GaussianNB(), LinearSVC(), ExtraTreesClassifier(5, max_depth=4)])
def test_the_prediction_is_the_most_probable_class(many, learner):
    X, y = many
    classifier = ECOCClassifier(learner, n_symbols=5, n_bits=4, random_state=0).fit(X, y)
    probabilities = classifier.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    predicted = classifier.predict(X)
    assert (classifier.classes_[probabilities.argmax(axis=1)] == predicted).all()
    labels, losses = classifier.top_k(X, 3)
    assert (labels[:, 0] == predicted).all()
    assert (np.diff(losses, axis=1) >= 0).all()
    np.testing.assert_allclose(np.sort(losses, axis=1)[:, 0], -classifier.decision_function(X).max(axis=1))


def test_classes_are_as_probable_as_the_product_of_their_symbols(many):
    X, y = many
    classifier = ECOCClassifier(GaussianNB(), n_symbols=5, n_bits=4, random_state=0).fit(X, y)
    own = [one.predict_proba(X) for one in classifier.estimators_]
    products = np.prod([own[j][:, classifier.coding_matrix_[:, j]] for j in range(4)], axis=0)
    products /= products.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(classifier.predict_proba(X), products, atol=0.02)


def test_an_informed_assignment_is_better_than_chance(many):
    X, y = many
    half = np.arange(len(y)) < 300
    scores = {}
    for assignment in ("random", "preserving"):
        fitted = [
            ECOCClassifier(
                LinearDiscriminantAnalysis(), n_symbols=6, n_bits=2, assignment=assignment, random_state=seed
            )
            for seed in range(3)
        ]
        scores[assignment] = np.mean([one.fit(X[half], y[half]).score(X[~half], y[~half]) for one in fitted])
    assert scores["preserving"] > scores["random"] + 0.05
    assert fitted[0].report().standard_deviations_below_random > 3


def _shared_columns(codewords):
    """In how many columns classes share their symbol, on average: of one group of five, and of different ones."""
    agreement = (codewords[:, None] == codewords[None]).sum(axis=2)
    is_related = (np.arange(30)[:, None] - np.arange(30)) % 6 == 0
    return agreement[is_related & ~np.eye(30, dtype=bool)].mean(), agreement[~is_related].mean()


@pytest.mark.parametrize("class_distances", CLASS_DISTANCES_FROM_DATA)
def test_similar_classes_share_symbols_by_every_distance_from_samples(many, class_distances):
    X, y = many
    given = {"n_symbols": 6, "n_bits": 2, "random_state": 0}
    fitted = ECOCClassifier(GaussianNB(), class_distances=class_distances, **given).fit(X, y)
    related, others = _shared_columns(fitted.coding_matrix_)
    by_chance = ECOCClassifier(GaussianNB(), assignment="random", **given).fit(X, y)
    assert related > 2 * max(others, *_shared_columns(by_chance.coding_matrix_))
    assert fitted.report().standard_deviations_below_random > 3


NOUNS = ("cat", "bus", "oak", "red", "sun", "tea")


def test_classes_with_similar_names_share_symbols(many, tmp_path):
    X, y = many
    names = np.array([f"{noun} {number}" for number in range(5) for noun in NOUNS])
    rng = np.random.default_rng(0)
    lines = [[noun, *(4 * rng.normal(size=8)).round(3)] for noun in NOUNS]
    lines += [[str(number), *rng.normal(size=8).round(3)] for number in range(5)]
    file = tmp_path / "vectors.txt"
    file.write_text("".join(" ".join(map(str, line)) + "\n" for line in lines))
    labels = np.unique(names)
    distances = embedding_distances(file, names=labels.tolist())
    given = {"n_symbols": 6, "n_bits": 2, "random_state": 0, "class_distances": distances}
    fitted = ECOCClassifier(GaussianNB(), **given).fit(X, names[y])
    related, others = _shared_columns(fitted.coding_matrix_[np.searchsorted(labels, names)])
    assert related > 2 * others
    assert fitted.report().standard_deviations_below_random > 3


def test_a_taxonomy_tells_which_classes_share_symbols(many):
    X, y = many
    tree = ClassTree.from_nested([[f"{k:02}" for k in range(group, 30, 6)] for group in range(6)])
    given = {"n_symbols": 6, "n_bits": 2, "random_state": 0, "class_distances": tree}
    fitted = ECOCClassifier(GaussianNB(), **given).fit(X, y)
    related, others = _shared_columns(fitted.coding_matrix_)
    assert related > 2 * others


class KnowsTenWords(KnowsTen):
    """Takes texts, and refuses more than ten classes, too."""

    def fit(self, X, y):
        """Learn the letters of the texts."""
        return super().fit(_letters(X), y)

    def predict_proba(self, X):
        """Probabilities of the classes."""
        return super().predict_proba(_letters(X))


def _letters(texts):
    return np.array([[text.count(letter) for letter in "abcdefghijkl"] for text in texts], dtype=float)


def test_a_learner_of_text_that_knows_ten_classes_is_never_shown_more():
    rng = np.random.default_rng(0)
    topics = np.array(["".join(rng.choice(list("abcdefghijkl"), 6)) for _ in range(12)])
    y = np.arange(120) % 12
    X = [topics[k] + rng.choice(list("abcdefghijkl")) for k in y]
    with pytest.warns(UserWarning, match="KnowsTenWords learns at most 10 classes at once, so all classes count as eq"):
        classifier = ECOCClassifier(KnowsTenWords(), random_state=0).fit(X, y)
    assert classifier.codebook_.n_symbols == 10
    assert classifier.score(X, y) > 0.8
    with pytest.warns(UserWarning, match="at most 10 classes at once"):
        ECOCClassifier(KnowsTenWords(), n_symbols=2, n_bits=6, random_state=0).fit(X, y)


def test_workers_change_nothing(many):
    X, y = many
    classifier = ECOCClassifier(ExtraTreesClassifier(5), n_symbols=6, n_bits=3, assignment="random", random_state=0)
    alone = clone(classifier).fit(X, y).predict_proba(X)
    with parallel_config("threading", n_jobs=3):
        shared = clone(classifier).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(alone, shared)


def test_weights_count_like_repetitions(many):
    X, y = many
    counts = np.random.default_rng(0).integers(1, 4, size=len(y))
    given = {"n_symbols": 6, "n_bits": 3, "assignment": "random", "random_state": 0}
    weighted = ECOCClassifier(GaussianNB(), **given).fit(X, y, sample_weight=counts)
    repeated = ECOCClassifier(GaussianNB(), **given).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


def test_tables_with_categories_and_gaps_reach_the_learner_as_they_are(many):
    X, y = many
    table = pd.DataFrame(X, columns=[f"x{i}" for i in range(8)])
    table.loc[::7, "x0"] = np.nan
    table["colour"] = pd.Categorical(np.array(["red", "green", "blue"])[y % 3])
    learner = HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype")
    classifier = ECOCClassifier(learner, n_symbols=6, n_bits=3, random_state=0).fit(table, y)
    assert classifier.score(table, y) > 0.9
    assert classifier.estimators_[0].is_categorical_.tolist() == [False] * 8 + [True]


@pytest.mark.parametrize("calibrate", ["cv", "holdout"])
def test_calibration_weights_the_columns(many, calibrate):
    X, y = many
    classifier = ECOCClassifier(GaussianNB(), n_symbols=6, n_bits=3, calibrate=calibrate, random_state=0).fit(X, y)
    assert (classifier.classes_[classifier.predict_proba(X).argmax(axis=1)] == classifier.predict(X)).all()
    assert classifier.loss_.name == "log_likelihood"


LEARNERS = {
    "lda": LinearDiscriminantAnalysis(),
    "trees": ExtraTreesClassifier(3, max_depth=3),
    "boosting": HistGradientBoostingClassifier(max_iter=3),
    "older boosting": GradientBoostingClassifier(n_estimators=2, max_depth=2),
    "support vectors": SVC(),
    "few support vectors": NuSVC(nu=0.05),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
}


@pytest.mark.filterwarnings("ignore:Learners of type")
@pytest.mark.parametrize(("name", "calibrate"), [*((name, None) for name in LEARNERS), ("lda", "holdout")])
def test_a_saved_model_predicts_the_same(many, tmp_path, name, calibrate):
    X, y = many
    given = {"n_symbols": 6, "n_bits": 3, "calibrate": calibrate, "assignment": "random"}
    classifier = ECOCClassifier(LEARNERS[name], **given, random_state=0).fit(X, y)
    again = load_model(save_model(classifier, tmp_path / "model"), trusted=True)
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
    assert again.codebook_.n_symbols == 6
    assert str(again.report(X, y)) == str(classifier.report(X, y))


def test_a_learner_that_nobody_knows_is_saved_with_a_warning_and_loaded_on_trust(many, tmp_path):
    X, y = many
    classifier = ECOCClassifier(KnowsTen(), n_bits=2, assignment="random", random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match=r"Learners of type KnowsTen are stored by skops"):
        folder = save_model(classifier, tmp_path / "model")
    again = load_model(folder, trusted=[f"{KnowsTen.__module__}.KnowsTen"])
    assert (again.predict(X) == classifier.predict(X)).all()


def test_a_folder_whose_symbols_do_not_fit_is_refused(many, tmp_path):
    X, y = many
    folder = save_model(
        ECOCClassifier(GaussianNB(), n_symbols=6, n_bits=2, assignment="random").fit(X, y), tmp_path / "model"
    )
    from codekin._system.files import json_checksum

    description = json.loads((folder / "model.json").read_text())
    description["bits"]["predictors"][0]["symbols"] = [0, 9]
    del description["sha256"]
    description["sha256"] = json_checksum(description)
    (folder / "model.json").write_text(json.dumps(description))
    with pytest.raises(ValueError, match="'symbols' must increase"):
        load_model(folder)


@pytest.mark.parametrize("calibrate", ["cv", "holdout"])
def test_the_report_of_calibrated_columns_is_about_their_sharpened_probabilities(many, calibrate):
    X, y = many
    classifier = ECOCClassifier(GaussianNB(), n_symbols=6, n_bits=3, calibrate=calibrate, random_state=0).fit(X, y)
    report = classifier.report(X, y)
    weights = classifier.model_.bits.slopes.reshape(3, 6)[:, 0]
    assert (np.abs(weights - 1) > 0.05).any()
    for j, (weight, one) in enumerate(zip(weights, classifier.estimators_, strict=True)):
        log_probabilities = np.log((1 - LEAST_PROBABILITY) * one.predict_proba(X) + LEAST_PROBABILITY / 6)
        of_symbol = log_softmax(weight * log_probabilities, axis=1)
        own = of_symbol[np.arange(len(y)), classifier.coding_matrix_[y, j]]
        assert report.bit_losses[j] == pytest.approx(-own.mean())
    assert report.error <= report.error_bound


def test_the_report_is_about_columns(many):
    X, y = many
    classifier = ECOCClassifier(GaussianNB(), n_symbols=6, n_bits=3, random_state=0).fit(X, y)
    report = classifier.report(X, y)
    own = [
        -np.log(one.predict_proba(X)[np.arange(len(y)), classifier.coding_matrix_[y, j]]).mean()
        for j, one in enumerate(classifier.estimators_)
    ]
    np.testing.assert_allclose(report.bit_losses, own, rtol=0.05)
    assert report.error <= report.error_bound
    assert "30 classes, 3 columns of 6 symbols" in str(report)
    assert "hardest columns" in str(report)


@pytest.mark.parametrize(
    "codebook", [name for name, make in CODEBOOKS.items() if "n_symbols" in signature(make).parameters]
)
def test_every_codebook_of_symbols_learns(many, codebook):
    X, y = many
    learner = LinearDiscriminantAnalysis()
    classifier = ECOCClassifier(learner, n_symbols=6, codebook=codebook, random_state=0).fit(X, y)
    assert 3 <= classifier.codebook_.n_symbols <= 6
    assert classifier.score(X, y) > 0.3


def test_linear_learners_tell_classes_from_the_rest_where_the_columns_suffice(many):
    X, y = many
    for learner, n_bits in [(LinearDiscriminantAnalysis(), None), (LinearSVC(), 6)]:
        given = {"n_symbols": 6, "n_bits": n_bits, "assignment": "random", "random_state": 0}
        fitted = ECOCClassifier(learner, **given).fit(X, y)
        assert fitted.codebook_.name == "one_vs_rest"
        assert "symbol for every class" in str(fitted.report())
    for learner, n_bits in [(GaussianNB(), None), (LinearDiscriminantAnalysis(), 4)]:
        fitted = ECOCClassifier(learner, n_symbols=6, n_bits=n_bits, assignment="random", random_state=0).fit(X, y)
        assert fitted.codebook_.name == "dense_random"


def test_codebooks_can_be_given(many):
    X, y = many
    matrix = dense_random(30, 3, n_symbols=6, rng=0).matrix.copy()
    as_matrix = ECOCClassifier(GaussianNB(), codebook=matrix, n_symbols=6, assignment="identity").fit(X, y)
    as_codebook = ECOCClassifier(GaussianNB(), codebook=Codebook(matrix, n_symbols=6), assignment="identity").fit(X, y)
    np.testing.assert_array_equal(as_matrix.predict_proba(X), as_codebook.predict_proba(X))


def test_a_column_may_ignore_classes(many):
    X, y = many
    few = y < 4
    matrix = [[0, 0], [1, -1], [2, 1], [0, 2]]
    classifier = ECOCClassifier(GaussianNB(), codebook=matrix, n_symbols=3, assignment="identity").fit(X[few], y[few])
    assert classifier.estimators_[1].class_count_.sum() == 60
    assert classifier.score(X[few], y[few]) > 0.9


def test_batches_teach_symbols(many):
    X, y = many
    classifier = ECOCClassifier(GaussianNB(), n_symbols=6, n_bits=4, random_state=0)
    for start in range(0, 600, 200):
        classifier.partial_fit(X[start : start + 200], y[start : start + 200], classes=np.arange(30))
    assert classifier.score(X, y) > 0.4
    assert classifier.codebook_.n_symbols == 6


def test_new_classes_get_free_codewords(many):
    X, y = many
    old = y < 20
    codebook = dense_random(30, 4, n_symbols=6, rng=0)
    classifier = ECOCClassifier(GaussianNB(), codebook=codebook, random_state=0).fit(X[old], y[old])
    classifier.add_classes(X[~old], y[~old])
    assert len(classifier.classes_) == 30
    assert classifier.predict_proba(X).shape == (600, 30)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"codebook": "hadamard"},
            "The hadamard codebook has two symbols. Got n_symbols=6; use 2, or one of 'one_vs_rest', 'dense_random'",
        ),
        ({"loss": "hinge"}, "loss='hinge' needs two symbols"),
        ({"decoding": "learned"}, "decoding='learned' needs two symbols"),
        ({"estimator": "softmax"}, "estimator='softmax' needs two symbols"),
        ({"codebook": Codebook([[i // 8, i % 8] for i in range(30)], n_symbols=8)}, "has 8 symbols. Got n_symbols=6"),
        ({"n_bits": 1}, "1 bit cannot tell 30 codewords apart; at least 2 are needed"),
    ],
)
def test_what_does_not_go_together_is_refused_in_a_sentence(many, given, sentence):
    with pytest.raises(ValueError, match=sentence):
        ECOCClassifier(**{"estimator": GaussianNB(), "n_symbols": 6, **given}).fit(*many)
