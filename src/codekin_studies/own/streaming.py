"""All assignments of up to twelve classes, some millions at a time: what is kept of each part, and of all together.

Eleven classes have 39,916,800 assignments and twelve 479,001,600. Counts are exact for each of them; kept are their
distribution, the ends, the moments of accuracy with everything that may predict it, and a sample of assignments for
figures. Everything that may predict accuracy is a sum over bits of a number per split, so a part is a few look-ups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.assignments.exact import nth_assignment
from codekin.code import Codebook, FloatArray, IntArray
from codekin.decoding import MinimumLossDecoder
from codekin_studies.exhaustive.tasks import Sweep
from codekin_studies.splits import sweeps
from codekin_studies.splits.dichotomies import split_signs, splits_of

PART = factorial(10)
"""How many assignments a task looks at, at most; so many are kept for figures, too."""


def n_parts(n_classes: int) -> int:
    """How many tasks share the assignments of so many classes."""
    return max(1, factorial(n_classes) // PART)


def split_values(
    codebook: Codebook, split_losses: FloatArray, class_distances: Mapping[str, FloatArray]
) -> dict[str, FloatArray]:
    """What each split adds, as a bit, to the average loss and to sums over pairs of classes, by predictor.

    The sum of a class distance over the pairs of classes that a split separates; row 0 is no split.
    """
    n = codebook.n_codewords
    signs = split_signs(np.arange(2 ** (n - 1)), n).astype(np.float64)
    found = {"loss": split_losses / codebook.n_bits}
    for name, matrix in class_distances.items():
        # Of two classes, the product of signs is 1 on the same side and -1 on different ones.
        found[name] = (matrix.sum() - np.einsum("ks,kl,ls->s", signs, matrix, signs, optimize=True)) / 2
    return found


def of_sums(name: str, sums: FloatArray, codebook: Codebook, class_distances: Mapping[str, FloatArray]) -> FloatArray:
    """What predicts accuracy, from the sums of :func:`split_values` over the bits of assignments."""
    if name == "loss":
        return sums
    if name == "learnability":
        return np.asarray(-2 * sums / codebook.n_bits)
    norms = np.linalg.norm(class_distances[name]) * np.linalg.norm(codebook.row_distances())
    squares = 2 - 2 * sums / norms
    return np.sqrt(np.where(squares < 1e-14, 0.0, squares))


def values_of_ranks(
    codebook: Codebook, ranks: IntArray, tables: Mapping[str, FloatArray], class_distances: Mapping[str, FloatArray]
) -> FloatArray:
    """Everything that may predict the accuracy of some assignments, (n_assignments, n_predictors)."""
    table = np.column_stack(list(tables.values()))
    found = np.empty((len(ranks), len(tables)))
    for start in range(0, len(ranks), sweeps.ASSIGNMENTS_PER_BLOCK):
        block = slice(start, start + sweeps.ASSIGNMENTS_PER_BLOCK)
        sums = table[sweeps.splits_of_ranks(codebook, ranks[block])].sum(axis=1)
        for column, name in enumerate(tables):
            found[block, column] = of_sums(name, sums[:, column], codebook, class_distances)
    return found


@dataclass(frozen=True, eq=False)
class Moments:
    """The means of several quantities over assignments, and the sums of products of what they are above their means."""

    n: int
    mean: FloatArray
    products: FloatArray

    @classmethod
    def of(cls, values: FloatArray) -> Moments:
        """Those of rows of values."""
        mean = values.mean(axis=0)
        centred = values - mean
        return cls(len(values), mean, centred.T @ centred)

    def __add__(self, other: Moments) -> Moments:
        """Those of both sets of assignments (Chan, Golub and LeVeque, 1983)."""
        n, apart = self.n + other.n, other.mean - self.mean
        mean = self.mean + apart * (other.n / n)
        products = self.products + other.products + np.outer(apart, apart) * (self.n * other.n / n)
        return Moments(n, mean, products)


def halves_of(y: IntArray, n_classes: int) -> NDArray[np.bool_]:
    """Every other test sample of each class: two halves tell how much of a spread is due to the samples."""
    is_first = np.zeros(len(y), dtype=bool)
    for k in range(n_classes):
        is_first[np.flatnonzero(y == k)[::2]] = True
    return is_first


def swept_part(  # noqa: PLR0917
    codebook: Codebook,
    margins: FloatArray,
    y: IntArray,
    tables: Mapping[str, FloatArray],
    class_distances: Mapping[str, FloatArray],
    part: int,
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The numbers of one part of all assignments, as JSON values, and its arrays: a histogram, and what is kept."""
    n = codebook.n_codewords
    parts = n_parts(n)
    size = factorial(n) // parts
    ranks = np.arange(part * size, (part + 1) * size)
    is_first = halves_of(y, n)
    halves = [sweeps.count_correct(codebook, margins[:, own], y[own], ranks=ranks) for own in (is_first, ~is_first)]
    n_correct = halves[0] + halves[1]
    values = values_of_ranks(codebook, ranks, tables, class_distances)
    moments = Moments.of(np.column_stack([*halves, values]))
    ends = {}
    for column, name in enumerate(tables):
        own = values[:, column]
        low, high = int(own.argmin()), int(own.argmax())
        ends[name] = [float(own[low]), int(n_correct[low]), float(own[high]), int(n_correct[high])]
    worst, best = int(n_correct.argmin()), int(n_correct.argmax())
    result = {
        "n": moments.n,
        "mean": moments.mean.tolist(),
        "products": moments.products.tolist(),
        "ends": ends,
        "worst": [int(n_correct[worst]), int(ranks[worst])],
        "best": [int(n_correct[best]), int(ranks[best])],
    }
    kept = np.sort(np.random.default_rng([n, part]).choice(size, size // parts, replace=False)) if parts > 1 else ranks
    arrays = {"histogram": np.bincount(n_correct, minlength=len(y) + 1), "n_correct": n_correct[kept]}
    if parts > 1:
        arrays["ranks"] = ranks[kept]
    return result, arrays


def summary_of(
    codebook: Codebook, results: Sequence[Mapping[str, Any]], histogram: IntArray, predictors: Sequence[str]
) -> dict[str, Any]:
    """The numbers for tables, of all parts together, as JSON values; those of :meth:`Sweep.summary`, and more."""
    every = [Moments(one["n"], np.array(one["mean"]), np.array(one["products"])) for one in results]
    moments = every[0]
    for other in every[1:]:
        moments = moments + other
    n, n_test = codebook.n_codewords, len(histogram) - 1
    in_percent = 100 / n_test
    worst = min((tuple(one["worst"]) for one in results), key=lambda end: (end[0], end[1]))
    best = min((tuple(one["best"]) for one in results), key=lambda end: (-end[0], end[1]))
    below = np.cumsum(histogram)
    quartiles = [int(np.searchsorted(below, share * moments.n)) * in_percent for share in (0.25, 0.5, 0.75)]
    of_halves = moments.products[:2, :2]
    of_all = float(of_halves.sum())
    of_predictors = {}
    for column, name in enumerate(predictors, start=2):
        low = min((tuple(one["ends"][name][:2]) for one in results), key=lambda end: end[0])
        high = max((tuple(one["ends"][name][2:]) for one in results), key=lambda end: end[0])
        varies = high[0] - low[0] > 1e-9 * max(abs(low[0]), abs(high[0]))
        own, with_accuracy = float(moments.products[column, column]), float(moments.products[column, :2].sum())
        of_predictors[name] = {
            "r_squared": with_accuracy**2 / (own * of_all) if varies and of_all > 0 else None,
            "slope": in_percent * with_accuracy / own if varies else None,
            "lowest": low[1] * in_percent if varies else None,
            "highest": high[1] * in_percent if varies else None,
        }
    return {
        "n_assignments": moments.n,
        "n_test": n_test,
        "min_distance": codebook.min_distance,
        "worst": worst[0] * in_percent,
        "quartiles": quartiles,
        "mean": float(moments.mean[:2].sum()) * in_percent,
        "best": best[0] * in_percent,
        "worst_assignment": nth_assignment(worst[1], n, n).tolist(),
        "best_assignment": nth_assignment(best[1], n, n).tolist(),
        "reliability": reliability(of_halves),
        "predictors": of_predictors,
    }


def reliability(products: FloatArray) -> float | None:
    """How much of the variation of accuracy would be there with other test samples, by Spearman and Brown.

    ``products`` are the sums of products of the counts of two halves of the samples. None if a half does not vary.

    >>> round(reliability(np.array([[2.0, 1.0], [1.0, 2.0]])), 3)
    0.667
    """
    if products[0, 0] <= 0 or products[1, 1] <= 0:
        return None
    correlation = float(products[0, 1] / np.sqrt(products[0, 0] * products[1, 1]))
    return max(0.0, 2 * correlation / (1 + correlation)) if correlation > -1 else 0.0


@dataclass(frozen=True, eq=False)
class StreamedSweep(Sweep):
    """A sweep of which every assignment was counted, and some are kept: those of the ``ranks``, all if None."""

    ranks: IntArray | None = None
    histogram: IntArray | None = None
    margins: FloatArray | None = None
    y: IntArray | None = None
    best: int = 0

    @property
    def best_rank(self) -> int:
        """The place of the most accurate assignment of all, the first of equals."""
        return self.best

    @cached_property
    def _tables(self) -> dict[str, FloatArray]:
        return split_values(self.codebook, self.split_losses, self.class_distances)

    @cached_property
    def _values(self) -> dict[str, FloatArray]:
        ranks = np.arange(len(self.n_correct)) if self.ranks is None else self.ranks
        found = values_of_ranks(self.codebook, ranks, self._tables, self.class_distances)
        return {name: found[:, column] for column, name in enumerate(self._tables)}

    def values(self, predictor: str) -> FloatArray:
        """As :meth:`Sweep.values`, of the assignments that are kept."""
        found = self._values[predictor]
        # Sums of equal numbers in another order differ by rounding.
        return np.full_like(found, found.mean()) if np.ptp(found) <= 1e-9 * np.abs(found).max() else found

    def lookup(self, codeword_of_class: list[int]) -> dict[str, Any]:
        """One assignment, whether it is kept or not, among all."""
        if self.margins is None or self.y is None or self.histogram is None:
            raise ValueError("A sweep is looked up with its margins.")
        n = self.codebook.n_codewords
        if len(codeword_of_class) != n:
            raise ValueError(f"An assignment of {n} classes has {n} numbers. Got {len(codeword_of_class)}.")
        rank = sweeps.lexicographic_rank(codeword_of_class)
        matrix = self.codebook.matrix[codeword_of_class]
        splits, sides = splits_of(matrix)
        decoded = MinimumLossDecoder(matrix, "hinge").decode((self.margins[splits] * sides[:, None]).T)
        n_correct = int((decoded == self.y).sum())
        values = values_of_ranks(self.codebook, np.array([rank]), self._tables, self.class_distances)[0]
        n_less = int(self.histogram[:n_correct].sum())
        return {
            "rank": rank,
            "n_correct": n_correct,
            "n_test": self.n_test,
            "accuracy": 100 * n_correct / self.n_test,
            "share_of_less_accurate": n_less / int(self.histogram.sum()),
            "n_less_accurate": n_less,
            "n_more_accurate": int(self.histogram[n_correct + 1 :].sum()),
            **dict(zip(self._tables, map(float, values), strict=True)),
        }
