"""What each design of a code is worth at equal bits: assignments of one random code, and codes made for their classes.

    python benchmarks/designs.py [--sets digits yeast mnist clinc150] [--bits 8 15] [--seeds 3] [--data-home FOLDER]
    python benchmarks/designs.py --designs learnable --swept 0          # some rows only; --help lists their names
    python benchmarks/designs.py --sets mnist --svm 10                  # learnable columns, learned by linear SVMs
    python benchmarks/designs.py --paths clinc150 icd10cm_category      # assignments of a trellis of width 2, AROW

Test accuracy in percent, mean over seeds. The learner is always linear least squares with an intercept, in closed form,
so that every column of ten classes is learned at once, and decoding is by the squared loss (divided by the number of
entries that are not zero, where there are zeros; of real entries none is left out). With ten classes, all 3,628,800
assignments of each random code are tried exactly: their mean, the mean of the best 0.1 % and the best one are picked on
the test samples and cannot be had otherwise. The claim: columns chosen by learnability, without training, reach the
mean of the best 0.1 %.
"""

import argparse
import time
import warnings
from inspect import signature

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import Ridge

from codekin import ExtremeClassifier, SubclassClassifier
from codekin.assignments import assign
from codekin.classes.distances import learnability_distances, mean_distances
from codekin.classes.learnability import class_moments
from codekin.classes.samples import ColumnTrials
from codekin.codebooks import CODEBOOKS, dense_random
from codekin.data import load_dataset
from codekin.samples import stratified_folds
from codekin_studies.splits.dichotomies import load_problem, n_splits, split_signs
from codekin_studies.splits.svm import fit_svms
from codekin_studies.splits.sweeps import count_correct

N_TEST = {"digits": 500, "yeast": 400, "mnist": None}
RIDGE, SPARSE_RIDGE = 0.01, 0.6
MAX_SWEPT = 10


class LeastSquares:
    """Least squares for any column of -1, 0 and +1, or of real numbers, from sums over the samples of each class."""

    def __init__(self, X, y, n_classes):
        self.n_classes = n_classes
        self.origin = X.mean(axis=0)
        parts = [X[y == k] - self.origin for k in range(n_classes)]
        self.counts = np.array([len(part) for part in parts], dtype=float)
        self.sums = np.array([part.sum(axis=0) for part in parts])
        self.seconds = np.array([part.T @ part for part in parts])

    def weights(self, columns):
        """Weights (n_features + 1, n_columns); columns that use the same classes are solved together."""
        weights = np.empty((self.sums.shape[1] + 1, columns.shape[1]))
        used = used_entries(columns)
        for pattern in np.unique(used, axis=1).T:
            same = np.flatnonzero((used == pattern[:, None]).all(axis=0))
            n, mean = self.counts @ pattern, pattern @ self.sums / (self.counts @ pattern)
            covariance = np.tensordot(pattern, self.seconds, axes=1) / n - np.outer(mean, mean)
            covariance.flat[:: len(covariance) + 1] += RIDGE * np.trace(covariance) / len(covariance) + 1e-12
            signs = columns[:, same].astype(float)
            mean_bit = self.counts @ signs / n
            targets = self.sums.T @ signs / n - np.outer(mean, mean_bit)
            solved = cho_solve(cho_factor(covariance), targets)
            weights[:, same] = np.vstack([solved, mean_bit - mean @ solved])
        return weights

    def margins(self, X, columns):
        """The margins of samples."""
        weights = self.weights(np.asarray(columns))
        return (X - self.origin) @ weights[:-1] + weights[-1]


