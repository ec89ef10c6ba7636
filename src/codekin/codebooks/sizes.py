"""Shared checks and defaults for the numbers of codewords and bits."""

from __future__ import annotations

from math import ceil, log2
from operator import index

from codekin._system.wording import counted

DENSE_BITS_PER_DOUBLING = 10
"""Bits of a dense code for each doubling of the number of codewords (Allwein et al., 2000)."""

SPARSE_BITS_PER_DOUBLING = 15
"""The same for a sparse code, half of whose entries are zero."""


def checked_n_codewords(n_codewords: int, *, codebook: str, at_most: int | None = None) -> int:
    """The number of codewords as an int; an error if a codebook of this size makes no sense."""
    checked = index(n_codewords)
    if checked < 2:
        raise ValueError(f"A codebook needs at least 2 codewords. Got {checked}.")
    if at_most is not None and checked > at_most:
        raise ValueError(f"The {codebook} codebook is made for at most {at_most} codewords. Got {checked}.")
    return checked


def checked_n_bits(
    n_bits: int | None, n_codewords: int, *, n_columns: int | None, n_symbols: int = 2, default: int = 0
) -> int:
    """The number of bits as an int; an error if it is too small or exceeds the number of useful columns."""
    checked = default if n_bits is None else index(n_bits)
    needed = fewest_bits(n_codewords, n_symbols)
    if checked < needed:
        raise ValueError(
            f"{counted(checked, 'bit')} cannot tell {n_codewords} codewords apart; "
            f"at least {needed} {'is' if needed == 1 else 'are'} needed."
        )
    if n_columns is not None and checked > n_columns:
        raise ValueError(
            f"{n_codewords} codewords have only {counted(n_columns, 'different column')}, not counting complements; "
            f"n_bits must not be greater. Got {checked}."
        )
    return checked


def default_n_bits(n_codewords: int, bits_per_doubling: int, *, n_columns: int) -> int:
    """A fixed number of bits for each doubling of the codewords, but at most the number of useful columns."""
    return min(ceil(bits_per_doubling * log2(n_codewords)), n_columns)


def fewest_bits(n_codewords: int, n_symbols: int = 2) -> int:
    """The fewest bits whose ``n_symbols`` values can tell ``n_codewords`` apart."""
    n_words, n_bits = 1, 0
    while n_words < n_codewords:
        n_words, n_bits = n_words * n_symbols, n_bits + 1
    return n_bits


def n_binary_columns(n_codewords: int) -> int:
    """How many columns of -1 and +1 are neither constant nor each other's complement: ``2**(K - 1) - 1``."""
    return int(2 ** (n_codewords - 1) - 1)


def n_ternary_columns(n_codewords: int) -> int:
    """The same for columns of -1, 0 and +1 that have both signs: ``(3**K - 2**(K + 1) + 1) / 2``."""
    return int((3**n_codewords - 2 ** (n_codewords + 1) + 1) // 2)
