"""What fit costs beyond learning the bits: ECOCClassifier against OutputCodeClassifier, in one process.

    python benchmarks/fit_overhead.py

Both have the same number of bits and the same learner, Gaussian naive Bayes, which is so cheap that the time for
choosing a codebook and an assignment shows. CPU seconds of the better of two fits, after a first one that compiles or
loads the kernels; accuracy on the same number of new samples.
"""

from argparse import ArgumentParser
from math import ceil, log2
from time import perf_counter, process_time

import numpy as np
from sklearn.multiclass import OutputCodeClassifier
from sklearn.naive_bayes import GaussianNB

from codekin import ECOCClassifier
from codekin.fitting import fit, order_choice

N_FEATURES = 50
STAGES = {"codebook": (fit, "choose_codebook"), "assignment": (order_choice, "choose_assignment")}


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


def main():
    parser = ArgumentParser()
    parser.add_argument("--classes", type=int, nargs="+", default=[10, 100, 300, 1000])
    parser.add_argument("--fits", type=int, default=2)
    arguments = parser.parse_args()
    clock = Clock()
    print("  K  bits | OutputCode  ECOC   ratio (wall) | codebook assignment | accuracy: OutputCode  ECOC")
    for n_classes in arguments.classes:
        n_samples = max(20 * n_classes, 2_000)
        n_bits = ceil(10 * log2(n_classes))
        X, y = made_classes(n_classes, 2 * n_samples, np.random.default_rng(0))
        theirs = OutputCodeClassifier(GaussianNB(), code_size=n_bits / n_classes, random_state=0)
        ours = ECOCClassifier(GaussianNB(), n_bits=n_bits, random_state=0)
        for one in (ours, theirs):
            one.fit(X[: 2 * n_classes], y[: 2 * n_classes])
        (their_cpu, their_wall), (our_cpu, our_wall) = (
            timed(one, X[:n_samples], y[:n_samples], arguments.fits) for one in (theirs, ours)
        )
        their_accuracy, our_accuracy = (100 * one.score(X[n_samples:], y[n_samples:]) for one in (theirs, ours))
        print(
            f"{n_classes:5} {n_bits:4} | {their_cpu:8.2f} {our_cpu:8.2f} {our_cpu / their_cpu:6.1f} "
            f"({our_wall / their_wall:4.1f}) | "
            + " ".join(f"{seconds:8.2f}" for seconds in clock.seconds.values())
            + f" | {their_accuracy:20.1f} {our_accuracy:6.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
