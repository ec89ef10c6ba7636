"""Which class gets which codeword."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from codekin._system.wording import plural
from codekin.coding.types import IntArray


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
        object.__setattr__(self, "codeword_of_class", frozen)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.codeword_of_class)

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
