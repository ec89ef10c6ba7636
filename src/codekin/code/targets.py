"""Codewords of real numbers: one regressor per bit, and the nearest codeword wins."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin.code.code import Assignment
from codekin.code.codebook import Codebook, first_outside
from codekin.code.types import CodingMatrix, FloatArray, IntArray, Margins

LARGEST_TARGET = 1e100
"""The largest entry of a real codeword; squares of larger ones are infinite in sums."""
ROUNDING = 1e-9
"""Real distances whose ratio is closer to 1 than this are equal up to rounding."""


class TargetCodebook(Codebook):
    """The rows of a matrix of finite numbers; a zero is a number like any other."""

    kind = "targets"
    has_log_odds = False
    unit = "real bit"
    ignored = float("nan")
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

    def check_learner(self, name: str, learns_targets: bool) -> None:
        if not learns_targets:
            raise ValueError(
                f"The bits of the {self.name} codebook are real numbers, which regressors learn. Got {name}; use a "
                "regressor, such as Ridge(), or another codebook."
            )

    def loss_of_margins(self, natural_loss: str) -> str:  # noqa: ARG002
        """The nearest target wins."""
        return "squared"

    @classmethod
    def entries_to_tell_apart(cls, column: CodingMatrix) -> None:  # noqa: ARG003
        """None: a regressor learns the numbers themselves."""
        return

    @property
    def parameters(self) -> dict[str, Any]:
        return {"is_real": True}

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

    def constant_bits(self, assignment: Assignment) -> NDArray[np.bool_]:
        """Which bits have a single target."""
        return np.asarray(np.ptp(self.coding_matrix(assignment), axis=0) == 0)

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
        return [float(entry) for entry in text.split(" ")]

    def check_growth(self) -> None:
        """Refuse: regressors learned the targets of the old classes only."""
        raise ValueError("Classes can only be added to codes of signs or symbols. Got real codewords; fit again.")
