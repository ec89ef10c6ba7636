"""Compact class codes: the hidden layer of an autoencoder of class similarities."""

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
from codekin.coding import Codebook, FloatArray

DECAY = 1e-4
"""The weight of the squared weights of the network."""

STEP, FIRST_MOMENT, SECOND_MOMENT = 0.05, 0.9, 0.999
"""The step size and the two averages of Adam (Kingma and Ba, 2015)."""

Weights = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""Into the hidden layer, (K, n_bits), and its bias; back out of it, (n_bits, K), and the offset of the output."""


def autoencoder(
    n_codewords: int,
    n_bits: int | None = None,
    *,
    class_distances: ClassDistances | ArrayLike,
    separation: float = 0.25,
    separation_weight: float = 1.0,
    bandwidth: float = 1.0,
    n_steps: int = 1_000,
    rng: np.random.Generator | int | None = None,
) -> Codebook:
    r"""Signs of the hidden layer of an autoencoder of class similarities, after Cissé et al. (2012).

    Every class is described by how similar it is to all classes, the row :math:`s_k` of
    :math:`S_{uv} = \exp(-\tfrac12 (A_{uv} / (b \bar A))^2)` (as for :func:`spectral`), centred. An autoencoder with
    ``n_bits`` hidden units :math:`h_k = \tanh(W s_k + c)` minimises

    .. math:: \frac1K \sum_k \|V h_k + d - s_k\|^2
        + \frac{\beta}{K (K - 1)} \sum_{u \neq v} \max\left(0, 1 - \frac{\|h_u - h_v\|^2}{4 \ell \rho}\right)
        + \text{decay},

    and the signs of :math:`h_k` are the codeword of class ``k``. Classes that are similar to the same classes get
    similar hidden layers, hence similar codewords; the second sum keeps any two at least a share :math:`\rho` of the
    :math:`\ell` bits apart. Where two codewords are still equal, the bits of one of them that were closest to zero are
    flipped, and so are those of columns that are constant or there twice.

    Compact binary codes that are learned from class similarities are the paper's. We could read its abstract, not its
    equations: the objective is a reconstruction, and its scaling, all constants and the gradient steps on all classes
    at once, by Adam, are ours.

    Parameters
    ----------
    n_codewords : int
        The number of codewords ``K``, at least 2; row ``k`` is for class ``k``.
    n_bits : int, optional
        The number of bits :math:`\ell`; by default ``10 log2 K``, rounded up, or as many as there are useful columns.
    class_distances : ClassDistances or array-like of shape (n_codewords, n_codewords)
        How far apart the classes are.
    separation : float, default=0.25
        The share of bits :math:`\rho` in which any two codewords should differ; between 0 and 1.
    separation_weight : float, default=1.0
        How much that counts beside the reconstruction; at least 0.
    bandwidth : float, default=1.0
        The distance, as a share of the mean, over which similarity fades.
    n_steps : int, default=1000
        The number of gradient steps.
    rng : numpy.random.Generator, int or None, default=None
        The source of randomness for the first weights, or a seed for one.

    Returns
    -------
    Codebook

    References
    ----------
    M. Cissé, T. Artières and P. Gallinari, "Learning Compact Class Codes for Fast Inference in Large Multi Class
    Classification", ECML PKDD 2012. D. P. Kingma and J. Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015.

    Examples
    --------
    Two groups of similar classes.

    >>> from codekin.codebooks.autoencoder import autoencoder
    >>> group = np.array([0, 0, 0, 1, 1, 1])
    >>> distances = np.where(np.eye(6), 0, np.where(group[:, None] == group, 1, 5))
    >>> autoencoder(6, 10, class_distances=distances, rng=0)
    <Codebook autoencoder: 6 codewords x 10 bits, minimum distance 2>
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="autoencoder")
    for name, value in (("separation", separation), ("bandwidth", bandwidth)):
        if not value > 0:
            raise ValueError(f"The '{name}' parameter of autoencoder must be greater than 0. Got {value!r} instead.")
    if separation > 1:
        raise ValueError(f"The 'separation' parameter of autoencoder must be at most 1. Got {separation!r} instead.")
    if not separation_weight >= 0:
        raise ValueError(
            f"The 'separation_weight' parameter of autoencoder must be at least 0. Got {separation_weight!r} instead."
        )
    n_columns = n_binary_columns(n_codewords)
    default = default_n_bits(n_codewords, DENSE_BITS_PER_DOUBLING, n_columns=n_columns)
    n_bits = checked_n_bits(n_bits, n_codewords, n_columns=n_columns, default=default)
    rows = _centred(class_similarities(distance_matrix(class_distances, n_codewords), bandwidth))
    weights = _first_weights(n_codewords, n_bits, np.random.default_rng(rng))
    with threadpool_limits(1, user_api="blas"):  # sums, and so the signs, must not depend on the number of threads
        trained = _trained(weights, rows, separation, separation_weight, n_steps)
        hidden = np.tanh(rows @ trained[0] + trained[1])
    return Codebook(useful_signs(hidden), name="autoencoder", is_designed=True)


