"""The standard codes: one-vs-rest, one-vs-one, exhaustive, Hadamard, those for ordered classes, and a given matrix.

All codebooks use the checks and defaults for numbers of codewords and bits at the end.
"""

from __future__ import annotations

from math import ceil, log2
from operator import index

import numpy as np
from numpy.typing import ArrayLike

from codekin._system.messages import counted
from codekin.code import Codebook, CodingMatrix

DENSE_BITS_PER_DOUBLING = 10
"""Bits of a dense code for each doubling of the number of codewords (Allwein et al., 2000)."""

SPARSE_BITS_PER_DOUBLING = 15
"""The same for a sparse code, half of whose entries are zero."""
MAX_ONE_VS_ONE = 1_000
"""Half a million predictors and a matrix of half a gigabyte."""
MAX_EXHAUSTIVE = 12
"""With 12 codewords there are 2,047 columns; each further one doubles them."""
BITS_PER_DIGIT = 8
"""A Johnson counter of 8 bits has 16 states, one for each hexadecimal digit."""


def one_vs_rest(n_codewords: int, *, n_symbols: int = 2) -> Codebook:
    """One bit per codeword, which is +1 for this codeword only; or one column for several codewords against the rest.

    Any two codewords differ in two bits, so the error of a single predictor may not be corrected. Every assignment
    gives the same classifier.

    With ``q > 2`` symbols, each column gives ``q - 1`` codewords a symbol of their own, and symbol 0 to all others.
    Codewords of the same column differ only in that column, all others in two, so that a preserving assignment lets one
    predictor tell similar classes apart.

    Parameters
    ----------
    n_codewords : int
        The number of codewords, at least 2.
    n_symbols : int, default=2
        The number of symbols of a column, at most 127.

    Returns
    -------
    Codebook
        ``n_codewords`` bits; a single one for two codewords, since the second would be its complement. With ``q``
        symbols ``n_codewords / (q - 1)`` columns, rounded up, and one for up to ``q`` codewords.

    Examples
    --------
    >>> one_vs_rest(4)
    <Codebook one_vs_rest: 4 codewords x 4 bits, minimum distance 2, equidistant>
    >>> one_vs_rest(2).matrix.tolist()
    [[1], [-1]]
    >>> one_vs_rest(4, n_symbols=3).matrix.tolist()
    [[1, 0], [2, 0], [0, 1], [0, 2]]
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="one_vs_rest")
    if min(n_symbols, n_codewords) == 2:
        matrix = 2 * np.eye(n_codewords, dtype=np.int8) - 1
        return Codebook(matrix if n_codewords > 2 else matrix[:, :1], name="one_vs_rest")
    if n_codewords <= n_symbols:
        return Codebook(np.arange(n_codewords)[:, None], name="one_vs_rest", n_symbols=n_symbols)
    # The same number of codewords, up to one, have symbols of their own in every column.
    groups = np.array_split(np.arange(n_codewords), -(-n_codewords // (n_symbols - 1)))
    symbols = np.zeros((n_codewords, len(groups)), dtype=np.intp)
    for column, group in enumerate(groups):
        symbols[group, column] = 1 + np.arange(len(group))
    return Codebook(symbols, name="one_vs_rest", n_symbols=n_symbols)


def one_vs_one(n_codewords: int) -> Codebook:
    """One bit per pair of codewords, +1 for the first, -1 for the second and 0 (not trained on) for all others.

    Parameters
    ----------
    n_codewords : int
        The number of codewords, from 2 to 1,000.

    Returns
    -------
    Codebook
        ``K (K - 1) / 2`` bits for ``K = n_codewords``, in the order (0, 1), (0, 2), ..., (1, 2), ...; any two
        codewords are ``K - 1`` apart.

    Examples
    --------
    >>> one_vs_one(3).matrix.tolist()
    [[1, 1, 0], [-1, 0, 1], [0, -1, -1]]
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="one_vs_one", at_most=MAX_ONE_VS_ONE)
    first, second = np.triu_indices(n_codewords, k=1)
    bits = np.arange(len(first))
    matrix = np.zeros((n_codewords, len(bits)), dtype=np.int8)
    matrix[first, bits] = 1
    matrix[second, bits] = -1
    return Codebook(matrix, name="one_vs_one")


