"""How accuracies of assignments under a condition relate to clean accuracies and to scores, with their uncertainty.

Where all assignments are examined nothing about them is uncertain; what is drawn are the test samples. Errors are
therefore those of resampled test samples, on some assignments whose answers are known one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.coding import FloatArray

N_RESAMPLES = 200

RELATIONS = ("difference", "per_sd", "slope", "at_equal_accuracy")
"""The tenth with the lowest scores minus the tenth with the highest ones, in points; points per standard deviation of
the score; points per point of clean accuracy; points per standard deviation of the score in a regression on both."""


def relations(accuracies: FloatArray, clean: FloatArray, scores: FloatArray) -> dict[str, Any]:
    """The relations of accuracies (..., n_assignments) to clean ones of the same shape and scores (n_assignments,).

    NaN where clean accuracies, or scores, do not vary.
    """
    tenth = max(1, len(scores) // 10)
    order = np.argpartition(scores, [tenth - 1, len(scores) - tenth])
    z = _from_mean(scores)
    z = z / z.std() if z.std() > 0 else np.full(len(z), np.nan)
    a, c = _from_mean(accuracies), _from_mean(clean)
    n = len(scores)
    cc, cz, ac, az = (c * c).sum(-1) / n, c @ z / n, (a * c).sum(-1) / n, a @ z / n
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(cc > 0, ac / cc, np.nan)
        partial = np.where(cc - cz**2 > 1e-9 * cc, (az * cc - ac * cz) / (cc - cz**2), np.nan)
    lowest, highest = (accuracies[..., chosen].mean(axis=-1) for chosen in (order[:tenth], order[-tenth:]))
    return {"difference": lowest - highest, "per_sd": az, "slope": slope, "at_equal_accuracy": partial}


def _from_mean(values: FloatArray) -> FloatArray:
    return np.asarray(values - values.mean(axis=-1, keepdims=True))


def standard_errors(
    is_right: NDArray[np.bool_], is_right_clean: NDArray[np.bool_], scores: FloatArray, seed: int
) -> dict[str, float]:
    """The standard errors of the relations, by resampling the samples of (n_assignments, n_samples)."""
    n = is_right.shape[1]
    counts = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=N_RESAMPLES).astype(np.float32)
    drawn = [100 / n * (counts @ right.T.astype(np.float32)).astype(np.float64) for right in (is_right, is_right_clean)]
    return {name: _spread(values) for name, values in relations(drawn[0], drawn[1], scores).items()}


def _spread(values: FloatArray) -> float:
    """The standard deviation of the numbers among values; NaN if fewer than half of them are."""
    known = values[np.isfinite(values)]
    return float(known.std()) if 2 * len(known) >= len(values) else float("nan")


def with_errors(
    values: Mapping[str, Any], is_right: NDArray[np.bool_], is_right_clean: NDArray[np.bool_], scores: FloatArray
) -> dict[str, list[float] | None]:
    """Relations as pairs of the value and its standard error; None where there is none."""
    errors = standard_errors(is_right, is_right_clean, scores, seed=0)
    return {
        name: [float(values[name]), errors[name]] if np.isfinite([values[name], errors[name]]).all() else None
        for name in RELATIONS
    }
