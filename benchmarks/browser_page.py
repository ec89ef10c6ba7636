"""Exported pages: their size, and the same five best classes as in Python, in Chromium.

    python benchmarks/browser_page.py [--data DIR] [--browser chromium] [--keep DIR]

The page of a default text model for the 374 classes of icd10cm, whose texts are embedded in codekin, is opened in a
browser without a window and asked for its answers to all test texts; they are compared with the classifier's. Of
clinc150 we have the features without the texts, so that a stand-in is measured: each sample's features as made-up
words, in as many texts and classes. Real words take more space than numbered ones.

Claim: no text has other classes, except in the order of losses that are equal to nine digits; the page of 150 classes
is at most 1 MB.
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

from codekin import TrellisClassifier
from codekin.datasets import TextVectorizer, load_dataset, read_data
from codekin.export import export_page

K, TIE, MOST_BYTES = 5, 1e-9, 1_000_000
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "--virtual-time-budget=100000"]
ASK = """<script>ready.then((model) => {
  const best = TEXTS.map((text) => predict(model, text, 5));
  const note = document.createElement("pre");
  note.id = "seen";
  note.textContent = JSON.stringify(best);
  document.body.append(note);
});</script></body>"""


def answers(page, texts, browser, home):
    asking = Path(home) / "asking.html"
    script = ASK.replace("TEXTS", json.dumps(texts).replace("</", "<\\/"))
    asking.write_text(page.read_text(encoding="utf-8").replace("</body>", script), encoding="utf-8")
    command = [browser, *FLAGS, f"--user-data-dir={home}/profile", asking.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    return json.loads(re.search(r'<pre id="seen">(.*?)</pre>', shown, re.DOTALL)[1].replace("&amp;", "&"))


def compare(name, texts, y, others, browser, home, vectorizer=None):
    fitted = (vectorizer or TextVectorizer()).fit(texts)
    classifier = TrellisClassifier(random_state=0).fit(fitted.transform(texts), y)
    page = export_page(classifier, Path(home) / name, vectorizer=fitted, title=name)
    seen = answers(page, others, browser, home)
    labels, losses = classifier.top_k(fitted.transform(others), K)
    found = np.array([[one["label"] for one in best] for best in seen])
    of_found = np.array([[one["loss"] for one in best] for best in seen])
    rows = (found != labels.astype(str)).any(axis=1)
    gap = float((np.abs(of_found - losses) / np.abs(losses))[rows].max(initial=0.0))
    n_bytes = page.stat().st_size
    print(
        f"{name}: {len(classifier.classes_)} classes, {fitted.n_features:,} features, {n_bytes / 1e6:.2f} MB; ", end=""
    )
    print(f"{rows.sum()} of {len(others):,} texts differ, in losses that differ by {gap:.1g}", flush=True)
    return n_bytes, gap <= TIE


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
            names = ("train", "test")
            train, test = (read_data(folder / f"{name}.svm.gz") for name in names)
            y = train.classes[train.class_index]
            single = TextVectorizer(ngram_range=(1, 1))
            texts = words_of(train), y, words_of(test)
            n_bytes, is_same = compare("clinc150-stand-in", *texts, arguments.browser, home, single)
            is_met = is_met and is_same
            print(f"bar {MOST_BYTES / 1e6:.0f} MB: {'met' if n_bytes <= MOST_BYTES else 'MISSED'}")
    print(f"the same classes: {'met' if is_met else 'MISSED'}")


if __name__ == "__main__":
    main()
