"""Designs from the eigenvectors of the graph of class similarities: cuts of it, and real targets. Experimental."""

from __future__ import annotations

from operator import index
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from codekin._system.parallel import single_blas
from codekin.classes import ClassDistances
from codekin.code import Codebook, CodingMatrix, FloatArray
from codekin.code.targets import TargetCodebook
from codekin.codebooks.classic import (
    DENSE_BITS_PER_DOUBLING,
    check_parameter,
    checked_n_bits,
    checked_n_codewords,
    default_n_bits,
    n_binary_columns,
)
from codekin.codebooks.designs.columns import are_rows_distinct, class_similarities, with_distinct_rows

SHORTEST = 1e-9
"""A class whose part of the eigenvectors is shorter than this, as a share of the longest one, has no direction."""
CLOSEST = 1e-12
"""Targets closer than this, as a share of their length, are equal up to rounding."""


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
    is_known = threshold in ("zero", "median")
    check_parameter("spectral", "threshold", threshold, is_known, "'zero' or 'median'")
    if n_bits is not None:
        n_bits = checked_n_bits(n_bits, n_codewords, n_columns=n_binary_columns(n_codewords))
        if n_bits >= n_codewords:
            raise ValueError(
                f"The spectral codebook has fewer bits than codewords: {n_codewords} classes have "
                f"{n_codewords - 1} eigenvectors that are not constant. Got n_bits={n_bits}."
            )
    vectors = laplacian_eigenvectors(class_similarities("spectral", class_distances, n_codewords, bandwidth))
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
        codewords = [row.tobytes() for row in matrix]
        second = next(k for k, codeword in enumerate(codewords) if codewords.index(codeword) < k)
        if not repair:
            more = f" more bits (there are {columns.shape[1]})," if n_bits < columns.shape[1] else ""
            raise ValueError(
                f"With {n_bits} bits the spectral codebook gives classes {codewords.index(codewords[second])} and "
                f"{second} the same codeword. Use{more} another threshold or bandwidth, or repair=True."
            )
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


def random_projection(
    n_codewords: int, n_bits: int | None = None, *, rng: np.random.Generator | int | None = None
) -> Codebook:
    r"""Random projections of the classes into fewer dimensions, after Rodríguez et al. (2018).

    The codeword of class ``k`` is the projection of its one-hot label, row ``k`` of a matrix of independent normal
    entries. One-hot labels are equally far apart, and their projections nearly so: with :math:`\ell` bits, squared
    distances divided by 4 have the mean :math:`\ell / 2`, the distance of random signs, and the standard deviation
    :math:`\ell / 2 \cdot \sqrt{2 / \ell}` (Johnson and Lindenstrauss, 1984). What remains of the differences is what an
    informed assignment, which is codekin's idea, uses.

    That random projections of the labels serve as targets of a regression is the paper's. We could read its abstract,
    not its equations: normal entries, of variance 1 so that bits are about as large as signs, and the default number of
    bits, ``10 log2 K``, rounded up, but fewer than codewords, are ours.

    P. Rodríguez, M. A. Bautista, J. Gonzàlez and S. Escalera, "Beyond One-hot Encoding: Lower Dimensional Target
    Embedding", Image and Vision Computing 75, 2018.

    >>> random_projection(10, 4, rng=0)
    <Codebook random_projection: 10 codewords x 4 real bits, minimum distance 0.0972062>
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="random_projection")
    n_bits = _n_targets(n_codewords, n_bits)
    return TargetCodebook(np.random.default_rng(rng).normal(size=(n_codewords, n_bits)), name="random_projection")


def eigen_targets(
    n_codewords: int,
    n_bits: int | None = None,
    *,
    class_distances: ClassDistances | ArrayLike,
    bandwidth: float = 1.0,
) -> Codebook:
    r"""Normalised eigenvectors of the graph of class similarities, after Rodríguez et al. (2018).

    Classes are linked as for :func:`spectral`, whose columns are the signs of the same eigenvectors. Then every
    codeword is scaled to the length :math:`\sqrt\ell` of a row of :math:`\ell` signs. With all ``K - 1`` eigenvectors
    and classes that are all linked equally strongly, codewords are the corners of a simplex, and least squares decides
    as for one-hot labels.

    That the targets of a regression are a normalised eigenrepresentation of the classes is the paper's
    (:func:`random_projection`). We could read its abstract, not its equations: this graph, this Laplacian and the
    normalisation of rows are a reconstruction. There are fewer bits than codewords, by default ``10 log2 K``, rounded
    up, or as many as there are eigenvectors.

    Classes on a circle: two eigenvectors put them there again.

    >>> angles = np.arange(4) * np.pi / 2
    >>> places = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> targets = eigen_targets(4, 2, class_distances=np.linalg.norm(places[:, None] - places, axis=2))
    >>> targets.row_distances().round(9)[0]
    array([0., 1., 2., 1.])
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="eigen_targets")
    n_bits = _n_targets(n_codewords, n_bits)
    if n_bits >= n_codewords:
        raise ValueError(
            f"The eigen_targets codebook has fewer bits than codewords: {n_codewords} classes have "
            f"{n_codewords - 1} eigenvectors that are not constant. Got n_bits={n_bits}."
        )
    with single_blas():  # sums must not depend on the number of threads
        similarities = class_similarities("eigen_targets", class_distances, n_codewords, bandwidth)
        targets = _normalised(laplacian_eigenvectors(similarities)[:, :n_bits])
    return TargetCodebook(targets, name="eigen_targets", is_designed=True)


def _n_targets(n_codewords: int, n_bits: int | None) -> int:
    """The number of bits, checked; by default less than the number of codewords."""
    if n_bits is None:
        return default_n_bits(n_codewords, DENSE_BITS_PER_DOUBLING, n_columns=n_codewords - 1)
    checked = index(n_bits)
    if checked < 1:
        raise ValueError(f"A codebook needs at least 1 bit. Got n_bits={checked}.")
    return checked


def _normalised(vectors: FloatArray) -> FloatArray:
    """Rows of the length of as many signs; raises if two classes would get the same one, or one class none."""
    # The sign of an eigenvector is arbitrary: its largest entry, the first of several, is made positive.
    largest = np.round(np.abs(vectors) / np.abs(vectors).max(axis=0), 9).argmax(axis=0)
    vectors = vectors * np.sign(vectors[largest, np.arange(vectors.shape[1])])
    n_classes, n_bits = vectors.shape
    lengths = np.linalg.norm(vectors, axis=1)
    remedy = f"Use more bits; there are up to {n_classes - 1}." if n_bits < n_classes - 1 else "Use another bandwidth."
    if lengths.min() < SHORTEST * lengths.max():
        raise ValueError(
            f"With n_bits={n_bits} the eigen_targets codebook has no target for class {int(lengths.argmin())}, whose "
            f"entries of the eigenvectors are all 0. {remedy}"
        )
    targets = vectors / lengths[:, None]
    for k, target in enumerate(targets[:-1]):
        near = np.linalg.norm(targets[k + 1 :] - target, axis=1) < CLOSEST
        if near.any():
            raise ValueError(
                f"With n_bits={n_bits} the eigen_targets codebook gives classes {k} and {k + 1 + int(near.argmax())} "
                f"the same target. {remedy}"
            )
    return np.asarray(targets * np.sqrt(n_bits))
