"""A peer of `single_prediction.py` in a process of its own: trains, then times its single predictions when asked.

    python benchmarks/single_peer.py NAME FOLDER

Reads what to time from the standard input, a line ``rows`` or ``texts``, and answers with the microseconds per sample
of each block, as JSON. The folder holds the samples. codekin is imported only for omikuji, which has no vectorizer;
PECOS has its own, and needs an environment with older packages.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from contenders import Omikuji, Pecos
from scipy import sparse

BLOCK = 50


def times_of_blocks(action, items, clock=time.perf_counter):
    """The microseconds per item of each block."""
    times = []
    for start in range(0, len(items), BLOCK):
        block = items[start : start + BLOCK]
        begin = clock()
        for item in block:
            action(item)
        times.append(1e6 * (clock() - begin) / len(block))
    return times


def learned(kind, X, y, folder):
    """A trained contender."""
    folder.mkdir()
    contender = kind(SimpleNamespace(X=sparse.csr_matrix(X), y=y, n_classes=int(y.max()) + 1), folder, 0)
    contender.fit()
    contender.load()
    return contender


def omikuji_actions(data, folder):
    """A row is a list of pairs. From a text, the features come from scikit-learn, which our vectorizer wraps."""
    from codekin.data import TextVectorizer

    contender = learned(Omikuji, data.X, data.y, folder / "omikuji")
    model, vectorizer = contender.model, TextVectorizer().fit(data.train_texts)

    def from_text(text):
        X = vectorizer.transform([text])
        return model.predict(list(zip(X.indices.tolist(), X.data.tolist(), strict=True)), top_k=1)

    return {
        "rows": (lambda row: model.predict(row, top_k=1), contender.form(sparse.csr_matrix(data.rows))),
        "texts": (from_text, data.texts),
    }


def pecos_actions(data, folder):
    """A row is a matrix of one row. From a text, the features come from PECOS's own vectorizer."""
    from pecos.utils.featurization.text.vectorizers import Tfidf

    settings = {"ngram_range": (1, 2), "sublinear_tf": True, "norm": "l2", "analyzer": "word", "threads": 1}
    vectorizer = Tfidf.train(data.train_texts, settings)
    of_rows = learned(Pecos, data.X, data.y, folder / "pecos").model
    X = vectorizer.predict(data.train_texts, threads=1)
    of_texts = learned(Pecos, X, data.y, folder / "pecos-texts").model
    options = {"only_topk": 1, "beam_size": 10, "threads": 1}
    rows = [sparse.csr_matrix(data.rows[i : i + 1]) for i in range(data.rows.shape[0])]
    return {
        "rows": (lambda row: of_rows.predict(row, **options), rows),
        "texts": (lambda text: of_texts.predict(vectorizer.predict([text], threads=1), **options), data.texts),
    }


PEERS = {"omikuji": omikuji_actions, "pecos": pecos_actions}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=PEERS, metavar="NAME")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    name, folder = given.name, given.folder
    data = SimpleNamespace(
        X=sparse.load_npz(folder / "train.npz"),
        y=np.load(folder / "classes.npy"),
        rows=sparse.load_npz(folder / "rows.npz"),
        **json.loads((folder / "texts.json").read_text(encoding="utf-8")),
    )
    actions = PEERS[name](data, folder)
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(times_of_blocks(*actions[line.strip()])), flush=True)


if __name__ == "__main__":
    main()
