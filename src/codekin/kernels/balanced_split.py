"""An order of sparse vectors in which neighbours are similar, by repeated halving."""

import numpy as np

from codekin.kernels.calling import njit


@njit(cache=True, nogil=True)
def balanced_split_order(indptr, indices, data, n_features, n_iterations, order):
    """Reorder ``order`` so that each half of it, each half of a half, and so on, contains similar vectors.

    A set of CSR rows, of length one, is halved by balanced spherical 2-means: the direction from the sum of one half to
    that of the other is updated, at most ``n_iterations`` times, until the halves by rank along it no longer change.
    The first half is the larger one of an odd set. It begins with the direction between two vectors that are far apart.
    """
    n_vectors = len(order)
    direction = np.zeros(n_features)
    scores = np.zeros(n_vectors)
    stack = np.zeros((130, 2), dtype=np.int64)  # deeper than any halving of 2**64 vectors
    stack[0, 0], stack[0, 1] = 0, n_vectors
    n_stacked = 1
    while n_stacked > 0:
        n_stacked -= 1
        start, stop = stack[n_stacked, 0], stack[n_stacked, 1]
        size = stop - start
        if size <= 2:
            continue
        members = order[start:stop].copy()
        half = (size + 1) // 2
        first = _farthest(indptr, indices, data, members, members[0], direction)
        second = _farthest(indptr, indices, data, members, first, direction)
        _add(indptr, indices, data, first, 1.0, direction)
        _add(indptr, indices, data, second, -1.0, direction)
        in_first_half = np.zeros(size, dtype=np.bool_)
        for iteration in range(n_iterations + 1):
            for i in range(size):
                scores[i] = -_dot(indptr, indices, data, members[i], direction)
            ranks = np.argsort(scores[:size], kind="mergesort")
            changed = iteration == 0
            previous = in_first_half.copy()
            in_first_half[:] = False
            for i in range(half):
                in_first_half[ranks[i]] = True
            for i in range(size):
                changed |= previous[i] != in_first_half[i]
            for i in range(size):
                _clear(indptr, indices, members[i], direction)
            if not changed or iteration == n_iterations:
                break
            for i in range(size):
                share = 1.0 / half if in_first_half[i] else -1.0 / (size - half)
                _add(indptr, indices, data, members[i], share, direction)
        for i in range(size):
            order[start + i] = members[ranks[i]]
        stack[n_stacked, 0], stack[n_stacked, 1] = start + half, stop
        stack[n_stacked + 1, 0], stack[n_stacked + 1, 1] = start, start + half
        n_stacked += 2


@njit(cache=True, nogil=True)
def _dot(indptr, indices, data, row, direction):
    total = 0.0
    for j in range(indptr[row], indptr[row + 1]):
        total += data[j] * direction[indices[j]]
    return total


@njit(cache=True, nogil=True)
def _add(indptr, indices, data, row, factor, direction):
    for j in range(indptr[row], indptr[row + 1]):
        direction[indices[j]] += factor * data[j]


@njit(cache=True, nogil=True)
def _clear(indptr, indices, row, direction):
    for j in range(indptr[row], indptr[row + 1]):
        direction[indices[j]] = 0.0


@njit(cache=True, nogil=True)
def _farthest(indptr, indices, data, members, row, direction):
    """The member with the smallest inner product with a row; leaves the direction empty."""
    _add(indptr, indices, data, row, 1.0, direction)
    farthest, least = members[0], np.inf
    for member in members:
        product = _dot(indptr, indices, data, member, direction)
        if product < least:
            farthest, least = member, product
    _clear(indptr, indices, row, direction)
    return farthest
