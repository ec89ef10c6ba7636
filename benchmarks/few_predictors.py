"""Half as many linear predictors as classes, against one-vs-rest and the best of a thousand random codes.

    python benchmarks/few_predictors.py [--sets digits penbased ...] [--n-codes 1000] [--keel FOLDER]

For each set: the accuracies of one-vs-rest (``LinearSVC``) and of ``ECOCClassifier`` with ceil(K / 2) preserving bits
and with as many separating ones, both with a learned decoder. The last two columns cheat: among ``--n-codes`` random
codes of the same length, they take the one that is best **on the test samples** under a quadratic discriminant of its
margins; and, of the fifteen best codes, the one that is best under a kernel machine. They show how much a better choice
of columns or a richer decoder could gain. Sets and their splits are those of ``benchmarks/predictors.py``; one seed.
The columns come from a pool of 150 splits, each learned once.
"""

import argparse
import warnings

import numpy as np
from predictors import SETS
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from codekin import ECOCClassifier

POOL = 150
N_BEST = 15


def margins_of_splits(splits, X_train, y_train, X_test):
    """The margins of a linear SVM for each split of the classes."""
    learned = [LinearSVC().fit(X_train, split[y_train]) for split in splits]
    return (np.column_stack([bit.decision_function(X) for bit in learned]) for X in (X_train, X_test))


def best_by_cheating(X_train, y_train, X_test, y_test, n_bits, n_codes):
    """The best test accuracies of random codes, under a quadratic discriminant and under a kernel machine."""
    rng, n_classes = np.random.default_rng(0), y_train.max() + 1
    splits = rng.choice([-1, 1], (3 * POOL, n_classes))
    splits = splits[np.abs(splits.sum(axis=1)) <= n_classes - 4][:POOL]
    of_train, of_test = margins_of_splits(splits, X_train, y_train, X_test)
    found = []
    while len(found) < n_codes:
        columns = rng.choice(len(splits), n_bits, replace=False)
        if len(np.unique(splits[columns], axis=1).T) == n_classes:
            decoder = QuadraticDiscriminantAnalysis(reg_param=0.01).fit(of_train[:, columns], y_train)
            found.append((decoder.score(of_test[:, columns], y_test), columns.tolist()))
    found.sort(reverse=True)
    kernel_machines = [
        make_pipeline(StandardScaler(), SVC(C=3)).fit(of_train[:, c], y_train).score(of_test[:, c], y_test)
        for _, c in found[:N_BEST]
    ]
    return found[0][0], max(kernel_machines)


def main():
    """Print the table."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=["digits"])
    parser.add_argument("--n-codes", type=int, default=1000)
    parser.add_argument("--data-home", default=None)
    parser.add_argument("--keel", default=None)
    arguments = parser.parse_args()
    names = ["one-vs-rest", "preserving", "separating", "best, quadratic", "best, kernel"]
    print(f"{'set':<16} {'bits':>4} " + " ".join(f"{name:>15}" for name in names))
    for name in arguments.sets:
        X, y = SETS[name](arguments.data_home, arguments.keel)
        n_bits = -(-len(np.unique(y)) // 2)
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)
        accuracies = [LinearSVC().fit(X_train, y_train).score(X_test, y_test)]
        for codebook in ("dense_random", "separating"):
            few = ECOCClassifier(LinearSVC(), codebook=codebook, n_bits=n_bits, decoding="learned", random_state=0)
            accuracies.append(few.fit(X_train, y_train).score(X_test, y_test))
        accuracies += best_by_cheating(X_train, y_train, X_test, y_test, n_bits, arguments.n_codes)
        print(f"{name:<16} {n_bits:>4} " + " ".join(f"{100 * a:>15.1f}" for a in accuracies), flush=True)


if __name__ == "__main__":
    main()
