"""What codebooks share whose codewords are the rows of a matrix that somebody gives."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin._system.arrays import frozen
from codekin.coding.codebook import Codebook
from codekin.coding.types import CodingMatrix


class MatrixCodebook(Codebook):
    """The rows of a matrix."""

    _matrix: CodingMatrix

    @property
    def matrix(self) -> CodingMatrix:
        """The codewords as rows, (n_codewords, n_bits), read-only."""
        return self._matrix

    def _take(self, given: Any) -> None:
        matrix = self._checked(_checked_shape(given))
        self._check_distinct(matrix)
        self._matrix = frozen(matrix)

    @abstractmethod
    def _checked(self, given: NDArray[Any]) -> CodingMatrix:
        """The entries in their own type; an error if one is none of this kind's."""

    def _check_distinct(self, matrix: CodingMatrix) -> None:
        """Raise if two codewords are equal."""
        _, first, counts = np.unique(matrix, axis=0, return_index=True, return_counts=True)
        if (counts > 1).any():
            row = int(first[counts > 1].min())
            twins = np.flatnonzero((matrix == matrix[row]).all(axis=1))
            raise ValueError(
                f"The codewords of a codebook must be distinct. Rows {int(twins[0])} and {int(twins[1])} of this "
                f"{self.name} codebook are equal."
            )


def first_outside(is_outside: NDArray[np.bool_]) -> tuple[int, int] | None:
    """The row and column of the first entry that is not allowed."""
    return tuple(int(i) for i in np.argwhere(is_outside)[0]) if is_outside.any() else None  # type: ignore[return-value]


def _checked_shape(matrix: ArrayLike) -> NDArray[Any]:
    given = np.asarray(matrix)
    if given.ndim != 2 or 0 in given.shape:
        raise ValueError(
            f"The matrix of a codebook must have two dimensions and must not be empty. Got shape {given.shape}."
        )
    return given
