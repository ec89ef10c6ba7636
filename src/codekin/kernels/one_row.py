"""From one sparse row to its ranked candidates in a single call: calling a kernel takes as long as its work."""

from __future__ import annotations

import numpy as np
from numba import njit

from codekin.kernels.compact_product import sparse_times_bytes, sparse_times_gapped
from codekin.kernels.reranking import rank_candidates_in


@njit(cache=True, nogil=True)
def rank_row_of_bytes(
    room, row, weights, bias, slope, product, costs, trellis, of_paths, vectors, by_feature, reach, weight,
    indexed, n_candidates, n_listed, classes, losses, scores, bounds
):  # fmt: skip
    """Compute the margins of one row from integer weights, make them costs, and rank the candidates.

    ``room``: from :func:`codekin.kernels.reranking.scoring_room`.
    ``row``: tuple (indptr, indices, values). One sample, compressed.
    ``weights``: tuple (row_of_feature, weights, scales). As in ``sparse_times_bytes``.
    ``bias``: float32 (n_bits,)
    ``slope``: what a margin is multiplied by to become the cost of its edge.
    ``product``: float32 (1, n_bits), overwritten.
    ``costs``: float (1, 1, n_bits + 1), overwritten, except for the zero at its end.
    All others: as in :func:`codekin.kernels.reranking.rank_candidates`, for one sample and one member.
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
    """Do the same with sparse weights.

    ``weights``: tuple (weight_indptr, gaps, weights, table, scales). As in ``sparse_times_gapped``.
    """
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
