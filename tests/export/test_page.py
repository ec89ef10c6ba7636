"""An exported page in a real browser: the classes of the classifier, and a page that fits a phone."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from tests.pages.test_in_browser import BROWSERS, FLAGS

from codekin import ECOCClassifier, TrellisClassifier
from codekin.datasets import TextVectorizer, load_dataset
from codekin.export import export_page

ASK = """
<script>
window.addEventListener("error", (event) => document.body.dataset.error = event.message);
ready.then((model) => {
  const texts = TEXTS;
  const field = document.getElementById("text");
  field.value = texts[0];
  field.dispatchEvent(new Event("input"));
  const note = document.createElement("pre");
  note.id = "seen";
  note.textContent = JSON.stringify({
    best: texts.map((text) => predict(model, text, 5)),
    shown: [...document.querySelectorAll("#best li > :first-child")].map((name) => name.textContent),
    label: field.labels[0].textContent,
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    error: document.body.dataset.error ?? null,
  });
  document.body.append(note);
});
</script></body>
"""
ODD = ["", "diabetes diabetes diabetes", "ΣΊΣΥΦΟΣ İstanbul naïve café_1", "¼ ½ x² 東京 diabetes-mellitus", "a" * 300]


@pytest.fixture
def asked(tmp_path):
    """A function: what a page answers to texts, in a window of some width."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip("needs Chromium or Chrome")

    def ask(page, texts, width=390):
        watched = tmp_path / "watched.html"
        script = ASK.replace("TEXTS", json.dumps(texts).replace("</", "<\\/"))
        whole = page.read_text(encoding="utf-8")
        watched.write_text(whole.replace("</body>", script), encoding="utf-8")
        flags = [*FLAGS, f"--window-size={width},900", f"--user-data-dir={tmp_path / 'profile'}"]
        command = [browser, *flags, watched.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100)
        seen = json.loads(re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.DOTALL)[1].replace("&amp;", "&"))
        assert seen["error"] is None
        return seen

    return ask


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
def test_a_page_answers_like_the_classifier(settings, vectorizer, asked, tmp_path):
    data = load_dataset("icd10cm")
    fitted = vectorizer.fit(data.train.texts)
    X, y = fitted.transform(data.train.texts[::6]), data.train.y[::6]
    classifier = TrellisClassifier(random_state=0, **settings)
    held_out = (fitted.transform(data.train.texts[1::30]), data.train.y[1::30])
    classifier.fit(X, y, validation=held_out if "prune" in settings else None)
    page = export_page(classifier, tmp_path / "page", vectorizer=fitted)
    texts = [*data.test.texts[::10], *ODD]
    seen = asked(page, texts)
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
    assert seen["overflow"] <= 0


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
