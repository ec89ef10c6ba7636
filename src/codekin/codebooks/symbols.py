"""Codebooks with more than two symbols: random balanced ones, and codes of maximum distance.

Random ones are made of cosets: adding the same number to all symbols of a codeword, modulo ``q``, gives ``q`` of them.
No two of them agree in any column, and together they have every symbol of every column once. A codebook of whole cosets
is balanced, and its codewords are distinct if the cosets are. Two cosets agree in as many columns as their leaders, the
codewords that begin with 0, differ by the same number. Columns drawn independently would lead to equal codewords.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from codekin.code import Codebook, CodingMatrix, IntArray
from codekin.codebooks.classic import checked_n_bits, checked_n_codewords, fewest_bits

COLUMNS_PER_SYMBOL = 4
"""By default, this many times the number of columns needed to tell the codewords apart."""

MAX_DRAWS = 50
MAX_TRIES = 30
"""How many cosets are drawn to find one that is far from the earlier ones."""
MAX_COMPARISONS = 10**9
"""How many symbols all draws together may compare: about a second."""
NO_CODE = "no_code"
"""The name of a single column that stands for no code."""


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


def single_column(n_codewords: int) -> Codebook:
    """A column with a symbol for every class: no code, the learner learns all classes at once."""
    return Codebook(np.arange(n_codewords)[:, None], name=NO_CODE, n_symbols=n_codewords, is_designed=True)


def beside_all_classes(columns: Codebook) -> Codebook:
    """A column with a symbol for every class, and the given columns of signs as columns of the symbols 0 and 1."""
    matrix = np.column_stack([np.arange(columns.n_codewords), columns.matrix > 0])
    name = f"{columns.name}_beside_all_classes"
    return Codebook(matrix, name=name, n_symbols=columns.n_codewords, is_designed=True)


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
        drawn, worst = np.zeros((n_tries, n_bits), dtype=np.int8), np.array([n_bits])
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


def reed_solomon(n_codewords: int, n_bits: int | None = None, *, n_symbols: int) -> Codebook:
    """Codewords with more than two symbols that are as far apart as possible.

    The codewords are the values of polynomials over the field of ``q`` elements at ``n_bits`` of its points, where
    ``q`` is the largest power of a prime up to ``n_symbols``: 9 for ten symbols. Two polynomials with ``k``
    coefficients agree at fewer than ``k`` points, so the minimum distance is at least ``n_bits - k + 1``, which no code
    of ``q**k`` codewords exceeds (the Singleton bound). Columns are balanced. By default there are four times as many
    as are needed to tell the codewords apart, or ``q`` if that is less.

    I. S. Reed and G. Solomon, "Polynomial Codes over Certain Finite Fields", Journal of SIAM 8(2), 1960.

    >>> reed_solomon(100, 6, n_symbols=11)
    <Codebook reed_solomon: 100 codewords x 6 columns of 11 symbols, minimum distance 5>
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="reed_solomon")
    if n_symbols < 3:
        raise ValueError(f"A Reed-Solomon code needs at least 3 symbols. Got n_symbols={n_symbols}.")
    primes = [p for p in range(2, n_symbols + 1) if all(p % d for d in range(2, int(p**0.5) + 1))]
    powers = ((p**m, p) for p in primes for m in range(1, n_symbols.bit_length() + 1))
    q, prime = max((power, p) for power, p in powers if power <= n_symbols)
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
