"""Balanced codebooks with more than two symbols: codewords come in sets of ``q`` that differ everywhere.

Adding the same number to all symbols of a codeword, modulo ``q``, gives ``q`` codewords, a coset. No two of them agree
in any column, and together they have every symbol of every column once. A codebook of whole cosets is balanced, and its
codewords are distinct if the cosets are. Two cosets agree in as many columns as their leaders, the codewords that begin
with 0, differ by the same number. Columns drawn independently would lead to equal codewords.
"""

from __future__ import annotations

import numpy as np

from codekin.codebooks.sizes import checked_n_bits, fewest_bits
from codekin.coding import Codebook, CodingMatrix, IntArray

COLUMNS_PER_SYMBOL = 4
"""By default, this many times the number of columns needed to tell the codewords apart."""

MAX_DRAWS = 50
MAX_TRIES = 30
"""How many cosets are drawn to find one that is far from the earlier ones."""
MAX_COMPARISONS = 10**9
"""How many symbols all draws together may compare: about a second."""


def balanced_symbols(
    n_codewords: int, n_bits: int | None, *, n_symbols: int, n_draws: int | None, rng: np.random.Generator
) -> Codebook:
    """The best of many random codebooks of balanced columns: see :func:`codekin.codebooks.dense_random`."""
    if n_codewords <= n_symbols:
        if n_bits not in (None, 1):
            raise ValueError(
                f"{n_codewords} codewords of {n_symbols} symbols have one column, in which all differ. "
                f"Got n_bits={n_bits}; leave it out, or use fewer symbols."
            )
        return Codebook(np.arange(n_codewords)[:, None], name="dense_random", n_symbols=max(n_codewords, 2))
    default = COLUMNS_PER_SYMBOL * fewest_bits(n_codewords, n_symbols)
    n_bits = checked_n_bits(n_bits, n_codewords, n_columns=None, n_symbols=n_symbols, default=default)
    best, best_rank = None, (-1, 0)
    n_cosets = -(-n_codewords // n_symbols)
    n_affordable = MAX_COMPARISONS // (n_cosets**2 * n_bits * n_symbols)
    n_tries = max(1, min(MAX_TRIES, n_affordable))
    for _ in range(max(1, min(MAX_DRAWS, n_affordable // n_tries)) if n_draws is None else n_draws):
        leaders = _drawn_leaders(n_cosets, n_bits, n_symbols, n_tries, rng)
        agreements = _agreements(leaders, leaders, n_symbols)[np.triu_indices(n_cosets, k=1)]
        worst = int(agreements.max(initial=0))
        rank = (n_bits - worst, -int((agreements == worst).sum()))
        if best is None or rank > best_rank:
            best, best_rank = leaders, rank
    assert best is not None
    matrix = (best[:, None] + np.arange(n_symbols)[None, :, None]) % n_symbols
    # The last coset may be incomplete; which of its codewords are kept does not matter.
    return Codebook(matrix.reshape(-1, n_bits)[:n_codewords], name="dense_random", n_symbols=n_symbols)


def _drawn_leaders(n_cosets: int, n_bits: int, n_symbols: int, n_tries: int, rng: np.random.Generator) -> CodingMatrix:
    """Distinct codewords that begin with 0; each is, of a few draws, the one farthest from the earlier ones."""
    leaders = np.zeros((n_cosets, n_bits), dtype=np.int8)
    n_words = n_symbols ** (n_bits - 1)
    if n_words <= 4 * n_cosets:
        places = n_symbols ** np.arange(n_bits - 1)
        chosen = rng.permutation(n_words)[:n_cosets]
        leaders[:, 1:] = chosen[:, None] // places % n_symbols
        return leaders
    for place in range(1, n_cosets):
        drawn = np.zeros((n_tries, n_bits), dtype=np.int8)
        drawn[:, 1:] = rng.integers(n_symbols, size=(n_tries, n_bits - 1))
        worst = _agreements(drawn, leaders[:place], n_symbols).max(axis=1)
        while worst.min() == n_bits:  # all of them exist already
            drawn[:, 1:] = rng.integers(n_symbols, size=(n_tries, n_bits - 1))
            worst = _agreements(drawn, leaders[:place], n_symbols).max(axis=1)
        leaders[place] = drawn[worst.argmin()]
    return leaders


def _agreements(a: CodingMatrix, b: CodingMatrix, n_symbols: int) -> IntArray:
    """The most columns in which two cosets agree: how often their leaders differ by the same number."""
    differences = a[:, None] - b[None]
    differences += n_symbols * (differences < 0).astype(np.int8)
    most = np.zeros(differences.shape[:2], dtype=np.intp)
    for shift in range(n_symbols):
        np.maximum(most, np.count_nonzero(differences == shift, axis=2), out=most)
    return most
