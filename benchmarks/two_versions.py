"""Did a change of the code cost time? Two source trees, the same work, ratios of CPU seconds.

    python benchmarks/two_versions.py OLD NEW    two checkouts of this repository, for example by ``git worktree add``

Both versions do the same work: every setting whose default has changed is given. Each has a process of its own with
one thread, and they take turns, fit by fit and prediction by prediction, so that a busy machine affects both. The first
fit, which compiles the kernels or loads them, does not count. The ratio is the median of those of neighbouring runs;
the seconds are the least. ``--help`` and ``import codekin`` include everything that Python loads for them.
"""

import os
import resource
import subprocess
import sys
from argparse import SUPPRESS, ArgumentParser
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median
from time import process_time

PREDICTIONS_OF_FIT = 2
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
    import numpy as np
    from scipy.sparse import vstack
    from sklearn.feature_extraction.text import TfidfVectorizer

    train = data_module().load_dataset("icd10cm").train
    X = TfidfVectorizer(dtype=np.float32).fit_transform(list(train.texts))
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


def measure(name):
    """Fit once, print the accuracy, and then for each line on the standard input the CPU seconds of what it says."""
    classifier, X, y, X_new = SETS[name]()
    classifier.fit(X, y)
    classifier.predict(X_new)
    print(float((classifier.predict(X) == y).mean()), flush=True)
    actions = {"fit": lambda: classifier.fit(X, y), "predict": lambda: classifier.predict(X_new)}
    for line in sys.stdin:
        print(seconds(actions[line.strip()]), flush=True)


def seconds(action):
    started = process_time()
    action()
    return process_time() - started


def environment_of(tree):
    """One thread, and this source tree."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    return {**os.environ, **threads, "PYTHONPATH": str(Path(tree).resolve() / "src"), "COLUMNS": "100"}


def started(tree, words):
    """The CPU seconds of Python with this source tree."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], env=environment_of(tree), check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Version:
    """A process that fits one set with one source tree, and times what it is asked to."""

    def __init__(self, tree, name):
        command = [sys.executable, __file__, "--measure", name]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, env=environment_of(tree), **pipes)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{' '.join(self.process.args)} failed")
        return float(line)

    def seconds(self, what):
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        return self.answer()


def in_turns(sides, n_rounds):
    """What each of two functions returns, (n_rounds, 2)."""
    found = []
    for number in range(n_rounds):
        order = (0, 1) if number % 2 else (1, 0)
        seconds = {which: sides[which]() for which in order}
        found.append((seconds[0], seconds[1]))
    return found


def main():
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trees", nargs="*", metavar="OLD NEW")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--no-first-use", action="store_true", help="leave out import and --help")
    parser.add_argument("--measure", choices=SETS, help=SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure)
        return 0
    if len(arguments.trees) != 2:
        parser.error("two source trees are needed")
    if lacking := [tree for tree in arguments.trees if not (Path(tree) / "src" / "codekin").is_dir()]:
        parser.error(f"there is no src/codekin in {lacking[0]}")
    ratios = []
    print(f"{'CPU seconds':<26} {'old':>9} {'new':>9} {'ratio':>6}")
    for name, words in () if arguments.no_first_use else FIRST_USE.items():
        sides = [partial(started, tree, words) for tree in arguments.trees]
        ratios.append(shown(name, in_turns(sides, 3 * arguments.rounds)))
    for name in arguments.sets:
        with Version(arguments.trees[0], name) as old, Version(arguments.trees[1], name) as new:
            right = old.answer(), new.answer()
            for what, times in (("fit", 1), ("predict", PREDICTIONS_OF_FIT)):
                sides = [partial(version.seconds, what) for version in (old, new)]
                ratios.append(shown(f"{name}, {what}", in_turns(sides, times * arguments.rounds)))
            if right[0] != right[1]:
                print(f"  {name}: of the training samples {right[0]:.4f} are right, and {right[1]:.4f}")
    is_met = max(ratios) <= BAR
    print(f"at most {BAR}: {'met' if is_met else 'MISSED'}")
    return 0 if is_met else 1


def shown(what, found):
    """Print the least seconds of both, and the median of the ratios of neighbouring runs, which is returned."""
    old, new = (min(seconds) for seconds in zip(*found, strict=True))
    ratio = median(new / old for old, new in found)
    print(f"{what:<26} {old:9.4f} {new:9.4f} {ratio:6.3f}", flush=True)
    return ratio


if __name__ == "__main__":
    raise SystemExit(main())
