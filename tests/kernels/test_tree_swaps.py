"""The tree kernels against alignments computed from all pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import tree_swaps as reference

from codekin.assignments.scores import AssignmentProblem
from codekin.assignments.swaps import TreeProblem
from codekin.classes import ClassTree
from codekin.classes.tree_distances import TreeDistances
from codekin.code import Codebook
from codekin.kernels.swaps import anneal_tree_swaps, fill_node_sums

seeds = st.integers(0, 2**32 - 1)


def random_tree(n_classes, rng):
    """Classes on leaves and on inner nodes, with chains, and edges of different lengths."""
    n_nodes = 2 * n_classes + 2
    parent = np.array([-1, *[int(rng.integers(0, node)) for node in range(1, n_nodes)]])
    node_of_class = rng.permutation(n_nodes)[:n_classes]
    return ClassTree(parent, node_of_class, rng.integers(0, 4, n_nodes))


def random_codebook(n_codewords, rng, *, is_ternary):
    words = np.array(np.meshgrid(*[(-1, 0, 1) if is_ternary else (-1, 1)] * (3 if is_ternary else 5))).reshape(
        3 if is_ternary else 5, -1
    )
    while True:
        chosen = words.T[rng.permutation(words.shape[1])[:n_codewords]]
        if (chosen > 0).any() and (chosen < 0).any():
            return Codebook(chosen)


def arrays_of(n_classes, n_spare, is_ternary, seed):
    rng = np.random.default_rng(seed)
    codebook = random_codebook(n_classes + n_spare, rng, is_ternary=is_ternary)
    problem = AssignmentProblem.of(codebook, TreeDistances(random_tree(n_classes, rng)))
    arrays = TreeProblem.of(problem)
    codeword_of_class = rng.permutation(codebook.n_codewords)[:n_classes].astype(np.int64)
    return problem, arrays, codeword_of_class


@given(st.integers(2, 8), st.integers(0, 3), st.booleans(), st.sampled_from([1.0, -1.0]), seeds)
@settings(max_examples=60, deadline=None)
def test_what_annealing_adds_up_is_what_the_alignment_gained(n_classes, n_spare, is_ternary, sign, seed):
    problem, arrays, start = arrays_of(n_classes, n_spare, is_ternary, seed)
    order = arrays.class_order
    distances = problem.class_distances.matrix()[np.ix_(order, order)]
    matrix = problem.codebook.matrix
    kept = start.copy()
    node_sums = np.zeros((len(arrays.parent), arrays.vectors.shape[1]), np.float32)
    fill_node_sums(arrays.vectors, arrays.parent, arrays.node_of_class, kept, node_sums)
    depth_sums = arrays.depth @ arrays.vectors[kept].astype(float)
    class_of_codeword = np.full(problem.codebook.n_codewords, -1, np.int64)
    class_of_codeword[kept] = np.arange(n_classes)
    change = anneal_tree_swaps(
        arrays.vectors, arrays.weight, arrays.parent, arrays.length, arrays.node_of_class, arrays.depth, arrays.linear,
        arrays.spread, node_sums, depth_sums, kept, class_of_codeword, sign, 5.0, 0.99, 30, np.empty(0),
        np.array([seed], np.uint64)
    )  # fmt: skip
    gained = reference.alignment(distances, matrix, kept) - reference.alignment(distances, matrix, start)
    assert change == pytest.approx(gained, abs=1e-6)
    np.testing.assert_array_equal(np.flatnonzero(class_of_codeword >= 0), np.sort(kept))
    np.testing.assert_array_equal(class_of_codeword[kept], np.arange(n_classes))
    np.testing.assert_allclose(depth_sums, arrays.depth @ arrays.vectors[kept].astype(float), atol=1e-6)
    fresh = np.zeros_like(node_sums)
    fill_node_sums(arrays.vectors, arrays.parent, arrays.node_of_class, kept, fresh)
    np.testing.assert_array_equal(node_sums, fresh)


@given(st.integers(2, 7), seeds)
@settings(max_examples=25, deadline=None)
def test_annealing_takes_the_same_decisions_as_its_twin(n_classes, seed):
    # Without zeros in the codewords all gains are integers, and none is zero but for rounding.
    problem, arrays, start = arrays_of(n_classes, 0, False, seed)
    order = arrays.class_order
    distances = problem.class_distances.matrix()[np.ix_(order, order)]
    kept, sums = start.copy(), np.zeros((len(arrays.parent), arrays.vectors.shape[1]), np.float32)
    fill_node_sums(arrays.vectors, arrays.parent, arrays.node_of_class, kept, sums)
    inverse = np.full(problem.codebook.n_codewords, -1, np.int64)
    inverse[kept] = np.arange(n_classes)
    anneal_tree_swaps(
        arrays.vectors, arrays.weight, arrays.parent, arrays.length, arrays.node_of_class, arrays.depth, arrays.linear,
        arrays.spread, sums, arrays.depth @ arrays.vectors[kept].astype(float), kept, inverse, 1.0, 3.0, 1.0, 20,
        np.empty(0), np.array([seed], np.uint64)
    )  # fmt: skip
    expected = reference.anneal(
        distances, problem.codebook.matrix, start, sign=1.0, temperature=3.0, cooling=1.0, n_proposals=20, seed=seed
    )
    np.testing.assert_array_equal(kept, expected)
