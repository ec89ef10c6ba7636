"""Support vector machines of all bits together against one bit at a time, and against scikit-learn's."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import LinearSVC
from tests.reference.svm import objective, svm

from codekin.kernels.svm import svm_pass


def problem(seed, n_samples=14, n_features=9, n_bits=6, n_rows=4):
    rng = np.random.default_rng(seed)
    dense = (rng.normal(size=(n_samples, n_features)) * (rng.random((n_samples, n_features)) < 0.6)).astype(np.float32)
    signs = rng.choice([-1, 0, 1], size=(n_rows, n_bits)).astype(np.float32)
    rows = rng.integers(0, n_rows, size=n_samples)
    dense[:, -1] = 1
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], size=n_samples)
    return dense, signs, rows, weights, rng


def run(dense, signs, rows, weights, orders, damping, scale=1.0):
    """The weights and dual variables after some passes; the last column is the bias."""
    dense = dense.copy()
    dense[:, :-1] /= np.float32(scale)
    given = sparse.csr_array(dense)
    learned = np.zeros((dense.shape[1], signs.shape[1]), dtype=np.float32)
    duals = np.zeros((len(dense), signs.shape[1]), dtype=np.float32)
    arrays = given.indptr.astype(np.int64), given.indices, given.data, rows, signs, weights
    for order in orders:
        svm_pass(*arrays, order, damping, scale**2, learned, duals)
    learned[:-1] /= scale
    return learned, duals


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 0.5, 4.0]), st.sampled_from([0.1, 1.0, 20.0]))
@settings(max_examples=40, deadline=None)
def test_all_bits_together_are_the_bits_one_by_one_for_samples_of_any_length(seed, damping, scale):
    dense, signs, rows, weights, rng = problem(seed)
    orders = [rng.permutation(len(dense)) for _ in range(3)]
    learned, duals = run(dense, signs, rows, weights, orders, damping, scale)
    for bit in range(signs.shape[1]):
        of_bit, expected = np.zeros(len(dense)), np.zeros(dense.shape[1])
        for order in orders:
            expected, of_bit = svm(dense.astype(np.float64), signs[rows, bit], weights, order, damping, of_bit)
        np.testing.assert_allclose(duals[:, bit], of_bit, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(learned[:, bit], expected, rtol=1e-3, atol=1e-3)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_many_passes_reach_the_minimum(seed):
    dense, signs, rows, weights, rng = problem(seed)
    learned, _ = run(dense, signs, rows, weights, [rng.permutation(len(dense)) for _ in range(300)], 0.5)
    for bit in range(signs.shape[1]):
        given_problem = dense.astype(np.float64), signs[rows, bit], weights, 0.5
        least = objective(*given_problem, learned[:, bit].astype(np.float64))
        for _ in range(5):
            elsewhere = learned[:, bit] + rng.normal(size=dense.shape[1]) * 0.05
            assert least <= objective(*given_problem, elsewhere) + 1e-4


def test_it_is_the_machine_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8)).astype(np.float32)
    X[:, -1] = 1
    y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)
    signs = np.array([[-1.0], [1.0]], dtype=np.float32)
    orders = [rng.permutation(60) for _ in range(500)]
    learned, _ = run(X, signs, y, np.ones(60), orders, 0.5)  # C = 1
    expected = LinearSVC(C=1.0, fit_intercept=False, tol=1e-8, max_iter=100_000).fit(X, y).coef_[0]
    np.testing.assert_allclose(learned[:, 0], expected, rtol=1e-3, atol=1e-4)
