"""Kernels of logistic regressions in nodes agree with their readable twins."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit
from tests.kernels.test_label_tree import random_bits
from tests.reference import label_tree as reference
from tests.reference import logistic as twin

from codekin.code.tree import TreeGraph
from codekin.kernels import logistic as kernels
from codekin.learners.tree_bits import replace


def test_logistics_are_those_of_scipy():
    margins = np.random.default_rng(0).normal(scale=20, size=501).astype(np.float32)
    powers, out = np.empty(501, np.int32), np.empty(501, np.float32)
    kernels.logistics(margins, powers, powers.view(np.float32), out)
    np.testing.assert_allclose(out, expit(margins.astype(np.float64)), rtol=5e-5, atol=1e-37)


@pytest.mark.parametrize("n_children", [2, 5, 33])
def test_a_pass_makes_the_steps_of_the_twin(n_children):
    rng = np.random.default_rng(n_children)
    X = sparse.random_array((60, 20), density=0.3, rng=rng, format="csr", dtype=np.float32)
    sets, of_sample = rng.integers(2, size=(7, n_children)).astype(np.int8), rng.integers(7, size=60)
    weights, order = rng.uniform(0.5, 2, size=60), rng.permutation(60)
    state = np.zeros((20, 2, n_children), dtype=np.float32)
    state[:, 1] = 0.3
    rows = X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data
    kernels.node_logistic_pass(*rows, of_sample, sets, weights, order, 0.5, state)
    expected = twin.node_logistic(X.toarray(), sets[of_sample], weights, order, step=0.5, curvature=0.3)
    np.testing.assert_allclose(state[:, 0], expected[0], atol=2e-4)
    np.testing.assert_allclose(state[:, 1], expected[1], rtol=1e-4)


@given(n_leaves=st.integers(2, 40), width=st.integers(2, 5), seed=st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_the_probability_of_a_leaf_is_the_product_along_its_path(n_leaves, width, seed):
    rng = np.random.default_rng(seed)
    tree = TreeGraph(n_leaves, width)
    bits, dense = random_bits(tree, 6, rng)
    bits = replace(bits, link="logistic")
    X = sparse.random_array((5, 6), density=0.6, rng=rng, format="csr", dtype=np.float32)
    every = np.tile(np.arange(n_leaves), (5, 1))
    expected = twin.leaf_log_probabilities(X @ dense + bits.bias, tree)
    np.testing.assert_allclose(bits.margins(X).log_probabilities(every), expected, atol=1e-4)
    leaves, logs = bits.margins(X).best_leaves(n_leaves, tree.n_nodes)
    np.testing.assert_allclose(logs, -np.sort(-expected, axis=1), atol=1e-4)
    np.testing.assert_allclose(np.take_along_axis(expected, leaves, axis=1), logs, atol=1e-4)


def test_softmax_and_logistic_links_differ_only_in_what_siblings_do():
    rng = np.random.default_rng(0)
    tree = TreeGraph(4, 4)
    bits, dense = random_bits(tree, 6, rng)
    X = sparse.random_array((5, 6), density=0.6, rng=rng, format="csr", dtype=np.float32)
    margins = X @ dense + bits.bias
    every = np.tile(np.arange(4), (5, 1))
    own = replace(bits, link="logistic").margins(X).log_probabilities(every)
    np.testing.assert_allclose(np.exp(own), expit(margins), atol=1e-5)
    shares = np.exp(bits.margins(X).log_probabilities(every))
    np.testing.assert_allclose(np.exp(reference.leaf_log_probabilities(margins, tree)), shares, atol=1e-5)
