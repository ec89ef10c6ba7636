"""From one sparse row to its ranked candidates, of a trellis or of trees, in as few calls as possible.

Calling a kernel takes as long as its work on a single row.
"""

from __future__ import annotations

import numpy as np

from codekin.kernels.calling import njit
from codekin.kernels.label_tree import leaf_probabilities, search_leaves
from codekin.kernels.ranking import rank_listed
from codekin.kernels.reranking import rank_candidates_in, score_classes_in
from codekin.kernels.sparse_product import sparse_times_bytes, sparse_times_gapped


@njit(cache=True, nogil=True)
def rank_row_of_bytes(
    room, row, weights, bias, slope, product, costs, trellis, of_paths, vectors, by_feature, reach, weight,
    indexed, n_candidates, n_listed, classes, losses, scores, bounds
):  # fmt: skip
    """Compute the margins of one row from integer weights, make them costs, and rank the candidates.

    ``weights`` are (row_of_feature, weights, scales), as in ``sparse_times_bytes``; a margin becomes a cost by
    ``slope``. ``product`` and ``costs``, except for the zero at its end, are overwritten. All others are as in
    :func:`codekin.kernels.reranking.rank_candidates`, for one sample and one member.
    """
    indptr, indices, values = row
    row_of_feature, steps, scales = weights
    sparse_times_bytes(indptr, indices, values, row_of_feature, steps, scales, product)
    _rank_product(
        room, row, bias, slope, product, costs, trellis, of_paths, vectors, by_feature, reach, weight, indexed,
        n_candidates, n_listed, classes, losses, scores, bounds
    )  # fmt: skip


@njit(cache=True, nogil=True)
def rank_row_of_gaps(
    room, row, weights, bias, slope, product, costs, trellis, of_paths, vectors, by_feature, reach, weight,
    indexed, n_candidates, n_listed, classes, losses, scores, bounds
):  # fmt: skip
    """Do the same with sparse weights, (weight_indptr, gaps, weights, table, scales), as in ``sparse_times_gapped``."""
    indptr, indices, values = row
    weight_indptr, gaps, places, table, scales = weights
    sparse_times_gapped(indptr, indices, values, weight_indptr, gaps, places, table, scales, product)
    _rank_product(
        room, row, bias, slope, product, costs, trellis, of_paths, vectors, by_feature, reach, weight, indexed,
        n_candidates, n_listed, classes, losses, scores, bounds
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _rank_product(
    room, row, bias, slope, product, costs, trellis, of_paths, vectors, by_feature, reach, weight, indexed,
    n_candidates, n_listed, classes, losses, scores, bounds
):  # fmt: skip
    """Make costs of a product with the weights, and rank the candidates."""
    for j in range(product.shape[1]):
        costs[0, 0, j] = slope * np.float64(product[0, j] + bias[j])
    rank_candidates_in(
        room, costs, trellis, of_paths, row, vectors, by_feature, reach, weight, indexed, n_candidates, n_listed,
        classes, losses, scores, bounds
    )  # fmt: skip


ONE = np.float32(1)


@njit(cache=True, nogil=True)
def list_row(row, tree, weights, class_of_leaf, search, reach, n_candidates, listed, losses, is_candidate):
    """List the best classes of one row on one tree, and say which are candidates of a ranking.

    ``class_of_leaf`` ends with -1; ``search`` is (beam, reach). The first ``n_candidates`` classes are candidates,
    unless their loss is larger than the smallest by more than ``reach``. The last three arrays, (1, n), receive the
    result.
    """
    search_leaves(row, tree, weights, search[0], ONE, search[1], listed, losses)
    for p in range(listed.shape[1]):
        listed[0, p], losses[0, p] = class_of_leaf[listed[0, p]], -losses[0, p]
        is_near = p < n_candidates and losses[0, p] <= losses[0, 0] + reach
        is_candidate[0, p] = is_near and listed[0, p] >= 0


@njit(cache=True, nogil=True)
def add_losses(row, tree, weights, paths, leaf_of_class, merged, known, total):
    """Add to ``total`` the losses of one row's merged classes on one tree: ``known``, or computed where these are NaN.

    ``paths`` are (node_of_bit, paths), as in :func:`codekin.kernels.label_tree.leaf_probabilities`; ``leaf_of_class``
    ends with -1.
    """
    n = merged.shape[1]
    leaves, logs = np.empty((1, n), np.int64), np.empty((1, n))
    for p in range(n):
        leaves[0, p] = leaf_of_class[merged[0, p]] if np.isnan(known[0, p]) else -1
    leaf_probabilities(row, tree, weights, ONE, paths[0], paths[1], leaves, logs)
    for p in range(n):
        total[0, p] += -logs[0, p] if np.isnan(known[0, p]) else known[0, p]


@njit(cache=True, nogil=True)
def rank_row(room, row, vectors, by_feature, weight, listed, losses, is_candidate, classes, final_losses, scores):
    """Rank the listed classes of one row, as ``rank_listed``; without vectors there are no scores."""
    n = listed.shape[1]
    of_listed = np.zeros((1, n))
    if len(vectors[0]) > 0:
        wanted = np.empty((1, n), np.intp)
        for p in range(n):
            wanted[0, p] = listed[0, p] if is_candidate[0, p] else -1
        score_classes_in(room, row, vectors, by_feature, wanted, of_listed)
    rank_listed(listed, losses, is_candidate, weight, of_listed, classes, final_losses, scores)


@njit(cache=True, nogil=True)
def rank_row_of_tree(
    room, row, tree, weights, class_of_leaf, search, vectors, by_feature, weight, reach, n_candidates, n_listed,
    classes, losses, scores
):  # fmt: skip
    """Do what :func:`list_row` and :func:`rank_row` do, for the ``n_listed`` best classes of one tree."""
    listed, of_listed = np.empty((1, n_listed), np.int64), np.empty((1, n_listed))
    is_candidate = np.empty((1, n_listed), np.bool_)
    list_row(row, tree, weights, class_of_leaf, search, reach, n_candidates, listed, of_listed, is_candidate)
    rank_row(room, row, vectors, by_feature, weight, listed, of_listed, is_candidate, classes, losses, scores)
