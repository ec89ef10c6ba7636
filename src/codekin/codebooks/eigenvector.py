"""Spectral codes: columns that cut the graph of class similarities where its links are weakest."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from codekin.classes import ClassDistances
from codekin.codebooks.design import are_rows_distinct, class_similarities, distance_matrix, with_distinct_rows
from codekin.codebooks.sizes import (
    DENSE_BITS_PER_DOUBLING,
    checked_n_bits,
    checked_n_codewords,
    default_n_bits,
    n_binary_columns,
)
from codekin.coding import Codebook, CodingMatrix, FloatArray


def spectral(
    n_codewords: int,
    n_bits: int | None = None,
    *,
    class_distances: ClassDistances | ArrayLike,
    threshold: Literal["zero", "median"] = "zero",
    bandwidth: float = 1.0,
    repair: bool = False,
) -> Codebook:
    r"""Thresholded eigenvectors of the Laplacian of a graph in which similar classes are strongly linked.

    Classes ``u`` and ``v`` are linked by :math:`W_{uv} = \exp(-\tfrac12 (A_{uv} / (b \bar A))^2)`, where ``A`` are the
    class distances, :math:`\bar A` is their mean and ``b`` the bandwidth. Column ``j`` is the ``j``-th
    smallest non-constant solution of :math:`(\operatorname{diag}(W 1) - W) v = \lambda \operatorname{diag}(W 1) v`, cut
    at its threshold: similar classes fall on the same side, so the code preserves similarity by design, especially with
    few bits. An eigenvector that gives the same cut as an earlier one is skipped.

    Parameters
    ----------
    n_codewords : int
        The number of codewords ``K``, at least 2; row ``k`` is for class ``k``.
    n_bits : int, optional
        The number of bits, less than ``K``; by default ``10 log2 K``, rounded up, or as many as there are eigenvectors.
    class_distances : ClassDistances or array-like of shape (n_codewords, n_codewords)
        How far apart the classes are.
    threshold : {"zero", "median"}, default="zero"
        Where an eigenvector is cut. The median makes every bit balanced.
    bandwidth : float, default=1.0
        The distance, as a share of the mean, over which similarity fades.
    repair : bool, default=False
        If two classes get the same codeword, which is possible, flip the bits of one of them that were closest to their
        thresholds, instead of raising an error.

    Returns
    -------
    Codebook

    References
    ----------
    X. Zhang, L. Liang and H.-Y. Shum, "Spectral Error Correcting Output Codes for Efficient Multiclass Recognition",
    ICCV 2009.

    Examples
    --------
    Classes on a line. The first column cuts it in the middle, the second one cuts off both ends.

    >>> places = np.arange(5.0)
    >>> spectral(5, 3, class_distances=np.abs(places[:, None] - places)).matrix.tolist()
    [[1, 1, 1], [1, -1, -1], [1, -1, 1], [-1, -1, 1], [-1, 1, -1]]
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="spectral")
    if threshold not in ("zero", "median"):
        raise ValueError(
            f"The 'threshold' parameter of spectral must be 'zero' or 'median'. Got {threshold!r} instead."
        )
    if not bandwidth > 0:
        raise ValueError(f"The 'bandwidth' parameter of spectral must be greater than 0. Got {bandwidth!r} instead.")
    if n_bits is not None:
        n_bits = checked_n_bits(n_bits, n_codewords, n_columns=n_binary_columns(n_codewords))
        if n_bits >= n_codewords:
            raise ValueError(
                f"The spectral codebook has fewer bits than codewords: {n_codewords} classes have "
                f"{n_codewords - 1} eigenvectors that are not constant. Got n_bits={n_bits}."
            )
    vectors = laplacian_eigenvectors(class_similarities(distance_matrix(class_distances, n_codewords), bandwidth))
    columns, margins = _distinct_cuts(vectors, threshold)
    if n_bits is None:
        n_bits = default_n_bits(n_codewords, DENSE_BITS_PER_DOUBLING, n_columns=columns.shape[1])
    elif n_bits > columns.shape[1]:
        raise ValueError(
            f"The eigenvectors cut these {n_codewords} classes in only {columns.shape[1]} different ways; n_bits must "
            f"not be greater. Got {n_bits}."
        )
    matrix = columns[:, :n_bits]
    if not are_rows_distinct(matrix):
        if not repair:
            raise ValueError(_equal_rows_sentence(matrix, columns.shape[1]))
        matrix = with_distinct_rows(matrix, margins[:, :n_bits])
    return Codebook(matrix, name="spectral", is_designed=True)


def laplacian_eigenvectors(similarities: FloatArray) -> FloatArray:
    """The eigenvectors that are not constant, smallest eigenvalue first, as columns."""
    from scipy.linalg import eigh

    degrees = similarities.sum(axis=1)
    laplacian = np.diag(degrees) - similarities
    # Eigenvalues are between 0 and 2. That of the constant vector is raised from 0 to 3, so it comes last even if the
    # graph is not connected and others have the eigenvalue 0 as well.
    lifted = laplacian + 3 * np.outer(degrees, degrees) / degrees.sum()
    vectors = eigh(lifted, np.diag(degrees))[1]
    return np.asarray(vectors[:, :-1])


def _distinct_cuts(vectors: FloatArray, threshold: str) -> tuple[CodingMatrix, FloatArray]:
    """The distinct columns, and how far their entries were from the threshold."""
    # The sign of an eigenvector is arbitrary. Make its first entry positive, so that entries on the threshold, up to
    # rounding, always go to the same side.
    is_zero = np.abs(vectors) < 1e-9 * np.abs(vectors).max(axis=0)
    first = np.take_along_axis(vectors, (~is_zero).argmax(axis=0)[None], axis=0)
    vectors = np.where(is_zero, 0.0, vectors) * np.sign(first)
    if threshold == "median":
        ranks = vectors.argsort(axis=0, kind="stable").argsort(axis=0)
        columns = np.where(ranks < len(vectors) // 2, -1, 1).astype(np.int8)
        margins = np.abs(vectors - np.median(vectors, axis=0))
    else:
        columns, margins = np.where(vectors < 0, -1, 1).astype(np.int8), np.abs(vectors)
    first_with = {column.tobytes(): j for j, column in reversed(list(enumerate((columns * columns[0]).T)))}
    kept = sorted(first_with.values())
    return columns[:, kept], margins[:, kept]


def _equal_rows_sentence(matrix: CodingMatrix, most_bits: int) -> str:
    codewords = [row.tobytes() for row in matrix]
    second = next(k for k, codeword in enumerate(codewords) if codeword in codewords[:k])
    first = codewords.index(codewords[second])
    more = f" more bits (there are {most_bits})," if matrix.shape[1] < most_bits else ""
    return (
        f"With {matrix.shape[1]} bits the spectral codebook gives classes {first} and {second} the same codeword. "
        f"Use{more} another threshold or bandwidth, or repair=True."
    )
