"""One prediction at a time: microseconds of `estimator.predict`, of `Predictor` and of its peers, and their ratios.

    python benchmarks/single_prediction.py [--data DIR] [--pecos-python PATH] [--rows 1000] [--rounds 5] [--quick]
        [--processor-time]

The default classifier of text (`codekin train`: a label tree, re-ranked) with the 1,532 classes of
icd10cm_category, from its samples' texts. Each test sample is predicted alone, on one thread: as a sparse row, and from
the raw text. Times are wall-clock times: of every block of 50 samples the fastest of some rounds, in which all take
turns, so that other work on the machine counts as little as possible. Labels are compared in the same run. On a machine
so busy that no block runs undisturbed, `--processor-time` measures codekin's processor time instead; peers keep theirs.

omikuji and PECOS are trained on the same rows and predict them as their own interfaces want them, in processes of their
own (`single_peer.py`). From texts, PECOS uses its own vectorizer; omikuji has none and gets scikit-learn's features.
PECOS needs older packages: `--pecos-python` names the interpreter of an environment with libpecos.

Claim: on an idle machine at most 30 µs for a sparse row and 60 µs from raw text.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from contenders import ONE_THREAD, has_module
from scipy import sparse
from single_peer import PEERS, times_of_blocks

from codekin import ExtremeClassifier, Predictor
from codekin._system.parallel import limited_threads
from codekin.data import TextVectorizer
from codekin.storage import ModelInput, save_model

MOST = {"row": 30.0, "text": 60.0}


def texts_and_labels(folder, split):
    with gzip.open(folder / "samples.tsv.gz", "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    own = [row for row in rows if row[0] == split]
    return [row[3] for row in own], [row[1] for row in own]


def in_turns(rounds, timed):
    """The microseconds per item of each action: of every block of items the fastest round, and their mean."""
    fewest = {name: np.array(times()) for name, times in timed.items()}
    for _ in range(rounds - 1):
        for name, times in timed.items():
            fewest[name] = np.minimum(fewest[name], times())
    return {name: float(times.mean()) for name, times in fewest.items()}


class Peer:
    """A peer in its own process."""

    def __init__(self, name, python, folder):
        command = [python, str(Path(__file__).with_name("single_peer.py")), name, str(folder)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        log = folder / f"{name}.log"
        with log.open("w") as errors:
            self.process = subprocess.Popen(command, env=os.environ | ONE_THREAD, stderr=errors, **pipes)
        # Training may write to the same stream.
        while (line := self.process.stdout.readline()) != "ready\n":
            if not line:
                raise SystemExit(f"{name} failed: {log.read_text(errors='replace')[-2000:]}")

    def times(self, which):
        print(which, file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def peers(pecos_python):
    """The names of the peers that are installed, and their interpreters."""
    pythons = {"omikuji": sys.executable, "pecos": pecos_python or sys.executable}
    own = [name for name in PEERS if has_module(pythons[name], name)]
    return {name: pythons[name] for name in own}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    home = os.environ.get("CODEKIN_DATA", os.environ.get("CODEKIN_SHARED_DATA", "data"))
    parser.add_argument("--data", type=Path, default=Path(home))
    parser.add_argument("--pecos-python", help="the interpreter of an environment that has libpecos")
    parser.add_argument("--rows", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="class means instead of learned vectors: faster training")
    parser.add_argument("--processor-time", action="store_true", help="processor time of codekin, on a busy machine")
    arguments = parser.parse_args()
    clock = time.thread_time if arguments.processor_time else time.perf_counter
    folder = arguments.data / "icd10cm_category"
    if not folder.exists():
        parser.exit(2, f"{folder} is missing: name the folder that holds icd10cm_category with --data\n")
    train_texts, train_labels = texts_and_labels(folder, "train")
    texts = texts_and_labels(folder, "test")[0][: arguments.rows]
    vectorizer = TextVectorizer().fit(train_texts)
    X_train, X = vectorizer.transform(train_texts), vectorizer.transform(texts)
    rows = [X[i : i + 1] for i in range(X.shape[0])]
    with tempfile.TemporaryDirectory() as temporary, limited_threads(1), ExitStack() as stack:
        home = Path(temporary)
        classifier = ExtremeClassifier(rerank="centroid" if arguments.quick else "auto", random_state=0)
        classifier.fit(X_train, train_labels)
        predictor = Predictor.load(save_model(classifier, home / "model", model_input=ModelInput(vectorizer)))
        actions = {
            "estimator.predict, a row": (lambda row: classifier.predict(row)[0], rows),
            "Predictor.predict, a row": (predictor.predict, rows),
            "Predictor.top_k, 5 of a row": (lambda row: predictor.top_k(row, 5)[0][0], rows),
            "Predictor.top_k_proba, 5 of a row": (lambda row: predictor.top_k_proba(row, 5)[0][0], rows),
            "estimator.predict, a text": (lambda text: classifier.predict(vectorizer.transform([text]))[0], texts),
            "Predictor.predict, a text": (predictor.predict, texts),
        }
        timed = {name: lambda action=action: times_of_blocks(*action, clock) for name, action in actions.items()}
        sparse.save_npz(home / "train.npz", sparse.csr_matrix(X_train))
        sparse.save_npz(home / "rows.npz", sparse.csr_matrix(X))
        np.save(home / "classes.npy", np.unique(train_labels, return_inverse=True)[1])
        of_texts = json.dumps({"train_texts": train_texts, "texts": texts})
        (home / "texts.json").write_text(of_texts, encoding="utf-8")
        installed = peers(arguments.pecos_python)
        for name, python in installed.items():
            peer = Peer(name, python, home)
            stack.callback(peer.close)
            for kind in MOST:
                timed[f"{name}, a {kind}"] = lambda peer=peer, kind=kind: peer.times(f"{kind}s")
        fewest = in_turns(arguments.rounds, timed)
    n_classes, width = len(classifier.classes_), classifier.codebook_.graph.width
    print(f"{n_classes:,} classes, {X.shape[1]:,} features, {X.nnz / X.shape[0]:.1f} a row, width {width}")
    for name, spent in fewest.items():
        print(f"{name:36} {spent:8.1f} us")
    for name in PEERS:
        if name not in installed:
            print(f"{name:36} not installed")
    expected = classifier.predict(X).tolist()
    assert [predictor.predict(row) for row in rows] == [predictor.predict(text) for text in texts] == expected
    print(f"all {len(rows):,} labels are the same")
    for kind, most in MOST.items():
        own = fewest[f"Predictor.predict, a {kind}"]
        others = {name: fewest[f"{name}, a {kind}"] / own for name in ("estimator.predict", *installed)}
        ratios = ", ".join(f"1/{ratio:.1f} of {name}'s" for name, ratio in others.items())
        print(f"one {kind}: {own:.1f} us, {ratios}; bar {most:.0f} us: {'met' if own <= most else 'MISSED'}")


if __name__ == "__main__":
    main()
