"""The compiled products with narrow weights equal sums of one weight at a time, to the last bit."""

import numpy as np
import pytest
from scipy import sparse
from tests.reference import compact_product as reference

from codekin.kernels.sparse_product import sparse_times_bytes, sparse_times_gapped, sparse_times_halves

N_FEATURES, N_ROWS = 30, 12


@pytest.fixture(params=[1, 8, 21, 300])
def problem(request):
    rng = np.random.default_rng(request.param)
    X = sparse.random_array((9, N_FEATURES), density=0.4, rng=rng, format="csr", dtype=np.float32)
    row_of_feature = rng.integers(0, N_ROWS, size=N_FEATURES).astype(np.int32)
    return rng, X, row_of_feature, np.empty((9, request.param), dtype=np.float32)


def test_bytes(problem):
    rng, X, row_of_feature, product = problem
    weights = rng.integers(-127, 128, size=(N_ROWS, product.shape[1])).astype(np.int8)
    scales = rng.random(N_ROWS, dtype=np.float32)
    sparse_times_bytes(X.indptr, X.indices, X.data, row_of_feature, weights, scales, product)
    np.testing.assert_array_equal(product, reference.times_bytes(X.toarray(), row_of_feature, weights, scales))


def test_halves(problem):
    rng, X, row_of_feature, product = problem
    weights = (rng.normal(size=(N_ROWS, product.shape[1])) * 10.0 ** rng.integers(-6, 4, size=(N_ROWS, 1))).astype("f2")
    sparse_times_halves(X.indptr, X.indices, X.data, row_of_feature, weights.view(np.int16), product)
    np.testing.assert_array_equal(product, reference.times_halves(X.toarray(), row_of_feature, weights))


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_gapped(problem, kind):
    rng, X, _, product = problem
    n_bits = product.shape[1]
    bits = [np.sort(rng.choice(n_bits, size=rng.integers(0, min(n_bits, 40) + 1), replace=False)) for _ in range(30)]
    gaps = np.concatenate([np.diff(of_feature, prepend=0) for of_feature in bits])
    assert gaps.max() < 256
    indptr = np.cumsum([0, *map(len, bits)]).astype(np.uint32)
    table = rng.normal(size=np.iinfo(kind).max + 1).astype(np.float32)
    places = rng.integers(0, len(table), size=len(gaps)).astype(kind)
    scales = rng.random(N_FEATURES, dtype=np.float32)
    args = indptr, gaps.astype(np.uint8), places, table, scales
    sparse_times_gapped(X.indptr, X.indices, X.data, *args, product)
    np.testing.assert_array_equal(product, reference.times_gapped(X.toarray(), *args, n_bits))
