"""Trees of classes as codebooks."""

import numpy as np
import pytest

from codekin.classes.means import halving_tree
from codekin.code import Assignment, Codebook
from codekin.code.tree import LEAVES_PER_CHILD, TreeGraph, label_tree

SIZES = [(2, 2), (3, 2), (9, 2), (64, 4), (1000, 3), (1532, 32), (5000, 8)]


@pytest.mark.parametrize(("n_leaves", "width"), SIZES)
def test_every_leaf_is_below_exactly_one_bit_and_every_node_below_one(n_leaves, width):
    tree = TreeGraph(n_leaves, width)
    below = tree.children
    assert np.array_equal(np.sort(-1 - below[below < 0]), np.arange(n_leaves))
    assert np.array_equal(np.sort(below[below >= 0]), np.arange(1, tree.n_nodes))


@pytest.mark.parametrize(("n_leaves", "width"), SIZES)
def test_nodes_have_width_children_or_leaves_only(n_leaves, width):
    tree = TreeGraph(n_leaves, width)
    for node, (start, stop) in enumerate(tree.spans):
        own = tree.children[tree.first_bits[node] : tree.first_bits[node + 1]]
        if stop - start > LEAVES_PER_CHILD * width:
            assert len(own) == width
            assert (own >= 0).all()
            sizes = np.diff(tree.spans[own], axis=1)
            assert np.ptp(sizes) <= 1 + np.log2(width)
        else:
            assert np.array_equal(-1 - own, np.arange(start, stop))


@pytest.mark.parametrize(("n_leaves", "width"), SIZES)
def test_the_way_to_a_leaf_goes_through_the_nodes_that_have_it(n_leaves, width):
    tree = TreeGraph(n_leaves, width)
    leaves = np.arange(0, n_leaves, max(n_leaves // 50, 1))
    node_of_bit = np.repeat(np.arange(tree.n_nodes), np.diff(tree.first_bits))
    for leaf, bits in zip(leaves, tree.unrank(leaves), strict=True):
        own = bits[bits >= 0]
        spans = tree.spans[node_of_bit[own]]
        assert ((spans[:, 0] <= leaf) & (leaf < spans[:, 1])).all()
        assert tree.children[own[-1]] == -1 - leaf


def test_codewords_ignore_all_nodes_but_those_on_the_way():
    tree = TreeGraph(40, 2)
    codewords = tree.codewords(np.arange(40))
    assert Codebook(codewords).n_codewords == 40  # distinct
    for leaf, bits in enumerate(tree.unrank(np.arange(40))):
        own = bits[bits >= 0]
        assert np.array_equal(np.flatnonzero(codewords[leaf] == 1), np.sort(own))
        assert (codewords[leaf] != 0).sum() == sum(
            n
            for first, n in zip(tree.first_bits, np.diff(tree.first_bits), strict=False)
            if ((own >= first) & (own < first + n)).any()
        )


def test_the_minimum_distance_is_that_of_the_matrix():
    codebook = label_tree(30, 2)
    assert codebook.min_distance == Codebook(codebook.matrix).min_distance
    assert codebook.is_ternary == Codebook(codebook.matrix).is_ternary


def test_the_nodes_of_a_tree_whose_width_is_a_power_of_two_are_those_of_the_halving():
    order = np.random.default_rng(0).permutation(1000)
    halves = halving_tree(order)
    tree = TreeGraph(1000, 8)
    spans = {tuple(span) for span in halves.class_spans.tolist()}
    assert all(tuple(span) in spans for span in tree.spans.tolist())


def test_only_the_codewords_that_are_asked_for_are_made():
    codebook = label_tree(100_000, 32)
    assert codebook.coding_matrix(Assignment(np.array([99_999, 5]))).shape == (2, codebook.n_bits)
    assert "matrix" not in codebook.__dict__


@pytest.mark.parametrize(("n_leaves", "width", "reason"), [(1, 2, "at least 2 codewords"), (5, 1, "width of a tree")])
def test_impossible_trees_are_refused(n_leaves, width, reason):
    with pytest.raises(ValueError, match=reason):
        label_tree(n_leaves, width)


def test_leaves_that_there_are_not_are_refused():
    with pytest.raises(ValueError, match="between 0 and 8"):
        TreeGraph(9, 2).unrank([9])
