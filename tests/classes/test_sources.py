"""What class trees can be built from, and what is rejected."""

import networkx
import numpy as np
import pytest
from scipy.cluster.hierarchy import cophenet, leaves_list, linkage
from scipy.spatial.distance import pdist, squareform

from codekin.classes import ClassTree

NESTED = {"animal": ["dog", "cat"], "vehicle": {"road": ["bus", "car"], "sea": ["ship"]}}
EDGES = [
    ("all", "animal"),
    ("all", "vehicle"),
    ("vehicle", "road"),
    ("vehicle", "sea"),
    ("road", "bus"),
    ("animal", "dog"),
    ("animal", "cat"),
    ("sea", "ship"),
    ("road", "car"),
]
NAMES = ["vehicle.road.bus", "vehicle.road.car", "animal.cat", "animal.dog", "vehicle.sea.ship"]


def path_lengths(tree: ClassTree) -> np.ndarray:
    every = np.arange(tree.n_classes)
    return tree.path_length(every[:, None], every)


def test_every_source_of_one_taxonomy_gives_the_same_paths():
    trees = [
        ClassTree.from_nested(NESTED),
        ClassTree.from_edges(EDGES),
        ClassTree.from_names(NAMES),
        ClassTree.from_names([name.replace(".", "/") for name in NAMES], separator="/"),
        ClassTree.from_networkx(networkx.DiGraph(EDGES)),
        ClassTree.from_networkx(networkx.Graph(EDGES), root="all", classes=["bus", "car", "cat", "dog", "ship"]),
    ]
    for tree in trees:
        np.testing.assert_array_equal(path_lengths(tree), path_lengths(trees[0]))


def test_classes_are_the_sorted_leaves_unless_given():
    assert ClassTree.from_edges(EDGES).class_labels == ("bus", "car", "cat", "dog", "ship")
    assert ClassTree.from_edges(EDGES, classes=["ship", "cat"]).class_labels == ("ship", "cat")


def test_children_keep_the_order_of_their_edges():
    tree = ClassTree.from_edges(EDGES)
    in_order = [tree.class_labels[k] for k in tree.class_order()]
    assert in_order == ["dog", "cat", "bus", "car", "ship"]
    assert [tree.labels[node] for node in tree.children(tree.root)] == ["animal", "vehicle"]


def test_integer_arrays_are_edges_too():
    tree = ClassTree.from_edges(np.array([[4, 5], [4, 1], [5, 0], [5, 2]]), classes=range(3))
    np.testing.assert_array_equal(path_lengths(tree), [[0, 3, 2], [3, 0, 3], [2, 3, 0]])


def test_several_roots_are_joined_under_a_new_one():
    tree = ClassTree.from_edges([("noun", "cat"), ("verb", "run"), ("verb", "eat")])
    assert tree.labels[tree.root] is None
    assert tree.class_labels == ("cat", "eat", "run")
    assert tree.path_length(0, 1) == 4


def test_edges_may_bring_lengths():
    tree = ClassTree.from_edges([("r", "a", 1.5), ("r", "b", 2.0)])
    assert tree.path_length(0, 1) == 3.5
    graph = networkx.DiGraph()
    graph.add_weighted_edges_from([("r", "a", 1.5), ("r", "b", 2.0)])
    assert ClassTree.from_networkx(graph, length="weight").path_length(0, 1) == 3.5
    assert ClassTree.from_networkx(graph).path_length(0, 1) == 2


def test_inner_nodes_in_different_places_may_share_a_name():
    tree = ClassTree.from_nested({"land": {"other": ["cat"]}, "sea": {"other": ["ship"]}})
    assert tree.path_length(0, 1) == 6
    with pytest.raises(ValueError, match="Found more than once: 'other'"):
        ClassTree.from_nested({"land": {"other": ["cat"]}, "sea": {"other": ["ship"]}}, classes=["other"])


def test_a_linkage_gives_its_cophenetic_distances_and_its_leaf_order():
    X = np.random.default_rng(0).normal(size=(30, 3))
    Z = linkage(X, "average", optimal_ordering=True)
    tree = ClassTree.from_linkage(Z, labels=[f"c{k}" for k in range(30)])
    np.testing.assert_allclose(path_lengths(tree), squareform(cophenet(Z, pdist(X))[1]))
    assert tree.class_order().tolist() == leaves_list(Z).tolist()
    assert tree.is_binary
    assert tree.class_labels[7] == "c7"
    assert ClassTree.from_linkage(Z, unit_edges=True).depth.max() >= np.log2(30)


