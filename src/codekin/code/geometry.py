"""How far codewords are apart: distances between rows of signs, indicators or real numbers, and sums over all pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin.code.types import CodingMatrix, FloatArray, IntArray

MAX_DENSE_CODEWORDS = 5_000
"""Up to this many codewords there may be arrays of size codewords x codewords."""
_MAX_DENSE_COVARIANCE = 2_000
"""Up to this many dimensions the covariance of vectors is computed; beyond, only products with it."""
_BLOCK_ROWS = 2_048
"""How many codewords are multiplied at once; sums of this many terms of size one are exact in float32."""


@dataclass(frozen=True)
class DistanceMoments:
    """The sums over all ordered pairs of classes that determine the spread of random assignments."""

    total: float
    sum_of_squares: float
    sum_of_squared_row_sums: float


def codeword_distances(a: CodingMatrix, b: CodingMatrix, *, zero_pair: float = 0.0) -> FloatArray:
    """Distances between the rows of ``a`` and those of ``b``: see :meth:`Codebook.row_distances`."""
    if _is_real(a):
        from scipy.spatial.distance import cdist

        return np.asarray(cdist(a, b, "sqeuclidean") / 4)
    a_float, b_float = a.astype(np.float32), b.astype(np.float32)
    # Exact in float32: sums of fewer than 2**24 terms of size one. With u = |M|, for entries in {-1, 0, 1}
    # |x - y| = u_x + u_y - u_x u_y - x y.
    products = a_float @ b_float.T
    if a.all() and b.all():
        return np.asarray((a.shape[1] - products) / 2, dtype=np.float64)
    a_used, b_used = np.abs(a_float), np.abs(b_float)
    distances = a_used.sum(1)[:, None] + b_used.sum(1)[None, :] - a_used @ b_used.T - products
    if zero_pair:
        distances += 2 * zero_pair * ((1 - a_used) @ (1 - b_used).T)
    return np.asarray(distances / 2, dtype=np.float64)


def _is_real(codewords: NDArray[Any]) -> bool:
    """Whether these are real codewords, not signs or indicators, which are whole numbers."""
    return codewords.dtype.kind == "f"


def paired_distances(a: CodingMatrix, b: CodingMatrix) -> FloatArray:
    """The distance of each row of ``a`` to the row of ``b`` in the same place."""
    apart = a - b
    return np.asarray((apart**2).sum(axis=1) / 4 if _is_real(a) else np.abs(apart).sum(axis=1) / 2, dtype=np.float64)


def total_codeword_distance(M: NDArray[Any]) -> float:
    """The sum over all ordered pairs of rows of their distances: see :meth:`codekin.code.Codebook.row_distances`."""
    if _is_real(M):
        return float(len(M) * np.sum(M**2) - np.sum(M.sum(axis=0) ** 2)) / 2
    positive, negative = (M > 0).sum(axis=0, dtype=np.float64), (M < 0).sum(axis=0, dtype=np.float64)
    zero = len(M) - positive - negative
    return float(np.sum(2 * positive * negative + zero * (positive + negative)))


def inner_product(coding_matrix: ArrayLike, row_sums: FloatArray, form: Callable[[CodingMatrix], float]) -> float:
    """The sum of class distance times codeword distance, from the row sums and the quadratic form of the former.

    Entries of type float are real: the distance is half the mean of the squared lengths, less half the product.
    """
    given = np.asarray(coding_matrix)
    if given.ndim != 2 or len(given) != len(row_sums):
        raise ValueError(f"The coding matrix needs one row per class, {len(row_sums)}. Got shape {given.shape}.")
    if _is_real(given):
        return float(np.square(given).sum(axis=1) @ row_sums - form(given)) / 2
    M = given.astype(np.int8)
    used = np.abs(M)
    if used.max(initial=0) > 1 or (given.dtype != np.int8 and not np.array_equal(given, M)):
        raise ValueError("The entries of a coding matrix must be -1, 0 or +1. Got another value.")
    if used.all():
        # No zeros: every row of |M| is ones, and its form is the sum of all distances, once per bit.
        return float(M.shape[1] * row_sums.sum() - form(M)) / 2
    n_used = used.sum(axis=1, dtype=np.float64)
    return float(n_used @ row_sums - (form(M) + form(used)) / 2)


def codeword_moments(coding_matrix: CodingMatrix) -> DistanceMoments:
    """Sums over the distances between all pairs of rows, without computing the distances.

    With ``W = [M, |M|]`` and ``r_u`` the number of non-zero bits of row ``u``, the distance of two rows is ``(r_u + r_v
    - <W_u, W_v>) / 2``; if no bit is 0, ``|M|`` adds the same to all and ``W = M`` is enough. Of real rows it is that
    with ``W = M`` and ``r_u = |M_u|^2 / 2``.
    """
    n_codewords, n_bits = coding_matrix.shape
    is_ternary = not _is_real(coding_matrix) and not coding_matrix.all()
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
    precision = np.float64 if _is_real(coding_matrix) else np.float32
    for start in range(0, len(coding_matrix), _BLOCK_ROWS):
        block = coding_matrix[start : start + _BLOCK_ROWS].astype(precision)
        yield np.hstack([block, np.abs(block)]) if is_ternary else block


def codeword_vectors(matrix: CodingMatrix) -> tuple[NDArray[np.float32], FloatArray]:
    """The codewords, with their absolute values appended if bits may be zero, and their numbers of non-zero bits.

    The numbers are all 0 if no bit is zero, since a constant does not matter; half the squared lengths of real
    codewords.
    """
    codewords = matrix.astype(np.float32)
    if _is_real(matrix):
        return codewords, np.square(codewords, dtype=np.float64).sum(axis=1) / 2
    if matrix.all():
        return codewords, np.zeros(len(matrix))
    used = np.abs(codewords)
    return np.hstack([codewords, used]), used.sum(axis=1, dtype=np.float64)


def packed_bits(flags: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """The flags of the last axis as 64-bit words, padded with zeros."""
    words = np.zeros((*flags.shape[:-1], -(-flags.shape[-1] // 64)), dtype=np.uint64)
    words.view(np.uint8)[..., : -(-flags.shape[-1] // 8)] = np.packbits(flags, axis=-1)
    return words


def bit_reversed(n: int) -> IntArray:
    """``range(n)`` in bit-reversed order: neighbours are far apart, at every scale."""
    n_bits = max(int(n - 1).bit_length(), 1)
    numbers = np.arange(2**n_bits)
    reversed_numbers = np.zeros_like(numbers)
    for bit in range(n_bits):
        reversed_numbers |= ((numbers >> bit) & 1) << (n_bits - 1 - bit)
    return reversed_numbers[reversed_numbers < n]


def principal_order(vectors: Any) -> IntArray:
    """Ascending along the leading principal component of the rows of an array or a sparse matrix."""
    from scipy.linalg import eigh
    from scipy.sparse.linalg import LinearOperator, svds

    n, width = vectors.shape
    rows = vectors.astype(np.float64)
    mean = np.asarray(rows.mean(axis=0)).ravel()
    if width <= _MAX_DENSE_COVARIANCE:
        product = rows.T @ rows
        covariance = (product if isinstance(product, np.ndarray) else product.toarray()) - n * np.outer(mean, mean)
        _, directions = eigh(covariance, subset_by_index=[width - 1, width - 1])
        return order_along(np.asarray(rows @ directions[:, 0]) - mean @ directions[:, 0])
    centred: Any = LinearOperator(
        (n, width),
        matvec=lambda x: rows @ x.ravel() - mean @ x.ravel(),
        rmatvec=lambda y: rows.T @ y.ravel() - mean * y.sum(),
        dtype=np.float64,
    )
    left, _, _ = svds(centred, k=1, v0=np.linspace(1.0, 2.0, min(n, width)))
    return order_along(np.asarray(left)[:, 0])


def order_along(component: FloatArray) -> IntArray:
    """The order along a vector with arbitrary sign: the first entry of the largest size is made positive."""
    sign = np.sign(component[np.abs(component).argmax()])
    # Rounded, so that entries that should be equal stay in their given order.
    scale = np.abs(component).max(initial=1e-300)
    return np.argsort(np.round(sign * component / scale, 9), kind="stable")
