"""Sparse output codes: ternary columns that follow class similarities, and zeros where they say the least."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from codekin.classes import ClassDistances
from codekin.codebooks.design import class_similarities, distance_matrix, useful_signs
from codekin.codebooks.sizes import (
    DENSE_BITS_PER_DOUBLING,
    checked_n_bits,
    checked_n_codewords,
    default_n_bits,
    n_binary_columns,
)
from codekin.coding import Codebook, CodingMatrix, FloatArray

STEP = 0.1
"""The size of a gradient step, where the largest similarity of a column with itself is 1."""


def sparse_output(
    n_codewords: int,
    n_bits: int | None = None,
    *,
    class_distances: ClassDistances | ArrayLike,
    sparsity: float = 0.5,
    decorrelation: float = 4.0,
    bandwidth: float = 1.0,
    n_steps: int = 500,
    rng: np.random.Generator | int | None = None,
) -> Codebook:
    r"""Ternary columns that part dissimilar classes and ignore those hard to place, after Zhao and Xing (2013).

    With class similarities :math:`S_{uv} = \exp(-\tfrac12 (A_{uv} / (b \bar A))^2)` (as for :func:`spectral`), less
    their mean and divided by the largest eigenvalue, real columns :math:`m_j` of length :math:`\sqrt K` minimise

    .. math:: -\frac12 \sum_j m_j^\top S m_j + \frac{1}{2 K} \sum_j (1^\top m_j)^2
        + \frac{\gamma}{4 K \ell} \sum_{i \neq j} (m_i^\top m_j)^2.

    The first sum wants similar classes on the same side of a bit and dissimilar ones on different sides, so that bits
    are easy to learn; the second wants both sides equally large. The third wants columns that differ, and with them
    codewords that are far apart, since :math:`\|M^\top M\|_F = \|M M^\top\|_F`. After gradient steps from a random
    start the entries are rounded: to their signs, and a share of them, the smallest, to 0, unless two classes would
    then no longer have opposite signs in any bit, or a bit would lose a side or equal another one.

    A sparse coding matrix that is learned for the classes is the paper's. We could read its abstract, not its
    equations: the objective, which weighs learnability by class similarities against correlation, is a reconstruction,
    and its terms, their weights, the steps and the rounding are ours. The paper's probabilistic decoding is not here.

    Parameters
    ----------
    n_codewords : int
        The number of codewords ``K``, at least 2; row ``k`` is for class ``k``.
    n_bits : int, optional
        The number of bits :math:`\ell`; by default ``10 log2 K``, rounded up, or as many as there are useful columns
        without zeros.
    class_distances : ClassDistances or array-like of shape (n_codewords, n_codewords)
        How far apart the classes are.
    sparsity : float, default=0.5
        The share of entries that are to be 0; at least 0 and less than 1. There are fewer if classes could no longer be
        told apart.
    decorrelation : float, default=4.0
        The weight :math:`\gamma` of different columns beside learnable ones; at least 0.
    bandwidth : float, default=1.0
        The distance, as a share of the mean, over which similarity fades.
    n_steps : int, default=500
        The number of gradient steps.
    rng : numpy.random.Generator, int or None, default=None
        The source of randomness for the start, or a seed for one.

    Returns
    -------
    Codebook

    References
    ----------
    B. Zhao and E. P. Xing, "Sparse Output Coding for Large-Scale Visual Recognition", CVPR 2013, and "Sparse Output
    Coding for Scalable Visual Recognition", International Journal of Computer Vision 119, 2016.

    Examples
    --------
    Two groups of similar classes.

    >>> from codekin.codebooks.sparse_output import sparse_output
    >>> group = np.array([0, 0, 0, 1, 1, 1])
    >>> distances = np.where(np.eye(6), 0, np.where(group[:, None] == group, 1, 5))
    >>> sparse_output(6, 10, class_distances=distances, rng=0)
    <Codebook sparse_output: 6 codewords x 10 bits, minimum distance 3.5, 50% zeros>
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="sparse_output")
    if not 0 <= sparsity < 1:
        raise ValueError(
            f"The 'sparsity' parameter of sparse_output must be at least 0 and less than 1. Got {sparsity!r} instead."
        )
    if not decorrelation >= 0:
        raise ValueError(
            f"The 'decorrelation' parameter of sparse_output must be at least 0. Got {decorrelation!r} instead."
        )
    if not bandwidth > 0:
        raise ValueError(
            f"The 'bandwidth' parameter of sparse_output must be greater than 0. Got {bandwidth!r} instead."
        )
    n_columns = n_binary_columns(n_codewords)
    default = default_n_bits(n_codewords, DENSE_BITS_PER_DOUBLING, n_columns=n_columns)
    n_bits = checked_n_bits(n_bits, n_codewords, n_columns=n_columns, default=default)
    columns = _lengthened(np.random.default_rng(rng).normal(size=(n_codewords, n_bits)))
    with threadpool_limits(1, user_api="blas"):  # sums, and so the signs, must not depend on the number of threads
        similarities = _scaled(class_similarities(distance_matrix(class_distances, n_codewords), bandwidth))
        for _ in range(n_steps):
            columns = _lengthened(columns - STEP * gradient(columns, similarities, decorrelation))
    matrix = _with_zeros(useful_signs(columns), np.abs(columns), sparsity)
    return Codebook(matrix, name="sparse_output", is_designed=True)