def exhaustive(n_codewords: int) -> Codebook:
    """Every distinct non-constant column once, that is, every possible binary problem.

    The order is that of Dietterich and Bakiri (1995): the first codeword is all +1, the second has one run of each
    sign, and each further one halves the runs.

    Parameters
    ----------
    n_codewords : int
        The number of codewords ``K``, from 2 to 12.

    Returns
    -------
    Codebook
        ``2**(K - 1) - 1`` bits; any two codewords are ``2**(K - 2)`` apart, and every assignment gives the same
        classifier.

    References
    ----------
    T. G. Dietterich and G. Bakiri, "Solving Multiclass Learning Problems via Error-Correcting Output Codes",
    JAIR 2, 1995.

    Examples
    --------
    >>> exhaustive(3).matrix.tolist()
    [[1, 1, 1], [-1, -1, 1], [-1, 1, -1]]
    >>> exhaustive(10)
    <Codebook exhaustive: 10 codewords x 511 bits, minimum distance 256, equidistant>
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="exhaustive", at_most=MAX_EXHAUSTIVE)
    return Codebook(binary_columns(n_codewords), name="exhaustive")


def binary_columns(n_codewords: int) -> CodingMatrix:
    """All ``2**(K - 1) - 1`` columns that start with +1 and are not constant, (n_codewords, n_columns)."""
    columns = np.arange(n_binary_columns(n_codewords))
    matrix = np.ones((n_codewords, len(columns)), dtype=np.int8)
    # The column whose bits are all set would be constant; arange ends just before it.
    for row in range(1, n_codewords):
        matrix[row] = np.where(columns >> (n_codewords - 1 - row) & 1, 1, -1)
    return matrix


def hadamard(n_codewords: int) -> Codebook:
    """The first rows of a Sylvester-Hadamard matrix, without its constant first column.

    The order ``n`` is the smallest power of two that has enough rows. Two rows of an orthogonal matrix agree in exactly
    half of the columns, so any two codewords are ``n / 2`` apart. That is the largest minimum distance that a code with
    this many bits can have, but the class-codeword score cannot tell which assignment is better.

    Parameters
    ----------
    n_codewords : int
        The number of codewords ``K``, at least 2.

    Returns
    -------
    Codebook
        ``n - 1`` bits, no two of them equal or complementary and none constant.

    Notes
    -----
    Entry ``(i, j)`` of the matrix is -1 to the power of the number of bits that ``i`` and ``j`` have in common. Since
    ``n / 2 < K``, the kept rows include all powers of two below ``n``, and row ``2**b`` holds bit ``b`` of every
    column's number: no two columns are equal on the kept rows, and only column 0, which is dropped, is constant.
    Row 0 is all +1, so no column is another's complement. Dropping rows therefore does no harm to the columns for any
    ``K``, except that they are unbalanced if ``K`` is not a power of two.

    References
    ----------
    E. Hoffer, I. Hubara and D. Soudry, "Fix your classifier: the marginal value of training the last weight layer",
    ICLR 2018.

    Examples
    --------
    >>> hadamard(10)
    <Codebook hadamard: 10 codewords x 15 bits, minimum distance 8, equidistant>
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="hadamard")
    order = 2 ** fewest_bits(n_codewords)
    common = np.arange(n_codewords)[:, None] & np.arange(1, order)[None, :]
    matrix = np.where(np.bitwise_count(common) & 1, -1, 1)
    return Codebook(matrix, name="hadamard")