def test_a_linkage_that_goes_down_needs_unit_edges():
    Z = linkage(np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.87]]), "centroid")
    with pytest.raises(ValueError, match="unit_edges=True"):
        ClassTree.from_linkage(Z)
    assert ClassTree.from_linkage(Z, unit_edges=True).n_classes == 3


@pytest.mark.parametrize(
    ("edges", "sentence"),
    [
        ([("a", "b"), ("b", "c"), ("c", "a")], "no cycles. Going up from .* leads back to it"),
        ([("r", "x"), ("a", "b"), ("b", "a")], "no cycles. Going up from '[ab]' leads back to it: '[ab]' -> '[ba]'"),
        ([("a", "a")], "no cycles"),
        ([("a", "c"), ("b", "c")], "'c' has two, 'a' and 'b'"),
        ([("a", "c"), ("a", "c")], "Got 'a' -> 'c' twice"),
        ([], "at least one edge"),
        ([("a", "b", "c", "d")], "pairs .* or triples"),
        ([("a", "b"), ("a", "c", 1.0)], "all alike"),
        ([("a", "b", -1.0)], "not negative. Got -1.0 above 'b'"),
        ([("a", "b"), ("a", 1)], "cannot be sorted"),
    ],
)
def test_edges_that_make_no_tree_are_refused_in_one_sentence(edges, sentence):
    with pytest.raises(ValueError, match=sentence):
        ClassTree.from_edges(edges)


def test_missing_classes_are_named():
    with pytest.raises(ValueError, match="Not found: 'w', 'x', 'y' and 1 more"):
        ClassTree.from_edges(EDGES, classes=["cat", "w", "x", "y", "z"])


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: ClassTree([-1, -1], [0]), "one root"),
        (lambda: ClassTree([-1, 2], [0]), "numbered 0 to 1. Got 2"),
        (lambda: ClassTree([-1, 0], [2]), "Got 2 in node_of_class"),
        (lambda: ClassTree([-1, 0], []), "at least one class"),
        (lambda: ClassTree([-1, 0], [1, 1]), "Classes 0 and 1 are both on node 1"),
        (lambda: ClassTree([-1.0, 0.0], [1]), "array of integers"),
        (lambda: ClassTree([-1, 0], [1], [1.0]), "one edge length per node"),
        (lambda: ClassTree([-1, 0], [1], labels=["a"]), "one label per node"),
        (lambda: ClassTree([-1, 0, 3, 2], [1]), "no cycles"),
        (lambda: ClassTree.from_nested({}), "something in it"),
        (lambda: ClassTree.from_nested([["a"], ["a"]]), "'a' more than once"),
        (lambda: ClassTree.from_names(["a", "a"]), "are both on 'a'"),
        (lambda: ClassTree.from_names(["a", "."]), "must not be empty"),
        (lambda: ClassTree.from_names(["a"], separator=""), "separator"),
        (lambda: ClassTree.from_networkx(networkx.path_graph(3)), "'root'"),
        (lambda: ClassTree.from_networkx(networkx.cycle_graph(3), root=0), "has 2 edges.* Got 3 edges"),
        (lambda: ClassTree.from_linkage(np.zeros((2, 3))), "four columns"),
        (lambda: ClassTree.from_linkage([[0, 0, 1, 2]]), "joined exactly once"),
        (lambda: ClassTree.from_linkage([[0, 1, 1, 2]], labels="abc"), "one label per class, 2"),
        (lambda: ClassTree.from_edges(EDGES).restricted_to([7]), "numbered 0 to 4. Got 7"),
    ],
)
def test_what_is_no_tree_is_refused_in_one_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_a_real_taxonomy_is_read_whole(shared_data):
    edges = np.loadtxt(shared_data("icd10cm_category") / "taxonomy.txt.gz", dtype=int)
    tree = ClassTree.from_edges(edges, classes=range(1532))
    assert tree.labels[tree.root] == edges[0, 0]
    assert tree.n_nodes == len(edges) + 1
    assert len(list(tree.splits())) == 1531