def objective(columns: FloatArray, similarities: FloatArray, decorrelation: float) -> float:
    """What the relaxed columns minimise; see :func:`sparse_output`."""
    products = columns.T @ columns
    np.fill_diagonal(products, 0)
    similar = (columns * (similarities @ columns)).sum() / 2
    uneven = (columns.sum(axis=0) ** 2).sum() / (2 * len(columns))
    return float(decorrelation * (products**2).sum() / (4 * columns.size) + uneven - similar)


def gradient(columns: FloatArray, similarities: FloatArray, decorrelation: float) -> FloatArray:
    """The gradient of the objective."""
    products = columns.T @ columns
    np.fill_diagonal(products, 0)
    balance = columns.mean(axis=0)
    return np.asarray(decorrelation * columns @ products / columns.size + balance - similarities @ columns)


def _scaled(similarities: FloatArray) -> FloatArray:
    """Similarities of different classes, less their mean, with a largest eigenvalue of 1; 0 on the diagonal."""
    between = ~np.eye(len(similarities), dtype=bool)
    centred = np.where(between, similarities - similarities[between].mean(), 0.0)
    largest = np.abs(np.linalg.eigvalsh(centred)).max()
    return centred / largest if largest > 1e-12 else np.zeros_like(centred)


def _lengthened(columns: FloatArray) -> FloatArray:
    """The columns with the length of a column of signs."""
    return np.asarray(columns * (np.sqrt(len(columns)) / np.linalg.norm(columns, axis=0)))


def _with_zeros(signs: CodingMatrix, margins: FloatArray, sparsity: float) -> CodingMatrix:
    """The smallest entries set to 0, as long as every two classes have opposite signs in a bit and bits stay useful."""
    matrix = signs.copy()
    n_bits = signs.shape[1]
    opposite = (n_bits - signs.astype(np.int64) @ signs.T) // 2
    taken = {_canonical(column) for column in signs.T}
    n_zeros = int(sparsity * signs.size)
    for place in np.argsort(margins, axis=None, kind="stable").tolist():
        if not n_zeros:
            break
        row, bit = divmod(place, n_bits)
        against = matrix[:, bit] == -matrix[row, bit]
        thinned = matrix[:, bit].copy()
        thinned[row] = 0
        has_both_sides = thinned.max() > 0 > thinned.min()
        if has_both_sides and (opposite[row, against] > 1).all() and _canonical(thinned) not in taken:
            taken.remove(_canonical(matrix[:, bit]))
            taken.add(_canonical(thinned))
            opposite[row, against] -= 1
            opposite[against, row] -= 1
            matrix[row, bit] = 0
            n_zeros -= 1
    return matrix


def _canonical(column: CodingMatrix) -> bytes:
    """The same bytes for a column and its complement."""
    return min(column.tobytes(), (-column).tobytes())