class Dense:
    """A problem with few features: anything can be learned in closed form."""

    def __init__(self, name, data_home):
        given = load_problem(name, N_TEST[name], 0, data_home)
        self.X, self.y, self.X_test, self.y_test = given.X_train, given.y_train, given.X_test, given.y_test
        self.n_classes = given.n_classes
        self.learner = LeastSquares(self.X, self.y, self.n_classes)
        self.moments = class_moments(self.X, self.y, ridge=RIDGE)
        self.learnability = learnability_distances(self.X, self.y, ridge=RIDGE)
        fold = stratified_folds(self.y, 5, np.random.default_rng(0))
        self.folds = [np.flatnonzero(fold == one) for one in range(1 if len(self.y) > 10_000 else 5)]
        self.without = [
            LeastSquares(np.delete(self.X, rows, axis=0), np.delete(self.y, rows), self.n_classes)
            for rows in self.folds
        ]

    def margins(self, columns):
        return self.learner.margins(self.X_test, columns)

    @property
    def trials(self):
        def margins(columns):
            parts = zip(self.without, self.folds, strict=True)
            return np.concatenate([one.margins(self.X[rows], columns) for one, rows in parts])

        classes = self.y[np.concatenate(self.folds)]
        return ColumnTrials(classes, np.ones(len(classes)), margins)

    def accuracy(self, matrix):
        """Loss-based decoding."""
        return accuracy_of(self.margins(matrix), matrix, self.y_test)


class Sparse:
    """Many classes and features: only the outputs for one-hot targets are learned."""

    folds = None

    def __init__(self, name, data_home):
        data = load_dataset(name, data_home)
        self.X, self.y, self.y_test = data.X, data.y, data.test.y
        self.X_test = data.test.X
        self.n_classes = int(self.y.max()) + 1
        penalty = SPARSE_RIDGE * self._mean_variance() * len(self.y)
        learner = Ridge(alpha=penalty, solver="sparse_cg", tol=1e-4).fit(self.X, np.eye(self.n_classes)[self.y])
        self.outputs = learner.predict(data.test.X)
        self.moments = class_moments(self.X, self.y, ridge=SPARSE_RIDGE)
        self.learnability = learnability_distances(self.X, self.y, ridge=SPARSE_RIDGE)

    def _mean_variance(self):
        squares = np.asarray(self.X.multiply(self.X).mean(axis=0)).ravel()
        return float((squares - np.asarray(self.X.mean(axis=0)).ravel() ** 2).mean())

    def margins(self, columns):
        return self.outputs @ columns

    def accuracy(self, matrix):
        """Loss-based decoding."""
        return accuracy_of(self.margins(matrix), matrix, self.y_test)


def used_entries(matrix):
    """1 where a bit does not ignore the class; everywhere if entries are real numbers."""
    return np.ones(matrix.shape) if matrix.dtype == np.float64 else np.abs(matrix).astype(float)


def accuracy_of(margins, matrix, y):
    """How often the codeword with the least mean squared loss is that of the class."""
    used, matrix = used_entries(matrix), np.asarray(matrix, dtype=float)
    losses = (margins**2) @ used.T - 2 * margins @ matrix.T + (matrix**2).sum(axis=1)
    return float(((losses / used.sum(axis=1)).argmin(axis=1) == y).mean())


def assigned(method, distances, **options):
    """A random code under an assignment."""

    def matrix(problem, n_bits, seed):
        codebook = code_of(problem, n_bits, seed)
        between = problem.learnability if distances == "learnability" else mean_distances(problem.X, problem.y)
        return codebook.matrix[assign(codebook, between, method, rng=seed, **options).codeword_of_class]

    return matrix


def designed(name, needs, **options):
    """A codebook of the table."""

    def matrix(problem, n_bits, seed):
        offers = {
            "class_moments": lambda: problem.moments,
            "column_trials": lambda: problem.trials,
            "class_distances": lambda: mean_distances(problem.X, problem.y).matrix(),
        }
        seeded = {"rng": seed} if "rng" in signature(CODEBOOKS[name]).parameters else {}
        return CODEBOOKS[name](problem.n_classes, n_bits, **{needs: offers[needs]()}, **seeded, **options).matrix

    return matrix


def code_of(problem, n_bits, seed):
    """The best of many random codes, as in the paper."""
    return dense_random(problem.n_classes, n_bits, rng=seed)


def random_matrix(problem, n_bits, seed):
    codebook = code_of(problem, n_bits, seed)
    return codebook.matrix[np.random.default_rng(seed).permutation(problem.n_classes)]


def eigen_targets(problem, n_bits, seed):
    """Eigenvectors as real-valued targets, as many as there are."""
    return designed("eigen_targets", "class_distances")(problem, min(n_bits, problem.n_classes - 1), seed)


