"""One prediction at a time: microseconds of `estimator.predict` and of `Predictor`, and their ratio.

    python benchmarks/single_prediction.py [--data DIR] [--rows 1000] [--rounds 5] [--quick]

The default classifier of text (`codekin train`: a trellis of width 10, re-ranked) with the 1,532 classes of
icd10cm_category, from its samples' texts. Each test sample is predicted alone, on one thread: as a sparse row, and from
the raw text. Times are wall-clock times: of every block of 50 samples the fastest of some rounds, in which all take
turns, so that other work on the machine counts as little as possible. Labels are compared in the same run. omikuji and
PECOS are measured as well where they can be imported.

Claim: on an idle machine at most 30 µs for a sparse row and 60 µs from raw text.
"""

import argparse
import gzip
import importlib.util
import os
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from contenders import Omikuji, Pecos
from scipy import sparse

from codekin import Predictor, TrellisClassifier
from codekin._system.threads import limited_threads
from codekin.datasets import TextVectorizer
from codekin.storage import ModelInput, save_model

MOST_OF_ROW, MOST_OF_TEXT = 30.0, 60.0
BLOCK = 50


def texts_and_labels(folder, split):
    with gzip.open(folder / "samples.tsv.gz", "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    own = [row for row in rows if row[0] == split]
    return [row[3] for row in own], [row[1] for row in own]


def in_turns(rounds, actions, items):
    """The microseconds per item of each action: of every block of items the fastest round, and their mean."""
    n_blocks = -(-len(items["rows"]) // BLOCK)
    fewest = {name: [np.inf] * n_blocks for name in actions}
    for _ in range(rounds):
        for name, (action, which) in actions.items():
            for block in range(n_blocks):
                own = items[which][block * BLOCK : (block + 1) * BLOCK]
                begin = time.perf_counter()
                for item in own:
                    action(item)
                spent = 1e6 * (time.perf_counter() - begin) / len(own)
                fewest[name][block] = min(spent, fewest[name][block])
    return {name: float(np.mean(times)) for name, times in fewest.items()}


def peers(X, y, home):
    """How the peers that can be imported predict one row, by name; they are trained here."""
    actions = {}
    classes = np.unique(y, return_inverse=True)[1]
    data = SimpleNamespace(X=sparse.csr_matrix(X), y=classes, n_classes=int(classes.max()) + 1)
    for kind in (Omikuji, Pecos):
        folder = Path(home) / kind.module
        folder.mkdir()
        if importlib.util.find_spec(kind.module) is not None:
            contender = kind(data, folder, 0)
            contender.fit()
            contender.load()
            actions[kind.module] = contender
    return actions


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    home = os.environ.get("CODEKIN_DATA", os.environ.get("CODEKIN_SHARED_DATA", "data"))
    parser.add_argument("--data", type=Path, default=Path(home))
    parser.add_argument("--rows", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="class means instead of learned vectors: faster training")
    arguments = parser.parse_args()
    folder = arguments.data / "icd10cm_category"
    if not folder.exists():
        parser.exit(2, f"{folder} is missing: name the folder that holds icd10cm_category with --data\n")
    train_texts, train_labels = texts_and_labels(folder, "train")
    texts = texts_and_labels(folder, "test")[0][: arguments.rows]
    vectorizer = TextVectorizer().fit(train_texts)
    X_train, X = vectorizer.transform(train_texts), vectorizer.transform(texts)
    rows = [X[i : i + 1] for i in range(X.shape[0])]
    with tempfile.TemporaryDirectory() as temporary, limited_threads(1):
        classifier = TrellisClassifier(rerank="centroid" if arguments.quick else "auto", random_state=0)
        classifier.fit(X_train, train_labels)
        saved = save_model(classifier, Path(temporary) / "model", model_input=ModelInput(vectorizer))
        predictor = Predictor.load(saved)
        actions = {
            "estimator.predict, a row": (lambda row: classifier.predict(row)[0], "rows"),
            "Predictor.predict, a row": (predictor.predict, "rows"),
            "Predictor.top_k, 5 of a row": (lambda row: predictor.top_k(row, 5)[0][0], "rows"),
            "Predictor.top_k_proba, 5 of a row": (lambda row: predictor.top_k_proba(row, 5)[0][0], "rows"),
            "estimator.predict, a text": (lambda text: classifier.predict(vectorizer.transform([text]))[0], "texts"),
            "Predictor.predict, a text": (predictor.predict, "texts"),
        }
        items = {"rows": rows, "texts": texts}
        for name, contender in peers(X_train, train_labels, temporary).items():
            items[name] = [contender.form(sparse.csr_matrix(row)) for row in rows]
            actions[f"{name}, a row"] = (contender.predict, name)
        fewest = in_turns(arguments.rounds, actions, items)
    n_classes, width = len(classifier.classes_), classifier.codebook_.graph.width
    print(f"{n_classes:,} classes, {X.shape[1]:,} features, {X.nnz / X.shape[0]:.1f} a row, width {width}")
    for name, spent in fewest.items():
        print(f"{name:36} {spent:8.1f} us")
    for kind in (Omikuji, Pecos):
        if f"{kind.module}, a row" not in fewest:
            print(f"{kind.module + ', a row':36} not installed")
    expected = classifier.predict(X).tolist()
    assert [predictor.predict(row) for row in rows] == [predictor.predict(text) for text in texts] == expected
    print(f"all {len(rows):,} labels are the same")
    for kind, most in (("row", MOST_OF_ROW), ("text", MOST_OF_TEXT)):
        own, of_estimator = fewest[f"Predictor.predict, a {kind}"], fewest[f"estimator.predict, a {kind}"]
        verdict = "met" if own <= most else "MISSED"
        print(f"one {kind}: {own:.1f} us, 1/{of_estimator / own:.1f} of the estimator's; bar {most:.0f} us: {verdict}")


if __name__ == "__main__":
    main()
