"""The two standard codes: one class against the rest, and every class against every other."""

from __future__ import annotations

import numpy as np

from codekin.codebooks.sizes import checked_n_codewords
from codekin.coding import Codebook, IntArray

MAX_ONE_VS_ONE = 1_000
"""Half a million predictors and a matrix of half a gigabyte."""


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
    if min(n_symbols, n_codewords) > 2:
        return Codebook(_groups_vs_rest(n_codewords, n_symbols), name="one_vs_rest", n_symbols=n_symbols)
    matrix = 2 * np.eye(n_codewords, dtype=np.int8) - 1
    return Codebook(matrix if n_codewords > 2 else matrix[:, :1], name="one_vs_rest")


def _groups_vs_rest(n_codewords: int, n_symbols: int) -> IntArray:
    """Columns in which the same number of codewords, up to one, have symbols of their own."""
    if n_codewords <= n_symbols:
        return np.arange(n_codewords)[:, None]
    groups = np.array_split(np.arange(n_codewords), -(-n_codewords // (n_symbols - 1)))
    matrix = np.zeros((n_codewords, len(groups)), dtype=np.intp)
    for column, group in enumerate(groups):
        matrix[group, column] = 1 + np.arange(len(group))
    return matrix


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
