"""Designs that follow class similarities: an autoencoder's hidden layer, and sparse ternary columns. Experimental."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from codekin._system.parallel import single_blas
from codekin.classes import ClassDistances
from codekin.code import Codebook, CodingMatrix, FloatArray
from codekin.codebooks.classic import check_parameter, checked_n_codewords, dense_n_bits
from codekin.codebooks.designs.columns import class_similarities, column_key, useful_signs

DECAY = 1e-4
"""The weight of the squared weights of the network."""

STEP, FIRST_MOMENT, SECOND_MOMENT = 0.05, 0.9, 0.999
"""The step size and the two averages of Adam (Kingma and Ba, 2015)."""

Weights = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""Into the hidden layer, (K, n_bits), and its bias; back out of it, (n_bits, K), and the offset of the output."""


DESCENT_STEP = 0.1
"""The size of a gradient step, where the largest similarity of a column with itself is 1."""


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

    Every class is described by how similar it is to all classes, the row :math:`s_k` of :math:`S_{uv} = \exp(-\tfrac12
    (A_{uv} / (b \bar A))^2)` (as for :func:`spectral`), centred. An autoencoder with ``n_bits`` hidden units :math:`h_k
    = \tanh(W s_k + c)` minimises

    .. math:: \frac1K \sum_k \|V h_k + d - s_k\|^2
        + \frac{\beta}{K (K - 1)} \sum_{u \neq v} \max\left(0, 1 - \frac{\|h_u - h_v\|^2}{4 \ell \rho}\right)
        + \text{decay},

    and the signs of :math:`h_k` are the codeword of class ``k``. Classes that are similar to the same classes get
    similar hidden layers; the second sum, of weight ``separation_weight``, keeps any two at least a share
    ``separation``, :math:`\rho`, of the :math:`\ell` bits apart. Where two codewords are still equal, the bits of one
    of them that were closest to zero are flipped, and so are those of columns that are constant or there twice.

    Compact binary codes that are learned from class similarities are the paper's. We could read its abstract, not its
    equations: the objective is a reconstruction, and its scaling, all constants and the gradient steps on all classes
    at once, by Adam (Kingma and Ba, ICLR 2015), are ours.

    M. Cissé, T. Artières and P. Gallinari, "Learning Compact Class Codes for Fast Inference in Large Multi Class
    Classification", ECML PKDD 2012.

    >>> group = np.array([0, 0, 0, 1, 1, 1])
    >>> distances = np.where(np.eye(6), 0, np.where(group[:, None] == group, 1, 5))
    >>> autoencoder(6, 10, class_distances=distances, rng=0)
    <Codebook autoencoder: 6 codewords x 10 bits, minimum distance 2>
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="autoencoder")
    check_parameter("autoencoder", "separation", separation, separation > 0, "greater than 0")
    check_parameter("autoencoder", "separation", separation, separation <= 1, "at most 1")
    check_parameter("autoencoder", "separation_weight", separation_weight, separation_weight >= 0, "at least 0")
    n_bits = dense_n_bits(n_bits, n_codewords)
    rows = _centred(class_similarities("autoencoder", class_distances, n_codewords, bandwidth))
    weights = _first_weights(n_codewords, n_bits, np.random.default_rng(rng))
    with single_blas():  # sums, and so the signs, must not depend on the number of threads
        trained = _trained(weights, rows, separation, separation_weight, n_steps)
        hidden = np.tanh(rows @ trained[0] + trained[1])
    return Codebook(useful_signs(hidden), name="autoencoder", is_designed=True)


