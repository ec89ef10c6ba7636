"""Error-correcting factorization: classes that are easily confused get codewords that are far apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from codekin.classes import ClassDistances
from codekin.codebooks.design import are_columns_useful, are_rows_distinct, distance_matrix
from codekin.codebooks.random import dense_random
from codekin.codebooks.sizes import checked_n_codewords
from codekin.coding import Codebook, FloatArray

N_START_DRAWS = 100
"""The search starts from the best of this many random codebooks."""


def error_correcting_factorization(
    n_codewords: int,
    n_bits: int | None = None,
    *,
    class_distances: ClassDistances | ArrayLike,
    spread: float = 0.5,
    max_sweeps: int = 20,
    rng: np.random.Generator | int | None = None,
) -> Codebook:
    r"""Codewords that agree the more, the farther apart their classes are: a similarity-breaking design.

    Minimises :math:`\|D - M M^\top\|_F^2` over codebooks ``M`` of -1 and +1 with distinct codewords and columns that
    are neither constant, equal nor complementary. Codewords that agree in more bits have a larger inner product. The
    design matrix ``D``, the class distances centred and scaled to :math:`\pm` ``spread * n_bits``, has the largest
    entry where classes are farthest apart and the smallest (the most error correction) where they are nearest.

    The columns are the blocks of a coordinate descent. Given all others, column ``m`` maximises :math:`m^\top R m`,
    with ``R`` the residual of ``D``: the signs of the leading eigenvector and the current column are both improved by
    flipping single entries, and the better of those that keep the constraints replaces the column if it gains anything.

    Parameters
    ----------
    n_codewords : int
        The number of codewords ``K``, at least 2; row ``k`` is for class ``k``.
    n_bits : int, optional
        The number of bits; by default as for :func:`dense_random`.
    class_distances : ClassDistances or array-like of shape (n_codewords, n_codewords)
        How far apart the classes are.
    spread : float, default=0.5
        The largest target inner product, as a share of ``n_bits``: with 0 all codewords should be equally far apart,
        with 1 error correction is allocated as unevenly as possible.
    max_sweeps : int, default=20
        The most passes over all columns; the descent ends earlier if no column changes.
    rng : numpy.random.Generator, int or None, default=None
        The source of randomness for the start, or a seed for one.

    Returns
    -------
    Codebook

    References
    ----------
    M. A. Bautista Martin, O. Pujol, F. De la Torre and S. Escalera, "Error-Correcting Factorization", IEEE TPAMI
    40(10), 2018 (online 2017).

    Examples
    --------
    Classes 0 and 1 are nearly alike, and so are 2 and 3: they get the codewords that differ the most.

    >>> pairs = [[0, 1, 5, 5], [1, 0, 5, 5], [5, 5, 0, 1], [5, 5, 1, 0]]
    >>> error_correcting_factorization(4, 2, class_distances=pairs, rng=0).row_distances()
    array([[0., 2., 1., 1.],
           [2., 0., 1., 1.],
           [1., 1., 0., 2.],
           [1., 1., 2., 0.]])
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="error_correcting_factorization")
    if not 0 <= spread <= 1:
        raise ValueError(f"The 'spread' parameter must be between 0 and 1. Got {spread!r} instead.")
    distances = distance_matrix(class_distances, n_codewords)
    start = dense_random(n_codewords, n_bits, n_draws=N_START_DRAWS, rng=rng).matrix.astype(np.float64)
    design = design_matrix(distances, start.shape[1], spread)
    matrix = _descend(start, design, max_sweeps)
    return Codebook(matrix, name="error_correcting_factorization", is_designed=True)


def design_matrix(distances: FloatArray, n_bits: int, spread: float) -> FloatArray:
    """The target inner products; 0 on the diagonal, where nothing can be chosen."""
    between = ~np.eye(len(distances), dtype=bool)
    centred = np.where(between, distances - distances[between].mean(), 0.0)
    largest = np.abs(centred).max()
    return centred * (spread * n_bits / largest) if largest > 1e-12 * distances.max() else np.zeros_like(centred)


def _descend(matrix: FloatArray, design: FloatArray, max_sweeps: int) -> FloatArray:
    residual = design - matrix @ matrix.T
    np.fill_diagonal(residual, 0.0)
    for _ in range(max_sweeps):
        has_changed = False
        for bit in range(matrix.shape[1]):
            present = matrix[:, bit].copy()
            rest = residual + np.outer(present, present)
            np.fill_diagonal(rest, 0.0)
            better = _better_column(rest, matrix, bit)
            if better is not None:
                residual = rest - np.outer(better, better)
                np.fill_diagonal(residual, 0.0)
                matrix[:, bit] = better
                has_changed = True
        if not has_changed:
            break
    return matrix


def _better_column(rest: FloatArray, matrix: FloatArray, bit: int) -> FloatArray | None:
    """The best column found for ``bit`` that keeps the constraints, or None if none is better than the current one."""
    present = matrix[:, bit]
    worth = present @ rest @ present
    starts = [np.where(_leading_eigenvector(rest, present) < 0, -1.0, 1.0), present]
    candidates = sorted((_flipped_uphill(rest, start) for start in starts), key=lambda m: -(m @ rest @ m))
    changed = matrix.copy()
    for candidate in candidates:
        if candidate @ rest @ candidate <= worth * (1 + 1e-9) + 1e-9:
            return None
        changed[:, bit] = candidate
        if are_columns_useful(changed) and are_rows_distinct(changed):
            return candidate
    return None


def _leading_eigenvector(rest: FloatArray, start: FloatArray) -> FloatArray:
    from scipy.sparse.linalg import ArpackError, eigsh

    if len(rest) < 3:
        return start
    try:
        return np.asarray(eigsh(rest, k=1, which="LA", v0=start, tol=1e-3)[1][:, 0])
    except ArpackError:
        # If nothing is left to fit, a matrix of zeros, there is no leading vector.
        return start


def _flipped_uphill(rest: FloatArray, start: FloatArray) -> FloatArray:
    """Flip the entry that raises ``m' rest m`` the most, as long as there is one."""
    column = start.copy()
    products = rest @ column
    while True:
        gains = -column * products
        entry = int(gains.argmax())
        if gains[entry] <= 1e-9:
            return column
        products -= 2 * column[entry] * rest[entry]
        column[entry] *= -1
