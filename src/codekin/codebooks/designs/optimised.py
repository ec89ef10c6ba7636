"""Designs with distant codewords: of classes easily confused, or all by integer programming. Experimental."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from codekin.classes import ClassDistances
from codekin.code import Codebook, CodingMatrix, FloatArray
from codekin.codebooks.classic import binary_columns, checked_n_codewords, dense_n_bits
from codekin.codebooks.designs.columns import are_columns_useful, are_rows_distinct, distance_matrix
from codekin.codebooks.random import dense_random

N_START_DRAWS = 100
N_OPTIMISED_DRAWS = 1_000
"""Searches start from the best of this many random codebooks."""
MAX_OPTIMISED = 12
"""With 12 codewords there are 2,047 columns to choose from; each further one doubles them."""


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
    matrix = dense_random(n_codewords, n_bits, n_draws=N_START_DRAWS, rng=rng).matrix.astype(np.float64)
    _descend(matrix, design_matrix(distances, matrix.shape[1], spread), max_sweeps)
    return Codebook(matrix, name="error_correcting_factorization", is_designed=True)


def design_matrix(distances: FloatArray, n_bits: int, spread: float) -> FloatArray:
    """The target inner products; 0 on the diagonal, where nothing can be chosen."""
    between = ~np.eye(len(distances), dtype=bool)
    centred = np.where(between, distances - distances[between].mean(), 0.0)
    largest = np.abs(centred).max()
    return centred * (spread * n_bits / largest) if largest > 1e-12 * distances.max() else np.zeros_like(centred)


def _descend(matrix: FloatArray, design: FloatArray, max_sweeps: int) -> None:
    """Replace columns in place, as long as there are better ones that keep the constraints."""
    residual = design - matrix @ matrix.T
    np.fill_diagonal(residual, 0.0)
    for _ in range(max_sweeps):
        has_changed = False
        for bit in range(matrix.shape[1]):
            present = matrix[:, bit].copy()
            rest = residual + np.outer(present, present)
            np.fill_diagonal(rest, 0.0)
            worth = present @ rest @ present
            starts = [np.where(_leading_eigenvector(rest, present) < 0, -1.0, 1.0), present]
            for candidate in sorted((_flipped_uphill(rest, start) for start in starts), key=lambda m: -(m @ rest @ m)):
                if candidate @ rest @ candidate <= worth * (1 + 1e-9) + 1e-9:
                    break
                matrix[:, bit] = candidate
                if are_columns_useful(matrix) and are_rows_distinct(matrix):
                    residual = rest - np.outer(candidate, candidate)
                    np.fill_diagonal(residual, 0.0)
                    has_changed = True
                    present = candidate
                    break
            matrix[:, bit] = present
        if not has_changed:
            break


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


@dataclass(frozen=True)
class OptimisedColumns:
    """The codebook with the largest minimum distance found, and an upper bound on it.

    Parameters
    ----------
    codebook : Codebook
        The best codebook that was found.
    upper_bound : int
        No codebook of this shape has a larger minimum distance.
    """

    codebook: Codebook
    upper_bound: int

    @property
    def is_proven(self) -> bool:
        """Whether no codebook of this shape has a larger minimum distance."""
        return self.codebook.min_distance >= self.upper_bound


def optimised(n_codewords: int, n_bits: int | None = None, *, time_limit: float = 30.0) -> Codebook:
    """The codebook whose minimum distance is the largest possible, or the largest found in time.

    Parameters
    ----------
    n_codewords : int
        The number of codewords ``K``, from 2 to 12.
    n_bits : int, optional
        The number of bits; by default ``10 log2 K``, rounded up, but not more than the ``2**(K - 1) - 1`` different
        columns that there are.
    time_limit : float, default=30.0
        The seconds after which the search stops. A search that ends before gives the same codebook every time; one that
        was stopped may not.

    Returns
    -------
    Codebook
        Its name says whether the distance is proven to be the largest; :func:`optimised_columns` returns that as a
        value.

    References
    ----------
    S. Gupta and S. Amin, "Integer Programming-based Error-Correcting Output Code Design for Robust Classification",
    UAI 2021 (arXiv 2020).

    Examples
    --------
    >>> optimised(6, 8)
    <Codebook optimised (proven): 6 codewords x 8 bits, minimum distance 4>
    """
    return optimised_columns(n_codewords, n_bits, time_limit=time_limit).codebook


def optimised_columns(n_codewords: int, n_bits: int | None = None, *, time_limit: float = 30.0) -> OptimisedColumns:
    r"""The same as :func:`optimised`, with the bound that was proven.

    With one binary variable :math:`x_c` for each distinct column, the program is to maximise ``t`` subject to
    :math:`\sum_c x_c = \ell` and :math:`\sum_{c: c_u \ne c_v} x_c \ge t` for every pair of codewords ``u`` and ``v``.
    Plotkin's bound (a column separates at most :math:`\lfloor K/2 \rfloor \lceil K/2 \rceil` pairs) is given to the
    solver as an upper limit of ``t``: many codebooks reach it, which ends the search at once. If the solver finds
    nothing better in time, the best of many random codebooks is returned.

    Parameters
    ----------
    n_codewords : int
        The number of codewords ``K``, from 2 to 12.
    n_bits : int, optional
        The number of bits, as for :func:`optimised`.
    time_limit : float, default=30.0
        The seconds after which the search stops.

    Returns
    -------
    OptimisedColumns

    Examples
    --------
    >>> found = optimised_columns(5, 6)
    >>> found.codebook.min_distance, found.upper_bound, found.is_proven
    (3.0, 3, True)
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="optimised", at_most=MAX_OPTIMISED)
    n_bits = dense_n_bits(n_bits, n_codewords)
    if not time_limit > 0:
        raise ValueError(f"The 'time_limit' parameter must be greater than 0. Got {time_limit!r} instead.")
    start = dense_random(n_codewords, n_bits, n_draws=N_OPTIMISED_DRAWS, rng=0).matrix
    matrix, upper_bound = _farthest_apart(start, time_limit)
    is_proven = Codebook(matrix).min_distance >= upper_bound
    name = f"optimised ({'proven' if is_proven else f'at most {upper_bound} possible'})"
    return OptimisedColumns(Codebook(matrix, name=name), upper_bound)


