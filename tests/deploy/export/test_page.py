"""An exported page in a real browser: the classes of the classifier, and a page that fits a phone."""

import json
import re
import unicodedata
from itertools import chain

import numpy as np
import pytest
from tests.browser import seen_by
from tests.reference.text import names_of, terms_of

from codekin import ECOCClassifier, ExtremeClassifier
from codekin.data import FittedVectorizer, TextVectorizer, load_dataset
from codekin.data.recipes import Block
from codekin.decoding import LOSSES
from codekin.deploy.export import export_page
from codekin.deploy.export.page import SCRIPTS, WRITERS
from codekin.pages.html import asset

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
SMALL = TextVectorizer("words", word_ngrams=(1, 1))


@pytest.mark.parametrize(
    ("settings", "vectorizer"),
    [
        ({"code": "tree", "rerank": "centroid"}, TextVectorizer("words+trigrams")),
        ({"code": "tree", "rerank": None, "width": 3, "precision": "int8", "assignment": "random"}, SMALL),
        ({"code": "tree", "rerank": "centroid", "width": 4, "n_codes": 2, "assignment": "random"}, SMALL),
        ({"code": "trellis", "rerank": "centroid", "candidates": "code"}, TextVectorizer("words+prefixes")),
        ({"code": "trellis", "rerank": "centroid", "width": 5, "prune": 0.01, "precision": "int8"}, SMALL),
        (
            {"code": "trellis", "rerank": None, "width": 3, "assignment": "random"},
            TextVectorizer("characters", max_features=3000),
        ),
        (
            {"code": "trellis", "rerank": None, "n_reserved": 5, "width": 2, "assignment": "random"},
            TextVectorizer("words+prefixes", hashing=True, n_features=2**12),
        ),
    ],
    ids=["a tree", "a deep tree", "two trees", "re-ranked", "pruned", "characters", "hashing"],
)
def test_a_page_answers_like_the_classifier(settings, vectorizer, tmp_path):
    data = load_dataset("icd10cm")
    fitted = vectorizer.fit(data.train.texts)
    X, y = fitted.transform(data.train.texts[::6]), data.train.y[::6]
    classifier = ExtremeClassifier(random_state=0, **settings)
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


@pytest.mark.parametrize(
    ("version", "blocks"),
    [(version, [Block("words", (1, 3))]) for version in (1, 2, 3)]
    + [(3, [Block("characters", (1, 3))]), (3, [Block("words", (1, 1)), Block("prefixes", (1, 2))])],
    ids=["words 1", "words 2", "words 3", "characters", "prefixes"],
)
def test_every_character_means_the_same_in_a_page_as_in_python(blocks, version, tmp_path):
    # Around a character: two words or one, with it or without it. JavaScript has other white space than Python.
    odd = [f"{c}ab{c}{c}c{c}" for c in "\ufeff\x1c\x1d\x1e\x1f\x85\xa0\u180e\u200b\u2060\u2028\u3000\u1680"]
    signs = [
        "C++, c# and C",
        "c++11 F#x",
        "3.0 is not 3 0",
        "E11.9. v2.1.x",
        "a.b ..5 #1 ++",
        "\u0663.\u0661 x\u00b2.\u00b2",
    ]
    texts = [*odd, *signs, *TEXTS]
    terms = [sorted({term for text in texts for term in terms_of(text, b.kind, b.ngrams, version)}) for b in blocks]
    n_terms = tuple(map(len, terms))
    fitted = FittedVectorizer(
        "own", tuple(blocks), tuple(chain(*terms)), n_terms, np.ones(sum(n_terms)), version=version
    )
    classifier = ExtremeClassifier(width=2, rerank=None, random_state=0)
    classifier.fit(fitted.transform(texts), [k % 3 for k in range(len(texts))])
    page = export_page(classifier, tmp_path / "page", vectorizer=fitted).read_text(encoding="utf-8")
    seen = seen_by(EVERY.replace("TEXTS", json.dumps(texts)), page, tmp_path)
    assert [sorted(terms) for terms in seen["odd"]] == [sorted(names_of(text, blocks, version)) for text in texts]
    assert len(seen["every"]) > 200_000
    # Unicode grows: what one of the two does not know yet is left out.
    known = [one for one in seen["every"] if unicodedata.category(chr(one[0])) != "Cn"]
    assert len(known) > 200_000
    own = [[c, len(terms := names_of(f"x{chr(c)}x", blocks, version)), next(iter(terms), None)] for c, _, _ in known]
    assert [chr(mine[0]) for mine, theirs in zip(own, known, strict=True) if mine != theirs] == []
    assert {c: low for c, low in seen["lowered"].items() if c.lower() != low and unicodedata.category(c) != "Cn"} == {}
    answers = seen_by(ASK.replace("5", "3").replace("TEXTS", json.dumps(texts)), page, tmp_path, width=390)["best"]
    labels, losses = classifier.top_k(fitted.transform(texts), 3)
    np.testing.assert_allclose([[one["loss"] for one in best] for best in answers], losses, rtol=1e-6, atol=1e-9)
    assert [[one["label"] for one in best] for best in answers] == labels.astype(str).tolist()


def test_the_script_knows_every_loss_and_every_kind_that_pages_hold():
    engine, codes = (asset("codekin.deploy.export", name) for name in SCRIPTS)
    assert re.findall(r"^  (\w+): \[\(z\)", engine, re.MULTILINE) == list(LOSSES)
    held = [kind for kind, writer in WRITERS.items() if not isinstance(writer, str)]
    assert re.findall(r"^  (\w+): \{ prepare", codes, re.MULTILINE) == held


def hinge(z):
    """Another loss than the built-in one of this name."""
    return np.maximum(0, 2 - z)


def test_what_a_page_cannot_hold_is_refused_with_a_sentence(tmp_path):
    labels, fitted = list("abcabc"), TextVectorizer().fit(TEXTS)
    X = fitted.transform(TEXTS)
    pair = ExtremeClassifier(code="trellis", width=2, n_codes=2, rerank=None, random_state=0).fit(X, labels)
    with pytest.raises(ValueError, match="A page holds a single trellis or trees. Got 2 trellises."):
        export_page(pair, tmp_path / "page", vectorizer=fitted)
    with pytest.raises(ValueError, match="A page holds an ExtremeClassifier. Got one of type ECOCClassifier."):
        export_page(ECOCClassifier("arow", n_bits=3).fit(X, labels), tmp_path / "page", vectorizer=fitted)
    given = ExtremeClassifier(code="trellis", width=2, rerank=None, loss=hinge, random_state=0).fit(X, labels)
    with pytest.raises(ValueError, match="A loss given as a function cannot be exported. Got hinge."):
        export_page(given, tmp_path / "page", vectorizer=fitted)
    indexed = ExtremeClassifier(width=2, rerank="centroid", candidates="index", random_state=0).fit(X, labels)
    with pytest.raises(ValueError, match="candidates of an index; train with candidates='code'"):
        export_page(indexed, tmp_path / "page", vectorizer=fitted)
    single = ExtremeClassifier(width=2, rerank=None, random_state=0).fit(X, labels)
    with pytest.raises(ValueError, match="features needs a vectorizer with as many. Got one with 2."):
        export_page(
            single, tmp_path / "page", vectorizer=TextVectorizer("words", word_ngrams=(1, 1)).fit(["two words"])
        )
    assert not (tmp_path / "page").exists()
