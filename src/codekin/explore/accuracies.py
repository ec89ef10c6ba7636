"""The accuracies of all assignments of few classes, from a sweep."""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEAST_STEP = 0.1
"""Accuracies are rounded to this many points: two bytes each, which compress well."""


def checked_accuracies(model: Any, accuracies: ArrayLike) -> NDArray[np.uint16]:
    """Accuracies in percent as whole numbers of tenths, one for each order of the codewords.

    They are in lexicographic order of ``codeword_of_class``, as :func:`itertools.permutations` lists them.
    """
    given = np.asarray(accuracies, dtype=np.float64)
    n = factorial(model.n_classes) if model.n_classes <= 10 else 0
    if given.shape != (n,) or model.codebook.n_codewords != model.n_classes:
        raise ValueError(
            "The accuracies of a sweep are one for each assignment of at most 10 classes to as many codewords. "
            f"Got shape {given.shape} for {model.n_classes} classes and {model.codebook.n_codewords} codewords."
        )
    if not (np.isfinite(given).all() and given.min() >= 0 and given.max() <= 100):
        raise ValueError("The accuracies of a sweep must be between 0 and 100 percent. Got one that is not.")
    return np.rint(given / LEAST_STEP).astype(np.uint16)
