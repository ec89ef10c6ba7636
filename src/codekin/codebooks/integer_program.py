"""The columns that keep codewords farthest apart, by integer programming."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from codekin.codebooks.complete import binary_columns
from codekin.codebooks.random import dense_random
from codekin.codebooks.sizes import (
    DENSE_BITS_PER_DOUBLING,
    checked_n_bits,
    checked_n_codewords,
    default_n_bits,
    n_binary_columns,
)
from codekin.coding import Codebook, CodingMatrix

N_START_DRAWS = 1_000
"""The search starts from the best of this many random codebooks, which is the result if time runs out."""

MAX_OPTIMISED = 12
"""With 12 codewords there are 2,047 columns to choose from; each further one doubles them."""


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
    n_columns = n_binary_columns(n_codewords)
    default = default_n_bits(n_codewords, DENSE_BITS_PER_DOUBLING, n_columns=n_columns)
    n_bits = checked_n_bits(n_bits, n_codewords, n_columns=n_columns, default=default)
    if not time_limit > 0:
        raise ValueError(f"The 'time_limit' parameter must be greater than 0. Got {time_limit!r} instead.")
    start = dense_random(n_codewords, n_bits, n_draws=N_START_DRAWS, rng=0).matrix
    matrix, upper_bound = _farthest_apart(start, time_limit)
    is_proven = _min_distance(matrix) >= upper_bound
    name = f"optimised ({'proven' if is_proven else f'at most {upper_bound} possible'})"
    return OptimisedColumns(Codebook(matrix, name=name), upper_bound)


def plotkin_bound(n_codewords: int, n_bits: int) -> int:
    """A minimum distance that no binary code of this shape exceeds.

    The distances of all pairs sum to at most ``n_bits`` times the pairs that one column can tell apart. An odd
    distance ``d`` is possible only if ``d + 1`` is with one more bit, a parity.
    """
    told_apart = (n_codewords // 2) * ((n_codewords + 1) // 2)
    n_pairs = n_codewords * (n_codewords - 1) // 2
    bound = n_bits * told_apart // n_pairs
    if bound % 2 and bound + 1 > (n_bits + 1) * told_apart // n_pairs:
        return bound - 1
    return bound


def _farthest_apart(start: CodingMatrix, time_limit: float) -> tuple[CodingMatrix, int]:
    """The best codebook of this shape that was found, and the largest minimum distance that is not ruled out."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    n_codewords, n_bits = start.shape
    reached, limit = _min_distance(start), plotkin_bound(n_codewords, n_bits)
    if reached >= limit:
        return start, limit
    columns = binary_columns(n_codewords)
    first, second = np.triu_indices(n_codewords, k=1)
    told_apart = (columns[first] != columns[second]).astype(np.float64)
    is_column = np.append(np.ones(columns.shape[1]), 0.0)
    # The variables are one per column, then t. We don't require t to exceed what is reached already: the solver's
    # heuristics reach good codebooks through worse ones, and find far fewer if those are forbidden.
    solution = milp(
        is_column - 1,
        constraints=[
            LinearConstraint(np.column_stack([told_apart, -np.ones(len(told_apart))]), lb=0.0),
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
    return (found if _min_distance(found) > reached else start), upper_bound


def _min_distance(matrix: CodingMatrix) -> int:
    return int(Codebook(matrix).min_distance)
