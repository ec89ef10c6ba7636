"""Codewords of -1 and +1, and 0 where a bit ignores a class: one binary predictor per bit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.code.codebook import Codebook, first_outside
from codekin.code.types import CodingMatrix


class SignCodebook(Codebook):
    """The rows of a matrix with entries -1, 0 and +1."""

    kind = "signs"

    def _checked(self, given: NDArray[Any]) -> CodingMatrix:
        place = first_outside(~np.isin(given, (-1, 0, 1)))
        if place is not None:
            entry, remedy = given[place], ""
            if given.dtype.kind == "f" and entry % 1:
                remedy = " Give is_real=True for targets that regressors learn."
            elif entry > 1:
                remedy = " Give n_symbols if there are more than two."
            raise ValueError(
                f"The entries of a codebook must be -1, 0 or +1. Got {entry} in row {place[0]}, column {place[1]}."
                f"{remedy}"
            )
        matrix = np.array(given, dtype=np.int8, order="C")
        if (matrix == 0).any() and not ((matrix > 0).any() and (matrix < 0).any()):
            raise ValueError(
                f"The entries of a codebook must have both signs, since a bit ignores classes where it is 0. Got only "
                f"{np.unique(matrix).tolist()}. Write a matrix of 0 and 1 as 2 * matrix - 1."
            )
        return matrix
