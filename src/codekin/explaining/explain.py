"""From a model and samples to contributions of the features."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from codekin.coding import FloatArray, IntArray
from codekin.explaining.trees import tree_contributions
from codekin.learners.linear_rows import LinearRows, linear_rows
from codekin.model import Member, Model
from codekin.model.final_losses import final_losses

SAMPLES_PER_BLOCK = 256

Terms = dict[str, FloatArray]


def contributions_to(model: Model, X: Any, class_index: IntArray) -> tuple[Any, FloatArray, Terms, FloatArray]:
    """The contributions of the features to the score of one class per sample, the bias, other terms, and the scores.

    Raises ValueError if the bits are not linear in the features.
    """
    if model.codebook.n_symbols > 2:
        raise ValueError(
            f"Only linear predictors of two-sided bits can be explained. Got columns of {model.codebook.n_symbols} "
            "symbols."
        )
    is_sparse = sparse.issparse(X)
    rows = sparse.csr_array(X if is_sparse else np.asarray(X, dtype=np.float64))
    rows.sum_duplicates()
    weights = [
        None if member.code.codebook.tree is not None else linear_rows(member.bits, purpose="be explained")
        for member in model.members
    ]
    shares, bias, shared = np.zeros(len(rows.data)), np.zeros(rows.shape[0]), np.zeros(rows.shape[0])
    for start in range(0, rows.shape[0], SAMPLES_PER_BLOCK):
        block = slice(start, start + SAMPLES_PER_BLOCK)
        entries = slice(rows.indptr[start], rows.indptr[min(start + SAMPLES_PER_BLOCK, rows.shape[0])])
        for member, own in zip(model.members, weights, strict=True):
            if own is None:
                of_entries, of_samples = tree_contributions(member, rows[block], class_index[block])
                shares[entries] += of_entries
                bias[block] += of_samples
                continue
            of_entries, of_samples, of_all = _linear_contributions(member, own, rows[block], class_index[block])
            shares[entries] += of_entries
            bias[block] += of_samples
            shared[block] += of_all
    other: Terms = {"all_classes": shared}
    losses, raised, is_candidate = final_losses(model, X, class_index)
    if model.ranking is not None:
        other["not_reranked"] = -raised
        if model.ranking.vectors is not None:
            rescored = np.where(is_candidate, class_index, -1)
            shares += model.ranking.weight * _vector_entries(model.ranking.vectors, rows, rescored)
    other["rounding"] = -losses - _sums(shares, rows) - bias - sum(other.values())
    contributions: Any = sparse.csr_array((shares, rows.indices, rows.indptr), shape=rows.shape)
    return contributions if is_sparse else contributions.toarray(), bias, other, -losses


def _linear_contributions(
    member: Member, weights: LinearRows, rows: sparse.csr_array, class_index: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What each stored entry contributes, and the bias and the shared part of each sample."""
    features, place = np.unique(rows.indices, return_inverse=True)
    of_features = weights.at(features.astype(np.intp))
    narrow = sparse.csr_array((rows.data.astype(np.float64), place, rows.indptr), shape=(rows.shape[0], len(features)))
    slopes = member.decoder.slopes(class_index, np.asarray(narrow @ of_features), weights.offsets)
    shares = np.empty(len(rows.data))
    for row, by_bit in enumerate(slopes.by_bit):
        entries = slice(*rows.indptr[row : row + 2])
        shares[entries] = narrow.data[entries] * (of_features[place[entries]] @ by_bit)
    return shares, slopes.bias, slopes.shared


def _vector_entries(vectors: Any, rows: sparse.csr_array, class_index: IntArray) -> FloatArray:
    """What each stored entry adds to the dot product with the vector of its sample's class; 0 for class -1."""
    own = vectors.to_csr()
    found = np.zeros(len(rows.data))
    for row, k in enumerate(class_index.tolist()):
        if k < 0:
            continue
        entries, mine = slice(*rows.indptr[row : row + 2]), slice(*own.indptr[k : k + 2])
        spread = dict(zip(own.indices[mine].tolist(), own.data[mine].tolist(), strict=True))
        steps = [spread.get(feature, 0.0) for feature in rows.indices[entries].tolist()]
        found[entries] = rows.data[entries] * steps
    return found


def _sums(shares: FloatArray, rows: sparse.csr_array) -> FloatArray:
    """The sum of the entries of each row."""
    return np.asarray(sparse.csr_array((shares, rows.indices, rows.indptr), shape=rows.shape).sum(axis=1))
