"""A sample without features is answered by the frequencies of the classes, wherever it is asked about."""

import json

import numpy as np
import pytest
from scipy import sparse

from codekin import ECOCClassifier, ExtremeClassifier, Predictor, SubclassClassifier, load_model, save_model
from codekin.cli.main import main
from codekin.data import TextVectorizer
from codekin.deploy.predictor import BatchPredictor
from codekin.model.probabilities import ClassPrior
from codekin.samples import Samples

TEXTS = ["a cat purrs", "a dog barks", "the cow moos", "my cat", "our dog", "no cow", "one cat", "this cat", "that dog"]
LABELS = np.array(["cat", "dog", "cow", "cat", "dog", "cow", "cat", "cat", "dog"])
FREQUENCIES = {"cat": 4 / 9, "dog": 3 / 9, "cow": 2 / 9}
UNKNOWN = ["", "zebra", " \t", "giraffes!"]
CLASSIFIERS = {
    "tree": ExtremeClassifier(code="tree", rerank=None, random_state=0),
    "re-ranked tree": ExtremeClassifier(code="tree", rerank="centroid", random_state=0),
    "two trees": ExtremeClassifier(code="tree", width=2, n_codes=2, rerank="centroid", random_state=0),
    "trellis": ExtremeClassifier(code="trellis", width=2, rerank=None, random_state=0),
    "re-ranked trellis": ExtremeClassifier(code="trellis", width=2, rerank="centroid", random_state=0),
    "coding matrix": ECOCClassifier("arow", n_bits=3, random_state=0),
    "learned decoder": ECOCClassifier(n_bits=3, decoding="learned", random_state=0),
    "logistic regression": ECOCClassifier(n_bits=3, decoding="loss", random_state=0),
}


@pytest.fixture(scope="module")
def vectorizer():
    return TextVectorizer().fit(TEXTS)


@pytest.fixture(scope="module", params=CLASSIFIERS)
def classifier(request, vectorizer):
    return CLASSIFIERS[request.param].fit(vectorizer.transform(TEXTS), LABELS)


def test_the_classes_of_a_text_without_a_known_word_are_ordered_by_frequency(classifier, vectorizer):
    X = vectorizer.transform([*UNKNOWN, *TEXTS])
    n = len(UNKNOWN)
    order = list(FREQUENCIES)
    assert classifier.predict(X)[:n].tolist() == ["cat"] * n
    labels, losses = classifier.top_k(X, 3)
    assert labels[:n].tolist() == [order] * n
    np.testing.assert_allclose(losses[:n], [[-np.log(p) for p in FREQUENCIES.values()]] * n)
    labels, probabilities = classifier.top_k_proba(X, 2)
    assert labels[:n].tolist() == [order[:2]] * n
    np.testing.assert_allclose(probabilities[:n], [[4 / 9, 3 / 9]] * n)
    by_class = [FREQUENCIES[label] for label in classifier.classes_.tolist()]
    np.testing.assert_allclose(classifier.predict_proba(X)[:n], [by_class] * n)
    np.testing.assert_allclose(classifier.predict_log_proba(X)[:n], np.log([by_class] * n))
    np.testing.assert_allclose(classifier.decision_function(X)[:n], np.log([by_class] * n))
    if hasattr(classifier, "log_proba"):
        found = classifier.log_proba(X[:n], ["cow", "dog", "cat", "horse"])
        np.testing.assert_allclose(found, [*np.log([2 / 9, 3 / 9, 4 / 9]), -np.inf])


def test_other_answers_stay_as_they_are(classifier, vectorizer):
    X = vectorizer.transform(TEXTS)
    assert (classifier.predict(vectorizer.transform([*UNKNOWN, *TEXTS]))[len(UNKNOWN) :] == classifier.predict(X)).all()
    # A dense row of zeros is a sample like others.
    if not isinstance(classifier, ECOCClassifier):
        zeros = np.zeros((1, X.shape[1]), np.float32)
        assert classifier.top_k(zeros, 3)[1].tolist() != classifier.top_k(sparse.csr_array(zeros), 3)[1].tolist()


def test_predictors_and_servers_agree(classifier, vectorizer):
    predictor = Predictor(classifier, vectorizer=vectorizer)
    many = BatchPredictor(Predictor(classifier, vectorizer=vectorizer), classifier)
    X = vectorizer.transform([*UNKNOWN, *TEXTS])
    for k in (1, 3):
        labels, losses = classifier.top_k(X, k)
        of_probabilities, probabilities = classifier.top_k_proba(X, k)
        for i, text in enumerate([*UNKNOWN, *TEXTS]):
            assert predictor.predict(text) == labels[i, 0]
            own_labels, own_losses = predictor.top_k(text, k)
            assert own_labels == labels[i].tolist()
            np.testing.assert_allclose(own_losses, losses[i], rtol=1e-6)
            own_labels, own_probabilities = predictor.top_k_proba(text, k)
            assert own_labels == of_probabilities[i].tolist()
            np.testing.assert_allclose(own_probabilities, probabilities[i], rtol=1e-6)
        rows = [many.row(text) for text in [*UNKNOWN, *TEXTS]]
        for some in (rows, rows[:1]):
            assert many.best(some, k, has_probabilities=False)[0] == labels[: len(some)].tolist()
    assert many.known_words(rows) == [0] * 4 + [len(text.split()) for text in TEXTS]


def test_the_frequencies_are_saved_with_the_model(classifier, vectorizer, tmp_path):
    X = vectorizer.transform(UNKNOWN)
    again = load_model(save_model(classifier, tmp_path / "model"))
    assert again.model_.prior.sizes.tolist() == classifier.model_.prior.sizes.tolist() == [4, 2, 3]
    assert again.model_.prior.sizes.dtype == np.uint8
    assert again.top_k(X, 3)[0].tolist() == classifier.top_k(X, 3)[0].tolist()


