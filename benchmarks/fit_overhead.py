"""What fit costs beyond learning the bits: ECOCClassifier against OutputCodeClassifier, in one process.

    python benchmarks/fit_overhead.py
    python benchmarks/fit_overhead.py --alone

Both have the same number of bits and the same learner, Gaussian naive Bayes, which is so cheap that the time for
choosing a codebook and an assignment shows. CPU seconds of the better of two fits, after a first one that compiles or
loads the kernels; accuracy on the same number of new samples, beside that of GaussianNB without a code: the classes
are Gaussian, so it has the right model of them, and its bits, each a Gaussian on either side, have not. --alone
compares learners that model each class, without a code and as the bits of the default: accuracies of three splits,
60 to 40.
"""

from argparse import ArgumentParser
from math import ceil, log2
from time import perf_counter, process_time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OutputCodeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import scale

from codekin import ECOCClassifier
from codekin.data import load_dataset
from codekin.fitting import orders, plan

N_FEATURES = 50
STAGES = {"codebook": (plan, "choose_codebook"), "assignment": (orders, "_found")}


def made_classes(n_classes, n_samples, rng):
    """Classes around centres in groups, so that some classes are more similar than others."""
    n_groups = max(n_classes // 10, 2)
    groups = rng.normal(size=(n_groups, N_FEATURES))
    centres = groups[np.arange(n_classes) % n_groups] + 0.5 * rng.normal(size=(n_classes, N_FEATURES))
    y = np.arange(n_samples) % n_classes
    return centres[y] + rng.normal(size=(n_samples, N_FEATURES)), y


def timed(classifier, X, y, n_fits):
    """CPU and wall seconds of the best fit."""
    seconds = []
    for _ in range(n_fits):
        cpu, wall = process_time(), perf_counter()
        classifier.fit(X, y)
        seconds.append((process_time() - cpu, perf_counter() - wall))
    return min(seconds)


class Clock:
    """CPU seconds of the stages of a fit."""

    def __init__(self):
        self.seconds = dict.fromkeys(STAGES, 0.0)
        for stage, (home, name) in STAGES.items():
            setattr(home, name, self._watched(stage, getattr(home, name)))

    def _watched(self, stage, function):
        def run(*arguments, **options):
            start = process_time()
            try:
                return function(*arguments, **options)
            finally:
                self.seconds[stage] = process_time() - start

        return run


def show_alone():
    """Accuracies of learners that model each class, without a code and with the default."""
    digits, yeast = load_digits(), load_dataset("yeast").train
    sets = {
        "digits": (digits.data / 16, digits.target),
        "yeast": (scale(yeast.X), yeast.y),
        "made, 100 classes": made_classes(100, 4_000, np.random.default_rng(0)),
    }
    for name, (X, y) in sets.items():
        for learner in (GaussianNB(), LinearDiscriminantAnalysis()):
            rows = []
            for seed in range(3):
                X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=seed, stratify=y)
                both = learner, ECOCClassifier(learner, random_state=seed)
                rows.append([100 * one.fit(X_train, y_train).score(X_test, y_test) for one in both])
            alone, coded = np.mean(rows, axis=0)
            print(f"{name:18} {type(learner).__name__:28} alone {alone:5.1f}  coded {coded:5.1f}", flush=True)


def main():
    parser = ArgumentParser()
    parser.add_argument("--classes", type=int, nargs="+", default=[10, 100, 300, 1000])
    parser.add_argument("--fits", type=int, default=2)
    parser.add_argument("--alone", action="store_true")
    arguments = parser.parse_args()
    if arguments.alone:
        show_alone()
        return
    clock = Clock()
    print("  K  bits | OutputCode  ECOC   ratio (wall) | codebook assignment | accuracy: OutputCode  ECOC  no code")
    for n_classes in arguments.classes:
        n_samples = max(20 * n_classes, 2_000)
        n_bits = ceil(10 * log2(n_classes))
        X, y = made_classes(n_classes, 2 * n_samples, np.random.default_rng(0))
        theirs = OutputCodeClassifier(GaussianNB(), code_size=n_bits / n_classes, random_state=0)
        ours = ECOCClassifier(GaussianNB(), n_bits=n_bits, random_state=0)
        alone = GaussianNB()
        for one in (ours, theirs):
            one.fit(X[: 2 * n_classes], y[: 2 * n_classes])
        (their_cpu, their_wall), (our_cpu, our_wall), (alone_cpu, _) = (
            timed(one, X[:n_samples], y[:n_samples], arguments.fits) for one in (theirs, ours, alone)
        )
        accuracies = [100 * one.score(X[n_samples:], y[n_samples:]) for one in (theirs, ours, alone)]
        print(
            f"{n_classes:5} {n_bits:4} | {their_cpu:8.2f} {our_cpu:8.2f} {our_cpu / their_cpu:6.1f} "
            f"({our_wall / their_wall:4.1f}) | "
            + " ".join(f"{seconds:8.2f}" for seconds in clock.seconds.values())
            + " | {:20.1f} {:6.1f} {:6.1f}".format(*accuracies)
            + f" ({alone_cpu:.3f} s)",
            flush=True,
        )


if __name__ == "__main__":
    main()
