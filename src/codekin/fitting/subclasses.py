"""Split the classes that a classifier cannot separate into parts, as long as its training error falls.

After Escalera et al. (2008). A class whose samples lie in two places may be beyond a learner that can separate each
place from the other classes. Its parts are then learned as if they were classes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from codekin.code import FloatArray, IntArray
from codekin.samples import Samples, rows_at

AXIS_STEPS = 30
"""Steps towards the direction of the largest variance, where k-means starts; it need not be exact."""
MAX_ROUNDS = 100
"""Rounds of k-means, which ends by itself when no sample changes sides."""


@dataclass(frozen=True, eq=False)
class ClassPartition:
    """A division of classes into parts, which are numbered class by class.

    ``part_of_sample`` and ``class_of_part`` are maps to numbers; ``is_settled`` says which parts were divided in vain.
    """

    part_of_sample: IntArray
    class_of_part: IntArray
    is_settled: NDArray[np.bool_]

    @classmethod
    def whole(cls, class_index: IntArray) -> ClassPartition:
        n_classes = int(class_index.max()) + 1
        return cls(class_index, np.arange(n_classes), np.zeros(n_classes, dtype=bool))

    def __len__(self) -> int:
        return len(self.class_of_part)

    def divided(self, part: int, rows: IntArray) -> ClassPartition:
        """These samples of a part become a new part, the next one; no part of the result is settled.

        >>> parts = ClassPartition.whole(np.array([0, 0, 1])).divided(0, np.array([1]))
        >>> parts.part_of_sample, parts.class_of_part
        (array([0, 1, 2]), array([0, 0, 1]))
        """
        part_of_sample = self.part_of_sample + (self.part_of_sample > part)
        part_of_sample[rows] = part + 1
        class_of_part = np.insert(self.class_of_part, part, self.class_of_part[part])
        return ClassPartition(part_of_sample, class_of_part, np.zeros(len(class_of_part), dtype=bool))

    def settled(self, part: int) -> ClassPartition:
        """The same, but dividing this part did not pay."""
        is_settled = self.is_settled.copy()
        is_settled[part] = True
        return replace(self, is_settled=is_settled)


@dataclass(frozen=True)
class SplitRules:
    """When to split, in the words of :class:`codekin.SubclassClassifier`, whose parameters these are."""

    max_parts: int
    min_samples: int
    max_error: float
    min_gain: float


@dataclass(frozen=True, eq=False)
class PartitionTrial:
    """A classifier of parts, and its errors on the samples that it has learned.

    ``error`` is the share of samples (of their weight) whose predicted class is another one;
    ``error_of_part`` the share of those among them that are of a part or were taken for it.
    """

    parts: ClassPartition
    classifier: Any
    error: float
    error_of_part: FloatArray


def split_classes(
    samples: Samples, features: Callable[[], Any], fit: Callable[[IntArray], Any], rules: SplitRules
) -> tuple[PartitionTrial, list[float]]:
    """The classifier of the parts that were worth it, and the training errors on the way to it.

    - ``features``: makes the table of numbers in which parts are found; called if there is something to split.
    - ``fit``: from the part of each sample to a fitted classifier.

    Whole classes come first. Then the part that is involved in most errors is halved by k-means, and all parts are
    learned anew. The halves stay if the error falls by enough; otherwise the part with the next most errors is halved.
    The end is a small error, or that no part is worth halving.
    """
    best = _tried(ClassPartition.whole(samples.class_index), samples, fit)
    errors, table = [best.error], None
    while best.error > rules.max_error:
        class_of_part = best.parts.class_of_part
        is_small = np.bincount(class_of_part)[class_of_part] < rules.max_parts
        is_open = ~best.parts.is_settled & (best.error_of_part > 0) & is_small
        if not is_open.any():
            break
        part = int(np.where(is_open, best.error_of_part, -1).argmax())
        table = features() if table is None else table
        divided = _halved(best.parts, part, samples, table, rules.min_samples)
        trial = None
        if divided is not None:
            try:
                trial = _tried(divided, samples, fit)
            except ValueError as error:
                # Whole classes were learned, so it is the number of parts, or their size.
                warnings.warn(
                    f"Classes stay in {len(best.parts)} parts, since {len(divided)} cannot be learned: {error}",
                    stacklevel=3,
                )
                break
        gain = 0.0 if trial is None else best.error - trial.error
        if trial is not None and gain > 0 and gain >= rules.min_gain * float(best.error_of_part[part]):
            best = trial
            errors.append(best.error)
        else:
            best = replace(best, parts=best.parts.settled(part))
    return best, errors


def is_summed(classifier: Any, class_of_part: IntArray) -> bool:
    """Whether the probabilities of parts are added up: there are some, and a class has several parts."""
    return hasattr(classifier, "predict_proba") and class_of_part[-1] + 1 < len(class_of_part)


def merged(operation: np.ufunc, of_parts: Any, class_of_part: IntArray) -> FloatArray:
    """Numbers of parts, one column each, as numbers of classes.

    >>> merged(np.add, np.array([[0.5, 0.2, 0.3]]), np.array([0, 1, 1]))
    array([[0.5, 0.5]])
    """
    starts = np.flatnonzero(np.diff(class_of_part, prepend=-1))
    return np.asarray(operation.reduceat(np.asarray(of_parts), starts, axis=1))


def predicted_parts(classifier: Any, X: Any, class_of_part: IntArray) -> IntArray:
    """The most probable part of the most probable class; without probabilities, the part that is predicted."""
    if not is_summed(classifier, class_of_part):
        return np.asarray(classifier.predict(X)).ravel().astype(np.intp)
    of_parts = np.asarray(classifier.predict_proba(X))
    best = merged(np.add, of_parts, class_of_part).argmax(axis=1)
    return np.asarray(np.where(class_of_part == best[:, None], of_parts, -1).argmax(axis=1))


def halves(X: Any, weights: FloatArray) -> NDArray[np.bool_] | None:
    """Which samples are in the second of two clusters, by k-means; None if all samples are the same.

    It starts on both sides of the mean along the direction of the largest variance (Su and Dy, 2007), so that nothing
    is left to chance and a sample of weight 2 counts like two samples.

    >>> halves(np.array([[0.0, 1.0], [9.0, 1.0], [1.0, 2.0], [8.0, 0.0]]), np.ones(4))
    array([False,  True, False,  True])
    """
    rows: Any = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)  # type: ignore[call-overload]
    rows = rows.astype(np.float64)
    rows = rows / max(float(np.abs(rows).max()), np.finfo(np.float64).tiny)
    axis = _widest_direction(rows, weights)
    if axis is None:
        return None
    side: NDArray[np.bool_] = rows @ axis > _mean(rows, weights) @ axis
    for _ in range(MAX_ROUNDS):
        if not (weights[side].any() and weights[~side].any()):
            return None
        first, second = _mean(rows, weights * ~side), _mean(rows, weights * side)
        across = second - first
        moved = rows @ across > (first + second) @ across / 2
        if np.array_equal(moved, side):
            break
        side = moved
    return ~side if side[0] else side


def _tried(parts: ClassPartition, samples: Samples, fit: Callable[[IntArray], Any]) -> PartitionTrial:
    """A classifier of these parts and its errors."""
    classifier = fit(parts.part_of_sample)
    predicted = predicted_parts(classifier, samples.X, parts.class_of_part)
    weights = _weights(samples)
    wrong = np.flatnonzero(parts.class_of_part[predicted] != samples.class_index)
    share = weights[wrong] / weights.sum()
    of_parts = (np.bincount(part[wrong], share, len(parts)) for part in (parts.part_of_sample, predicted))
    return PartitionTrial(parts, classifier, float(share.sum()), np.asarray(sum(of_parts)))


def _halved(parts: ClassPartition, part: int, samples: Samples, table: Any, min_samples: int) -> ClassPartition | None:
    """The parts with one of them halved; None if a half would be too small."""
    rows, weights = np.flatnonzero(parts.part_of_sample == part), _weights(samples)
    if np.count_nonzero(weights[rows]) < 2 * min_samples:
        return None
    side = halves(rows_at(table, rows), weights[rows])
    if side is None or min(np.count_nonzero(weights[rows[own]]) for own in (side, ~side)) < min_samples:
        return None
    return parts.divided(part, rows[side])


def _weights(samples: Samples) -> FloatArray:
    return np.ones(len(samples)) if samples.weights is None else samples.weights


def _mean(rows: Any, weights: FloatArray) -> FloatArray:
    return np.asarray(rows.T @ weights / weights.sum())


def _widest_direction(rows: Any, weights: FloatArray) -> FloatArray | None:
    """Nearly the direction of the largest variance, by power iteration from the sample farthest from the mean."""
    mean = _mean(rows, weights)
    squares = np.asarray((rows * rows).sum(axis=1)).ravel() - 2 * (rows @ mean) + mean @ mean
    farthest = int(np.where(weights > 0, squares, -1).argmax())
    axis = np.asarray(rows[[farthest]].sum(axis=0)).ravel() - mean
    for _ in range(AXIS_STEPS):
        length = float(np.linalg.norm(axis))
        if length < np.finfo(np.float64).eps:
            return None
        axis = axis / length
        along = weights * (rows @ axis - mean @ axis)
        axis = np.asarray(rows.T @ along - along.sum() * mean) / weights.sum()
    return axis
