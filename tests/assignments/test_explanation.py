import numpy as np
import pytest

from codekin.assignments import result as explanation
from codekin.assignments.result import ClassPair, nearest_classes, torn_pairs
from codekin.classes import ClassTree, DenseDistances
from codekin.classes.tree_distances import TreeDistances
from codekin.code import Assignment
from codekin.codebooks import dense_random, sparse_random, trellis_codebook


@pytest.fixture
def distances():
    points = np.random.default_rng(0).normal(size=(12, 2))
    return DenseDistances(np.linalg.norm(points[:, None] - points, axis=2))


def test_neighbours_are_those_of_a_sorted_row(distances):
    neighbours, how_near = nearest_classes(distances, range(12), k=4)
    for u in range(12):
        others = sorted((distance, v) for v, distance in enumerate(distances.matrix()[u]) if v != u)
        assert neighbours[u].tolist() == [v for _, v in others[:4]]
        np.testing.assert_array_equal(how_near[u], [distance for distance, _ in others[:4]])


def test_there_are_no_more_neighbours_than_other_classes():
    assert nearest_classes([[0, 1], [1, 0]], [1], k=5)[0].tolist() == [[0]]


@pytest.mark.parametrize("make", [dense_random, sparse_random])
def test_torn_pairs_are_those_with_the_largest_excess_of_codeword_distance(make, distances, monkeypatch):
    monkeypatch.setattr(explanation, "_NEIGHBOURS", 11)  # all pairs are candidates
    codebook = make(12, 15, rng=0)
    assignment = Assignment(np.random.default_rng(1).permutation(12))
    codeword_distance = codebook.row_distances()[np.ix_(*[assignment.codeword_of_class] * 2)]
    A, off = distances.matrix(), ~np.eye(12, dtype=bool)
    excess = codeword_distance / codeword_distance[off].mean() - A / A[off].mean()
    found = torn_pairs(codebook, assignment, distances, n_pairs=12 * 11 // 2)
    assert len({(pair.u, pair.v) for pair in found}) == 66
    np.testing.assert_allclose([excess[pair.u, pair.v] for pair in found], sorted(excess[np.triu_indices(12, 1)])[::-1])
    assert all(pair.codeword_distance == codeword_distance[pair.u, pair.v] for pair in found)


def test_in_a_large_tree_neighbours_in_its_order_are_compared(monkeypatch):
    tree = ClassTree.from_nested([[f"{i:02}-{j}" for j in range(4)] for i in range(16)])
    codebook = trellis_codebook(64)
    scattered = Assignment(np.random.default_rng(0).permutation(64))
    everything = torn_pairs(codebook, scattered, TreeDistances(tree), n_pairs=5)
    monkeypatch.setattr(explanation, "MAX_DENSE_CODEWORDS", 10)
    assert torn_pairs(codebook, scattered, TreeDistances(tree), n_pairs=5)[0] == everything[0]
    assert everything[0].class_distance == 2
    in_order = torn_pairs(codebook, Assignment.identity(64), TreeDistances(tree), n_pairs=1)[0]
    assert in_order.codeword_distance <= everything[0].codeword_distance


def test_the_example_that_is_torn_on_purpose():
    codebook = dense_random(4, 7, rng=0)
    far = np.unravel_index(codebook.row_distances().argmax(), (4, 4))
    others = [k for k in range(4) if k not in far]
    A = np.full((4, 4), 5.0) - 5 * np.eye(4)
    A[0, 1] = A[1, 0] = 1
    found = torn_pairs(codebook, Assignment([*far, *others]), A, n_pairs=1)
    assert found == [ClassPair(0, 1, 1.0, float(codebook.row_distances().max()))]
