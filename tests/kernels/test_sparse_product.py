"""Products with sparse rows against SciPy's, which adds in the same order."""

import numpy as np
import pytest
from scipy import sparse

from codekin.kernels.sparse_product import count_large, keep_large, sparse_times_dense, sparse_times_sparse


def rows(seed, shape=(30, 40), density=0.3):
    matrix = sparse.random_array(
        shape, density=density, rng=np.random.default_rng(seed), format="csr", dtype=np.float32
    )
    return matrix, (matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data)


@pytest.mark.parametrize("n_bits", [1, 7, 64])
def test_dense_weights_give_the_product_to_the_last_bit(n_bits):
    X, arrays = rows(0)
    weights = np.random.default_rng(1).normal(size=(40, 3, n_bits)).astype(np.float32)
    product = np.full((30, n_bits), np.nan, dtype=np.float32)
    for which in range(3):
        sparse_times_dense(*arrays, weights, which, product)
        np.testing.assert_array_equal(product, X @ np.ascontiguousarray(weights[:, which]))


def test_sparse_weights_give_the_product_to_the_last_bit():
    X, arrays = rows(0)
    W, weights = rows(1, (40, 11), 0.2)
    product = np.full((30, 11), np.nan, dtype=np.float32)
    sparse_times_sparse(*arrays, *weights, product)
    np.testing.assert_array_equal(product, (X @ W).toarray())


@pytest.mark.parametrize("threshold", [0.0, 0.5, 9.0])
def test_large_weights_are_those_above_the_threshold(threshold):
    weights = np.round(np.random.default_rng(0).normal(size=(6, 9)), 1).astype(np.float32)
    weights[0, 0], weights[1, 1] = 0.0, np.float32(0.5)
    expected = sparse.csr_array(np.where(np.abs(weights) > threshold, weights, 0))
    counts = np.empty(6, dtype=np.int64)
    count_large(weights, threshold, counts)
    kept_bits, kept = np.empty(counts.sum(), dtype=np.int32), np.empty(counts.sum(), dtype=np.float32)
    keep_large(weights, threshold, kept_bits, kept)
    np.testing.assert_array_equal(counts, np.diff(expected.indptr))
    np.testing.assert_array_equal(kept_bits, expected.indices)
    np.testing.assert_array_equal(kept, expected.data)
