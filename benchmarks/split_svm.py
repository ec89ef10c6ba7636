"""SVMs of many splits at once: objectives within 0.1 % of LIBLINEAR's, or below, in a fraction of its time.

python benchmarks/split_svm.py               on 10,000 samples of MNIST; digits where it is not there
python benchmarks/split_svm.py --n-samples 60000
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from codekin.datasets import DATASETS
from codekin.studies.dichotomies import load_problem, n_splits, split_signs
from codekin.studies.svm import LinearSVMs, fit_svms, svm_objectives

N_COLUMNS = 5


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--n-samples", type=int, default=10_000)
    n_samples = parser.parse_args().n_samples
    is_there = DATASETS["mnist"].is_available()
    problem, C = (load_problem("mnist", None, 0), 10.0) if is_there else (load_problem("digits", 500, 0), 1.0)
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(problem.y_train))[:n_samples]
    X, y = problem.X_train[rows], problem.y_train[rows]
    splits = 1 + rng.choice(n_splits(10), N_COLUMNS, replace=False)
    signs = split_signs(splits, 10)[y]
    print(f"{'MNIST' if is_there else 'digits'}, {len(X):,} samples, C = {C:g}, splits {splits.tolist()}")
    started = time.process_time()
    ours = fit_svms(X, signs, C=C)
    print(f"codekin, {N_COLUMNS} splits at once: {time.process_time() - started:.1f} s of one processor")
    objectives, accuracies = svm_objectives(ours, X, signs, C=C), []
    test_signs = split_signs(splits, 10)[problem.y_test]
    for j, split in enumerate(splits):
        started = time.process_time()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            other = LinearSVC(loss="hinge", C=C, intercept_scaling=10, random_state=0).fit(X, signs[:, j])
        theirs = LinearSVMs(other.coef_.T, other.intercept_)
        objective = svm_objectives(theirs, X, signs[:, [j]], C=C)[0]
        accuracies = [
            100 * float((test_signs[:, j] * margins > 0).mean())
            for margins in (ours.margins(problem.X_test)[:, j], theirs.margins(problem.X_test)[:, 0])
        ]
        print(
            f"split {split}: objective {objectives[j]:,.1f}, LIBLINEAR {objective:,.1f} "
            f"({100 * (objectives[j] / objective - 1):+.2f} %), test accuracy {accuracies[0]:.2f} and "
            f"{accuracies[1]:.2f} %, LIBLINEAR took {time.process_time() - started:.1f} s"
            + (" and did not converge" if caught else "")
        )


if __name__ == "__main__":
    main()
