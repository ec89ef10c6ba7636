"""The same on a tree of classes, where the score of a class is the logarithm of its probability.

In every node on the path to the leaf the score is ``f_c - log sum_k exp(f_k)`` over the children. Along the straight
line from a sample of zeros it grows by ``1 - p_c`` per unit of the child's own margin and by ``-p_k`` per unit of a
sibling's, where ``p`` are the probabilities on the way; their mean is computed by quadrature.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import logsumexp, softmax

from codekin.coding import FloatArray, IntArray

POINTS, PARTS = 16, 8
"""Of the quadrature: Gauss-Legendre points in each part of the line."""


def tree_contributions(member: Any, rows: sparse.csr_array, class_index: IntArray) -> tuple[FloatArray, FloatArray]:
    """What each entry of sparse rows contributes to the score of its sample's class, and the scores without features.

    The first has one number for each stored entry, the second one for each sample.
    """
    weights, offsets = member.bits.to_csr(), member.bits.bias.astype(np.float64)
    tree = member.code.codebook.tree
    paths = tree.unrank(member.decoder.leaf_of_class[class_index])
    node_of_bit = np.repeat(np.arange(tree.n_nodes), np.diff(tree.first_bits))
    shares, bias = np.zeros(len(rows.data)), np.zeros(rows.shape[0])
    for row, path in enumerate(paths):
        entries = slice(*rows.indptr[row : row + 2])
        values = rows.data[entries].astype(np.float64)
        of_features = weights[rows.indices[entries]].tocsc()
        for bit in path[path >= 0]:
            node = node_of_bit[bit]
            children = slice(tree.first_bits[node], tree.first_bits[node + 1])
            of_children = of_features[:, children].toarray().astype(np.float64)
            begins, child = offsets[children], bit - children.start
            slopes = -_mean_probabilities(begins, values @ of_children)
            slopes[child] += 1
            shares[entries] += values * (of_children @ slopes)
            bias[row] += begins[child] - logsumexp(begins)
    return shares, bias


def _mean_probabilities(begins: FloatArray, moved: FloatArray) -> FloatArray:
    """The mean softmax on the way from some margins to others."""
    places, weights = quadrature()
    return np.asarray(weights @ softmax(begins + places[:, None] * moved, axis=1))


def quadrature() -> tuple[FloatArray, FloatArray]:
    """Places between 0 and 1, and the weights that make a mean of what is found there."""
    points, weights = np.polynomial.legendre.leggauss(POINTS)
    places = ((points + 1) / 2 + np.arange(PARTS)[:, None]).ravel() / PARTS
    return places, np.tile(weights / 2 / PARTS, PARTS)