def test_prediction_sets_of_unknown_texts_are_the_most_frequent_classes(vectorizer):
    X = vectorizer.transform(TEXTS)
    for name in ("re-ranked tree", "coding matrix"):
        classifier = CLASSIFIERS[name].fit(X, LABELS)
        classifier.calibrate_sets(vectorizer.transform(["nothing"] * 9), LABELS)
        assert [own.tolist() for own in classifier.predict_sets(vectorizer.transform(UNKNOWN[:1]), 0.7)] == [
            ["cat", "dog"]
        ]


def test_classes_with_parts_have_the_frequencies_of_their_parts(vectorizer):
    X = vectorizer.transform(TEXTS)
    classifier = SubclassClassifier(ECOCClassifier("arow", n_bits=3, random_state=0), random_state=0).fit(X, LABELS)
    assert classifier.predict(vectorizer.transform(UNKNOWN)).tolist() == ["cat"] * 4


def test_frequencies_are_those_of_the_weights():
    X, y = sparse.csr_array(np.eye(4)), np.array([0, 1, 1, 2])
    assert ClassPrior.of(Samples(X, y), 4).sizes.tolist() == [1, 2, 1, 0]
    prior = ClassPrior.of(Samples(X, y, np.array([5.0, 0.5, 1.0, 0.0])), 4)
    assert prior.sizes.tolist() == [5, 1.5, 0, 0]
    assert prior.order.tolist() == [0, 1, 2, 3]
    assert np.isfinite(prior.losses).all()
    assert ECOCClassifier(random_state=0).fit(np.eye(4), y).model_.prior is None


def test_rows_without_features_in_training_say_more_than_all_others():
    # Like one-hot features without the first category: such rows are samples like others.
    X = sparse.csr_array(np.vstack([np.eye(2)[np.arange(60) % 2], np.zeros((30, 2))]))
    y = np.array([0, 1] * 30 + [2] * 30)
    classifier = ECOCClassifier(n_bits=3, decoding="loss", random_state=0).fit(X, y)
    assert classifier.predict(X[60:]).tolist() == [2] * 30
    assert classifier.predict_proba(X[60:61])[0, 2] == pytest.approx((30 + 1) / (30 + 3))


@pytest.mark.parametrize("sizes", [[0, 0], [-1.0, 2], [np.nan, 1], [np.inf, 1], [[1, 2]]])
def test_frequencies_that_are_none_are_refused(sizes):
    with pytest.raises(ValueError, match="The frequencies of the classes must be numbers, at least 0, and not all"):
        ClassPrior(np.array(sizes))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("texts")
    lines = [f"{label}\t{text}" for label, text in zip(LABELS, TEXTS, strict=True)]
    (home / "train.tsv").write_text("\n".join(lines) + "\n")
    assert main(["train", str(home / "train.tsv"), str(home / "model"), "--quiet"]) == 0
    return home


def test_the_command_line_counts_known_words_and_leaves_texts_with_too_few_open(folder, capsys):
    (folder / "new.tsv").write_text("?\tzebra\n?\tthe cat sleeps\n?\t\n")

    def predicted(*options):
        assert main(["predict", str(folder / "model"), str(folder / "new.tsv"), "--quiet", *options]) == 0
        return capsys.readouterr().out.split("\n")[:-1]

    assert predicted() == ["cat", "cat", "cat"]
    answers = [json.loads(line) for line in predicted("--json", "--probabilities")]
    assert [answer["known_words"] for answer in answers] == [0, 2, 0]
    assert answers[0] == {"label": "cat", "probability": pytest.approx(4 / 9), "known_words": 0}
    assert predicted("--min-known", "1") == ["", "cat", ""]
    assert predicted("--min-known", "3", "--top-k", "2", "--probabilities") == ["", "", ""]
    answers = [json.loads(line) for line in predicted("--min-known", "1", "--json", "--top-k", "1", "--probabilities")]
    assert answers[0] == {"label": None, "probability": None, "top": [], "known_words": 0}
    assert answers[1]["top"] == [{"label": "cat", "probability": answers[1]["probability"]}]
    assert json.loads(predicted("--min-known", "1", "--json")[2]) == {"label": None, "known_words": 0}


def test_known_words_are_asked_of_texts_only(tmp_path, capsys):
    (tmp_path / "train.svm").write_text("a 1:1\nb 2:1\na 1:2\nb 2:2\n")
    assert main(["train", str(tmp_path / "train.svm"), str(tmp_path / "model"), "--quiet"]) == 0
    assert main(["predict", str(tmp_path / "model"), str(tmp_path / "train.svm"), "--min-known", "1", "--quiet"]) == 2
    assert "--min-known 1 needs a model of texts. Got one of features in" in capsys.readouterr().err


@pytest.mark.parametrize("choices", [{}, {"word_ngrams": (2, 2)}, {"features": "characters"}, {"hashing": True}])
def test_a_text_has_known_words_if_and_only_if_it_has_features(choices):
    fitted = TextVectorizer(**choices).fit(TEXTS)
    texts = [*TEXTS, *UNKNOWN]
    classifier = ExtremeClassifier(random_state=0).fit(fitted.transform(TEXTS), LABELS)
    counted = BatchPredictor(Predictor(classifier, vectorizer=fitted))
    known = counted.known_words([counted.row(text) for text in texts])
    assert [n > 0 for n in known] == (np.diff(fitted.transform(texts).indptr) > 0).tolist()
    if not choices:
        assert known[:2] == [3, 3]
