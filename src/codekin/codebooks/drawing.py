"""Draw many random codebooks at once, without waiting for columns or codewords that hardly ever come.

Entries are independent, on the condition that every column has both signs. Where two columns are likely to be equal or
complementary (few codewords, many bits), columns are drawn without replacement from the list of all of them; where two
codewords are likely to be equal (few bits, many codewords), codewords are. Either way the condition is met by
construction and not by drawing again and again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import comb, prod

import numpy as np

from codekin.coding import CodingMatrix, FloatArray, IntArray

DENSE = (-1, 1)
"""Equally likely entries of a dense code."""

SPARSE = (-1, 0, 0, 1)
"""Equally likely entries of a sparse code: half of them are zero."""

LIKELY_CLASHES = 0.5
"""From this expected number of equal pairs on, lines are drawn without replacement."""

Sampler = Callable[[np.random.Generator, int], CodingMatrix]
"""From a generator and a number of draws to (n_draws, n_codewords, n_bits)."""


def codebook_sampler(n_codewords: int, n_bits: int, entries: tuple[int, ...]) -> Sampler:
    """The way to draw codebooks of this shape; two equal columns or codewords may remain, but are unlikely."""
    # The probability that two entries are equal, that one is +1 (or -1), and that one is 0.
    equal = sum((entries.count(entry) / len(entries)) ** 2 for entry in set(entries))
    positive, zero = entries.count(1) / len(entries), entries.count(0) / len(entries)
    both_signs = 1 - 2 * (1 - positive) ** n_codewords + zero**n_codewords
    equal_columns = comb(n_bits, 2) * 2 * equal**n_codewords / both_signs**2
    equal_rows = comb(n_codewords, 2) * equal**n_bits
    if max(equal_columns, equal_rows) < LIKELY_CLASHES:
        return partial(_independent, n_codewords=n_codewords, n_bits=n_bits, entries=entries)
    n_symbols = len(set(entries))
    if equal_rows > equal_columns:
        return partial(
            _chosen, patterns=np.arange(n_symbols**n_bits), length=n_bits, n_chosen=n_codewords, entries=entries
        )
    columns = partial(
        _chosen,
        patterns=useful_columns(n_codewords, n_symbols),
        length=n_codewords,
        n_chosen=n_bits,
        entries=entries,
    )
    return lambda rng, n_draws: columns(rng, n_draws).transpose(0, 2, 1)


def useful_columns(n_codewords: int, n_symbols: int) -> IntArray:
    """The numbers of all columns that have both signs, one of each complementary pair; see :func:`digits`."""
    if n_symbols == 2:
        # Those that end with -1, without the one that is -1 throughout.
        return np.arange(1, 2 ** (n_codewords - 1))
    columns = digits(np.arange(3**n_codewords), n_codewords, 3)
    # Complements sum to 3**K - 1, so exactly one of the two is below half of it.
    is_useful = (columns == 1).any(axis=1) & (columns == -1).any(axis=1)
    return np.flatnonzero(is_useful[: 3**n_codewords // 2])


def digits(patterns: IntArray, length: int, n_symbols: int) -> CodingMatrix:
    """The digits of numbers in base 2 or 3 as entries -1 and +1, or -1, 0 and +1: (..., length), the lowest first."""
    powers = n_symbols ** np.arange(length)
    values = np.array((-1, 1) if n_symbols == 2 else (-1, 0, 1), dtype=np.int8)
    return np.asarray(values[patterns[..., None] // powers % n_symbols])


def _independent(
    rng: np.random.Generator, n_draws: int, *, n_codewords: int, n_bits: int, entries: tuple[int, ...]
) -> CodingMatrix:
    """Entries drawn one by one; a column that lacks a sign is drawn again."""
    drawn = _independent_entries((n_draws, n_codewords, n_bits), entries, rng)
    while True:
        one_sided = ~((drawn > 0).any(axis=1) & (drawn < 0).any(axis=1))
        book, bit = np.nonzero(one_sided)
        if not len(book):
            return drawn
        drawn[book, :, bit] = _independent_entries((len(book), n_codewords), entries, rng)


def _independent_entries(shape: tuple[int, ...], entries: tuple[int, ...], rng: np.random.Generator) -> CodingMatrix:
    values = np.array(entries, dtype=np.int8)
    size = prod(shape)
    # Random bytes are by far the fastest; two of their bits choose one of four entries.
    bits_per_entry = len(entries) // 2
    bits = np.unpackbits(np.frombuffer(rng.bytes(-(-size * bits_per_entry // 8)), dtype=np.uint8))
    choices = bits[:size] if bits_per_entry == 1 else bits[:size] + 2 * bits[size : 2 * size]
    return values[choices].reshape(shape)


def _chosen(
    rng: np.random.Generator, n_draws: int, *, patterns: IntArray, length: int, n_chosen: int, entries: tuple[int, ...]
) -> CodingMatrix:
    """Lines drawn from ``patterns`` without replacement, (n_draws, n_chosen, length)."""
    n_symbols = len(set(entries))
    if n_symbols == 2:
        chosen = [rng.choice(len(patterns), n_chosen, replace=False) for _ in range(n_draws)]
        return digits(patterns[np.array(chosen)], length, 2)
    keys = rng.exponential(size=(n_draws, len(patterns))) / _likelihoods(patterns, length, entries)
    # The smallest of exponential keys are successive draws without replacement, in proportion to the likelihoods.
    first = np.argpartition(keys, n_chosen - 1, axis=1)[:, :n_chosen]
    return digits(patterns[rng.permuted(first, axis=1)], length, n_symbols)


def _likelihoods(patterns: IntArray, length: int, entries: tuple[int, ...]) -> FloatArray:
    """How likely independent entries make each pattern, up to a factor."""
    n_zeros = (digits(patterns, length, 3) == 0).sum(axis=1)
    return np.asarray(float(entries.count(0)) ** n_zeros)
