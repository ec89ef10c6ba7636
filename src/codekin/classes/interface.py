"""The interface of class distances for scores and searches, and the arithmetic that all forms share.

All sums over the class distances ``A`` are computed from the row sums and the quadratic form
``Q(M) = sum_uv A_uv <M_u, M_v>``. With ``r_u`` the number of non-zero bits of codeword ``M_u``, the distance between
two codewords is ``(r_u + r_v - <M_u, M_v> - <|M_u|, |M_v|>) / 2``, and so

    ``F = sum_uv A_uv D_uv = sum_u r_u sum_v A_uv - (Q(M) + Q(|M|)) / 2``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Protocol, runtime_checkable

from numpy.typing import ArrayLike

from codekin.classes.tree import ClassTree
from codekin.coding import CodingMatrix, FloatArray
from codekin.coding.codebook import MAX_DENSE_CODEWORDS
from codekin.coding.geometry import DistanceMoments, inner_product

MAX_DENSE_CLASSES = MAX_DENSE_CODEWORDS
"""The most classes for which a matrix of all pairs is computed."""


@runtime_checkable
class ClassDistances(Protocol):
    """What scores and searches need to know about class distances; symmetric, with a zero diagonal."""

    @property
    def n_classes(self) -> int:
        """The number of classes."""

    @property
    def tree(self) -> ClassTree | None:
        """The tree whose path lengths these are, if there is one."""

    def matrix(self) -> FloatArray:
        """All distances, (n_classes, n_classes); an error if they would be too many."""

    def between(self, u: ArrayLike, v: ArrayLike) -> FloatArray:
        """The distances between classes ``u`` and ``v``, arrays that broadcast against each other."""

    def row_sums(self) -> FloatArray:
        """The sum of the distances of each class to all others, (n_classes,)."""

    def moments(self) -> DistanceMoments:
        """The sums over all pairs, exactly."""

    def inner_product(self, coding_matrix: ArrayLike) -> float:
        """The sum over all ordered pairs of class distance times codeword distance."""


class SummedDistances(ABC):
    """The base class of the forms of distances, which define their sums and their matrix; each is computed once."""

    tree: ClassTree | None = None

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """The number of classes."""

    @property
    @abstractmethod
    def _matrix(self) -> FloatArray: ...

    @property
    @abstractmethod
    def _row_sums(self) -> FloatArray: ...

    @property
    @abstractmethod
    def _sum_of_squares(self) -> float: ...

    @abstractmethod
    def _quadratic_form(self, matrix: CodingMatrix) -> float: ...

    @cached_property
    def _moments(self) -> DistanceMoments:
        row_sums = self._row_sums
        return DistanceMoments(float(row_sums.sum()), self._sum_of_squares, float(row_sums @ row_sums))

    def matrix(self) -> FloatArray:
        """All distances, read-only; an error for more than 5,000 classes unless they were given as a matrix."""
        refuse_too_many(self.n_classes)
        return self._matrix

    def row_sums(self) -> FloatArray:
        """The sum of the distances of each class to all others."""
        return self._row_sums

    def moments(self) -> DistanceMoments:
        """The sums over all pairs."""
        return self._moments

    def inner_product(self, coding_matrix: ArrayLike) -> float:
        """The sum over all ordered pairs of class distance times codeword distance."""
        return inner_product(coding_matrix, self._row_sums, self._quadratic_form)


def refuse_too_many(n_classes: int) -> None:
    """Raise if a matrix of all pairs would be too large."""
    if n_classes > MAX_DENSE_CLASSES:
        raise ValueError(
            f"Distances between all pairs of {n_classes} classes would take {n_classes**2 * 8 / 2**30:.1f} GiB; "
            f"the limit is {MAX_DENSE_CLASSES} classes."
        )
