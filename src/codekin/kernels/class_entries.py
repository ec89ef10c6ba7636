"""The entries of sparse class vectors, listed feature by feature."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def list_by_feature(indptr, features, feature_indptr, classes, places):
    """List the entries of compressed class vectors by feature, those of a feature by class.

    ``indptr``, ``features``: int (n_classes + 1,), int (n_entries,). The class vectors, compressed.
    ``feature_indptr``: int64 (n_features + 1,). Receives where the entries of each feature begin.
    ``classes``, ``places``: int (n_entries,). Receive the class of each entry, and its place in the class vectors.
    """
    feature_indptr[:] = 0
    for j in range(len(features)):
        feature_indptr[features[j] + 1] += 1
    for f in range(len(feature_indptr) - 1):
        feature_indptr[f + 1] += feature_indptr[f]
    following = feature_indptr[:-1].copy()
    for c in range(len(indptr) - 1):
        for j in range(indptr[c], indptr[c + 1]):
            m = following[features[j]]
            classes[m], places[m] = c, j
            following[features[j]] = m + 1


@njit(cache=True, nogil=True)
def turns_by_feature(indptr, classes, places, steps, listed_steps, turns):
    """Say for each entry, listed by feature, its step and to which of the four sums of its class it belongs.

    The entries of a class belong to the sums in turn, those after the last full round to the first one.

    ``indptr``, ``steps``: int (n_classes + 1,), int8 (n_entries,). The class vectors, compressed.
    ``classes``, ``places``: int (n_entries,). From :func:`list_by_feature`.
    ``listed_steps``, ``turns``: int8 (n_entries,). Receive the step and the sum of each listed entry.
    """
    for m in range(len(places)):
        start, stop = indptr[classes[m]], indptr[classes[m] + 1]
        place = np.int64(places[m]) - start
        listed_steps[m] = steps[places[m]]
        turns[m] = place & 3 if place < (stop - start) & ~3 else 0


@njit(cache=True, nogil=True)
def count_entries(indptr, indices, order, ends, room):
    """Count the features of the samples of each class, added up over the classes.

    ``indptr``, ``indices``: the samples as compressed sparse rows.
    ``order``: int (n_samples,). The samples, class by class.
    ``ends``: int (n_classes + 1,). Where the samples of each class begin in ``order``, and where the last one's end.
    ``room``: int (n_features,), overwritten
    """
    room[:] = -1
    n = 0
    for c in range(len(ends) - 1):
        for i in order[ends[c] : ends[c + 1]]:
            for q in range(indptr[i], indptr[i + 1]):
                if room[indices[q]] != c:
                    room[indices[q]] = c
                    n += 1
    return n
