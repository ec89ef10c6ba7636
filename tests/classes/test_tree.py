"""Properties of class trees."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from codekin.classes import ClassTree


def path_lengths(tree: ClassTree) -> np.ndarray:
    every = np.arange(tree.n_classes)
    return tree.path_length(every[:, None], every)


def nested_trees() -> st.SearchStrategy[list]:
    """Lists within lists, whose leaves are numbered afterwards."""
    return st.recursive(st.none(), lambda inside: st.lists(inside, min_size=1, max_size=4), max_leaves=25).filter(
        lambda tree: isinstance(tree, list)
    )


def with_numbered_leaves(nested: list) -> list:
    numbers = iter(range(1000))

    def number(item):
        return next(numbers) if item is None else [number(inner) for inner in item]

    return number(nested)


def test_a_class_on_an_inner_node_is_a_leaf_below_it():
    tree = ClassTree.from_names(["a", "a.b", "a.c"])
    np.testing.assert_array_equal(path_lengths(tree), [[0, 1, 1], [1, 0, 2], [1, 2, 0]])
    assert tree.class_order().tolist() == [0, 1, 2]
    assert [(left.tolist(), right.tolist()) for left, right in tree.splits()] == [([0], [1, 2]), ([1], [2])]


@given(nested_trees())
@settings(max_examples=60, deadline=None)
def test_spans_order_and_splits_agree_with_the_nesting(nested):
    numbered = with_numbered_leaves(nested)
    tree = ClassTree.from_nested(numbered)
    assert tree.class_order().tolist() == list(range(tree.n_classes)), "leaves were numbered depth first"
    start, stop = tree.class_spans[tree.root]
    assert (start, stop) == (0, tree.n_classes)
    for node in range(tree.n_nodes):
        below = set(tree.classes_below(node).tolist())
        inside = [set(tree.classes_below(child).tolist()) for child in tree.children(node)]
        if inside:
            assert below == set().union(*inside)
            assert len(below) == sum(map(len, inside))
        assert tree.depth[node] == (0 if node == tree.root else tree.depth[tree.parent[node]] + 1)
    splits = list(tree.splits())
    assert len(splits) == tree.n_classes - 1
    sides = {(frozenset(left.tolist()), frozenset(right.tolist())) for left, right in splits}
    known = {frozenset(range(tree.n_classes))}
    for left, right in splits:
        assert frozenset(left.tolist()) | frozenset(right.tolist()) in known, "each split is of a known side"
        known |= {frozenset(left.tolist()), frozenset(right.tolist())}
    assert len(sides) == len(splits)
    # The splits respect the tree: the classes below any node are a side of some split.
    for node in range(tree.n_nodes):
        assert frozenset(tree.classes_below(node).tolist()) in known


@given(nested_trees(), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_a_restricted_tree_keeps_the_paths_between_its_classes(nested, seed):
    tree = ClassTree.from_nested(with_numbered_leaves(nested))
    rng = np.random.default_rng(seed)
    kept = rng.permutation(tree.n_classes)[: rng.integers(1, tree.n_classes + 1)]
    restricted = tree.restricted_to(kept)
    np.testing.assert_array_equal(path_lengths(restricted), path_lengths(tree)[np.ix_(kept, kept)])
    assert restricted.class_labels == tuple(int(k) for k in kept)
    assert all(len(restricted.classes_below(node)) for node in range(restricted.n_nodes))
    np.testing.assert_array_equal(restricted.depth[restricted.node_of_class], tree.depth[tree.node_of_class[kept]])


def test_a_chain_of_many_levels_is_no_problem():
    n_nodes = 50_000
    tree = ClassTree(np.arange(-1, n_nodes - 1), [n_nodes - 1, 0, n_nodes // 2])
    assert tree.path_length(0, 1) == n_nodes - 1
    assert len(list(tree.splits())) == 2
    nested: list = ["a"]
    for _ in range(5_000):
        nested = [nested]
    assert ClassTree.from_nested([nested, "b"]).path_length(0, 1) == 5_003


def test_binary_trees_are_known():
    assert ClassTree.from_nested([["a", "b"], "c"]).is_binary
    assert not ClassTree.from_nested([["a", "b", "d"], "c"]).is_binary
    assert not ClassTree.from_nested([["a"], "c"]).is_binary
    assert ClassTree.from_names(["a", "a.b"]).restricted_to([0, 1]).n_classes == 2


def test_shuffled_children_stay_together():
    tree = ClassTree.from_nested({"a": {"b": ["c", "d", "e"], "f": ["g", "h"]}, "i": ["j", "k"]})
    orders = [tree.class_order(np.random.default_rng(seed)) for seed in range(20)]
    assert len({tuple(order) for order in orders}) > 5
    for order in orders:
        assert sorted(order) == list(range(tree.n_classes))
        place = np.argsort(order)
        for node in range(tree.n_nodes):
            below = place[tree.classes_below(node)]
            assert np.ptp(below) == len(below) - 1
