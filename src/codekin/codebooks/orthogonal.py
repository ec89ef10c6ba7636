"""Truncated Hadamard codes: rows of an orthogonal matrix, all equally far apart."""

from __future__ import annotations

import numpy as np

from codekin.codebooks.sizes import checked_n_codewords, fewest_bits
from codekin.coding import Codebook


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
