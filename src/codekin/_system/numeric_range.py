"""Checks that numbers are neither too large nor too small to compute with."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from codekin._system.rows import StoredRows

MAX_SINGLE = 1e15
"""In single precision, a sum of a hundred million squares of larger numbers may overflow."""
MAX_DOUBLE = 1e100
"""The same for double precision, with some room for weights."""
MIN_SINGLE = 1e-15
"""If all numbers are smaller than this, results in single precision may underflow to zero."""


def largest_magnitude(X: Any) -> float:
    """The largest absolute value; 0 if there are no values, NaN if one of them is NaN.

    >>> largest_magnitude(np.array([[1, -3], [2, 0]]))
    3.0
    """
    if isinstance(X, StoredRows):
        return max((largest_magnitude(block.data) for _, block in X.blocks()), default=0.0)
    values = np.asarray(X)
    if sparse.issparse(X):
        rows: Any = X if hasattr(X, "indptr") else sparse.csr_array(cast(Any, X))
        values = rows.data
    return max(float(values.max()), -float(values.min())) if values.size else 0.0


def check_single_precision(X: Any, *, is_to_learn_from: bool) -> None:
    """Raise ValueError if samples are too large for learners in single precision or, in training, too small."""
    largest = largest_magnitude(X)
    if not np.isfinite(largest):
        raise ValueError(f"The values of X must be finite. Got {largest}.")
    if largest > MAX_SINGLE:
        raise ValueError(
            f"The values of X must be at most {MAX_SINGLE:g} for learners in single precision. "
            f"Got {largest:g}; scale the features."
        )
    if is_to_learn_from and 0 < largest < MIN_SINGLE:
        raise ValueError(
            f"Some values of X must be at least {MIN_SINGLE:g} for learners in single precision. "
            f"Got at most {largest:g}; scale the features."
        )


def check_weights(weights: NDArray[Any]) -> None:
    """Raise ValueError if weights of samples are negative, or too large to add and multiply."""
    if len(weights) and weights.min() < 0:
        raise ValueError(f"The weights of samples must not be negative. Got {weights.min():g}.")
    largest = largest_magnitude(weights)
    if not largest <= MAX_SINGLE:
        raise ValueError(
            f"The weights of samples must be at most {MAX_SINGLE:g}. Got {largest:g}; divide all of them by a number."
        )


def check_learned(weights: NDArray[Any]) -> None:
    """Raise ValueError if a learner diverged; with default settings none does on samples that passed the checks."""
    if not np.isfinite(largest_magnitude(weights)):
        raise ValueError(
            "The weights of the bits have grown beyond single precision. Scale the features and the sample weights, "
            "or make the learner's steps smaller (a larger 'r' of AROW, a smaller 'step' of Softmax)."
        )


def bounded_margins(margins: NDArray[Any]) -> NDArray[Any]:
    """Margins clipped to ``MAX_SINGLE``, so that their squares can be added up. Raises ValueError if one is NaN.

    >>> bounded_margins(np.array([[0.5, -np.inf]]))
    array([[ 5.e-01, -1.e+15]])
    """
    largest = largest_magnitude(margins)
    if largest <= MAX_SINGLE:
        return margins
    if np.isnan(largest):
        sample, bit = (int(place) for place in np.argwhere(np.isnan(margins))[0])
        raise ValueError(
            f"The margin of bit {bit} is not a number for sample {sample}. Its features may be too large or too "
            "small for the learner; scale them. Or those of all training samples were the same, from which some "
            "learners, such as GaussianNB, learn nothing but NaN."
        )
    return np.asarray(np.clip(margins, -MAX_SINGLE, MAX_SINGLE))
