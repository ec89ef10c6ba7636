"""Forward-backward and the steps of the softmax agree with going through all classes, and with the loss itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.reference import softmax as reference

from codekin.codebooks import one_vs_rest, sparse_random, trellis_codebook
from codekin.kernels.softmax import dense_softmax_pass, edge_marginals, flat_softmax_pass, trellis_softmax_pass

ENOUGH = 200.0


def marginals_of(margins, trellis, limit=ENOUGH):
    growth, marginals = np.exp(np.clip(margins.astype(np.float64), -limit, limit)), np.empty(trellis.n_edges)
    onward, reach = np.empty((2, len(trellis.digits) - 1, trellis.width))
    edge_marginals(growth, trellis.width, trellis.digits, onward, reach, marginals)
    return marginals


trellises = st.tuples(st.integers(2, 60), st.integers(2, 7)).filter(lambda shape: shape[1] <= shape[0])


@given(trellises, st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_marginals_are_sums_over_all_classes(shape, seed):
    codebook = trellis_codebook(*shape)
    margins = np.random.default_rng(seed).normal(scale=3, size=codebook.n_bits).astype(np.float32)
    expected = reference.edge_marginals(margins, codebook.matrix)
    np.testing.assert_allclose(marginals_of(margins, codebook.trellis), expected, rtol=1e-9, atol=1e-12)


@given(trellises, st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_marginals_minus_indicators_are_the_numerical_gradient(shape, seed):
    codebook = trellis_codebook(*shape)
    rng = np.random.default_rng(seed)
    margins, true_class = rng.normal(size=codebook.n_bits), int(rng.integers(codebook.n_codewords))
    gradient = marginals_of(margins, codebook.trellis) - (codebook.matrix[true_class] > 0)
    shift = 1e-5
    for bit in range(codebook.n_bits):
        up, down = margins.copy(), margins.copy()
        up[bit] += shift
        down[bit] -= shift
        # Moving a margin moves the codewords by half of it in both directions: the sum over a path, and a constant.
        slope = reference.loss(up, codebook.matrix, true_class) - reference.loss(down, codebook.matrix, true_class)
        assert slope / (2 * shift) == pytest.approx(gradient[bit], abs=1e-7)


def test_margins_of_any_size_give_shares():
    trellis = trellis_codebook(1_000_003, 2).trellis
    margins = np.full(trellis.n_edges, 1e6, dtype=np.float32)
    margins[::2] = -1e6
    shares = marginals_of(margins, trellis, limit=30.0)
    assert (shares >= 0).all()
    assert shares[:2].sum() == pytest.approx(1)


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    X = sparse.random_array((40, 9), density=0.5, rng=rng, format="csr", dtype=np.float32)
    return X, rng.integers(0, 7, size=40), rng.uniform(0, 2, size=40), rng.permutation(np.arange(40)).repeat(2)


@pytest.mark.parametrize("width", [2, 3, 7])
def test_a_pass_over_paths_steps_as_going_through_all_classes_does(samples, width):
    X, classes, weights, order = samples
    codebook = trellis_codebook(7, width)
    trellis = codebook.trellis
    state = np.zeros((9, 2, codebook.n_bits), dtype=np.float32)
    state[:, 1] = 0.3
    edges = trellis.unrank(np.arange(7)).astype(np.int32)
    trellis_softmax_pass(
        X.indptr, X.indices, X.data, classes, edges, weights, order, width, trellis.digits, 0.5, 30.0, state
    )
    w, g = reference.softmax(X.toarray(), classes, codebook.matrix, weights, order, step=0.5, curvature=0.3)
    np.testing.assert_allclose(state[:, 0], w, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(state[:, 1], g, rtol=1e-4)


@pytest.mark.parametrize("is_ternary", [False, True])
def test_a_pass_over_codewords_steps_as_the_reference_does(samples, is_ternary):
    X, classes, weights, order = samples
    codebook = sparse_random(7, n_bits=12, rng=0) if is_ternary else trellis_codebook(7, 3)
    state = np.zeros((9, 2, codebook.n_bits), dtype=np.float32)
    state[:, 1] = 0.3
    matrix = codebook.matrix.astype(np.float32)
    transposed = np.ascontiguousarray(matrix.T)
    dense_softmax_pass(X.indptr, X.indices, X.data, classes, matrix, transposed, weights, order, 0.5, state)
    w, g = reference.softmax(X.toarray(), classes, codebook.matrix, weights, order, step=0.5, curvature=0.3)
    np.testing.assert_allclose(state[:, 0], w, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(state[:, 1], g, rtol=1e-4)


def test_a_pass_with_a_bit_for_each_class_steps_as_one_vs_rest_codewords_do(samples):
    X, classes, weights, order = samples
    bit_of_class = np.array([3, 1, 0, 6, 5, 2, 4])
    state = np.zeros((9, 2, 7), dtype=np.float32)
    state[:, 1] = 0.3
    flat_softmax_pass(X.indptr, X.indices, X.data, classes, bit_of_class, weights, order, 0.5, state)
    matrix = one_vs_rest(7).matrix[bit_of_class]
    w, g = reference.softmax(X.toarray(), classes, matrix, weights, order, step=0.5, curvature=0.3)
    np.testing.assert_allclose(state[:, 0], w, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(state[:, 1], g, rtol=1e-4)
