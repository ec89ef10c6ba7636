"""The interface of class distances for scores and searches, and the arithmetic that all forms share.

All sums over the class distances ``A`` are computed from the row sums and the quadratic form
``Q(M) = sum_uv A_uv <M_u, M_v>``. With ``r_u`` the number of non-zero bits of codeword ``M_u``, the distance between
two codewords is ``(r_u + r_v - <M_u, M_v> - <|M_u|, |M_v|>) / 2``, and so

    ``F = sum_uv A_uv D_uv = sum_u r_u sum_v A_uv - (Q(M) + Q(|M|)) / 2``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from codekin._system.arrays import frozen
from codekin.classes.tree import ClassTree
from codekin.code import CodingMatrix, FloatArray, IntArray
from codekin.code.geometry import MAX_DENSE_CODEWORDS, DistanceMoments, inner_product, total_codeword_distance

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


class SummedDistances(ClassDistances, ABC):
    """The base class of the forms of distances, which define their sums and their matrix; each is computed once."""

    tree: ClassTree | None = None

    @property
    @abstractmethod
    def _matrix(self) -> FloatArray: ...

    @property
    @abstractmethod
    def _row_sums(self) -> FloatArray: ...

    @property
    @abstractmethod
    def _sum_of_squares(self) -> float: ...

    def _quadratic_form(self, matrix: CodingMatrix) -> float:
        raise NotImplementedError(f"{type(self).__name__} computes inner products by itself.")

    @cached_property
    def _moments(self) -> DistanceMoments:
        row_sums = self._row_sums
        return DistanceMoments(float(row_sums.sum()), self._sum_of_squares, float(row_sums @ row_sums))

    def matrix(self) -> FloatArray:
        """All distances, read-only; an error for more than 5,000 classes unless they were given as a matrix."""
        refuse_too_many(self.n_classes)
        return self._matrix

    def row_sums(self) -> FloatArray:
        return self._row_sums

    def moments(self) -> DistanceMoments:
        return self._moments

    def inner_product(self, coding_matrix: ArrayLike) -> float:
        return inner_product(coding_matrix, self._row_sums, self._quadratic_form)


def refuse_too_many(n_classes: int) -> None:
    """Raise if a matrix of all pairs would be too large."""
    if n_classes > MAX_DENSE_CLASSES:
        raise ValueError(
            f"Distances between all pairs of {n_classes} classes would take {n_classes**2 * 8 / 2**30:.1f} GiB; "
            f"the limit is {MAX_DENSE_CLASSES} classes."
        )


class DenseDistances(SummedDistances):
    """Class distances given as a matrix.

    Parameters
    ----------
    matrix : array-like of shape (n_classes, n_classes)
        Symmetric, finite, with a zero diagonal.
    signed : bool, default=False
        Whether entries may be negative, as those of a learnability matrix are.
    tree : ClassTree, optional
        A tree of the classes whose path lengths may differ from the distances; searches may start from its order.

    Examples
    --------
    >>> distances = DenseDistances([[0, 1, 2], [1, 0, 2], [2, 2, 0]])
    >>> distances.moments()
    DistanceMoments(total=10.0, sum_of_squares=18.0, sum_of_squared_row_sums=34.0)
    >>> distances.inner_product([[1, 1], [1, -1], [-1, -1]])
    14.0
    """

    def __init__(self, matrix: ArrayLike, *, signed: bool = False, tree: ClassTree | None = None) -> None:
        self._given = _checked_matrix(matrix, signed)
        self.signed = signed
        if tree is not None and tree.n_classes != len(self._given):
            raise ValueError(f"The tree has {tree.n_classes} classes, the matrix {len(self._given)}.")
        self.tree = tree

    @property
    def n_classes(self) -> int:
        return len(self._given)

    def matrix(self) -> FloatArray:
        """The matrix, read-only."""
        return self._given

    def between(self, u: ArrayLike, v: ArrayLike) -> FloatArray:
        return np.asarray(self._matrix[np.asarray(u, dtype=np.intp), np.asarray(v, dtype=np.intp)])

    def _quadratic_form(self, matrix: CodingMatrix) -> float:
        M = matrix.astype(np.float64)
        return float(np.vdot(M, self._matrix @ M))

    @property
    def _matrix(self) -> FloatArray:
        return self._given

    @cached_property
    def _row_sums(self) -> FloatArray:
        return np.asarray(self._matrix.sum(axis=1))

    @property
    def _sum_of_squares(self) -> float:
        return float(np.vdot(self._matrix, self._matrix))

    def __repr__(self) -> str:
        return f"<DenseDistances: {self.n_classes} classes{', signed' if self.signed else ''}>"


def _checked_matrix(matrix: ArrayLike, signed: bool) -> FloatArray:
    try:
        given = np.array(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("Class distances must be a square matrix of numbers. Got other entries.") from None
    if given.ndim != 2 or given.shape[0] != given.shape[1] or not len(given):
        raise ValueError(f"Class distances must be a square matrix. Got shape {given.shape}.")
    if not np.isfinite(given).all():
        u, v = _first(~np.isfinite(given))
        raise ValueError(f"Class distances must be finite. Got {given[u, v]} between classes {u} and {v}.")
    tolerance = 1e-8 * float(np.abs(given).max())
    is_lopsided = np.abs(given - given.T) > tolerance
    if is_lopsided.any():
        u, v = _first(is_lopsided)
        raise ValueError(
            f"Class distances must be symmetric. Got {given[u, v]:g} from class {u} to {v}, and {given[v, u]:g} back."
        )
    is_off = np.abs(np.diagonal(given)) > tolerance
    if is_off.any():
        u = int(is_off.argmax())
        raise ValueError(f"The distance of a class to itself must be 0. Got {given[u, u]:g} for class {u}.")
    given = (given + given.T) / 2
    np.fill_diagonal(given, 0.0)
    if not signed and given.min() < 0:
        u, v = _first(given < 0)
        raise ValueError(
            f"Class distances must not be negative. Got {given[u, v]:g} between classes {u} and {v}. "
            "Use DenseDistances(..., signed=True) for a matrix such as the learnability matrix."
        )
    return frozen(given)


def _first(is_wrong: Any) -> tuple[int, int]:
    u, v = np.argwhere(is_wrong)[0]
    return int(u), int(v)


class PartialDistances(SummedDistances):
    """Distances of some classes, and their mean for every pair in which one is unknown.

    An unknown class is as far from all others as classes are on average, so that it prefers no codeword.

    >>> from codekin.classes import DenseDistances
    >>> PartialDistances(DenseDistances([[0, 5], [5, 0]]), [0, 2], n_classes=3).matrix()
    array([[0., 5., 5.],
           [5., 0., 5.],
           [5., 5., 0.]])
    """

    def __init__(self, known: ClassDistances, classes: ArrayLike, *, n_classes: int) -> None:
        self.known = known
        self.classes: IntArray = np.array(classes, dtype=np.intp)
        self._n_classes = n_classes
        if self.classes.shape != (known.n_classes,):
            raise ValueError(
                f"The distances are between {known.n_classes} classes. Got {self.classes.size} known classes."
            )
        if self.classes.min() < 0 or self.classes.max() >= n_classes or len(np.unique(self.classes)) < known.n_classes:
            raise ValueError(f"Known classes are different numbers from 0 to {n_classes - 1}. Got {self.classes}.")
        n_pairs = known.n_classes * (known.n_classes - 1)
        # A single known class has no distances: any constant is right.
        self.mean = known.moments().total / n_pairs if n_pairs else 1.0
        self._rank = np.full(n_classes, -1, dtype=np.intp)
        self._rank[self.classes] = np.arange(known.n_classes)

    @property
    def n_classes(self) -> int:
        return self._n_classes

    @property
    def _matrix(self) -> FloatArray:
        matrix = np.full((self.n_classes, self.n_classes), self.mean)
        matrix[np.ix_(self.classes, self.classes)] = self.known.matrix()
        np.fill_diagonal(matrix, 0.0)
        return matrix

    def between(self, u: ArrayLike, v: ArrayLike) -> FloatArray:
        first, second = np.broadcast_arrays(np.asarray(u, dtype=np.intp), np.asarray(v, dtype=np.intp))
        rank_u, rank_v = self._rank[first], self._rank[second]
        known = self.known.between(np.maximum(rank_u, 0), np.maximum(rank_v, 0))
        return np.where(first == second, 0.0, np.where((rank_u >= 0) & (rank_v >= 0), known, self.mean))

    @property
    def _row_sums(self) -> FloatArray:
        n_unknown = self.n_classes - self.known.n_classes
        sums = np.full(self.n_classes, (self.n_classes - 1) * self.mean)
        sums[self.classes] = self.known.row_sums() + n_unknown * self.mean
        return sums

    @property
    def _sum_of_squares(self) -> float:
        n_known = self.known.n_classes
        n_filled = self.n_classes * (self.n_classes - 1) - n_known * (n_known - 1)
        return float(self.known.moments().sum_of_squares + n_filled * self.mean**2)

    def inner_product(self, coding_matrix: ArrayLike) -> float:
        M = np.asarray(coding_matrix)
        if M.ndim != 2 or len(M) != self.n_classes:
            raise ValueError(f"The coding matrix needs one row per class, {self.n_classes}. Got shape {M.shape}.")
        of_known = M[self.classes]
        filled = total_codeword_distance(M) - total_codeword_distance(of_known)
        return self.known.inner_product(of_known) + self.mean * filled

    def __repr__(self) -> str:
        return f"<PartialDistances: {self.n_classes} classes, {self.known.n_classes} known: {self.known!r}>"