def loss_and_gradients(
    weights: Weights, rows: FloatArray, separation: float, separation_weight: float
) -> tuple[float, Weights]:
    """The objective of :func:`autoencoder` and its gradients with respect to the weights."""
    into, bias, back, offset = weights
    n_classes, n_bits = len(rows), len(bias)
    hidden = np.tanh(rows @ into + bias)
    residual = hidden @ back + offset - rows
    squares = (hidden**2).sum(axis=1)
    apart = np.maximum(squares[:, None] + squares - 2 * hidden @ hidden.T, 0) / (4 * n_bits * separation)
    np.fill_diagonal(apart, 1.0)
    is_near = (apart < 1).astype(np.float64)
    pull = separation_weight / (n_classes * (n_classes - 1))
    loss = (residual**2).sum() / n_classes + pull * (is_near * (1 - apart)).sum()
    loss += DECAY * ((into**2).sum() + (back**2).sum())
    by_output = 2 * residual / n_classes
    by_hidden = by_output @ back.T
    by_hidden -= pull / (n_bits * separation) * (is_near.sum(axis=1)[:, None] * hidden - is_near @ hidden)
    by_input = by_hidden * (1 - hidden**2)
    return float(loss), (
        rows.T @ by_input + 2 * DECAY * into,
        by_input.sum(axis=0),
        hidden.T @ by_output + 2 * DECAY * back,
        by_output.sum(axis=0),
    )


def _centred(rows: FloatArray) -> FloatArray:
    """Rows around their mean, of mean square length 1; 0 if all are equal, as with a bandwidth beyond all distances."""
    centred = rows - rows.mean(axis=0)
    length = np.sqrt((centred**2).sum(axis=1).mean())
    return np.asarray(centred / length if length > 0 else centred)


def _first_weights(n_classes: int, n_bits: int, rng: np.random.Generator) -> Weights:
    into, back = rng.normal(size=(n_classes, n_bits)), rng.normal(size=(n_bits, n_classes)) / np.sqrt(n_bits)
    return into, np.zeros(n_bits), back, np.zeros(n_classes)


def _trained(weights: Weights, rows: FloatArray, separation: float, separation_weight: float, n_steps: int) -> Weights:
    """The weights after some steps, which change the given ones in place."""
    means, squares = [np.zeros_like(part) for part in weights], [np.zeros_like(part) for part in weights]
    for step in range(1, n_steps + 1):
        _, gradients = loss_and_gradients(weights, rows, separation, separation_weight)
        for number, gradient in enumerate(gradients):
            means[number] += (1 - FIRST_MOMENT) * (gradient - means[number])
            squares[number] += (1 - SECOND_MOMENT) * (gradient**2 - squares[number])
            mean = means[number] / (1 - FIRST_MOMENT**step)
            square = squares[number] / (1 - SECOND_MOMENT**step)
            np.subtract(weights[number], STEP * mean / (np.sqrt(square) + 1e-8), out=weights[number])
    return weights
