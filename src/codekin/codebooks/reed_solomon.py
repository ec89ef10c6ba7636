"""Codes of maximum distance: the values of polynomials over a finite field."""

from __future__ import annotations

from itertools import product

import numpy as np

from codekin.codebooks.sizes import checked_n_bits, checked_n_codewords, fewest_bits
from codekin.coding import Codebook, IntArray

COLUMNS_PER_SYMBOL = 4
"""By default, this many times the number of columns needed to tell the codewords apart, as for random codes."""


def reed_solomon(n_codewords: int, n_bits: int | None = None, *, n_symbols: int) -> Codebook:
    """Codewords with more than two symbols that are as far apart as possible.

    The codewords are the values of polynomials over the field of ``q`` elements at ``n_bits`` of its points, where
    ``q`` is the largest power of a prime up to ``n_symbols``: 9 for ten symbols. Two polynomials with ``k``
    coefficients agree at fewer than ``k`` points, so the minimum distance is at least ``n_bits - k + 1``, which no code
    of ``q**k`` codewords exceeds (the Singleton bound). Columns are balanced.

    Parameters
    ----------
    n_codewords : int
        The number of codewords, at least 2.
    n_bits : int, optional
        The number of columns, at most ``q``; by default four times as many as are needed to tell the codewords apart,
        or ``q`` if that is less.
    n_symbols : int
        The most symbols of a column, from 3 to 127.

    Returns
    -------
    Codebook

    References
    ----------
    I. S. Reed and G. Solomon, "Polynomial Codes over Certain Finite Fields", Journal of SIAM 8(2), 1960.

    Examples
    --------
    >>> reed_solomon(100, 6, n_symbols=11)
    <Codebook reed_solomon: 100 codewords x 6 columns of 11 symbols, minimum distance 5>
    >>> reed_solomon(100, 12, n_symbols=10)
    Traceback (most recent call last):
        ...
    ValueError: A Reed-Solomon code of 9 symbols has at most 9 columns. Got n_bits=12.
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="reed_solomon")
    if n_symbols < 3:
        raise ValueError(f"A Reed-Solomon code needs at least 3 symbols. Got n_symbols={n_symbols}.")
    q, prime = max((power, p) for power, p in _prime_powers(n_symbols))
    n_coefficients = fewest_bits(n_codewords, q)
    default = 1 if n_coefficients == 1 else min(COLUMNS_PER_SYMBOL * n_coefficients, q)
    n_bits = checked_n_bits(n_bits, n_codewords, n_columns=None, n_symbols=q, default=default)
    if n_bits > q:
        raise ValueError(f"A Reed-Solomon code of {q} symbols has at most {q} columns. Got n_bits={n_bits}.")
    if n_coefficients == 1 and n_bits > 1:
        raise ValueError(f"{n_codewords} codewords of {q} symbols have one column. Got n_bits={n_bits}; leave it out.")
    sums, products = _field(q, prime)
    # Constants last: polynomials that differ only by a constant have every symbol of every column once.
    coefficients = np.arange(n_codewords)[:, None] // q ** np.arange(n_coefficients) % q
    values = np.zeros((n_codewords, n_bits), dtype=np.intp)
    for coefficient in coefficients.T[::-1]:
        values = sums[products[values, np.arange(n_bits)], coefficient[:, None]]
    return Codebook(values, name="reed_solomon", n_symbols=q)


def _prime_powers(largest: int) -> list[tuple[int, int]]:
    """Powers of primes, and their primes."""
    primes = [p for p in range(2, largest + 1) if all(p % d for d in range(2, int(p**0.5) + 1))]
    return [(p**m, p) for p in primes for m in range(1, largest.bit_length() + 1) if p**m <= largest]


def _field(q: int, prime: int) -> tuple[IntArray, IntArray]:
    """Tables of sums and products of the field of ``q`` elements, written as numbers whose digits are coefficients."""
    degree = round(np.log(q) / np.log(prime))
    places = prime ** np.arange(degree)
    digits = np.arange(q)[:, None] // places % prime
    sums = (digits[:, None] + digits) % prime @ places
    # The first irreducible monic polynomial: modulo any other one, some product of two elements is zero.
    for modulus in product(range(prime), repeat=degree):
        values = np.zeros((q, q, degree), dtype=np.intp)
        for digit in digits.T[::-1]:
            overflow = values[:, :, -1:]
            values = np.concatenate([np.zeros_like(overflow), values[:, :, :-1]], axis=2)
            values = (values - overflow * np.array(modulus) + digit[:, None, None] * digits) % prime
        products = values @ places
        if products[1:, 1:].all():
            return sums, products
    raise AssertionError(f"{q} is no power of {prime}.")