def plotkin_bound(n_codewords: int, n_bits: int) -> int:
    """A minimum distance that no binary code of this shape exceeds: the mean over pairs of the most that bits separate.

    An odd distance ``d`` is possible only if ``d + 1`` is with one more bit, a parity.
    """
    separated = (n_codewords // 2) * ((n_codewords + 1) // 2)
    n_pairs = n_codewords * (n_codewords - 1) // 2
    bound = n_bits * separated // n_pairs
    return bound - (bound % 2 and bound + 1 > (n_bits + 1) * separated // n_pairs)


def _farthest_apart(start: CodingMatrix, time_limit: float) -> tuple[CodingMatrix, int]:
    """The best codebook of this shape that was found, and the largest minimum distance that is not ruled out."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    n_codewords, n_bits = start.shape
    reached, limit = Codebook(start).min_distance, plotkin_bound(n_codewords, n_bits)
    if reached >= limit:
        return start, limit
    columns = binary_columns(n_codewords)
    first, second = np.triu_indices(n_codewords, k=1)
    separated = (columns[first] != columns[second]).astype(np.float64)
    is_column = np.append(np.ones(columns.shape[1]), 0.0)
    # The variables are one per column, then t. We don't require t to exceed what is reached already: the solver's
    # heuristics reach good codebooks through worse ones, and find far fewer if those are forbidden.
    solution = milp(
        is_column - 1,
        constraints=[
            LinearConstraint(np.column_stack([separated, -np.ones(len(separated))]), lb=0.0),
            LinearConstraint(is_column[None, :], lb=n_bits, ub=n_bits),
        ],
        bounds=Bounds(np.where(is_column, 0, 1), np.where(is_column, 1, limit)),
        integrality=np.ones(len(is_column), dtype=np.intp),
        options={"time_limit": time_limit},
    )
    if solution.x is None:
        return start, limit
    # The solver minimises -t, and its bound is an integer up to its tolerance.
    upper_bound = min(limit, int(np.floor(1e-6 - solution.mip_dual_bound)))
    found = columns[:, solution.x[:-1] > 0.5]
    return (found if Codebook(found).min_distance > reached else start), upper_bound
