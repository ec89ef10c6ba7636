"""A codebook under an assignment: the codeword of every class."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin.coding.assignment import Assignment
from codekin.coding.codebook import Codebook
from codekin.coding.types import CodingMatrix


@dataclass(frozen=True, eq=False)
class Code:
    """A codebook under an assignment: the codeword of every class.

    Parameters
    ----------
    codebook : Codebook
        The codewords.
    assignment : Assignment
        Which class has which of them.

    Examples
    --------
    >>> code = Code(Codebook([[1, 1], [1, -1], [-1, 1]]), Assignment([2, 0]))
    >>> code.coding_matrix
    array([[-1,  1],
           [ 1,  1]], dtype=int8)
    """

    codebook: Codebook
    assignment: Assignment

    @classmethod
    def of(cls, coding_matrix: ArrayLike) -> Code:
        """The code whose class ``k`` has row ``k`` of a matrix.

        Parameters
        ----------
        coding_matrix : array-like of shape (n_classes, n_bits)

        Returns
        -------
        Code
        """
        codebook = Codebook(coding_matrix)
        return cls(codebook, Assignment.identity(codebook.n_codewords))

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.assignment.n_classes

    @property
    def n_bits(self) -> int:
        """The number of bits of a codeword."""
        return self.codebook.n_bits

    @property
    def n_symbols(self) -> int:
        """How many symbols a column may have; two for a binary code."""
        return self.codebook.n_symbols

    @property
    def n_margins(self) -> int:
        """The number of margins of a sample."""
        return self.codebook.n_margins

    @property
    def is_full(self) -> bool:
        """Whether every codeword belongs to a class."""
        return self.n_classes == self.codebook.n_codewords

    @cached_property
    def coding_matrix(self) -> CodingMatrix:
        """Row ``k`` is the codeword of class ``k``."""
        return self.codebook.coding_matrix(self.assignment)

    @property
    def is_used(self) -> NDArray[np.bool_]:
        """Which bits do not ignore each class, (n_classes, n_bits)."""
        return self.codebook.is_used(self.assignment.codeword_of_class)

    @cached_property
    def indicators(self) -> CodingMatrix:
        """Row ``k`` is what margins are multiplied by for class ``k``: the coding matrix itself for two symbols."""
        return self.codebook.indicators_of(self.coding_matrix)
