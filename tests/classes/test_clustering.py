"""Class trees learned from class means."""

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import cophenet, leaves_list, linkage
from scipy.spatial.distance import pdist

from codekin.classes import ClassTree
from codekin.classes.distances import clustering_distances
from codekin.classes.means import squared_average_linkage


def one_sample_per_class(n_classes, n_features=6, seed=0):
    return np.random.default_rng(seed).normal(size=(n_classes, n_features)), np.arange(n_classes)


def test_path_lengths_are_cophenetic_distances_of_average_linkage():
    X, y = one_sample_per_class(40)
    distances = clustering_distances(X, y)
    pairs = np.triu_indices(40, k=1)
    np.testing.assert_allclose(distances.matrix()[pairs], cophenet(linkage(pdist(X), "average")), rtol=1e-9)


def test_leaves_are_in_optimal_order_on_request():
    X, y = one_sample_per_class(30)
    for wanted in (True, False):
        expected = leaves_list(linkage(pdist(X), "average", optimal_ordering=wanted))
        order = clustering_distances(X, y, optimal_order=wanted).tree.class_order()
        assert order.tolist() in (expected.tolist(), expected[::-1].tolist())


def test_clusters_of_classes_are_found_again():
    rng = np.random.default_rng(0)
    centres = np.repeat(10 * np.eye(4), 5, axis=0)
    y = np.repeat(np.arange(20), 8)
    shuffled = rng.permutation(20)
    X = centres[shuffled[y]] + rng.normal(size=(160, 4))
    order = clustering_distances(X, y).tree.class_order()
    groups = shuffled[order] // 5
    assert (np.diff(groups) != 0).sum() == 3


@pytest.mark.parametrize("n_vectors", [2, 3, 50, 300])
def test_linkage_without_distances_agrees_with_that_of_squared_distances(n_vectors):
    X, _ = one_sample_per_class(n_vectors)
    tree = ClassTree.from_linkage(squared_average_linkage(X))
    expected = cophenet(linkage(pdist(X, "sqeuclidean"), "average"))
    u, v = np.triu_indices(n_vectors, k=1)
    np.testing.assert_allclose(tree.path_length(u, v) ** 2, expected, rtol=1e-4)


def test_linkage_without_distances_survives_equal_vectors():
    X = np.repeat(np.arange(5.0), 20)[:, None]
    rows = squared_average_linkage(X)
    tree = ClassTree.from_linkage(rows)
    assert tree.n_classes == 100
    assert (np.diff(X[tree.class_order(), 0]) != 0).sum() == 4
    assert rows[-1, 3] == 100


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("n_components", [3, 256])
def test_many_classes_are_clustered_without_a_matrix_of_all_pairs(monkeypatch, as_sparse, n_components):
    monkeypatch.setattr("codekin.classes.means.MAX_DENSE_CLASSES", 10)
    rng = np.random.default_rng(0)
    X = np.repeat(10 * np.eye(4), 5, axis=0) + rng.normal(size=(20, 4))
    distances = clustering_distances(
        sparse.csr_array(X) if as_sparse else X, np.arange(20), n_components=n_components, rng=0
    )
    order = distances.tree.class_order()
    assert (np.diff(order // 5) != 0).sum() == 3
    with pytest.raises(ValueError, match="at most 10 classes. Got 20"):
        clustering_distances(X, np.arange(20), optimal_order=True)


def test_classes_without_samples_hang_from_the_root():
    X, _ = one_sample_per_class(4)
    distances = clustering_distances(X, [0, 1, 3, 4], n_classes=6)
    matrix = distances.matrix()
    assert distances.tree.n_classes == 6
    np.testing.assert_allclose(matrix[2, [0, 1, 3, 4, 5]], matrix[np.ix_([0, 1, 3, 4], [0, 1, 3, 4])].max())
    assert clustering_distances([[1.0]], [2], n_classes=4).n_classes == 4


def test_unit_edges_make_a_plain_tree():
    X, y = one_sample_per_class(8)
    tree = clustering_distances(X, y, unit_edges=True).tree
    assert set(tree.edge_length.tolist()) == {0.0, 1.0}
    assert tree.is_binary
