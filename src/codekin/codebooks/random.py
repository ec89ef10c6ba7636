"""Random codebooks: draw many, keep the one whose codewords are farthest apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from codekin.code import Codebook, CodingMatrix, FloatArray, IntArray
from codekin.codebooks.classic import (
    SPARSE_BITS_PER_DOUBLING,
    checked_n_bits,
    checked_n_codewords,
    default_n_bits,
    dense_n_bits,
    n_binary_columns,
    n_ternary_columns,
)
from codekin.codebooks.drawing import DENSE, SPARSE, codebook_sampler
from codekin.codebooks.symbols import balanced_symbols

MAX_DEFAULT_DRAWS = 10_000
"""As in Allwein et al. (2000)."""

MAX_DEFAULT_COMPARISONS = 4 * 10**9
"""Pairs of 64-bit words that the default number of draws may compare: about a second, since most draws are abandoned
early. For 1,000 codewords, 4,000 draws reach the same distance as 10,000 in most cases, otherwise one bit less."""

MIN_DEFAULT_DRAWS = 10

MAX_DRAWS_AT_ONCE = 512
"""Few enough that later blocks can skip most comparisons, because a good codebook has been found."""

MAX_ENTRIES_AT_ONCE = 2**21
"""Draws are made in blocks of at most this many entries (or pairs of columns, for the correlations)."""

MAX_USELESS_DRAWS = 10_000
"""How many draws there may be before the first valid one."""


def dense_random(
    n_codewords: int,
    n_bits: int | None = None,
    *,
    n_symbols: int = 2,
    n_draws: int | None = None,
    min_distance: int | None = None,
    rng: np.random.Generator | int | None = None,
) -> Codebook:
    """The best of many random codebooks of -1 and +1.

    Of ``n_draws`` codebooks with independent, equally likely entries, the one with the largest minimum distance rho is
    kept; among several, the one whose columns are least correlated (mean absolute correlation). Codewords are
    distinct; no column is constant, equal to another one or its complement.

    Columns with more than two symbols are balanced: every symbol occurs equally often, up to one. Of up to 50 draws,
    each of which avoids codewords close to earlier ones, the one with the largest minimum distance is kept; among
    several, the one with the fewest pairs at that distance. With as many symbols as codewords there is a single column.

    Parameters
    ----------
    n_codewords : int
        The number of codewords ``K``, at least 2.
    n_bits : int, optional
        The number of bits; by default ``10 log2 K``, rounded up, but at most the ``2**(K - 1) - 1`` distinct columns,
        which make the exhaustive code. With more symbols, by default four times as many as are needed to tell the
        codewords apart.
    n_symbols : int, default=2
        The number of symbols of each column, at most 127.
    n_draws : int, optional
        How many codebooks are drawn; by default 10,000, and fewer beyond about 600 codewords, whose pairs take longer
        to compare; at most 50 with more than two symbols.
    min_distance : int, optional
        Keep a codebook with exactly this minimum distance instead of the largest; only with two symbols.
    rng : numpy.random.Generator, int or None, default=None
        The source of randomness, or a seed for one.

    Returns
    -------
    Codebook

    References
    ----------
    E. L. Allwein, R. E. Schapire and Y. Singer, "Reducing Multiclass to Binary: A Unifying Approach for Margin
    Classifiers", JMLR 1, 2000.

    Examples
    --------
    >>> dense_random(100, 4, n_symbols=10, rng=0)
    <Codebook dense_random: 100 codewords x 4 columns of 10 symbols, minimum distance 2>
    >>> dense_random(10, 15, rng=0)
    <Codebook dense_random: 10 codewords x 15 bits, minimum distance 6>
    >>> dense_random(10, 15, min_distance=5, rng=0)
    <Codebook dense_random: 10 codewords x 15 bits, minimum distance 5>
    >>> dense_random(20, 4)
    Traceback (most recent call last):
        ...
    ValueError: 4 bits cannot tell 20 codewords apart; at least 5 are needed.
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="dense_random")
    if min(n_symbols, n_codewords) > 2:
        if min_distance is not None:
            raise ValueError(f"min_distance={min_distance} needs two symbols. Got n_symbols={n_symbols}.")
        return balanced_symbols(
            n_codewords, n_bits, n_symbols=n_symbols, n_draws=n_draws, rng=np.random.default_rng(rng)
        )
    n_bits = dense_n_bits(n_bits, n_codewords)
    # A codebook with all columns is the same in every draw, except for their order.
    n_draws = 1 if n_bits == n_binary_columns(n_codewords) else _checked_n_draws(n_draws, n_codewords, n_bits)
    search = _Search(n_codewords, n_bits, DENSE, n_draws)
    return Codebook(search.run(min_distance, np.random.default_rng(rng)), name="dense_random")


