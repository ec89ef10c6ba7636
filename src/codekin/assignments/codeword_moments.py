"""Sums over the distances between all pairs of codewords, without the distances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.classes.interface import DistanceMoments
from codekin.coding import CodingMatrix
from codekin.coding.codebook import is_real

_BLOCK_ROWS = 2_048
"""How many codewords are multiplied at once; sums of this many terms of size one are exact in float32."""


def codeword_moments(coding_matrix: CodingMatrix) -> DistanceMoments:
    """Sums over the distances between all pairs of rows, without computing the distances.

    With ``W = [M, |M|]`` and ``r_u`` the number of non-zero bits of row ``u``, the distance of two rows is
    ``(r_u + r_v - <W_u, W_v>) / 2``; if no bit is 0, ``|M|`` adds the same to all and ``W = M`` is enough. Of real rows
    it is that with ``W = M`` and ``r_u = |M_u|^2 / 2``.

    >>> import numpy as np
    >>> codeword_moments(np.array([[1, 1], [1, -1], [-1, -1]], dtype=np.int8))
    DistanceMoments(total=8.0, sum_of_squares=12.0, sum_of_squared_row_sums=22.0)
    """
    n_codewords, n_bits = coding_matrix.shape
    is_ternary = not is_real(coding_matrix) and not coding_matrix.all()
    width = n_bits * (2 if is_ternary else 1)
    sums, gram = np.zeros(width), np.zeros((width, width))
    for block in _wide_blocks(coding_matrix, is_ternary):
        sums += block.sum(axis=0, dtype=np.float64)
        gram += block.T @ block
    # Without zeros <W_u, W_v> lacks the n_bits of |M|; half of r_u + r_v makes up for it.
    lengths = np.square(coding_matrix, dtype=np.float64).sum(axis=1) / (1 if is_ternary else 2)
    total = lengths.sum()
    inner = np.concatenate([np.asarray(block @ sums) for block in _wide_blocks(coding_matrix, is_ternary)])
    row_sums = (n_codewords * lengths + total - inner) / 2
    sum_of_squares = (
        2 * n_codewords * (lengths @ lengths) + 2 * total**2 - 4 * (lengths @ inner) + float(np.sum(gram**2))
    ) / 4
    return DistanceMoments(float(row_sums.sum()), float(sum_of_squares), float(row_sums @ row_sums))


def _wide_blocks(coding_matrix: CodingMatrix, is_ternary: bool) -> Iterator[NDArray[Any]]:
    precision = np.float64 if is_real(coding_matrix) else np.float32
    for start in range(0, len(coding_matrix), _BLOCK_ROWS):
        block = coding_matrix[start : start + _BLOCK_ROWS].astype(precision)
        yield np.hstack([block, np.abs(block)]) if is_ternary else block
