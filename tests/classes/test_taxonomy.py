"""Path lengths in a taxonomy, however it is given."""

import networkx
import numpy as np
import pytest

from codekin.classes import ClassTree
from codekin.classes.distances import taxonomy_distances
from codekin.classes.tree_distances import class_tree

EDGES = [("all", "animal"), ("all", "ship"), ("animal", "cat"), ("animal", "dog")]
NESTED = {"all": {"animal": ["cat", "dog"], "ship": None}}


@pytest.mark.parametrize(
    "taxonomy",
    [
        EDGES,
        tuple(EDGES),
        iter(EDGES),
        np.array(EDGES),
        [(*edge, 1.0) for edge in EDGES],
        NESTED,
        [NESTED],
        networkx.DiGraph(EDGES),
        ClassTree.from_edges(EDGES),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_form_of_a_taxonomy_gives_the_same_distances(taxonomy):
    distances = taxonomy_distances(taxonomy, classes=["dog", "ship", "cat"])
    np.testing.assert_array_equal(distances.matrix(), [[0, 3, 2], [3, 0, 3], [2, 3, 0]])


def test_names_spell_a_taxonomy():
    distances = taxonomy_distances(["animal/cat", "ship", "animal/dog"], separator="/")
    np.testing.assert_array_equal(distances.matrix(), [[0, 3, 2], [3, 0, 3], [2, 3, 0]])
    reordered = taxonomy_distances(["a.x", "b", "a.y"], classes=["b", "a.y"])
    np.testing.assert_array_equal(reordered.matrix(), [[0, 3], [3, 0]])


def test_a_list_of_lists_is_nested_and_a_list_of_tuples_holds_edges():
    assert class_tree([["a", "b"], ["c", "d"]]).class_labels == ("a", "b", "c", "d")
    assert class_tree([("a", "b"), ("c", "d")]).class_labels == ("b", "d")


def test_lengths_of_a_graph_count_on_request():
    graph = networkx.DiGraph()
    graph.add_edge("r", "a", years=2.5)
    graph.add_edge("r", "b", years=1.0)
    assert taxonomy_distances(graph, length="years").matrix()[0, 1] == 3.5


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: class_tree("animal.cat"), "Got 'animal.cat'"),
        (lambda: class_tree(7), "Got 7"),
        (lambda: class_tree(ClassTree([-1, 0], [1]), classes=["a"]), "no labels"),
        (lambda: class_tree(ClassTree.from_edges(EDGES), classes=["cat", "cow"]), "Not found: 'cow'"),
        (lambda: class_tree(EDGES, classes=["cat", "cow"]), "Not found: 'cow'"),
    ],
)
def test_what_is_no_taxonomy_is_refused(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