def projected(method):
    """Random projections as real-valued targets under an assignment."""

    def matrix(problem, n_bits, seed):
        codebook = CODEBOOKS["random_projection"](problem.n_classes, n_bits, rng=seed)
        return codebook.matrix[assign(codebook, problem.learnability, method, rng=seed).codeword_of_class]

    return matrix


class CodedLeastSquares(ClassifierMixin, BaseEstimator):
    """Least squares for the bits of a random code under a learnability assignment, and loss-based decoding."""

    def __init__(self, n_bits, seed):
        self.n_bits, self.seed = n_bits, seed

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        codebook = dense_random(len(self.classes_), self.n_bits, rng=self.seed)
        between = learnability_distances(X, y, ridge=RIDGE)
        self.matrix_ = codebook.matrix[assign(codebook, between, rng=self.seed).codeword_of_class]
        self.learner_ = LeastSquares(X, y, len(self.classes_))
        return self

    def predict(self, X):
        margins = self.learner_.margins(X, self.matrix_)
        return (margins @ self.matrix_.T).argmax(axis=1)


def subclasses(problem, n_bits, seed):
    """Escalera et al. (2008): classes are split as long as the training error falls; a random code for the parts."""
    classifier = SubclassClassifier(CodedLeastSquares(n_bits, seed)).fit(problem.X, problem.y)
    errors, n_parts = classifier.training_errors_, len(classifier.class_of_part_)
    print(f"    {n_parts} parts, training error {100 * errors[0]:.1f} to {100 * errors[-1]:.1f} %", flush=True)
    return float(classifier.score(problem.X_test, problem.y_test))


DESIGNS = {
    "random assignment": random_matrix,
    "greedy (McVay), class means": assigned("greedy", "means"),
    "greedy breaking (Wan et al.)": assigned("greedy", "means", sense="breaking"),
    "Umeyama, class means": assigned("umeyama", "means"),
    "Umeyama, learnability": assigned("umeyama", "learnability"),
    "preserving, class means": assigned("preserving", "means"),
    "preserving, learnability": assigned("preserving", "learnability"),
    "spectral (Zhang et al.)": designed("spectral", "class_distances", repair=True),
    "error-correcting factorization": designed("error_correcting_factorization", "class_distances"),
    "autoencoder (Cisse et al.)": designed("autoencoder", "class_distances"),
    "sparse output (Zhao and Xing)": designed("sparse_output", "class_distances"),
    "separating": designed("separating", "class_moments"),
    "learnable": designed("learnable", "class_moments"),
    "cross-validated (Bai et al.)": designed("cross_validated", "column_trials"),
    "ECOC-ONE (Pujol et al.)": designed("ecoc_one", "column_trials"),
    "eigen targets (Rodriguez et al.)": eigen_targets,
    "random projections (Rodriguez et al.)": projected("random"),
    "random projections, preserving": projected("preserving"),
    "sub-classes (Escalera et al.)": subclasses,
}
NEEDS_FEW_CLASSES = {"cross-validated (Bai et al.)", "ECOC-ONE (Pujol et al.)", "sub-classes (Escalera et al.)"}
IS_NOT_RANDOM = {"spectral (Zhang et al.)", "eigen targets (Rodriguez et al.)"}


def measured(problem, n_bits, n_seeds, names):
    """Accuracies of these designs, by name; none where one cannot be made."""
    found = {}
    for name in names:
        design = DESIGNS[name]
        if problem.folds is None and name in NEEDS_FEW_CLASSES:
            continue
        start, accuracies = time.perf_counter(), []
        for seed in range(1 if name in IS_NOT_RANDOM else n_seeds):
            try:
                made = design(problem, n_bits, seed)
            except ValueError as error:
                print(f"    {name}: {error}", flush=True)
                break
            accuracies.append(made if isinstance(made, float) else problem.accuracy(made))
        found[name] = accuracies
        if accuracies:
            spread = f"{100 * np.min(accuracies):.1f} to {100 * np.max(accuracies):.1f}"
            seconds = (time.perf_counter() - start) / len(accuracies)
            print(f"    {name:<38}{100 * np.mean(accuracies):6.1f}   {spread:<14} {seconds:6.1f} s", flush=True)
    return found


