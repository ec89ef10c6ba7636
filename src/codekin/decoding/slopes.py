"""How fast the score of a class grows with each margin, on average between a sample without features and this one.

A margin ``f = w . x + b`` is linear in the features, but the score of a class is not linear in the margin under most
losses. A function ``phi`` of one margin is divided among the features in proportion to what they add to the margin:
feature ``i`` contributes ``w_i x_i`` times the slope of the secant, ``(phi(f) - phi(b)) / (f - b)``. These are the
integrated gradients along the straight line from a sample of zeros (Sundararajan et al. 2017), without an integral. For
logistic and linear losses ``phi`` is linear and the contributions are simply the weights times the features.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from codekin.coding import FloatArray, IntArray
from codekin.decoding import MinimumLossDecoder, ShortestPathDecoder
from codekin.decoding.learned import FARTHEST, LearnedDecoder
from codekin.decoding.nearest_target import NearestTargetDecoder

NEARBY = 1e-6
"""If a margin moves by less than this, the secant is too short to compute with; a longer one is taken."""


class Slopes(NamedTuple):
    """The score of one class per sample as a function of the margins.

    - ``by_bit`` of shape (n_samples, n_bits): what the score grows by per unit of the margin.
    - ``bias`` of shape (n_samples,): the score of a sample without features.
    - ``shared`` of shape (n_samples,): the part of the score that all classes of a sample have.
    """

    by_bit: FloatArray
    bias: FloatArray
    shared: FloatArray


def slopes_of(decoder: Any, class_index: IntArray, moved: FloatArray, offsets: FloatArray) -> Slopes:
    """The slopes of a decoder's scores; margins are ``offsets``, (n_bits,), plus ``moved``, (n_samples, n_bits)."""
    if isinstance(decoder, LearnedDecoder):
        return _of_learned(decoder, class_index, moved, offsets)
    if isinstance(decoder, NearestTargetDecoder):
        lengths = np.square(offsets + moved).sum(axis=1)
        return _of_learned(decoder.linear, class_index, moved, offsets)._replace(shared=-lengths)
    if isinstance(decoder, ShortestPathDecoder):
        return _of_paths(decoder, class_index, moved, offsets)
    return _of_matrix(decoder, class_index, moved, offsets)


def secants(phi: Callable[[FloatArray], FloatArray], moved: FloatArray, offsets: FloatArray) -> FloatArray:
    """The slopes of ``phi`` between the offsets and the margins.

    >>> secants(np.square, np.array([[2.0, 0.0]]), np.array([1.0, 3.0])).round(6)
    array([[4., 6.]])
    """
    is_near = np.abs(moved) < NEARBY * (1 + np.abs(offsets))
    half = NEARBY * (1 + np.abs(offsets))
    begins = np.where(is_near, offsets - half, offsets)
    ends = np.where(is_near, offsets + half, offsets + moved)
    return np.asarray((phi(ends) - phi(begins)) / (ends - begins))


def _of_matrix(decoder: MinimumLossDecoder, classes: IntArray, moved: FloatArray, offsets: FloatArray) -> Slopes:
    loss, bits = decoder.loss, decoder.coding_matrix[classes].astype(np.float64)

    def even(f: FloatArray) -> FloatArray:
        return np.asarray((loss(f) + loss(-f)) / 2)

    by_bit = bits * secants(loss.agreement, moved, offsets)
    bias = bits @ loss.agreement(offsets)
    shared = np.zeros(len(bits))
    if (decoder.coding_matrix == 0).any():
        used = np.abs(bits)
        by_bit -= used * secants(even, moved, offsets)
        bias -= used @ even(offsets)
        n_used = np.maximum(used.sum(axis=1), 1)
        if not decoder.is_weighted:
            bias -= (used == 0).sum(axis=1) * float(loss(np.zeros(1))[0])
    else:
        shared, n_used = -even(offsets + moved).sum(axis=1), np.full(len(bits), float(bits.shape[1]))
    if decoder.is_weighted:
        return Slopes(by_bit / n_used[:, None], bias / n_used, shared / n_used)
    return Slopes(by_bit, bias, shared)


def _of_paths(decoder: ShortestPathDecoder, classes: IntArray, moved: FloatArray, offsets: FloatArray) -> Slopes:
    paths = classes if decoder.assignment is None else decoder.assignment.codeword_of_class[classes]
    on_path = (decoder.trellis.codewords(paths) > 0).astype(np.float64)
    agreement = decoder.loss.agreement
    by_bit = 2 * on_path * secants(agreement, moved, offsets)
    shared = -decoder.loss(-(offsets + moved)).sum(axis=1)
    return Slopes(by_bit, 2 * on_path @ agreement(offsets), shared)


def _of_learned(decoder: LearnedDecoder, classes: IntArray, moved: FloatArray, offsets: FloatArray) -> Slopes:
    agreement, weights = decoder.loss.agreement, decoder.weights[classes]
    by_bit = weights * secants(agreement, moved, offsets)
    bias = weights @ agreement(offsets) + decoder.biases[classes]
    products = decoder.products
    if products is not None:

        def near(f: FloatArray) -> FloatArray:
            return np.asarray(np.clip((agreement(f) - products.means) / products.scales, -FARTHEST, FARTHEST))

        n_bits = len(products.means)
        first, second = np.triu_indices(n_bits)
        before, after = near(offsets), near(offsets + moved)
        slopes = secants(near, moved, offsets)
        for row, own in enumerate(products.weights[classes]):
            # The products are n' A n for symmetric A, and n' A n - m' A m is (n - m)' A (n + m).
            form = np.zeros((n_bits, n_bits))
            form[first, second] = own / 2
            form += form.T
            by_bit[row] += slopes[row] * (form @ (after[row] + before))
            bias[row] += before @ form @ before
    return Slopes(by_bit, bias, np.zeros(len(classes)))