def gradients(weights: Weights, rows: FloatArray, separation: float, separation_weight: float) -> Weights:
    """The gradients of the objective of :func:`autoencoder` with respect to the weights."""
    into, bias, back, offset = weights
    n_classes, n_bits = len(rows), len(bias)
    hidden = np.tanh(rows @ into + bias)
    residual = hidden @ back + offset - rows
    squares = (hidden**2).sum(axis=1)
    apart = np.maximum(squares[:, None] + squares - 2 * hidden @ hidden.T, 0) / (4 * n_bits * separation)
    np.fill_diagonal(apart, 1.0)
    is_near = (apart < 1).astype(np.float64)
    pull = separation_weight / (n_classes * (n_classes - 1))
    by_output = 2 * residual / n_classes
    by_hidden = by_output @ back.T
    by_hidden -= pull / (n_bits * separation) * (is_near.sum(axis=1)[:, None] * hidden - is_near @ hidden)
    by_input = by_hidden * (1 - hidden**2)
    back_out = hidden.T @ by_output + 2 * DECAY * back
    return rows.T @ by_input + 2 * DECAY * into, by_input.sum(axis=0), back_out, by_output.sum(axis=0)


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
        for number, gradient in enumerate(gradients(weights, rows, separation, separation_weight)):
            means[number] += (1 - FIRST_MOMENT) * (gradient - means[number])
            squares[number] += (1 - SECOND_MOMENT) * (gradient**2 - squares[number])
            mean = means[number] / (1 - FIRST_MOMENT**step)
            square = squares[number] / (1 - SECOND_MOMENT**step)
            np.subtract(weights[number], STEP * mean / (np.sqrt(square) + 1e-8), out=weights[number])
    return weights


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

    The first sum wants similar classes on the same side of a bit, so that bits are easy to learn; the second wants both
    sides equally large. The third, of weight ``decorrelation``, wants columns that differ, and with them codewords that
    are far apart, since :math:`\|M^\top M\|_F = \|M M^\top\|_F`. After gradient steps from a random start the entries
    are rounded: to their signs, and a share ``sparsity``, the smallest, to 0, unless two classes would then no longer
    have opposite signs in any bit, or a bit would lose a side or equal another one.

    A sparse coding matrix that is learned for the classes is the paper's. We could read its abstract, not its
    equations: the objective is a reconstruction, and its terms, their weights, the steps and the rounding are ours. The
    paper's probabilistic decoding is not here.

    B. Zhao and E. P. Xing, "Sparse Output Coding for Large-Scale Visual Recognition", CVPR 2013, and "Sparse Output
    Coding for Scalable Visual Recognition", International Journal of Computer Vision 119, 2016.

    >>> group = np.array([0, 0, 0, 1, 1, 1])
    >>> distances = np.where(np.eye(6), 0, np.where(group[:, None] == group, 1, 5))
    >>> sparse_output(6, 10, class_distances=distances, rng=0)
    <Codebook sparse_output: 6 codewords x 10 bits, minimum distance 3.5, 50% zeros>
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="sparse_output")
    check_parameter("sparse_output", "sparsity", sparsity, 0 <= sparsity < 1, "at least 0 and less than 1")
    check_parameter("sparse_output", "decorrelation", decorrelation, decorrelation >= 0, "at least 0")
    n_bits = dense_n_bits(n_bits, n_codewords)
    columns = _lengthened(np.random.default_rng(rng).normal(size=(n_codewords, n_bits)))
    with single_blas():  # sums, and so the signs, must not depend on the number of threads
        similarities = _scaled(class_similarities("sparse_output", class_distances, n_codewords, bandwidth))
        for _ in range(n_steps):
            columns = _lengthened(columns - DESCENT_STEP * gradient(columns, similarities, decorrelation))
    matrix = _with_zeros(useful_signs(columns), np.abs(columns), sparsity)
    return Codebook(matrix, name="sparse_output", is_designed=True)


def gradient(columns: FloatArray, similarities: FloatArray, decorrelation: float) -> FloatArray:
    """The gradient of the objective of :func:`sparse_output`."""
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
    taken = {column_key(column) for column in signs.T}
    n_zeros = int(sparsity * signs.size)
    for place in np.argsort(margins, axis=None, kind="stable").tolist():
        if not n_zeros:
            break
        row, bit = divmod(place, n_bits)
        against = matrix[:, bit] == -matrix[row, bit]
        thinned = matrix[:, bit].copy()
        thinned[row] = 0
        has_both_sides = thinned.max() > 0 > thinned.min()
        if has_both_sides and (opposite[row, against] > 1).all() and column_key(thinned) not in taken:
            taken.remove(column_key(matrix[:, bit]))
            taken.add(column_key(thinned))
            opposite[row, against] -= 1
            opposite[against, row] -= 1
            matrix[row, bit] = 0
            n_zeros -= 1
    return matrix
