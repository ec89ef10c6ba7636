import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from tests.reference.splitting import split_order

from codekin.classes.distances import splitting_distances
from codekin.classes.means import halving_tree
from codekin.kernels.balanced_split import balanced_split_order


@pytest.mark.parametrize("n_vectors", [1, 2, 3, 17, 64])
def test_the_kernel_agrees_with_its_readable_twin(n_vectors):
    vectors = sparse.random_array((n_vectors, 30), density=0.3, rng=n_vectors, format="csr")
    order = np.random.default_rng(0).permutation(n_vectors)
    expected = split_order(vectors.toarray(), order.tolist(), 10)
    arrays = (vectors.indptr.astype(np.int64), vectors.indices.astype(np.int64), vectors.data)
    balanced_split_order(*arrays, 30, 10, order)
    np.testing.assert_array_equal(order, expected)


@given(st.permutations(range(13)))
def test_the_leaves_of_the_tree_are_in_the_given_order(order):
    tree = halving_tree(np.array(order))
    assert tree.class_order().tolist() == order
    assert tree.is_binary
    assert tree.depth.max() == 4


def test_groups_of_classes_stay_together():
    rng = np.random.default_rng(0)
    group = rng.permutation(np.repeat(np.arange(4), 8))
    means = 3 * np.eye(4)[group] + 0.3 * rng.random((32, 4))
    X = np.hstack([means, 0.2 * rng.random((32, 20))])
    order = splitting_distances(sparse.csr_array(X), np.arange(32), rng=0).tree.class_order()
    for quarter in group[order].reshape(4, 8):
        assert len(set(quarter)) == 1


def test_dense_and_sparse_samples_give_the_same_tree():
    rng = np.random.default_rng(1)
    X, y = rng.random((50, 6)), np.arange(50) % 11
    orders = [splitting_distances(form(X), y, rng=3).tree.class_order() for form in (np.asarray, sparse.csr_array)]
    np.testing.assert_array_equal(*orders)


def test_classes_without_samples_have_a_place():
    tree = splitting_distances([[1.0, 0.0], [0.0, 1.0]], [0, 3], n_classes=5, rng=0).tree
    assert sorted(tree.class_order()) == [0, 1, 2, 3, 4]
