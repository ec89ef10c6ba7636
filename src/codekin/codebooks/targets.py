"""Real-valued codewords, learned by regression: random projections of the classes, and eigenvectors of their graph."""

from __future__ import annotations

from operator import index

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from codekin.classes import ClassDistances
from codekin.codebooks.design import class_similarities, distance_matrix
from codekin.codebooks.eigenvector import laplacian_eigenvectors
from codekin.codebooks.sizes import DENSE_BITS_PER_DOUBLING, checked_n_codewords, default_n_bits
from codekin.coding import Codebook, FloatArray

SHORTEST = 1e-9
"""A class whose part of the eigenvectors is shorter than this, as a share of the longest one, has no direction."""
CLOSEST = 1e-12
"""Targets closer than this, as a share of their length, are equal up to rounding."""


def random_projection(
    n_codewords: int, n_bits: int | None = None, *, rng: np.random.Generator | int | None = None
) -> Codebook:
    r"""Random projections of the classes into fewer dimensions, after Rodríguez et al. (2018).

    The codeword of class ``k`` is the projection of its one-hot label, row ``k`` of a matrix of independent normal
    entries. One-hot labels are equally far apart, and their projections nearly so: with :math:`\ell` bits, squared
    distances divided by 4 have the mean :math:`\ell / 2`, the distance of random signs, and the standard deviation
    :math:`\ell / 2 \cdot \sqrt{2 / \ell}` (Johnson and Lindenstrauss, 1984). What remains of the differences is what
    an informed assignment uses.

    That random projections of the labels serve as targets of a regression is the paper's. We could read its abstract,
    not its equations: normal entries, of variance 1 so that bits are about as large as signs, and the default number of
    bits are ours. To give the codewords to classes by their similarity is codekin's idea, not the paper's.

    Parameters
    ----------
    n_codewords : int
        The number of codewords ``K``, at least 2.
    n_bits : int, optional
        The number of bits :math:`\ell`, at least 1; by default ``10 log2 K``, rounded up, but less than ``K``.
    rng : numpy.random.Generator, int or None, default=None
        The source of randomness, or a seed for one.

    Returns
    -------
    Codebook
        Of real numbers, which regressors learn.

    References
    ----------
    P. Rodríguez, M. A. Bautista, J. Gonzàlez and S. Escalera, "Beyond One-hot Encoding: Lower Dimensional Target
    Embedding", Image and Vision Computing 75, 2018.

    Examples
    --------
    >>> random_projection(10, 4, rng=0)
    <Codebook random_projection: 10 codewords x 4 real bits, minimum distance 0.0972062>
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="random_projection")
    n_bits = _n_targets(n_codewords, n_bits)
    return Codebook(
        np.random.default_rng(rng).normal(size=(n_codewords, n_bits)), name="random_projection", is_real=True
    )


def eigen_targets(
    n_codewords: int,
    n_bits: int | None = None,
    *,
    class_distances: ClassDistances | ArrayLike,
    bandwidth: float = 1.0,
) -> Codebook:
    r"""Normalised eigenvectors of the graph of class similarities, after Rodríguez et al. (2018).

    Classes are linked as for :func:`spectral`, whose columns are the signs of the same eigenvectors: bit ``j`` is the
    ``j``-th smallest non-constant solution of :math:`(\operatorname{diag}(W 1) - W) v = \lambda \operatorname{diag}(W
    1) v`, which differs least between similar classes. Then every codeword is scaled to the length :math:`\sqrt\ell`
    of a row of :math:`\ell` signs. With all ``K - 1`` eigenvectors and classes that are all linked equally strongly to
    the others, codewords are the corners of a simplex, and least squares decides as for one-hot labels.

    That the targets of a regression are a normalised eigenrepresentation of the classes is the paper's. We could read
    its abstract, not its equations: this graph, this Laplacian and the normalisation of rows are a reconstruction.

    Parameters
    ----------
    n_codewords : int
        The number of codewords ``K``, at least 2; row ``k`` is for class ``k``.
    n_bits : int, optional
        The number of bits :math:`\ell`, less than ``K``; by default ``10 log2 K``, rounded up, or as many as there are
        eigenvectors.
    class_distances : ClassDistances or array-like of shape (n_codewords, n_codewords)
        How far apart the classes are.
    bandwidth : float, default=1.0
        The distance, as a share of the mean, over which similarity fades.

    Returns
    -------
    Codebook
        Of real numbers, which regressors learn.

    References
    ----------
    P. Rodríguez, M. A. Bautista, J. Gonzàlez and S. Escalera, "Beyond One-hot Encoding: Lower Dimensional Target
    Embedding", Image and Vision Computing 75, 2018.

    Examples
    --------
    Classes on a circle: two eigenvectors put them there again.

    >>> angles = np.arange(4) * np.pi / 2
    >>> places = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> distances = np.linalg.norm(places[:, None] - places, axis=2)
    >>> targets = eigen_targets(4, 2, class_distances=distances)
    >>> targets
    <Codebook eigen_targets: 4 codewords x 2 real bits, minimum distance 1>
    >>> targets.row_distances().round(9)
    array([[0., 1., 2., 1.],
           [1., 0., 1., 2.],
           [2., 1., 0., 1.],
           [1., 2., 1., 0.]])
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="eigen_targets")
    if not bandwidth > 0:
        raise ValueError(
            f"The 'bandwidth' parameter of eigen_targets must be greater than 0. Got {bandwidth!r} instead."
        )
    n_bits = _n_targets(n_codewords, n_bits)
    if n_bits >= n_codewords:
        raise ValueError(
            f"The eigen_targets codebook has fewer bits than codewords: {n_codewords} classes have "
            f"{n_codewords - 1} eigenvectors that are not constant. Got n_bits={n_bits}."
        )
    with threadpool_limits(1, user_api="blas"):  # sums must not depend on the number of threads
        similarities = class_similarities(distance_matrix(class_distances, n_codewords), bandwidth)
        targets = _normalised(laplacian_eigenvectors(similarities)[:, :n_bits])
    return Codebook(targets, name="eigen_targets", is_designed=True, is_real=True)


def _n_targets(n_codewords: int, n_bits: int | None) -> int:
    """The number of bits, checked; by default at most as many as one-hot labels have dimensions beside their mean."""
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
