"""Train every distinct two-way split of the classes once; look its margins up forever.

Different assignments of one codebook reuse the same splits. With ``K`` classes there are ``2**(K - 1) - 1`` of them,
however many of the ``K!`` assignments are examined. A split is known by its number: the classes on its positive side
as a mask; of the two sides, the one without the last class. Number 0 would be no split at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.code import CodingMatrix, FloatArray, IntArray
from codekin.data import load_dataset
from codekin_studies.splits.named import is_named, named_margins
from codekin_studies.splits.svm import fit_svms

Features = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Problem:
    """Samples to learn from and samples to test on, scaled by one of ``SCALINGS``."""

    X_train: NDArray[Any]
    y_train: IntArray
    X_test: NDArray[Any]
    y_test: IntArray
    class_names: tuple[str, ...]

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.class_names)


def by_largest(X_train: Features, X_test: Features) -> tuple[Features, Features]:
    """All features divided by the largest absolute value among the training samples: pixels are between 0 and 1.

    >>> by_largest(np.array([[0.0, 4.0]]), np.array([[8.0, 2.0]]))[1].tolist()
    [[2.0, 0.5]]
    """
    scale = np.float32(np.abs(X_train).max())
    return X_train / scale, X_test / scale


def to_unit_norm(X_train: Features, X_test: Features) -> tuple[Features, Features]:
    """Every sample divided by its Euclidean norm; samples of zeros stay as they are.

    >>> to_unit_norm(np.array([[3.0, 4.0]]), np.array([[0.0, 2.0], [0.0, 0.0]]))[1].tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    norms = (np.linalg.norm(X, axis=1, keepdims=True) for X in (X_train, X_test))
    train, test = (X / np.where(of_rows > 0, of_rows, 1) for X, of_rows in zip((X_train, X_test), norms, strict=True))
    return train, test


SCALINGS: dict[str, Callable[[Features, Features], tuple[Features, Features]]] = {
    "largest": by_largest,
    "unit_norm": to_unit_norm,
}
"""How features may be scaled before anything is learned, by name."""
DEFAULT_SCALING = "largest"


def load_problem(
    name: str, n_test: int | None, seed: int, data_home: Path | None = None, *, scaling: str = DEFAULT_SCALING
) -> Problem:
    """A data set, split as it comes or, where it comes in one piece, by chance.

    ``n_test`` samples are put aside for testing, each class in proportion; None for a data set that has test samples.
    ``scaling`` is a name from ``SCALINGS``.
    """
    dataset = load_dataset(name, data_home)
    if n_test is None:
        if dataset.test is None:
            raise ValueError(f"The data set {name!r} has no test samples; say how many to hold out.")
        parts = dataset.X, dataset.test.X, dataset.y, dataset.test.y
    else:
        from sklearn.model_selection import train_test_split

        parts = train_test_split(dataset.X, dataset.y, test_size=n_test, stratify=dataset.y, random_state=seed)
    X_train, X_test, y_train, y_test = parts
    rows = (np.asarray(X, dtype=np.float32).reshape(len(X), -1) for X in (X_train, X_test))
    X_train, X_test = SCALINGS[scaling](*rows)
    return Problem(X_train, y_train, X_test, y_test, dataset.class_names)


def problem_of(given: Mapping[str, Any], data_home: Path | None) -> Problem:
    """The samples that the parameters of a task describe: data, seed and perhaps n_test and scaling."""
    scaling = given.get("scaling", DEFAULT_SCALING)
    return load_problem(given["data"], given.get("n_test"), given["seed"], data_home, scaling=scaling)


def scaling_of(data: Mapping[str, Any]) -> dict[str, str]:
    """The scaling of an entry for the parameters of tasks: nothing by default, so that older results are found.

    >>> scaling_of({"name": "mnist", "scaling": "largest"}), scaling_of({"name": "mnist", "scaling": "unit_norm"})
    ({}, {'scaling': 'unit_norm'})
    """
    scaling = data.get("scaling", DEFAULT_SCALING)
    return {} if scaling == DEFAULT_SCALING else {"scaling": scaling}


def n_splits(n_classes: int) -> int:
    """How many splits there are; they are numbered from 1."""
    return int(2 ** (n_classes - 1) - 1)


def split_signs(splits: IntArray, n_classes: int) -> CodingMatrix:
    """The columns of splits.

    Returns shape (n_classes, n_splits).

    >>> split_signs(np.array([1, 2, 3]), 3).tolist()
    [[1, -1, 1], [-1, 1, 1], [-1, -1, -1]]
    """
    is_positive = (np.asarray(splits)[None, :] >> np.arange(n_classes)[:, None]) & 1
    return np.where(is_positive, 1, -1).astype(np.int8)


