"""An exported page in a real browser: the classes of the classifier, and a page that fits a phone."""

import json
import unicodedata
from dataclasses import replace

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
  notes: ["", "zzyzx", asked[0]].map((text) => {
    field.value = text;
    field.dispatchEvent(new Event("input"));
    return texts("#note")[0];
  }),
  label: field.labels[0].textContent,
};
"""
ODD = [
    "",
    "zzyzx",
    "diabetes diabetes diabetes",
    "ΣΊΣΥΦΟΣ İstanbul naïve café_1",
    "¼ ½ x² 東京 diabetes-mellitus",
    "a" * 300,
]


TEXTS = ["a cat purrs", "a dog barks", "a cow moos", "the cat", "the dog", "the cow"]
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
    guess = "The model knows none of these words; these are the most frequent classes."
    is_known = fitted.transform(["zzyzx"]).nnz > 0
    assert seen["notes"] == ["Type a text: the most probable classes appear here.", "" if is_known else guess, ""]


EVERY = """
const every = [], lowered = {}, odd = Array.from(TEXTS, (text) => termsOf(text, given.vectorizer));
for (let c = 0; c < 0x110000; c++) {
  if ((c >= 0xd800 && c < 0xe000) || /\\p{Cn}/u.test(String.fromCodePoint(c))) continue;
  const one = String.fromCodePoint(c), lower = one.toLowerCase();
  if (lower !== one) lowered[one] = lower;
  const terms = termsOf(`x${one}x`, given.vectorizer);
  every.push([c, terms.length, terms[0]]);
}
return { every, lowered, odd };
"""


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("analyzer", ["word", "char_wb"])
def test_every_character_means_the_same_in_a_page_as_in_python(analyzer, version, tmp_path):
    # Around a character: two words or one, with it or without it. JavaScript has other white space than Python.
    odd = [f"{c}ab{c}{c}c{c}" for c in "\ufeff\x1c\x1d\x1e\x1f\x85\xa0\u180e\u200b\u2060\u2028\u3000\u1680"]
    texts = [*odd, *TEXTS]
    fitted = replace(TextVectorizer(analyzer=analyzer, ngram_range=(1, 3)).fit(texts), version=version)
    classifier = TrellisClassifier(width=2, rerank=None, random_state=0)
    classifier.fit(fitted.transform(texts), [k % 3 for k in range(len(texts))])
    page = export_page(classifier, tmp_path / "page", vectorizer=fitted).read_text(encoding="utf-8")
    seen = seen_by(EVERY.replace("TEXTS", json.dumps(texts)), page, tmp_path)
    terms_of = fitted.analyzer()
    assert [sorted(terms) for terms in seen["odd"]] == [sorted(terms_of(text)) for text in texts]
    assert len(seen["every"]) > 200_000
    # Unicode grows: what one of the two does not know yet is left out.
    known = [one for one in seen["every"] if unicodedata.category(chr(one[0])) != "Cn"]
    assert len(known) > 200_000
    own = [[c, len(terms := terms_of(f"x{chr(c)}x")), next(iter(terms), None)] for c, _, _ in known]
    assert [chr(mine[0]) for mine, theirs in zip(own, known, strict=True) if mine != theirs] == []
    assert {c: low for c, low in seen["lowered"].items() if c.lower() != low and unicodedata.category(c) != "Cn"} == {}
    answers = seen_by(ASK.replace("5", "3").replace("TEXTS", json.dumps(texts)), page, tmp_path, width=390)["best"]
    labels, losses = classifier.top_k(fitted.transform(texts), 3)
    np.testing.assert_allclose([[one["loss"] for one in best] for best in answers], losses, rtol=1e-6, atol=1e-9)
    assert [[one["label"] for one in best] for best in answers] == labels.astype(str).tolist()


def test_what_a_page_cannot_hold_is_refused_with_a_sentence(tmp_path):
    labels, fitted = list("abcabc"), TextVectorizer().fit(TEXTS)
    X = fitted.transform(TEXTS)
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
