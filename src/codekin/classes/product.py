"""Signed class distances in factored form: minus the inner products of vectors, one per class."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin._system.arrays import frozen
from codekin.classes.interface import SummedDistances
from codekin.coding import CodingMatrix, FloatArray


class ProductDistances(SummedDistances):
    """``A_uv = -<f_u, f_v>`` for different classes ``u`` and ``v``, in closed form for any number of classes.

    These are the off-diagonal entries of a learnability matrix; its diagonal does not matter. Time and memory of all
    sums grow with the number of entries of ``factors``, (n_classes, n_factors), float32 or float64.

    >>> ProductDistances([[1, 0], [1, 2], [0, -3]]).matrix()
    array([[ 0., -1.,  0.],
           [-1.,  0.,  6.],
           [ 0.,  6.,  0.]])
    """

    def __init__(self, factors: ArrayLike) -> None:
        given = np.array(factors)
        if given.dtype != np.float32:
            given = given.astype(np.float64)
        if given.ndim != 2 or not len(given):
            raise ValueError(f"Factors must be a matrix with one row per class. Got shape {given.shape}.")
        if not np.isfinite(given).all():
            raise ValueError("Factors must be finite. Got a value that is not.")
        self.factors: NDArray[np.floating] = frozen(given)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.factors)

    def between(self, u: ArrayLike, v: ArrayLike) -> FloatArray:
        """The distances between classes ``u`` and ``v``, arrays that broadcast against each other."""
        first, second = np.broadcast_arrays(np.asarray(u, dtype=np.intp), np.asarray(v, dtype=np.intp))
        products = np.einsum("...f,...f->...", self.factors[first], self.factors[second], dtype=np.float64)
        return np.where(first == second, 0.0, 0.0 - products)

    def _quadratic_form(self, matrix: CodingMatrix) -> float:
        M = matrix.astype(self.factors.dtype)
        lengths = np.einsum("ub,ub->u", M, M, dtype=np.float64)
        return float(self._squares @ lengths - np.sum((self.factors.T @ M).astype(np.float64) ** 2))

    @cached_property
    def _squares(self) -> FloatArray:
        return np.asarray(np.einsum("uf,uf->u", self.factors, self.factors, dtype=np.float64))

    @cached_property
    def _row_sums(self) -> FloatArray:
        return np.asarray(
            self._squares - self.factors @ self.factors.sum(axis=0, dtype=np.float64).astype(self.factors.dtype)
        )

    @property
    def _sum_of_squares(self) -> float:
        gram = (self.factors.T @ self.factors).astype(np.float64)
        return float(np.sum(gram * gram) - self._squares @ self._squares)

    @cached_property
    def _matrix(self) -> FloatArray:
        factors = self.factors.astype(np.float64)
        matrix = 0.0 - factors @ factors.T
        np.fill_diagonal(matrix, 0.0)
        return frozen(matrix)

    def __repr__(self) -> str:
        """One line."""
        return f"<ProductDistances: {self.n_classes} classes, signed, {self.factors.shape[1]} factors>"