def splits_of(coding_matrix: CodingMatrix) -> tuple[IntArray, IntArray]:
    """The number of the split of each column, and +1 or -1 for its side.

    >>> splits_of(split_signs(np.array([1, 2, 3]), 3) * np.array([1, -1, 1]))
    (array([1, 2, 3]), array([ 1, -1,  1]))
    """
    sides = -coding_matrix[-1].astype(np.int64)
    is_positive = coding_matrix * sides > 0
    return np.asarray((is_positive << np.arange(len(coding_matrix))[:, None]).sum(axis=0)), sides


SplitLearner = Callable[..., tuple[NDArray[np.float32], NDArray[np.float32]]]


def linear_svm(problem: Problem, signs: CodingMatrix, seed: int, *, C: float) -> Any:  # noqa: ARG001
    """Soft-margin linear SVMs, all splits at once; nothing about them is random.

    ``signs`` (n_classes, n_splits) are the columns to learn; the margins have a column for each. ``C`` is what a unit
    of hinge loss of a sample costs. Every learner of splits takes a seed.
    """
    fitted = fit_svms(problem.X_train, signs[problem.y_train], C=C)
    return fitted.margins(problem.X_train), fitted.margins(problem.X_test)


def decision_tree(problem: Problem, signs: CodingMatrix, seed: int, *, min_samples_split: int = 2) -> Any:
    """Decision trees, one per split, Gini; a margin is the share of +1 in a leaf minus that of -1.

    Like :func:`linear_svm`. The seed is that of the order in which features are tried; nodes with fewer than
    ``min_samples_split`` samples are leaves.
    """
    from sklearn.tree import DecisionTreeClassifier

    margins = np.empty((2, signs.shape[1]), dtype=object)
    for j in range(signs.shape[1]):
        tree = DecisionTreeClassifier(min_samples_split=min_samples_split, random_state=seed)
        tree.fit(problem.X_train, signs[problem.y_train, j])
        for part, X in enumerate((problem.X_train, problem.X_test)):
            margins[part, j] = 2 * tree.predict_proba(X)[:, 1] - 1
    return tuple(np.column_stack(list(part)).astype(np.float32) for part in margins)


def least_squares(problem: Problem, signs: CodingMatrix, seed: int, *, ridge: float) -> Any:  # noqa: ARG001
    """Linear least squares with an intercept, all splits at once; nothing about it is random.

    Like :func:`linear_svm`. ``ridge`` is the penalty on squared weights, in units of the mean variance of a feature.
    """
    targets = signs[problem.y_train].astype(np.float32)
    mean, mean_target = problem.X_train.mean(axis=0), targets.mean(axis=0)
    centred = problem.X_train - mean
    moments = centred.T @ centred
    moments[np.diag_indices(len(moments))] += ridge * np.trace(moments) / len(moments)
    weights = np.linalg.solve(moments, centred.T @ (targets - mean_target))
    return tuple((X - mean) @ weights + mean_target for X in (problem.X_train, problem.X_test))


SPLIT_LEARNERS: dict[str, SplitLearner] = {
    "linear_svm": linear_svm,
    "decision_tree": decision_tree,
    "least_squares": least_squares,
}
"""The learners of splits, by name."""

LEARNER_NAMES = {"linear_svm": "linear SVMs", "decision_tree": "decision trees", "least_squares": "least squares"}
"""What pages call them."""


def train_splits(
    problem: Problem, splits: IntArray, learner: Mapping[str, Any], seed: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Learn some splits.

    ``learner`` holds a ``name`` from ``SPLIT_LEARNERS``, and its options. The seed is the same for all splits, so that
    a split's margins do not depend on the others. Returns shape (n_samples, n_splits) each.
    """
    return learned(problem, split_signs(splits, problem.n_classes), learner, seed)


def learned(
    problem: Problem, signs: CodingMatrix, learner: Mapping[str, Any], seed: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The margins of all columns of signs, on training samples and on test samples, by a learner with its options.

    Its name is one of ``SPLIT_LEARNERS``, or the dotted name of a class.
    """
    options = dict(learner)
    name = options.pop("name")
    if is_named(name):
        return named_margins(name, options, (problem.X_train, problem.X_test), signs, problem.y_train, seed)
    return SPLIT_LEARNERS[name](problem, signs, seed, **options)


def one_vs_rest_confusion(problem: Problem, learner: Mapping[str, Any], seed: int) -> FloatArray:
    """How often, among the training samples, each class is taken for each other one by one-vs-rest predictors.

    Rows are true classes.
    """
    margins = one_vs_rest_margins(problem, learner, seed)[0]
    counts = np.zeros((problem.n_classes, problem.n_classes))
    np.add.at(counts, (problem.y_train, margins.argmax(axis=1)), 1)
    return counts


def one_vs_rest_margins(
    problem: Problem, learner: Mapping[str, Any], seed: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """How strongly each class is favoured by a predictor of it against the rest."""
    n = problem.n_classes
    # The last class is never on the positive side of a split: it is the negative side of all others together.
    splits = np.append(1 << np.arange(n - 1), n_splits(n))
    train, test = train_splits(problem, splits, learner, seed)
    for margins in (train, test):
        margins[:, -1] *= -1
    return train, test
