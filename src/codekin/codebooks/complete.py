"""The exhaustive code: every way to split the classes in two, once."""

from __future__ import annotations

import numpy as np

from codekin.codebooks.sizes import checked_n_codewords, n_binary_columns
from codekin.coding import Codebook, CodingMatrix

MAX_EXHAUSTIVE = 12
"""With 12 codewords there are 2,047 columns; each further one doubles them."""


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
