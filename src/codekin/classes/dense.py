"""Class distances given as a matrix."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from codekin._system.arrays import frozen
from codekin.classes.interface import SummedDistances
from codekin.classes.tree import ClassTree
from codekin.coding import CodingMatrix, FloatArray


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
        """The number of classes."""
        return len(self._given)

    def matrix(self) -> FloatArray:
        """The matrix, read-only."""
        return self._given

    def between(self, u: ArrayLike, v: ArrayLike) -> FloatArray:
        """The distances between classes ``u`` and ``v``, arrays that broadcast against each other."""
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
        """One line."""
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
