"""SVMs of many splits at once: objectives within 0.1 % of LIBLINEAR's, or below, in a fraction of its time.

python benchmarks/split_svm.py               on 10,000 samples of MNIST, or digits without MNIST
python benchmarks/split_svm.py --n-samples 60000
python benchmarks/split_svm.py --n-samples 60000 --C 0.001     where LIBLINEAR converges

Both sides are judged by LIBLINEAR's objective, to our disadvantage: it has a small penalty on the intercept, ours has
none. Four times as many steps of ours show which side is further from the minimum.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from codekin.data import DATASETS
from codekin_studies.splits.dichotomies import load_problem, n_splits, split_signs
from codekin_studies.splits.svm import STAGES, LinearSVMs, fit_svms, svm_objectives

N_COLUMNS = 5
INTERCEPT_SCALING = 10.0
"""The larger, the smaller LIBLINEAR's penalty on the intercept."""

MORE_STEPS = [(width, 4 * n_steps) for width, n_steps in STAGES]


def objectives(fitted, X, signs, C):
    """What LIBLINEAR minimises."""
    return svm_objectives(fitted, X, signs, C=C) + (fitted.bias / INTERCEPT_SCALING) ** 2 / 2


def accuracy(fitted, X, signs):
    return 100 * (signs * fitted.margins(X) > 0).mean(axis=0)


def timed(function, *arguments, **options):
    started = time.process_time()
    return function(*arguments, **options), time.process_time() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n-samples", type=int, default=10_000)
    parser.add_argument("--C", type=float, help="default: 10 on MNIST, as in the paper, and 1 on digits")
    parser.add_argument("--max-iter", type=int, default=1_000, help="of LIBLINEAR")
    arguments = parser.parse_args()
    is_there = DATASETS["mnist"].is_available()
    problem = load_problem("mnist", None, 0) if is_there else load_problem("digits", 500, 0)
    C = arguments.C or (10.0 if is_there else 1.0)
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(problem.y_train))[: arguments.n_samples]
    X, y = problem.X_train[rows], problem.y_train[rows]
    splits = 1 + rng.choice(n_splits(10), N_COLUMNS, replace=False)
    signs, test_signs = split_signs(splits, 10)[y], split_signs(splits, 10)[problem.y_test]
    print(f"{'MNIST' if is_there else 'digits'}, {len(X):,} samples, C = {C:g}, splits {splits.tolist()}")
    ours, seconds = timed(fit_svms, X, signs, C=C)
    print(f"codekin, {N_COLUMNS} splits at once: {seconds:.1f} s of one processor")
    longer, seconds = timed(fit_svms, X, signs, C=C, stages=MORE_STEPS)
    print(f"codekin, four times as many steps: {seconds:.1f} s", flush=True)
    reached, lowest = objectives(ours, X, signs, C), objectives(longer, X, signs, C)
    accuracies = accuracy(ours, problem.X_test, test_signs)
    options = {"intercept_scaling": INTERCEPT_SCALING, "max_iter": arguments.max_iter, "random_state": 0}
    liblinear = LinearSVC(loss="hinge", C=C, **options)
    for j, split in enumerate(splits):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            other, seconds = timed(liblinear.fit, X, signs[:, j])
        theirs = LinearSVMs(other.coef_.T, other.intercept_)
        theirs_reached = objectives(theirs, X, signs[:, [j]], C)[0]
        theirs_accuracy = accuracy(theirs, problem.X_test, test_signs[:, [j]])[0]
        print(
            f"split {split}: objective {reached[j]:,.1f}, {100 * (reached[j] / theirs_reached - 1):+.3f} % of "
            f"LIBLINEAR's {theirs_reached:,.1f}, {100 * (reached[j] / lowest[j] - 1):+.3f} % of that with more steps; "
            f"test accuracy {accuracies[j]:.2f} and {theirs_accuracy:.2f} %; LIBLINEAR took {seconds:.1f} s"
            + (" and did not converge" if caught else ""),
            flush=True,
        )


if __name__ == "__main__":
    main()
