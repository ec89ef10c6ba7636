"""Class distances from vectors, one per class: Euclidean distances, and minus their inner products."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from codekin._system.arrays import frozen
from codekin.classes.interface import MAX_DENSE_CLASSES, SummedDistances
from codekin.code import CodingMatrix, FloatArray

_BLOCK_ENTRIES = 4_000_000
"""How many distances are in memory at once if not all are."""


class EmbeddingDistances(SummedDistances):
    """Euclidean distances between vectors, one per class.

    Sums of squared distances have a closed form. Without the square they are computed in blocks of some millions of
    distances; the time grows with the number of pairs.

    >>> EmbeddingDistances([[0, 0], [3, 4]]).matrix()
    array([[0., 5.],
           [5., 0.]])
    """

    def __init__(self, vectors: Any, *, squared: bool = False) -> None:
        self.vectors = _checked_vectors(vectors)
        self.squared = squared

    @property
    def n_classes(self) -> int:
        return int(self.vectors.shape[0])

    def between(self, u: ArrayLike, v: ArrayLike) -> FloatArray:
        first, second = np.broadcast_arrays(np.asarray(u, dtype=np.intp), np.asarray(v, dtype=np.intp))
        differences = self._centred[first.ravel()] - self._centred[second.ravel()]
        squares = _row_squares(differences).reshape(first.shape)
        return squares if self.squared else np.sqrt(squares)

    @property
    def _row_sums(self) -> FloatArray:
        return self._sums[0]

    @property
    def _sum_of_squares(self) -> float:
        return self._sums[1]

    def _quadratic_form(self, matrix: CodingMatrix) -> float:
        M = matrix.astype(np.float64)
        if self.squared:
            apart = float((self._squares @ M) @ M.sum(axis=0))
            return 2 * apart - 2 * float(np.sum(np.asarray(self._centred.T @ M) ** 2))
        return sum(
            float(np.vdot(M[rows], block @ M[columns])) * (1 if rows == columns else 2)
            for rows, columns, block in self._blocks()
        )

    @cached_property
    def _centred(self) -> Any:
        """The vectors, centred unless that fills in zeros: the distances are the same, with less rounding."""
        return self.vectors if _is_sparse(self.vectors) else self.vectors - self.vectors.mean(axis=0)

    @cached_property
    def _squares(self) -> FloatArray:
        return _row_squares(self._centred)

    @cached_property
    def _sums(self) -> tuple[FloatArray, float]:
        """Row sums and sum of squares."""
        if self.squared:
            x, q, n_classes = self._centred, self._squares, self.n_classes
            total = np.asarray(x.sum(axis=0)).ravel()
            row_sums = n_classes * q + q.sum() - 2 * np.asarray(x @ total).ravel()
            weighted = np.asarray(x.T @ q).ravel()
            squares = 2 * n_classes * (q @ q) + 2 * q.sum() ** 2 - 8 * (weighted @ total) + 4 * self._gram_squares
            return row_sums, float(squares)
        row_sums, squares = np.zeros(self.n_classes), 0.0
        for rows, columns, block in self._blocks():
            row_sums[rows] += block.sum(axis=1)
            squares += float(np.vdot(block, block)) * (1 if rows == columns else 2)
            if rows != columns:
                row_sums[columns] += block.sum(axis=0)
        return row_sums, squares

    @property
    def _gram_squares(self) -> float:
        """The sum of the squared inner products of all pairs of vectors."""
        x = self._centred
        if not _is_sparse(x) and x.shape[1] <= min(self.n_classes, MAX_DENSE_CLASSES):
            return float(np.sum((x.T @ x) ** 2))
        step = max(1, _BLOCK_ENTRIES // self.n_classes)
        products = (x[start : start + step] @ x.T for start in range(0, self.n_classes, step))
        return sum(float(np.sum((block.data if _is_sparse(block) else block) ** 2)) for block in products)

    def _blocks(self) -> Iterator[tuple[slice, slice, FloatArray]]:
        """Blocks of distances on and above the diagonal."""
        if self.n_classes <= MAX_DENSE_CLASSES:
            everything = slice(0, self.n_classes)
            yield everything, everything, self._matrix
            return
        width = int(_BLOCK_ENTRIES**0.5)
        slices = [slice(start, min(start + width, self.n_classes)) for start in range(0, self.n_classes, width)]
        for i, rows in enumerate(slices):
            for columns in slices[i:]:
                yield rows, columns, self._block(rows, columns)

    def _block(self, rows: slice, columns: slice) -> FloatArray:
        x, q = self._centred, self._squares
        products = x[rows] @ x[columns].T
        if _is_sparse(products):
            products = products.toarray()
        scale = q[rows, None] + q[None, columns]
        squares = scale - 2 * products
        # If two vectors are nearly equal, a difference of large numbers is inexact: subtract first.
        i, j = np.nonzero(squares <= 1e-5 * scale)
        for start in range(0, len(i), 100_000):
            near = slice(start, start + 100_000)
            squares[i[near], j[near]] = _row_squares(x[rows][i[near]] - x[columns][j[near]])
        return np.asarray(squares if self.squared else np.sqrt(squares, out=squares))

    @cached_property
    def _matrix(self) -> FloatArray:
        everything = slice(0, self.n_classes)
        matrix = self._block(everything, everything)
        matrix = (matrix + matrix.T) / 2
        np.fill_diagonal(matrix, 0.0)
        return frozen(matrix)

    def __repr__(self) -> str:
        kind = "squared Euclidean" if self.squared else "Euclidean"
        return f"<EmbeddingDistances: {self.n_classes} classes, {kind} in {self.vectors.shape[1]} dimensions>"


def _checked_vectors(vectors: Any) -> Any:
    checked: Any
    if _is_sparse(vectors):
        checked = sparse.csr_array(cast(Any, vectors)).astype(np.float64)
        values = checked.data
    else:
        checked = values = np.array(cast(ArrayLike, vectors), dtype=np.float64)
    if checked.ndim != 2 or 0 in checked.shape:
        raise ValueError(f"Class vectors must be a matrix with one row per class. Got shape {checked.shape}.")
    if not np.isfinite(values).all():
        raise ValueError("Class vectors must be finite. Got a value that is not.")
    values.flags.writeable = False
    return checked


def _is_sparse(x: Any) -> bool:
    return bool(sparse.issparse(x))


def _row_squares(x: Any) -> FloatArray:
    if _is_sparse(x):
        return np.asarray(x.multiply(x).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", x, x))


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
        given = given if given.dtype == np.float32 else given.astype(np.float64)
        if given.ndim != 2 or not len(given):
            raise ValueError(f"Factors must be a matrix with one row per class. Got shape {given.shape}.")
        if not np.isfinite(given).all():
            raise ValueError("Factors must be finite. Got a value that is not.")
        self.factors: NDArray[np.floating] = frozen(given)

    @property
    def n_classes(self) -> int:
        return len(self.factors)

    def between(self, u: ArrayLike, v: ArrayLike) -> FloatArray:
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
        total = self.factors.sum(axis=0, dtype=np.float64).astype(self.factors.dtype)
        return np.asarray(self._squares - self.factors @ total)

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
        return f"<ProductDistances: {self.n_classes} classes, signed, {self.factors.shape[1]} factors>"
