"""What is on an explorer page, and what is refused."""

import math

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

from codekin import ECOCClassifier, ExtremeClassifier, load_model, save_model
from codekin.code import Assignment, Code
from codekin.codebooks import trellis_codebook
from codekin.data import TextVectorizer
from codekin.deploy.explore.class_similarity import class_similarity
from codekin.deploy.explore.content import chosen_samples, confusions
from codekin.deploy.explore.page import _typed
from codekin.samples import Samples

X, Y = load_digits(return_X_y=True)
X = X / 16


@pytest.fixture(scope="module")
def classifier():
    return ECOCClassifier(n_bits=8, decoding="loss", random_state=0).fit(X[:300], Y[:300])


def test_confusions_are_the_most_frequent_mistakes_of_each_class():
    true = np.array([0, 0, 0, 0, 1, 1, 2, -1])
    predicted = np.array([0, 1, 2, 2, 1, 0, 2, 2])
    found = confusions(true, predicted)
    rows = zip(found["from"].tolist(), found["to"].tolist(), found["count"].tolist(), strict=True)
    assert list(rows) == [(0, 2, 2), (0, 1, 1), (1, 0, 1)]


def test_chosen_samples_are_half_wrong_if_there_are_enough():
    true = np.zeros(100, int)
    for n_wrong, expected in ((50, 10), (3, 3), (0, 0), (100, 20)):
        predicted = (np.arange(100) < n_wrong).astype(int)
        chosen = chosen_samples(true, predicted, 20)
        assert len(chosen) == len(set(chosen.tolist())) == 20
        assert int((predicted[chosen] != 0).sum()) == expected


def test_class_similarity_takes_the_best_source_that_there_is(classifier):
    code, samples = classifier.model_.code, Samples(X[:300], Y[:300])
    for distances, given, said in [
        (classifier.class_distances_, samples, "by the class distances of the model"),
        (None, samples, "class means of the samples"),
        (None, None, "the nearest codewords"),
    ]:
        found = class_similarity(code, distances, given)
        assert sorted(found.order.tolist()) == list(range(10))
        assert said in found.source
        assert (found.nearest is None) == (said == "the nearest codewords")
    large = Code(trellis_codebook(30_000), Assignment.identity(30_000))
    assert class_similarity(large, None, None, is_in_order=True).order.tolist() == list(range(30_000))


def test_a_page_is_one_file_without_links_to_others(classifier, tmp_path):
    page = classifier.explore(X[300:400], Y[300:400], title="Digits & more")
    assert page.save(tmp_path / "page.html").read_text(encoding="utf-8") == page.html
    assert "<title>Digits &amp; more</title>" in page.html
    assert "http://" not in page.html.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page.html
    assert "@@" not in page.html
    assert page._repr_html_().startswith("<iframe srcdoc=")
    assert repr(page).startswith("<ExplorerPage 'Digits & more': ")


def test_bits_that_are_not_linear_have_a_page_without_contributions():
    trees = ECOCClassifier(DecisionTreeClassifier(max_depth=3), n_bits=8, random_state=0).fit(X[:300], Y[:300])
    assert len(trees.explore(X[300:320], Y[300:320]).html) < 200_000


def test_a_page_that_cannot_predict_typed_texts_says_which_part_of_the_model_is_why():
    texts = [f"{word} {word}{i % 3}" for i, word in enumerate(["ash", "elm", "fir", "oak"] * 6)]
    vectorizer = TextVectorizer().fit(texts)
    settings = {"code": "trellis", "rerank": "learned", "random_state": 0}
    for choice, said in ({"candidates": "index"}, "candidates of an index"), ({"n_codes": 2}, "Got 2 trellises"):
        model = ExtremeClassifier(2, **settings, **choice).fit(vectorizer.transform(texts), [0, 1, 2, 3] * 6)
        content, note = _typed(model, vectorizer)
        assert not content
        assert said in note


@pytest.mark.filterwarnings("ignore:Learners of type HistGradientBoostingClassifier are stored by skops")
def test_samples_may_be_whatever_the_learner_takes(tmp_path):
    data = load_iris(as_frame=True)
    with_gaps = data.data.mask(data.data > 6.5)
    for learner, frame in [(None, data.data), (HistGradientBoostingClassifier(max_iter=3), with_gaps)]:
        classifier = ECOCClassifier(learner, random_state=0).fit(frame, data.target)
        page = classifier.explore(frame, data.target)
        again = load_model(save_model(classifier, tmp_path / "model"), trusted=True).explore(frame, data.target)
        assert len(page.html) < 200_000
        assert len(again.html) < 200_000


def test_wrong_samples_and_accuracies_are_refused_with_a_sentence(classifier):
    for arguments, message in [
        ({"X": X}, "explore needs samples and their labels, or neither. Got no y."),
        ({"X": X[:5], "y": Y[:4]}, "There are 5 samples. Got another number of labels or texts."),
        ({"X": X[:5], "y": Y[:5], "texts": ["a"]}, "There are 5 samples. Got another number of labels or texts."),
        ({"accuracies": np.ones(5)}, "Got shape \\(5,\\) for 10 classes and 10 codewords."),
        ({"accuracies": np.full(math.factorial(10), 101.0)}, "must be between 0 and 100 percent"),
    ]:
        with pytest.raises(ValueError, match=message):
            classifier.explore(**arguments)


def test_the_page_says_what_it_shows_with_the_right_article():
    X, y = load_iris(return_X_y=True)
    assert "This is an ECOCClassifier." in ECOCClassifier(random_state=0).fit(X, y).explore().html
