"""Learning of the class vectors that rescore candidates.

A step has two halves. Which entries of the compared classes are on the features of a sample does not depend on what is
learned, and takes most of the time: that is found for some samples at a time, by several threads. The steps themselves
are made one after the other.
"""

from __future__ import annotations

import math

import numpy as np

from codekin.kernels.compiling import njit
from codekin.kernels.reranking import WALKED_MEANWHILE, distinct_features, n_entries_on

LEAST_GRADIENT = 1e-3
"""Less probable candidates are skipped: they change next to nothing."""


@njit(cache=True, nogil=True)
def find_entries(samples, rows, class_index, candidates, vectors, by_feature, room, compared, ends, places, factors):
    """Find the entries of each sample's class and of its candidates that are on features of the sample.

    ``samples``: int (n,). Row numbers.
    ``rows``: tuple (indptr, indices, values). All samples, compressed.
    ``class_index``: int (n_samples,)
    ``candidates``: int (n_samples, n_candidates). Classes to tell the sample's class from; -1 where there are fewer.
        The class itself may be among them.
    ``vectors``: tuple (indptr, features). The places of the class vectors, compressed.
    ``by_feature``: tuple (indptr, classes, places). The same entries feature by feature: of which class, and where its
        value is. Empty to walk over the entries of every candidate.
    ``room``: tuple (spread, number). float32 (n_features,), 0 everywhere, int32 (n_classes,), -1 everywhere; again
        afterwards.
    ``compared``: int32 (n, n_candidates + 1). Receives the classes to compare, the sample's own first; -1 behind them.
    ``ends``: int (n, n_candidates + 2). Receives where the entries of each compared class begin in the arrays below,
        and where those of the last one end.
    ``places``, ``factors``: int, float32; of the length :func:`most_entries`. Receive the places of the entries in the
        class vectors, and the sample's values on their features.
    """
    row_indptr, row_indices, row_values = rows
    indptr, features = vectors
    feature_indptr, class_of_entry, place_of_entry = by_feature
    spread, number = room
    has_lists = len(feature_indptr) > 0
    longest = 0
    for s in range(len(samples)):
        longest = max(longest, row_indptr[samples[s] + 1] - row_indptr[samples[s]])
    own, n_found = np.empty(longest, row_indices.dtype), np.empty(compared.shape[1], np.int64)
    first = 0
    for s in range(len(samples)):
        i = samples[s]
        for q in range(row_indptr[i], row_indptr[i + 1]):
            spread[row_indices[q]] += row_values[q]
        compared[s, 0], number[class_index[i]] = class_index[i], 0
        n = 1
        for p in range(candidates.shape[1]):
            c = candidates[i, p]
            if c >= 0 and number[c] < 0:
                compared[s, n], number[c] = c, n
                n += 1
        compared[s, n:] = -1
        n_own = distinct_features(row_indices, row_indptr[i], row_indptr[i + 1], own)
        n_walked = 0
        for p in range(n):
            n_walked += indptr[compared[s, p] + 1] - indptr[compared[s, p]]
            n_found[p] = 0
        if has_lists and n_walked > WALKED_MEANWHILE * n_entries_on(own, n_own, feature_indptr):
            for q in range(n_own):
                x = spread[own[q]]
                if x == 0:
                    continue
                for m in range(feature_indptr[own[q]], feature_indptr[own[q] + 1]):
                    p = number[class_of_entry[m]]
                    if p >= 0:
                        place = first + p * n_own + n_found[p]
                        places[place], factors[place] = place_of_entry[m], x
                        n_found[p] += 1
            # The entries of the classes follow each other without gaps.
            last = first
            for p in range(n):
                ends[s, p] = last
                begin = first + p * n_own
                for m in range(n_found[p]):
                    places[last + m], factors[last + m] = places[begin + m], factors[begin + m]
                last += n_found[p]
        else:
            last = first
            for p in range(n):
                ends[s, p] = last
                for j in range(indptr[compared[s, p]], indptr[compared[s, p] + 1]):
                    x = spread[features[j]]
                    if x != 0:
                        places[last], factors[last] = j, x
                        last += 1
        ends[s, n:] = last
        first = last
        for p in range(n):
            number[compared[s, p]] = -1
        for q in range(row_indptr[i], row_indptr[i + 1]):
            spread[row_indices[q]] = 0


@njit(cache=True, nogil=True)
def most_entries(samples, indptr, n_classes):
    """Count the entries that ``find_entries`` needs room for."""
    n = 0
    for i in samples:
        n += (indptr[i + 1] - indptr[i]) * n_classes
    return n


@njit(cache=True, nogil=True)
def learn_vectors(samples, sample_weight, compared, ends, places, factors, rate, values, curvature):
    """Make one step of softmax regression over each sample's class and its candidates.

    With ``p`` the softmax of the dot products, the entry of class ``c`` on a feature of value ``x`` moves by
    ``-rate * (p_c - [c is the sample's class]) x / G`` after ``G += p_c (1 - p_c) x**2``: Newton's step with the
    curvature seen so far, entry by entry.

    ``samples``, ``compared``, ``ends``, ``places``, ``factors``: from :func:`find_entries`.
    ``sample_weight``: float (n_samples,)
    ``values``, ``curvature``: float32 (n_entries,), changed in place. The entries of the class vectors, and G.
    """
    scores = np.empty(compared.shape[1])
    for s in range(len(samples)):
        weight = sample_weight[samples[s]]
        largest, n = -np.inf, 0
        while n < compared.shape[1] and compared[s, n] >= 0:
            score = 0.0
            for m in range(ends[s, n], ends[s, n + 1]):
                score += factors[m] * values[places[m]]
            scores[n] = score
            largest = max(largest, score)
            n += 1
        total = 0.0
        for p in range(n):
            scores[p] = math.exp(scores[p] - largest)
            total += scores[p]
        for p in range(n):
            share = scores[p] / total
            gradient = weight * (share - (p == 0))
            if abs(gradient) < LEAST_GRADIENT:
                continue
            bend = weight * share * (1 - share)
            for m in range(ends[s, p], ends[s, p + 1]):
                j, x = places[m], factors[m]
                curvature[j] += bend * x * x
                values[j] -= rate * gradient * x / curvature[j]
