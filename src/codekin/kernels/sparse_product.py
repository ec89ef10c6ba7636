"""Products of a sparse matrix, row by row, with dense, sparse or compact weights.

A compact weight of one byte is an integer times the scale of its feature; one of two bytes is a half-precision float,
given by its bits, since Numba has no such type. They are never unpacked as a whole. The terms of a sum are added in the
order of the row's non-zeros, so that a row's result depends on nothing else.
"""

from __future__ import annotations

import numpy as np

from codekin.kernels.calling import njit


@njit(cache=True, nogil=True)
def sparse_times_dense(indptr, indices, values, weights, which, product):
    """Multiply sparse rows by one of several matrices of weights, (n_features, n_matrices, n_bits)."""
    n_samples, n_bits = product.shape
    for i in range(n_samples):
        row = product[i]
        row[:] = 0
        p, stop = indptr[i], indptr[i + 1]
        # Four non-zeros at a time: a quarter of the traffic to and from the sum.
        while p + 4 <= stop:
            x0, x1, x2, x3 = values[p], values[p + 1], values[p + 2], values[p + 3]
            w0, w1 = weights[indices[p], which], weights[indices[p + 1], which]
            w2, w3 = weights[indices[p + 2], which], weights[indices[p + 3], which]
            for j in range(n_bits):
                row[j] = (((row[j] + x0 * w0[j]) + x1 * w1[j]) + x2 * w2[j]) + x3 * w3[j]
            p += 4
        while p < stop:
            x0, w0 = values[p], weights[indices[p], which]
            for j in range(n_bits):
                row[j] += x0 * w0[j]
            p += 1


@njit(cache=True, nogil=True)
def sparse_times_sparse(indptr, indices, values, weight_indptr, weight_bits, weights, product):
    """Multiply sparse rows by sparse weights, compressed by feature, into a dense product."""
    n_samples = len(product)
    for i in range(n_samples):
        row = product[i]
        row[:] = 0
        for p in range(indptr[i], indptr[i + 1]):
            x, feature = values[p], indices[p]
            for q in range(weight_indptr[feature], weight_indptr[feature + 1]):
                row[weight_bits[q]] += x * weights[q]


@njit(cache=True, nogil=True)
def count_large(weights, threshold, counts):
    """Count the weights of each feature that are larger than the threshold in size."""
    n_features, n_bits = weights.shape
    for f in range(n_features):
        count = 0
        for j in range(n_bits):
            count += abs(weights[f, j]) > threshold
        counts[f] = count


@njit(cache=True, nogil=True)
def keep_large(weights, threshold, kept_bits, kept):
    """List the weights that :func:`count_large` counts, feature by feature."""
    n_features, n_bits = weights.shape
    q = 0
    for f in range(n_features):
        for j in range(n_bits):
            if abs(weights[f, j]) > threshold:
                kept_bits[q] = j
                kept[q] = weights[f, j]
                q += 1


HALF_SHIFT = 13
HALF_MASK = -0x70002000
"""The mask of a half shifted into an int32, where its sign fills four places: one sign and the other 15 places."""
REBIAS = np.float32(2.0**112)
"""The factor by which a half is too small when its bits are read as a float32: the difference of exponent biases."""


@njit(cache=True, nogil=True)
def sparse_times_bytes(indptr, indices, values, row_of_feature, weights, scales, product):
    """Multiply sparse rows by rows of one-byte integers, scaled by feature; each feature has one of the rows."""
    n_samples, n_bits = product.shape
    for i in range(n_samples):
        row = product[i]
        row[:] = 0
        p, stop = indptr[i], indptr[i + 1]
        # Four non-zeros at a time: a quarter of the traffic to and from the sum.
        while p + 4 <= stop:
            r0, r1 = row_of_feature[indices[p]], row_of_feature[indices[p + 1]]
            r2, r3 = row_of_feature[indices[p + 2]], row_of_feature[indices[p + 3]]
            x0, x1 = values[p] * scales[r0], values[p + 1] * scales[r1]
            x2, x3 = values[p + 2] * scales[r2], values[p + 3] * scales[r3]
            w0, w1, w2, w3 = weights[r0], weights[r1], weights[r2], weights[r3]
            for j in range(n_bits):
                sum_of_two = (row[j] + x0 * np.float32(w0[j])) + x1 * np.float32(w1[j])
                row[j] = (sum_of_two + x2 * np.float32(w2[j])) + x3 * np.float32(w3[j])
            p += 4
        while p < stop:
            r0 = row_of_feature[indices[p]]
            x0, w0 = values[p] * scales[r0], weights[r0]
            for j in range(n_bits):
                row[j] += x0 * np.float32(w0[j])
            p += 1


@njit(cache=True, nogil=True)
def sparse_times_halves(indptr, indices, values, row_of_feature, weights, product):
    """Multiply sparse rows by rows of half-precision floats, given by their bits, int16; all are finite.

    (Subnormal ones are understood, but slow.)
    """
    n_samples, n_bits = product.shape
    bits0, bits1 = np.empty(n_bits, np.int32), np.empty(n_bits, np.int32)
    bits2, bits3 = np.empty(n_bits, np.int32), np.empty(n_bits, np.int32)
    # The same memory, read as floats.
    s0, s1, s2, s3 = bits0.view(np.float32), bits1.view(np.float32), bits2.view(np.float32), bits3.view(np.float32)
    for i in range(n_samples):
        row = product[i]
        row[:] = 0
        p, stop = indptr[i], indptr[i + 1]
        while p + 4 <= stop:
            x0, x1, x2, x3 = values[p], values[p + 1], values[p + 2], values[p + 3]
            w0, w1 = weights[row_of_feature[indices[p]]], weights[row_of_feature[indices[p + 1]]]
            w2, w3 = weights[row_of_feature[indices[p + 2]]], weights[row_of_feature[indices[p + 3]]]
            for j in range(n_bits):
                bits0[j] = (w0[j] << HALF_SHIFT) & HALF_MASK
                bits1[j] = (w1[j] << HALF_SHIFT) & HALF_MASK
                bits2[j] = (w2[j] << HALF_SHIFT) & HALF_MASK
                bits3[j] = (w3[j] << HALF_SHIFT) & HALF_MASK
            for j in range(n_bits):
                sum_of_two = (row[j] + x0 * (s0[j] * REBIAS)) + x1 * (s1[j] * REBIAS)
                row[j] = (sum_of_two + x2 * (s2[j] * REBIAS)) + x3 * (s3[j] * REBIAS)
            p += 4
        while p < stop:
            x0, w0 = values[p], weights[row_of_feature[indices[p]]]
            for j in range(n_bits):
                bits0[j] = (w0[j] << HALF_SHIFT) & HALF_MASK
            for j in range(n_bits):
                row[j] += x0 * (s0[j] * REBIAS)
            p += 1


@njit(cache=True, nogil=True)
def sparse_times_gapped(indptr, indices, values, weight_indptr, gaps, weights, table, scales, product):
    """Multiply sparse rows by sparse weights, each of them a gap to the bit before and a place in a table.

    The weights of a feature begin at ``weight_indptr``; the first gap is from bit 0. ``scales`` multiply a feature's
    values.
    """
    for i in range(len(product)):
        row = product[i]
        row[:] = 0
        for p in range(indptr[i], indptr[i + 1]):
            feature = indices[p]
            x = values[p] * scales[feature]
            bit = np.uint64(0)
            for q in range(weight_indptr[feature], weight_indptr[feature + 1]):
                bit += np.uint64(gaps[q])
                row[bit] += x * table[weights[q]]