def sparse_random(
    n_codewords: int,
    n_bits: int | None = None,
    *,
    n_draws: int | None = None,
    min_distance: float | None = None,
    zero_pair: float = 0.0,
    rng: np.random.Generator | int | None = None,
) -> Codebook:
    """The best of many random codebooks of -1, 0 and +1, in which half of the entries are zero.

    Like :func:`dense_random`, with entries that are 0 with probability 1/2 and -1 or +1 with probability 1/4 each, on
    the condition that every column has both signs.

    Parameters
    ----------
    n_codewords : int
        The number of codewords ``K``, at least 2.
    n_bits : int, optional
        The number of bits; by default ``15 log2 K``, rounded up, but at most the
        ``(3**K - 2**(K + 1) + 1) / 2`` distinct columns.
    n_draws : int, optional
        How many codebooks are drawn; by default 10,000, and fewer beyond about 600 codewords, whose pairs take longer
        to compare.
    min_distance : float, optional
        Keep a codebook with exactly this minimum distance, a multiple of 1/2, instead of the largest.
    zero_pair : {0.0, 0.5}, default=0.0
        What a bit that is zero in both codewords adds to their distance: 0 as in ``min_distance`` of a codebook, or
        1/2 as in Allwein et al. (2000), whose error bound needs it.
    rng : numpy.random.Generator, int or None, default=None
        The source of randomness, or a seed for one.

    Returns
    -------
    Codebook

    References
    ----------
    E. L. Allwein, R. E. Schapire and Y. Singer, "Reducing Multiclass to Binary: A Unifying Approach for Margin
    Classifiers", JMLR 1, 2000.

    Examples
    --------
    >>> sparse_random(10, rng=0)
    <Codebook sparse_random: 10 codewords x 50 bits, minimum distance 17.5, 47% zeros>
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="sparse_random")
    if zero_pair not in (0.0, 0.5):
        raise ValueError(f"The 'zero_pair' parameter of sparse_random must be 0 or 0.5. Got {zero_pair!r} instead.")
    n_columns = n_ternary_columns(n_codewords)
    default = default_n_bits(n_codewords, SPARSE_BITS_PER_DOUBLING, n_columns=n_columns)
    n_bits = checked_n_bits(n_bits, n_codewords, n_columns=n_columns, n_symbols=3, default=default)
    n_draws = 1 if n_bits == n_columns else _checked_n_draws(n_draws, n_codewords, n_bits)
    search = _Search(n_codewords, n_bits, SPARSE, n_draws, zero_pair)
    return Codebook(search.run(min_distance, np.random.default_rng(rng)), name="sparse_random")


def _checked_n_draws(n_draws: int | None, n_codewords: int, n_bits: int) -> int:
    if n_draws is None:
        n_comparisons = n_codewords * (n_codewords - 1) // 2 * -(-n_bits // 64)
        return max(MIN_DEFAULT_DRAWS, min(MAX_DEFAULT_DRAWS, MAX_DEFAULT_COMPARISONS // n_comparisons))
    if n_draws < 1:
        raise ValueError(f"The 'n_draws' parameter must be at least 1. Got {n_draws} instead.")
    return n_draws


@dataclass(frozen=True)
class _Search:
    """What is drawn, how often, and which distance is used."""

    n_codewords: int
    n_bits: int
    entries: tuple[int, ...]
    n_draws: int
    zero_pair: float = 0.0

    def run(self, min_distance: float | None, rng: np.random.Generator) -> CodingMatrix:
        """The best codebook, or the best one with exactly the given minimum distance."""
        from codekin.kernels.hamming import min_distances

        wanted = None if min_distance is None else round(2 * min_distance)
        if min_distance is not None and (min_distance <= 0 or wanted != 2 * min_distance):
            rule = "The 'min_distance' parameter must be a positive multiple of 1/2."
            raise ValueError(f"{rule} Got {min_distance!r} instead.")
        draw, is_ternary = codebook_sampler(self.n_codewords, self.n_bits, self.entries), 0 in self.entries
        at_once = max(1, min(MAX_DRAWS_AT_ONCE, MAX_ENTRIES_AT_ONCE // (self.n_codewords * self.n_bits)))
        best: CodingMatrix | None = None
        # Distances are doubled to make them integers. Equal codewords have distance 0 and never pass.
        best_distance, best_correlation, largest_seen = 1, np.inf, 0
        n_done = 0
        while n_done < self.n_draws or (largest_seen == 0 and n_done < MAX_USELESS_DRAWS):
            drawn = draw(rng, min(at_once, max(self.n_draws - n_done, 1)))
            n_done += len(drawn)
            # Twice the minimum distance of each codebook; -1 if it is below the floor.
            distances: IntArray = np.empty(len(drawn), dtype=np.intp)
            used, floor = drawn.used if is_ternary else drawn.signs, best_distance if wanted is None else 1
            min_distances(drawn.signs, used, is_ternary, round(2 * self.zero_pair), floor, self.n_bits, distances)
            for distance in np.unique(distances[distances >= best_distance])[::-1]:
                tied = drawn.matrices(np.flatnonzero(distances == distance))
                correlations = _mean_column_correlations(tied)
                winner = int(correlations.argmin())
                if correlations[winner] == np.inf:
                    continue
                largest_seen = max(largest_seen, int(distance))
                if wanted not in (None, distance):
                    continue
                if distance > best_distance or correlations[winner] < best_correlation:
                    best, best_distance, best_correlation = tied[winner], int(distance), correlations[winner]
                break
        if best is not None:
            return best
        failed = f"None of {n_done} random {self.n_codewords} x {self.n_bits} codebooks had"
        if wanted is None or largest_seen == 0:
            raise ValueError(f"{failed} distinct codewords and columns. Use another n_bits.")
        raise ValueError(
            f"{failed} minimum distance {wanted / 2:g}; the largest was {largest_seen / 2:g}. Use another "
            "min_distance, or more n_draws."
        )


def _mean_column_correlations(drawn: CodingMatrix) -> FloatArray:
    """The mean absolute correlation of each codebook's columns; infinite if columns are constant or not distinct."""
    n_bits = drawn.shape[2]
    at_once = max(1, MAX_ENTRIES_AT_ONCE // n_bits**2)
    return np.concatenate([_of_block(drawn[at : at + at_once]) for at in range(0, len(drawn), at_once)])


def _of_block(drawn: CodingMatrix) -> FloatArray:
    _, n_codewords, n_bits = drawn.shape
    columns = drawn.astype(np.float32)
    # Sums of fewer than 2**24 terms of size one are exact, and so the same for any number of threads.
    products = (columns.transpose(0, 2, 1) @ columns).astype(np.float64)
    sums = columns.sum(axis=1, dtype=np.float64)
    n_used = np.diagonal(products, axis1=1, axis2=2)
    spread = n_codewords * n_used - sums**2
    first, second = np.triu_indices(n_bits, k=1)
    products = products[:, first, second]
    # Useful columns x and y are equal or complementary where |x.y| = x.x = y.y.
    repeated = (np.abs(products) == n_used[:, first]) & (n_used[:, first] == n_used[:, second])
    useless = repeated.any(axis=1) | (np.abs(sums) == n_used).any(axis=1)
    if n_bits == 1:
        return np.where(useless, np.inf, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        covariances = n_codewords * products - sums[:, first] * sums[:, second]
        correlations = np.abs(covariances) / np.sqrt(spread[:, first] * spread[:, second])
    return np.where(useless, np.inf, correlations.mean(axis=1))
