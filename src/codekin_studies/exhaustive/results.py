"""The results of a sweep over every assignment: accuracies, their predictors, and the lookup of an assignment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.assignments.exhaustive import all_scores, nth_assignment
from codekin.classes import DenseDistances
from codekin.coding import Codebook, FloatArray
from codekin_studies.distributions import regression
from codekin_studies.splits.sweeps import average_losses, lexicographic_rank

METRICS = ("confusion", "means")
TENTH, EXTREME_SHARE = 0.1, 0.001
PREDICTORS = ("loss", *METRICS, "learnability")
"""What may predict accuracy, in the order of tables and figures."""


@dataclass(frozen=True)
class Averages:
    """The average accuracy of assignments with a low or a high value of a predictor, in percent.

    ``line_low`` and ``line_high`` are the ends of the regression line of accuracy on the predictor, at its lowest and
    its highest value; ``tenth_low`` and ``tenth_high`` the means over the tenth of the assignments with the lowest and
    the highest values, ``extreme_low`` and ``extreme_high`` those over the thousandth. Where a single assignment is
    good or bad by luck, these are not.
    """

    line_low: float
    line_high: float
    tenth_low: float
    tenth_high: float
    extreme_low: float
    extreme_high: float


@dataclass(frozen=True, eq=False)
class Sweep:
    """How good every assignment of a codebook is.

    ``n_correct``: how many of the ``n_test`` samples each assignment gets right, in lexicographic order.
    ``split_losses``: the mean training loss of each split.
    """

    codebook: Codebook
    n_correct: NDArray[Any]
    n_test: int
    split_losses: FloatArray
    class_distances: Mapping[str, FloatArray]
    class_names: tuple[str, ...]

    @cached_property
    def accuracies(self) -> FloatArray:
        """Test accuracies in percent."""
        return np.asarray(self.n_correct * (100.0 / self.n_test))

    def values(self, predictor: str) -> FloatArray:
        """The average binary losses, the class-codeword scores of a distance, or the errors predicted by learnability.

        ``predictor`` is a name from ``PREDICTORS``. The values are in lexicographic order; low is good.
        """
        if predictor == "loss":
            return average_losses(self.codebook, self.split_losses)
        if predictor == "learnability":
            distances = DenseDistances(self.class_distances["learnability"], signed=True)
            squares = all_scores(self.codebook, distances, squared=True)
            norms = np.linalg.norm(distances.matrix()) * np.linalg.norm(self.codebook.row_distances())
            # The mean squared error of least squares is -2F / n_bits, and the squared score is 2 - 2F / norms.
            return np.asarray((squares - 2) * norms / self.codebook.n_bits)
        return all_scores(self.codebook, self.class_distances[predictor])

    def summary(self) -> dict[str, Any]:
        """The numbers for tables, as JSON values."""
        quantiles = np.quantile(self.accuracies, [0.25, 0.5, 0.75])
        best, worst = int(self.n_correct.argmax()), int(self.n_correct.argmin())
        return {
            "n_assignments": len(self.n_correct),
            "n_test": self.n_test,
            "min_distance": self.codebook.min_distance,
            "worst": float(self.accuracies[worst]),
            "quartiles": [float(value) for value in quantiles],
            "mean": float(self.accuracies.mean()),
            "best": float(self.accuracies[best]),
            "worst_assignment": self._assignment(worst),
            "best_assignment": self._assignment(best),
            "predictors": {name: self._predictor_summary(name) for name in PREDICTORS},
        }

    def _predictor_summary(self, predictor: str) -> dict[str, Any]:
        values = self.values(predictor)
        slope, _, r_squared = regression(values, self.accuracies)
        if np.isnan(slope):
            return {"r_squared": None, "lowest": None, "highest": None, "slope": None}
        return {
            "r_squared": None if np.isnan(r_squared) else r_squared,
            "slope": slope,
            # Among equal values the first one.
            "lowest": float(self.accuracies[values.argmin()]),
            "highest": float(self.accuracies[values.argmax()]),
        }

    def averages(self, predictor: str) -> Averages | None:
        """The average accuracies at both ends of a predictor; None if it is the same for all assignments."""
        values = self.values(predictor)
        slope, intercept, _ = regression(values, self.accuracies)
        if np.isnan(slope):
            return None
        line = float(intercept + slope * values.min()), float(intercept + slope * values.max())
        return Averages(*line, *self._means_at_ends(values, TENTH), *self._means_at_ends(values, EXTREME_SHARE))

    def _means_at_ends(self, values: FloatArray, share: float) -> tuple[float, float]:
        """The mean accuracies of the share of the assignments with the lowest and with the highest values."""
        n = max(round(share * len(values)), 1)
        parted = np.argpartition(values, [n - 1, len(values) - n])
        return float(self.accuracies[parted[:n]].mean()), float(self.accuracies[parted[-n:]].mean())

    def _assignment(self, rank: int) -> list[int]:
        n = self.codebook.n_codewords
        return [int(codeword) for codeword in nth_assignment(rank, n, n)]

    def lookup(self, codeword_of_class: list[int]) -> dict[str, Any]:
        """One assignment: its rank, its accuracy, how many are less and more accurate, and its predictors."""
        n = self.codebook.n_codewords
        if len(codeword_of_class) != n:
            raise ValueError(f"An assignment of {n} classes has {n} numbers. Got {len(codeword_of_class)}.")
        rank = lexicographic_rank(codeword_of_class)
        return {
            "rank": rank,
            "n_correct": int(self.n_correct[rank]),
            "n_test": self.n_test,
            "accuracy": float(self.accuracies[rank]),
            "share_of_less_accurate": float((self.n_correct < self.n_correct[rank]).mean()),
            "n_less_accurate": int((self.n_correct < self.n_correct[rank]).sum()),
            "n_more_accurate": int((self.n_correct > self.n_correct[rank]).sum()),
            **{name: float(self.values(name)[rank]) for name in PREDICTORS},
        }
