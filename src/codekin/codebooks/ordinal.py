"""Codes for ordered classes: the nearer two classes in the order, the nearer their codewords."""

from __future__ import annotations

import numpy as np

from codekin.codebooks.sizes import checked_n_codewords, fewest_bits
from codekin.coding import Codebook, IntArray

BITS_PER_DIGIT = 8
"""A Johnson counter of 8 bits has 16 states, one for each hexadecimal digit."""


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
    ranks = np.arange(n_codewords)
    n_digits = fewest_bits(n_codewords, n_symbols=16)
    digits = [ranks >> (4 * place) & 15 for place in reversed(range(n_digits))]
    bits = np.concatenate([_johnson_counter(digit) for digit in digits], axis=1)
    bits = bits[:, bits.any(axis=0)]
    return Codebook(np.where(bits, 1, -1), name="hexj", is_designed=True)


def _johnson_counter(states: IntArray) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """The states 0 to 15 of a counter of 8 bits: the bit at place ``p`` from the right is set from p + 1 to p + 8."""
    place = np.arange(BITS_PER_DIGIT - 1, -1, -1)
    return (states[:, None] > place) & (states[:, None] <= place + BITS_PER_DIGIT)
