import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from tests.blobs import make_blobs_with_tree

from codekin.data import make_sparse_topics

MAKERS = [make_blobs_with_tree, make_sparse_topics]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(("n_classes", "branching"), [(2, 2), (7, 3), (50, 4)])
def test_every_class_is_a_leaf_of_the_tree_and_has_samples(make, n_classes, branching):
    data = make(n_classes, 500, branching=branching, rng=0)
    tree = data.class_tree
    assert tree.n_classes == data.n_classes == n_classes
    assert all(len(tree.children(node)) == 0 for node in tree.node_of_class)
    assert max(len(tree.children(node)) for node in range(tree.n_nodes)) <= branching
    for split in data.splits.values():
        assert np.bincount(split.y, minlength=n_classes).min() >= 500 // n_classes


@pytest.mark.parametrize("make", MAKERS)
def test_the_same_seed_gives_the_same_samples(make):
    first, same, other = (make(8, 100, rng=seed) for seed in (3, 3, 4))
    assert np.array_equal(first.y, same.y)
    assert np.array_equal(np.asarray(first.X[:5].sum(axis=0)), np.asarray(same.X[:5].sum(axis=0)))
    assert not np.array_equal(np.asarray(first.X[:5].sum(axis=0)), np.asarray(other.X[:5].sum(axis=0)))


@pytest.mark.parametrize("make", MAKERS)
def test_classes_that_are_close_in_the_tree_have_close_means(make):
    data = make(16, 4_000, branching=4, rng=0)
    means = np.array([np.asarray(data.X[np.flatnonzero(data.y == k)].mean(axis=0)).ravel() for k in range(16)])
    distances = np.linalg.norm(means[:, None] - means[None], axis=2)
    upper = np.triu_indices(16, k=1)
    in_tree = data.class_tree.path_length(*upper)
    assert distances[upper][in_tree == 2].mean() < 0.9 * distances[upper][in_tree == 4].mean()


@pytest.mark.parametrize("make", MAKERS)
def test_the_test_samples_are_of_the_same_classes(make):
    data = make(8, 800, rng=0)
    dense = [split.X.toarray() if hasattr(split.X, "toarray") else split.X for split in data.splits.values()]
    accuracy = GaussianNB().fit(dense[0], data.y).score(dense[1], data.test.y)
    assert accuracy > 0.5


def test_sparse_rows_are_like_text():
    data = make_sparse_topics(16, 300, words_per_sample=10, rng=0)
    n_in_row = np.diff(data.X.indptr)
    assert 5 <= n_in_row.mean() <= 10
    assert data.X.dtype == np.float32
    assert np.allclose(data.X.multiply(data.X).sum(axis=1), 1)


@pytest.mark.parametrize("make", MAKERS)
def test_one_class_or_one_child_is_refused(make):
    with pytest.raises(ValueError, match="'n_classes' must be at least 2. Got 1 instead."):
        make(1)
    with pytest.raises(ValueError, match="'branching' must be at least 2. Got 1 instead."):
        make(4, branching=1)
