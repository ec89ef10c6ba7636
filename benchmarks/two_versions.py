"""Did a change of the code cost time? Two source trees, the same work, ratios of CPU seconds.

    python benchmarks/two_versions.py OLD NEW    two checkouts of this repository, for example by ``git worktree add``

Both versions do the same work: every setting whose default has changed is given. The runs alternate, each in a separate
process with one thread, so that a busy machine affects both. Fits and predictions are timed after a first fit, which
compiles the kernels or loads them; the best run counts, since disturbances only make a run longer. ``--help`` and
``import codekin`` include everything that Python loads for them.
"""

import json
import os
import resource
import subprocess
import sys
from argparse import ArgumentParser
from importlib import import_module
from pathlib import Path
from time import process_time

N_FITS = 3
N_PREDICTIONS = 5
BAR = 1.03


def dense(name, estimator, n_bits, loss, n_copies=20):
    """Dense samples, and a code whose settings are all given."""
    from codekin import ECOCClassifier

    train = data_module().load_dataset(name).train
    X, y = train.X / abs(train.X).max(axis=0).clip(1e-9), train.y
    settings = {"codebook": "dense_random", "n_bits": n_bits, "assignment": "preserving", "loss": loss}
    X_new = X.repeat(n_copies, axis=0)
    return ECOCClassifier(estimator, random_state=0, **settings), X, y, X_new


def digits():
    from sklearn.svm import LinearSVC

    return dense("digits", LinearSVC(), 10, "hinge")


def yeast():
    from sklearn.tree import DecisionTreeClassifier

    return dense("yeast", DecisionTreeClassifier(random_state=0), 34, "hamming")


def made():
    """A hundred classes in groups, and a very cheap learner."""
    import numpy as np
    from sklearn.naive_bayes import GaussianNB

    from codekin import ECOCClassifier

    rng = np.random.default_rng(0)
    centres = rng.normal(size=(10, 50))[np.arange(100) % 10] + 0.5 * rng.normal(size=(100, 50))
    y = np.arange(4_000) % 100
    X = centres[y] + rng.normal(size=(4_000, 50))
    settings = {"codebook": "dense_random", "n_bits": 66, "assignment": "preserving", "loss": "exponential"}
    return ECOCClassifier(GaussianNB(), random_state=0, **settings), X, y, X


def data_module():
    """The module of data sets, which earlier versions call codekin.datasets."""
    try:
        return import_module("codekin.data")
    except ModuleNotFoundError:
        return import_module("codekin.datasets")


def of_many_classes():
    """The estimator for many classes, which earlier versions call TrellisClassifier."""
    import codekin

    return getattr(codekin, "ExtremeClassifier", None) or codekin.TrellisClassifier


def icd10cm():
    """Texts of 374 classes, and a trellis."""
    from scipy.sparse import vstack
    from sklearn.feature_extraction.text import TfidfVectorizer

    train = data_module().load_dataset("icd10cm").train
    X = TfidfVectorizer(dtype="float32").fit_transform(list(train.texts))
    classifier = of_many_classes()(5, code="trellis", assignment="learnability", rerank=None, random_state=0)
    return classifier, X, train.y, vstack([X] * 10, format="csr")


def topics():
    """Sparse samples of 500 classes, and a wide trellis with one-byte weights and re-ranking."""
    from scipy.sparse import vstack

    topics = data_module().make_sparse_topics(500, 8_000, n_features=3_000, rng=0)
    settings = {"code": "trellis", "rerank": "learned", "precision": "int8", "assignment": "learnability"}
    X = topics.train.X
    return of_many_classes()(10, random_state=0, **settings), X, topics.train.y, vstack([X] * 4, format="csr")


SETS = {one.__name__: one for one in (digits, yeast, made, icd10cm, topics)}
FIRST_USE = {"import codekin": ["-c", "import codekin"], "codekin --help": ["-m", "codekin", "--help"]}


def measured(name):
    """CPU seconds of a fit and of a prediction, the best of a few."""
    classifier, X, y, X_new = SETS[name]()
    classifier.fit(X, y)
    classifier.predict(X_new)
    return {
        "fit": min(seconds(lambda: classifier.fit(X, y)) for _ in range(N_FITS)),
        "predict": min(seconds(lambda: classifier.predict(X_new)) for _ in range(N_PREDICTIONS)),
        "right": float((classifier.predict(X) == y).mean()),
    }


def seconds(action):
    started = process_time()
    action()
    return process_time() - started


def started(tree, words):
    """The output and the CPU seconds of Python with this source tree."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    environment = {**os.environ, **threads, "PYTHONPATH": str(Path(tree).resolve() / "src"), "COLUMNS": "100"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, *words], env=environment, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compared(trees, n_rounds, run):
    """For each of two trees, the best of every number over all rounds except the first."""
    best = [{}, {}]
    for number in range(n_rounds + 1):
        for which in (0, 1) if number % 2 else (1, 0):
            for what, value in run(trees[which]).items():
                if number:
                    best[which][what] = min(best[which].get(what, value), value)
    return best


def main():
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trees", nargs="*", metavar="OLD NEW")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--no-first-use", action="store_true", help="leave out import and --help")
    parser.add_argument("--measure", choices=SETS, help="one set, with the installed codekin")
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measured(arguments.measure)))
        return 0
    if len(arguments.trees) != 2:
        parser.error("two source trees are needed")
    ratios = []
    print(f"{'CPU seconds':<26} {'old':>9} {'new':>9} {'ratio':>6}")
    for name, words in () if arguments.no_first_use else FIRST_USE.items():
        rounds = 5 * arguments.rounds
        old, new = compared(arguments.trees, rounds, lambda tree, words=words: {"": started(tree, words)[1]})
        ratios.append(shown(name, old[""], new[""]))
    for name in arguments.sets:
        words = [__file__, "--measure", name]
        old, new = compared(
            arguments.trees, arguments.rounds, lambda tree, words=words: json.loads(started(tree, words)[0])
        )
        ratios += [shown(f"{name}, {what}", old[what], new[what]) for what in ("fit", "predict")]
        if old["right"] != new["right"]:
            print(f"  {name}: of the training samples {old['right']:.4f} are right, and {new['right']:.4f}")
    is_met = max(ratios) <= BAR
    print(f"at most {BAR}: {'met' if is_met else 'MISSED'}")
    return 0 if is_met else 1


def shown(what, old, new):
    print(f"{what:<26} {old:9.4f} {new:9.4f} {new / old:6.3f}", flush=True)
    return new / old


if __name__ == "__main__":
    raise SystemExit(main())