def swept(problem, n_bits, n_seeds):
    """Mean, mean of the best 0.1 % and best of all assignments of the random codes."""
    margins = np.zeros((n_splits(problem.n_classes) + 1, len(problem.y_test)), dtype=np.float32)
    margins[1:] = problem.margins(split_signs(np.arange(1, len(margins)), problem.n_classes)).T
    rows = []
    for seed in range(n_seeds):
        shares = np.sort(count_correct(code_of(problem, n_bits, seed), margins, problem.y_test)) / len(problem.y_test)
        rows.append([shares.mean(), shares[-len(shares) // 1_000 :].mean(), shares[-1]])
        print("    all assignments, seed", seed, *(f"{100 * value:.1f}" for value in rows[-1]), flush=True)
    for name, values in zip(("mean", "mean of the best 0.1 %", "best"), np.transpose(rows), strict=True):
        print(f"    all assignments: {name:<24}{100 * values.mean():6.1f}", flush=True)
    return float(np.mean(rows, axis=0)[1])


def by_svm(problem, n_bits, n_seeds, C):
    """The accuracy of learnable columns if they are learned by linear SVMs and decoded by the hinge loss."""
    accuracies = []
    for seed in range(n_seeds):
        matrix = DESIGNS["learnable"](problem, n_bits, seed)
        margins = fit_svms(problem.X, matrix[problem.y], C=C).margins(problem.X_test)
        losses = np.stack([np.maximum(1 - margins * codeword, 0).sum(axis=1) for codeword in matrix], axis=1)
        accuracies.append((losses.argmin(axis=1) == problem.y_test).mean())
        print(f"    learnable, SVMs, seed {seed}: {100 * accuracies[-1]:.1f}", flush=True)


def paths(name, data_home, n_seeds):
    """Accuracies of assignments of the paths of a trellis of width 2."""
    data = load_dataset(name, data_home)
    for assignment in ("random", "online", "preserving", "learnability"):
        options = {"code": "trellis", "rerank": None, "estimator": "arow", "precision": "float32", "prune": None}
        accuracies = [
            ExtremeClassifier(2, assignment=assignment, random_state=seed, **options)
            .fit(data.X, data.y)
            .score(data.test.X, data.test.y)
            for seed in range(1 if assignment == "preserving" else n_seeds)
        ]
        print(f"{name}, trellis of width 2, {assignment:<14}{100 * np.mean(accuracies):6.1f}", flush=True)


def main():
    """Print the tables."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=["digits", "yeast"], choices=[*N_TEST, "clinc150"])
    parser.add_argument("--bits", nargs="+", type=int, help="by default 8 and 15, and 20 and 40 for clinc150")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--swept", type=int, help="how many codes to sweep; by default one per seed")
    parser.add_argument(
        "--designs",
        nargs="+",
        default=list(DESIGNS),
        choices=list(DESIGNS),
        metavar="NAME",
        help="one or more of: " + "; ".join(DESIGNS),
    )
    parser.add_argument("--svm", type=float, metavar="C", help="only learn learnable columns, by linear SVMs")
    parser.add_argument("--paths", nargs="+", default=[], metavar="SET", help="only compare paths of a trellis")
    parser.add_argument("--data-home", default=None)
    given = parser.parse_args()
    for name in given.paths:
        paths(name, given.data_home, given.seeds)
    for name in [] if given.paths else given.sets:
        problem = Sparse(name, given.data_home) if name == "clinc150" else Dense(name, given.data_home)
        for n_bits in given.bits or ([20, 40] if name == "clinc150" else [8, 15]):
            print(f"{name}, {n_bits} bits", flush=True)
            if given.svm is not None:
                by_svm(problem, n_bits, given.seeds, given.svm)
                continue
            found = measured(problem, n_bits, given.seeds, given.designs)
            n_swept = given.seeds if given.swept is None else given.swept
            if problem.n_classes <= MAX_SWEPT and n_swept:
                best = swept(problem, n_bits, n_swept)
                if "learnable" not in found:
                    continue
                gap = 100 * (np.mean(found["learnable"]) - best)
                print(f"    learnable columns: {gap:+.1f} points from the mean of the best 0.1 % of all assignments")


if __name__ == "__main__":
    main()
