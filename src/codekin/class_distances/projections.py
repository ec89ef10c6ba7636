"""Projections of many features onto few directions, computed in blocks of samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from codekin._system.memory import require_memory
from codekin.coding import FloatArray

_BLOCK_ENTRIES = 8_000_000
"""How many coordinates are in memory at once."""
_LEAST_PIVOT = 0.03
"""A column of length one this close to the span of earlier ones still has three digits in float32."""


def random_directions(n_features: int, n_components: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Random directions that preserve lengths on average, (n_features, n_components)."""
    # The directions, a block of them, and the result of the next step.
    require_memory(
        3 * 4 * n_features * n_components,
        f"Learning class distances from {n_features:,} features",
        "Give a taxonomy or assignment='random', use fewer features (hash them) or more memory.",
    )
    return rng.standard_normal((n_features, n_components), dtype=np.float32) / np.float32(n_components**0.5)


def leading_directions(X: Any, n_components: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """An orthonormal basis of nearly the leading right singular vectors of X.

    Subspace iteration (Halko, Martinsson and Tropp 2011, algorithm 4.4) in the space of features: two
    multiplications by ``X' X``. Distances and least squares do not depend on the basis of the subspace, so no
    decomposition follows.
    """
    n_samples, n_features = X.shape
    basis = random_directions(n_features, min(n_components, n_samples, n_features), rng)
    step = max(1, _BLOCK_ENTRIES // basis.shape[1])
    for _ in range(2):
        product = np.zeros_like(basis)
        for start in range(0, n_samples, step):
            block = X[start : start + step].astype(np.float32)
            product += block.T @ (block @ basis)
        basis = _orthonormal(product)
    return basis


def _orthonormal(columns: NDArray[np.float32]) -> NDArray[np.float32]:
    """An orthonormal basis of the span of ``columns``, from their inner products.

    Products of blocks are many times faster here than a QR decomposition of a tall matrix, but they square the
    condition number. If float32 is not enough, they are summed in float64, and a second round removes the remaining
    error.
    """
    inner = _inner_products(columns, np.float32)
    length = np.sqrt(np.maximum(np.diag(inner), np.finfo(np.float32).tiny))
    try:
        factor = linalg.cholesky(inner / np.outer(length, length))
    except linalg.LinAlgError:
        pass
    else:
        if np.diag(factor).min() > _LEAST_PIVOT:
            return _turned(columns, linalg.solve_triangular(factor, np.eye(len(factor))) / length[:, None], np.float32)
    for _ in range(2):
        squares, directions = linalg.eigh(_inner_products(columns, np.float64))
        spans = squares > 1e-13 * squares[-1]
        columns = _turned(columns, directions[:, spans] / np.sqrt(squares[spans]), np.float64)
    return columns


def _blocks(columns: NDArray[np.float32], dtype: type) -> Iterator[tuple[slice, NDArray[Any]]]:
    step = max(1, _BLOCK_ENTRIES // columns.shape[1])
    for start in range(0, len(columns), step):
        rows = slice(start, start + step)
        yield rows, columns[rows].astype(dtype, copy=False)


def _inner_products(columns: NDArray[np.float32], dtype: type) -> FloatArray:
    inner = np.zeros((columns.shape[1], columns.shape[1]))
    for _, block in _blocks(columns, dtype):
        inner += block.T @ block
    return inner


def _turned(columns: NDArray[np.float32], turn: FloatArray, dtype: type) -> NDArray[np.float32]:
    turned = np.empty((len(columns), turn.shape[1]), dtype=np.float32)
    matrix: NDArray[Any] = turn.astype(dtype)
    for rows, block in _blocks(columns, dtype):
        turned[rows] = block @ matrix
    return turned
