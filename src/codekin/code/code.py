"""Which class gets which codeword, and the code that follows from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin._system.messages import plural
from codekin.code.codebook import Codebook
from codekin.code.types import CodingMatrix, IntArray


@dataclass(frozen=True, eq=False)
class Assignment:
    """Which class gets which codeword.

    Parameters
    ----------
    codeword_of_class : array-like of shape (n_classes,)
        ``codeword_of_class[k]`` is the row of the codebook that class ``k`` gets; no two classes share one.
    method : str, default="given"
        How it was found, for information.
    policy : str, default=""
        The policy that chose the method, if any: "preserving", "breaking" or "learnability".

    Attributes
    ----------
    n_classes : int
        The number of classes.

    Examples
    --------
    >>> assignment = Assignment([2, 0, 1], method="exhaustive", policy="preserving")
    >>> assignment
    <Assignment preserving (exhaustive): 3 classes>
    >>> assignment.class_of_codeword(4)
    array([ 1,  2,  0, -1])
    """

    codeword_of_class: IntArray
    method: str = "given"
    policy: str = ""
    n_classes: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the map and freeze it."""
        given = np.asarray(self.codeword_of_class)
        if given.ndim != 1 or given.dtype.kind not in "iu":
            raise ValueError(
                "codeword_of_class must be a one-dimensional array of integers. "
                f"Got an array of shape {given.shape} and type {given.dtype} instead."
            )
        frozen = given.astype(np.intp)
        if frozen.size and frozen.min() < 0:
            raise ValueError(f"Codewords are numbered from 0. Got {int(frozen.min())} in codeword_of_class.")
        values, counts = np.unique(frozen, return_counts=True)
        if (counts > 1).any():
            raise ValueError(
                f"No two classes may share a codeword. Codeword {int(values[counts > 1][0])} is given to "
                f"{int(counts[counts > 1][0])} classes."
            )
        frozen.flags.writeable = False
        self.__dict__.update(codeword_of_class=frozen, n_classes=len(frozen))

    @property
    def kind(self) -> str:
        """The policy and the method, in a word or two."""
        return f"{self.policy} ({self.method})" if self.policy else self.method

    def __repr__(self) -> str:
        """The policy, the method and the number of classes."""
        return f"<Assignment {self.kind}: {self.n_classes} {plural(self.n_classes, 'class')}>"

    def class_of_codeword(self, n_codewords: int) -> IntArray:
        """The inverse map; -1 if no class has the codeword."""
        inverse = np.full(n_codewords, -1, dtype=np.intp)
        inverse[self.codeword_of_class] = np.arange(self.n_classes)
        return inverse

    @classmethod
    def identity(cls, n_classes: int, method: str = "identity") -> Assignment:
        """Class ``k`` gets codeword ``k``.

        Parameters
        ----------
        n_classes : int
        method : str, default="identity"
            How it was found, for information.

        Returns
        -------
        Assignment
        """
        return cls(np.arange(n_classes, dtype=np.intp), method=method)


@dataclass(frozen=True, eq=False)
class Code:
    """A codebook under an assignment: the codeword of every class.

    Parameters
    ----------
    codebook : Codebook
        The codewords.
    assignment : Assignment
        Which class has which of them.

    Attributes
    ----------
    n_classes : int
        The number of classes.
    n_bits : int
        The number of bits of a codeword.

    Examples
    --------
    >>> code = Code(Codebook([[1, 1], [1, -1], [-1, 1]]), Assignment([2, 0]))
    >>> code.coding_matrix
    array([[-1,  1],
           [ 1,  1]], dtype=int8)
    """

    codebook: Codebook
    assignment: Assignment
    n_classes: int = field(init=False, repr=False)
    n_bits: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check that the codewords exist."""
        largest, n_codewords = int(self.assignment.codeword_of_class.max(initial=0)), self.codebook.n_codewords
        if largest >= n_codewords:
            raise ValueError(f"Codeword {largest} is not among the {n_codewords} of its codebook, numbered from 0.")
        self.__dict__.update(n_classes=self.assignment.n_classes, n_bits=self.codebook.n_bits)

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
    def free_codewords(self) -> IntArray:
        """The codewords that no class has, in increasing order."""
        return np.flatnonzero(self.assignment.class_of_codeword(self.codebook.n_codewords) < 0)

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
