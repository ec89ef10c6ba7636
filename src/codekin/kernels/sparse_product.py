"""Products of a sparse matrix, row by row, with dense or sparse weights.

The terms of a sum are added in the order of the row's non-zeros, so that a row's result depends on nothing else.
"""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def sparse_times_dense(indptr, indices, values, weights, which, product):
    """Multiply sparse rows by a matrix of weights.

    ``indptr``, ``indices``, ``values``: compressed sparse rows; float32 values.
    ``weights``: float32 (n_features, n_matrices, n_bits). Matrices that lie beside each other, row by row.
    ``which``: which of the matrices to multiply by.
    ``product``: float32 (n_samples, n_bits), changed in place
    """
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
    """Multiply sparse rows by sparse weights into a dense product.

    ``indptr``, ``indices``, ``values``: compressed sparse rows; float32 values.
    ``weight_indptr``, ``weight_bits``, ``weights``: the weights of each feature, compressed; float32 weights.
    ``product``: float32 (n_samples, n_bits), changed in place
    """
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
    """Count the weights of each feature that are larger than the threshold in size.

    ``weights``: float32 (n_features, n_bits)
    ``counts``: int (n_features,), changed in place
    """
    n_features, n_bits = weights.shape
    for f in range(n_features):
        count = 0
        for j in range(n_bits):
            count += abs(weights[f, j]) > threshold
        counts[f] = count


@njit(cache=True, nogil=True)
def keep_large(weights, threshold, kept_bits, kept):
    """List the weights that :func:`count_large` counts, feature by feature.

    ``weights``: float32 (n_features, n_bits)
    ``kept_bits``, ``kept``: (n_kept,), changed in place. Receive the bits and the weights.
    """
    n_features, n_bits = weights.shape
    q = 0
    for f in range(n_features):
        for j in range(n_bits):
            if abs(weights[f, j]) > threshold:
                kept_bits[q] = j
                kept[q] = weights[f, j]
                q += 1
