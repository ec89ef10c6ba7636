"""Exported pages: their size, and the same five best classes as in Python, in Chromium.

    python benchmarks/browser_page.py [--data DIR] [--browser chromium] [--keep DIR]

The page of a default text model for the 374 classes of icd10cm, whose texts are embedded in codekin, is opened in a
browser without a window and asked for its answers to all test texts; they are compared with the classifier's. So are
those of texts typed on its explorer page, every tenth of them. Of clinc150 we have the features without the texts, so
that two pages are measured: a stand-in with each sample's features as made-up words, in as many texts and classes,
whose answers can be compared; and the model of the true features with a vocabulary of as many true words, the most
frequent ones of icd10cm, whose size is that of the real page but for the words.

Claim: no text has other classes, except in the order of losses that are equal to nine digits; the pages of 150 classes
are at most 1 MB.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from codekin import ExtremeClassifier
from codekin.data import TextVectorizer, load_dataset
from codekin.deploy.export import export_page

K, TIE, MOST_BYTES = 5, 1e-9, 1_000_000
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "--virtual-time-budget=100000"]
EXPORTED = "(text) => predict(given, text, 5)"
EXPLORED = """(text) => {
  const field = document.getElementById("text");
  field.value = text;
  field.dispatchEvent(new Event("input"));
  return state.sample.best.slice(0, 5).map(({ class: c, loss }) => ({ label: page.labels[c], loss }));
}"""
ASK = """<script nonce="benchmark">ready.then((given) => {
  const best = TEXTS.map(ANSWER);
  const note = document.createElement("pre");
  note.id = "seen";
  note.textContent = JSON.stringify(best);
  document.body.append(note);
});</script></body>"""


def answers(page, texts, browser, home, answer=EXPORTED):
    asking = Path(home) / "asking.html"
    script = ASK.replace("ANSWER", answer).replace("TEXTS", json.dumps(texts).replace("</", "<\\/"))
    # The page's own policy runs no other script than its own, unless this one is let in.
    asked = page.read_text(encoding="utf-8").replace("; script-src ", "; script-src 'nonce-benchmark' ", 1)
    asking.write_text(asked.replace("</body>", script), encoding="utf-8")
    command = [browser, *FLAGS, f"--user-data-dir={home}/profile", asking.as_uri()]
    shown = subprocess.run(command, capture_output=True, encoding="utf-8", check=True, timeout=300).stdout
    return json.loads(re.search(r'<pre id="seen">(.*?)</pre>', shown, re.DOTALL)[1].replace("&amp;", "&"))


def compare(name, texts, y, others, browser, home, vectorizer=None):
    fitted = (vectorizer or TextVectorizer()).fit(texts)
    classifier = ExtremeClassifier(random_state=0).fit(fitted.transform(texts), y)
    page = export_page(classifier, Path(home) / name, vectorizer=fitted, title=name)
    explored = classifier.explore(vectorizer=fitted).save(Path(home) / name / "explorer.html")
    is_same = True
    for what, path, asked, answer in [
        ("exported", page, others, EXPORTED),
        ("explored", explored, [text for text in others[::10] if text], EXPLORED),
    ]:
        seen = answers(path, asked, browser, home, answer)
        labels, losses = classifier.top_k(fitted.transform(asked), K)
        found = np.array([[one["label"] for one in best] for best in seen])
        of_found = np.array([[one["loss"] for one in best] for best in seen])
        rows = (found != [[shown(label, what) for label in row] for row in labels]).any(axis=1)
        gap = float((np.abs(of_found - losses) / np.abs(losses))[rows].max(initial=0.0))
        print(f"{name}, {what}: {said_of(classifier, path)}; ", end="")
        print(f"{rows.sum()} of {len(asked):,} texts differ, in losses that differ by {gap:.1g}", flush=True)
        is_same &= gap <= TIE
    return page.stat().st_size, is_same


def said_of(classifier, page):
    sizes = f"{len(classifier.classes_)} classes, {classifier.n_features_in_:,} features"
    return f"{sizes}, {page.stat().st_size / 1e6:.2f} MB"


def shown(label, what):
    """Explorer pages cut long labels."""
    text = str(label)
    return text if what == "exported" or len(text) <= 80 else f"{text[:79]}…"


def page_of_features(data, words, home):
    """The page of a model whose texts we don't have, with other words."""
    fitted = TextVectorizer("words", max_features=data.train.X.shape[1]).fit(words)
    labels = np.array(data.class_names)[data.train.y]
    classifier = ExtremeClassifier(random_state=0).fit(data.train.X, labels)
    page = export_page(classifier, Path(home) / data.name, vectorizer=fitted, title=data.name)
    correct = (classifier.predict(data.test.X) == np.array(data.class_names)[data.test.y]).mean()
    print(f"{data.name}: {said_of(classifier, page)}, {100 * correct:.1f} % right", flush=True)
    return page.stat().st_size


def words_of(data):
    """Texts with a made-up word for every feature of a sample."""
    rows = np.split(data.X.indices, data.X.indptr[1:-1])
    return [" ".join(f"word{feature}" for feature in row.tolist()) for row in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    home = os.environ.get("CODEKIN_DATA", os.environ.get("CODEKIN_SHARED_DATA", "data"))
    parser.add_argument("--data", type=Path, default=Path(home))
    parser.add_argument("--browser", default="chromium")
    parser.add_argument("--keep", type=Path, help="where to leave the pages")
    arguments = parser.parse_args()
    if shutil.which(arguments.browser) is None:
        parser.exit(2, f"{arguments.browser} is missing: name a Chromium or Chrome with --browser\n")
    with tempfile.TemporaryDirectory() as temporary:
        home = temporary if arguments.keep is None else str(arguments.keep)
        icd = load_dataset("icd10cm")
        titles = np.array(icd.class_titles)
        _, is_met = compare("icd10cm", icd.train.texts, titles[icd.train.y], icd.test.texts, arguments.browser, home)
        folder = arguments.data / "clinc150"
        if not folder.exists():
            print(f"clinc150 is not measured: it is not in {arguments.data}")
        else:
            data = load_dataset("clinc150", arguments.data)
            texts = words_of(data.train), data.train.y, words_of(data.test)
            single = TextVectorizer("words", word_ngrams=(1, 1))
            n_bytes, is_same = compare("clinc150-stand-in", *texts, arguments.browser, home, single)
            is_met = is_met and is_same
            n_bytes = max(n_bytes, page_of_features(data, icd.train.texts, home))
            print(f"bar {MOST_BYTES / 1e6:.0f} MB: {'met' if n_bytes <= MOST_BYTES else 'MISSED'}")
    print(f"the same classes: {'met' if is_met else 'MISSED'}")


if __name__ == "__main__":
    main()