def unary(n_codewords: int) -> Codebook:
    """Bit ``j`` asks whether the class is above ``j``: codewords ``i`` and ``k`` are ``|i - k|`` apart.

    Parameters
    ----------
    n_codewords : int
        The number of codewords, at least 2; row ``k`` is for the ``k``-th class in the order.

    Returns
    -------
    Codebook
        ``n_codewords - 1`` bits.

    References
    ----------
    L. Li and H.-T. Lin, "Ordinal Regression by Extended Binary Classification", NeurIPS 2006.

    D. Shah, Z. Y. Xue and T. M. Aamodt, "Label Encoding for Regression Networks", ICLR 2022.

    Examples
    --------
    >>> unary(4).matrix.tolist()
    [[-1, -1, -1], [1, -1, -1], [1, 1, -1], [1, 1, 1]]
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="unary")
    matrix = np.where(np.arange(n_codewords)[:, None] > np.arange(n_codewords - 1), 1, -1)
    return Codebook(matrix, name="unary", is_designed=True)


def hexj(n_codewords: int) -> Codebook:
    """HEXJ: the hexadecimal digits of a class's rank, each written as a Johnson counter of 8 bits.

    Far fewer bits than :func:`unary` for many classes: neighbours within a block of 16 differ in one bit, and the
    counter wraps around, so that ``0x0f`` and ``0x10`` differ in only two.

    Parameters
    ----------
    n_codewords : int
        The number of codewords, at least 2; row ``k`` is for the ``k``-th class in the order.

    Returns
    -------
    Codebook
        At most 8 bits for each hexadecimal digit of ``n_codewords - 1``. Bits that no codeword sets are left out: for
        up to nine codewords the code is unary, with one bit fewer than codewords.

    Notes
    -----
    Digits are written as in the number itself, the most significant first, and a counter fills up with ones from the
    right and then empties from the right: 0 is 00000000, 1 is 00000001, 8 is 11111111, 9 is 11111110 and 15 is
    10000000, as in the authors' public code. Another order of digits or bits would only reorder columns.

    References
    ----------
    D. Shah, Z. Y. Xue and T. M. Aamodt, "Label Encoding for Regression Networks", ICLR 2022.

    Examples
    --------
    >>> hexj(256)
    <Codebook hexj: 256 codewords x 16 bits, minimum distance 1>
    >>> (hexj(256).matrix[0x2F] > 0).astype(int)
    array([0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0])
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="hexj")
    shifts = 4 * np.arange(fewest_bits(n_codewords, n_symbols=16))[::-1, None]
    states = (np.arange(n_codewords)[:, None, None] >> shifts) & 15
    # The bit of a Johnson counter at place p from the right is set from state p + 1 to p + 8.
    place = np.arange(BITS_PER_DIGIT - 1, -1, -1)
    bits = ((states > place) & (states <= place + BITS_PER_DIGIT)).reshape(n_codewords, -1)
    return Codebook(np.where(bits[:, bits.any(axis=0)], 1, -1), name="hexj", is_designed=True)


def given(n_codewords: int, *, matrix: ArrayLike, is_designed: bool = False) -> Codebook:
    """A codebook from a given matrix of at least ``n_codewords`` distinct rows; the assignment chooses among more.

    Constant or repeated columns are kept. ``is_designed`` means that row ``k`` was made for class ``k``.

    >>> given(3, matrix=[[1, 1], [-1, 1], [0, -1]])
    <Codebook given: 3 codewords x 2 bits, minimum distance 1, 17% zeros>
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="given")
    codebook = Codebook(matrix, name="given", is_designed=is_designed)
    if codebook.n_codewords < n_codewords:
        raise ValueError(f"The given matrix has {codebook.n_codewords} codewords; at least {n_codewords} are needed.")
    return codebook


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


def dense_n_bits(n_bits: int | None, n_codewords: int) -> int:
    """The number of bits of a dense code, checked; by default ``10 log2 K``."""
    n_columns = n_binary_columns(n_codewords)
    default = default_n_bits(n_codewords, DENSE_BITS_PER_DOUBLING, n_columns=n_columns)
    return checked_n_bits(n_bits, n_codewords, n_columns=n_columns, default=default)


def check_parameter(codebook: str, name: str, value: object, is_valid: bool, rule: str) -> None:
    """Raise if a parameter of a codebook breaks its rule."""
    if not is_valid:
        raise ValueError(f"The '{name}' parameter of {codebook} must be {rule}. Got {value!r} instead.")


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
