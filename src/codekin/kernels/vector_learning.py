"""One pass of learning over the class vectors that rescore candidates."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from codekin.kernels.reranking import WALKED_MEANWHILE, distinct_features, longest_row, n_entries_on

LEAST_GRADIENT = 1e-3
"""Less probable candidates are skipped: they change next to nothing."""


@njit(cache=True, nogil=True)
def learn_vectors(
    order, rows, class_index, sample_weight, candidates, vectors, by_feature, curvature, n_features, rate
):
    """Make one pass of softmax regression over each sample's class and its candidates.

    With ``p`` the softmax of the dot products, the entry of class ``c`` on a feature of value ``x`` moves by
    ``-rate * (p_c - [c is the sample's class]) x / G`` after ``G += p_c (1 - p_c) x**2``: Newton's step with the
    curvature seen so far, entry by entry.

    ``order``: the samples in the order in which they are shown.
    ``rows``: tuple (indptr, indices, values). The samples, compressed.
    ``class_index``: int (n_samples,)
    ``sample_weight``: float (n_samples,)
    ``candidates``: int (n_samples, n_candidates). Classes to tell the sample's class from; -1 where there are fewer.
        The class itself may be among them.
    ``vectors``: tuple (indptr, features, values). The class vectors, compressed; the values are changed in place.
    ``by_feature``: tuple (indptr, classes, places). The same entries feature by feature: of which class, and where its
        value is. Empty to walk over the entries of every candidate.
    ``curvature``: float32 array, changed in place. G, one for each value.
    """
    row_indptr, row_indices, row_values = rows
    indptr, features, values = vectors
    feature_indptr, class_of_entry, place_of_entry = by_feature
    has_lists = len(feature_indptr) > 0
    spread, own = np.zeros(n_features, np.float32), np.empty(longest_row(row_indptr), row_indices.dtype)
    # Which of the compared classes a class is, and which of its entries are on features of the sample.
    number = np.full(len(indptr) - 1, -1, np.int32)
    places = np.empty((candidates.shape[1] + 1, len(own)), np.int64)
    n_places = np.empty(candidates.shape[1] + 1, np.int64)
    compared, scores = np.empty(candidates.shape[1] + 1, np.int64), np.empty(candidates.shape[1] + 1)
    for i in order:
        for q in range(row_indptr[i], row_indptr[i + 1]):
            spread[row_indices[q]] += row_values[q]
        compared[0], number[class_index[i]] = class_index[i], 0
        n = 1
        for p in range(candidates.shape[1]):
            c = candidates[i, p]
            if c >= 0 and number[c] < 0:
                compared[n], number[c] = c, n
                n += 1
        n_own = distinct_features(row_indices, row_indptr[i], row_indptr[i + 1], own)
        n_walked = 0
        for p in range(n):
            n_walked += indptr[compared[p] + 1] - indptr[compared[p]]
            n_places[p] = 0
        if has_lists and n_walked > WALKED_MEANWHILE * n_entries_on(own, n_own, feature_indptr):
            for q in range(n_own):
                for m in range(feature_indptr[own[q]], feature_indptr[own[q] + 1]):
                    p = number[class_of_entry[m]]
                    if p >= 0:
                        places[p, n_places[p]] = place_of_entry[m]
                        n_places[p] += 1
        else:
            for p in range(n):
                for j in range(indptr[compared[p]], indptr[compared[p] + 1]):
                    if spread[features[j]] != 0:
                        places[p, n_places[p]] = j
                        n_places[p] += 1
        largest = -np.inf
        for p in range(n):
            score = 0.0
            for m in range(n_places[p]):
                score += spread[features[places[p, m]]] * values[places[p, m]]
            scores[p] = score
            largest = max(largest, score)
        total = 0.0
        for p in range(n):
            scores[p] = math.exp(scores[p] - largest)
            total += scores[p]
        for p in range(n):
            share = scores[p] / total
            gradient = sample_weight[i] * (share - (p == 0))
            if abs(gradient) < LEAST_GRADIENT:
                continue
            bend = sample_weight[i] * share * (1 - share)
            for m in range(n_places[p]):
                j = places[p, m]
                x = spread[features[j]]
                if x != 0:
                    curvature[j] += bend * x * x
                    values[j] -= rate * gradient * x / curvature[j]
        for p in range(n):
            number[compared[p]] = -1
        for q in range(row_indptr[i], row_indptr[i + 1]):
            spread[row_indices[q]] = 0
