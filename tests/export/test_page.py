"""An exported page in a real browser: the classes of the classifier, and a page that fits a phone."""

import json

import numpy as np
import pytest
from tests.browser import seen_by

from codekin import ECOCClassifier, TrellisClassifier
from codekin.datasets import TextVectorizer, load_dataset
from codekin.export import export_page

ASK = """
const field = document.getElementById("text"), asked = TEXTS;
field.value = asked[0];
field.dispatchEvent(new Event("input"));
return {
  best: asked.map((text) => predict(given, text, 5)),
  shown: texts("#best li > :first-child"),
  label: field.labels[0].textContent,
};
"""
ODD = ["", "diabetes diabetes diabetes", "ΣΊΣΥΦΟΣ İstanbul naïve café_1", "¼ ½ x² 東京 diabetes-mellitus", "a" * 300]


SMALL = TextVectorizer(ngram_range=(1, 1))


@pytest.mark.parametrize(
    ("settings", "vectorizer"),
    [
        ({"code": "tree", "rerank": "centroid"}, TextVectorizer()),
        ({"code": "tree", "rerank": None, "width": 3, "precision": "int8", "assignment": "random"}, SMALL),
        ({"code": "tree", "rerank": "centroid", "width": 4, "n_members": 2, "assignment": "random"}, SMALL),
        ({"code": "trellis", "rerank": "centroid", "candidates": "code"}, TextVectorizer()),
        ({"code": "trellis", "rerank": "centroid", "width": 5, "prune": 0.01, "precision": "int8"}, SMALL),
        (
            {"code": "trellis", "rerank": None, "width": 3, "assignment": "random"},
            TextVectorizer(analyzer="char_wb", ngram_range=(2, 3), max_features=3000),
        ),
        (
            {"code": "trellis", "rerank": None, "n_spare": 5, "width": 2, "assignment": "random"},
            TextVectorizer("hashing", n_features=2**12, ngram_range=(1, 1)),
        ),
    ],
    ids=["a tree", "a deep tree", "two trees", "re-ranked", "pruned", "characters", "hashing"],
)
def test_a_page_answers_like_the_classifier(settings, vectorizer, tmp_path):
    data = load_dataset("icd10cm")
    fitted = vectorizer.fit(data.train.texts)
    X, y = fitted.transform(data.train.texts[::6]), data.train.y[::6]
    classifier = TrellisClassifier(random_state=0, **settings)
    held_out = (fitted.transform(data.train.texts[1::30]), data.train.y[1::30])
    classifier.fit(X, y, validation=held_out if "prune" in settings else None)
    page = export_page(classifier, tmp_path / "page", vectorizer=fitted)
    texts = [*data.test.texts[::10], *ODD]
    script = ASK.replace("TEXTS", json.dumps(texts))
    seen = seen_by(script, page.read_text(encoding="utf-8"), tmp_path, width=390)
    labels, losses = classifier.top_k(fitted.transform(texts), 5)
    every = classifier.predict_proba(fitted.transform(texts))
    probabilities = np.take_along_axis(every, np.searchsorted(classifier.classes_, labels), axis=1)
    n_same = 0
    for i, best in enumerate(seen["best"]):
        assert [one["loss"] for one in best] == pytest.approx(losses[i].tolist(), rel=1e-6, abs=1e-9)
        assert [one["probability"] for one in best] == pytest.approx(probabilities[i].tolist(), rel=1e-3, abs=1e-9)
        n_same += [one["label"] for one in best] == [str(label) for label in labels[i].tolist()]
    assert n_same >= 0.99 * len(texts)  # equal losses may come in another order
    assert seen["shown"] == [one["label"] for one in seen["best"][0]]
    assert seen["label"] == "Text to classify"


def test_what_a_page_cannot_hold_is_refused_with_a_sentence(tmp_path):
    texts, labels = ["a cat purrs", "a dog barks", "a cow moos", "the cat", "the dog", "the cow"], list("abcabc")
    fitted = TextVectorizer().fit(texts)
    X = fitted.transform(texts)
    pair = TrellisClassifier(code="trellis", width=2, n_members=2, rerank=None, random_state=0).fit(X, labels)
    with pytest.raises(ValueError, match="A page holds a single trellis or trees. Got 2 trellises."):
        export_page(pair, tmp_path / "page", vectorizer=fitted)
    with pytest.raises(ValueError, match="A page holds a TrellisClassifier. Got one of type ECOCClassifier."):
        export_page(ECOCClassifier("arow", n_bits=3).fit(X, labels), tmp_path / "page", vectorizer=fitted)
    indexed = TrellisClassifier(width=2, rerank="centroid", candidates="index", random_state=0).fit(X, labels)
    with pytest.raises(ValueError, match="candidates of an index; train with candidates='code'"):
        export_page(indexed, tmp_path / "page", vectorizer=fitted)
    single = TrellisClassifier(width=2, rerank=None, random_state=0).fit(X, labels)
    with pytest.raises(ValueError, match="features needs a vectorizer with as many. Got one with 2."):
        export_page(single, tmp_path / "page", vectorizer=TextVectorizer(ngram_range=(1, 1)).fit(["two words"]))
    assert not (tmp_path / "page").exists()
