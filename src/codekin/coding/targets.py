"""Codewords of real numbers: one regressor per bit, and the nearest codeword wins."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin.coding._matrix import MatrixCodebook, first_outside
from codekin.coding.types import CodingMatrix, FloatArray, IntArray, Margins

LARGEST_TARGET = 1e100
"""The largest entry of a real codeword; squares of larger ones are infinite in sums."""
ROUNDING = 1e-9
"""Real distances whose ratio is closer to 1 than this are equal up to rounding."""


class TargetCodebook(MatrixCodebook):
    """The rows of a matrix of finite numbers; a zero is a number like any other."""

    kind = "targets"
    unit = "real bit"
    is_real = True

    def _checked(self, given: NDArray[Any]) -> CodingMatrix:
        targets = np.array(given, dtype=np.float64, order="C")
        place = first_outside(~(np.abs(targets) <= LARGEST_TARGET))
        if place is not None:
            raise ValueError(
                f"The entries of a real codebook must be numbers of at most {LARGEST_TARGET:g}. "
                f"Got {targets[place]} in row {place[0]}, column {place[1]}."
            )
        targets += 0.0  # no negative zeros, which would make equal rows different bytes
        return targets

    def _are_used(self, codewords: CodingMatrix) -> NDArray[np.bool_]:
        return np.ones(codewords.shape, dtype=bool)

    def _are_close(self, distances: FloatArray, other: float) -> bool:
        return bool(np.allclose(distances, other, rtol=ROUNDING, atol=0))

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether all codewords are equally far apart: they can then be rotated into each other."""
        return self.is_equidistant

    @property
    def n_constant_columns(self) -> int:
        """The number of columns with only one number."""
        return int((np.ptp(self.matrix, axis=0) == 0).sum())

    def bit_losses(
        self,
        margins: Margins,
        codewords: CodingMatrix,
        class_index: IntArray,
        loss: Callable[[Any], Any],  # noqa: ARG002
    ) -> FloatArray:
        """The mean of the squares of what is missing to the targets."""
        return np.asarray(np.square(codewords[class_index] - np.asarray(margins, dtype=np.float64)).mean(axis=0))

    def text(self, codeword: ArrayLike) -> str:
        """The numbers with all their digits."""
        return " ".join(map(repr, np.asarray(codeword).tolist()))

    @classmethod
    def entries(cls, text: str) -> list[Any]:
        """The codeword of a text."""
        return [float(entry) for entry in text.split(" ")]
