from itertools import islice

import numpy as np
import pytest
from scipy import sparse

from codekin.data import make_sparse_topics
from codekin.fitting import learned_vectors as learning
from codekin.fitting.learned_vectors import centroids, learned_vectors
from codekin.model.class_vectors import ClassVectors


@pytest.fixture(scope="module")
def topics():
    return make_sparse_topics(40, 1500, words_per_sample=6, rng=0)


def others(class_index, n_classes):
    """Every class but the sample's own."""
    return (class_index[:, None] + np.arange(1, n_classes)) % n_classes


def accuracy(vectors, X, class_index):
    return (np.asarray((X @ vectors.to_csr().T).todense()).argmax(axis=1) == class_index).mean()


def test_learning_improves_on_the_centroids(topics):
    y = np.asarray(topics.y)
    *_, learned = islice(learned_vectors(topics.X, y, others(y, 40), rng=0), 3)
    assert accuracy(learned, topics.X, y) > accuracy(ClassVectors.of(centroids(topics.X, y)), topics.X, y)


def test_vectors_stay_on_the_features_of_their_classes(topics):
    y = np.asarray(topics.y)
    (learned,) = islice(learned_vectors(topics.X, y, others(y, 40), rng=0), 1)
    allowed = ClassVectors.of(centroids(topics.X, y)).to_csr().toarray() != 0
    assert not (learned.to_csr().toarray() != 0)[~allowed].any()


def test_the_same_seed_gives_the_same_vectors_and_the_samples_are_left_alone(topics):
    y = np.asarray(topics.y)
    before = topics.X.copy()
    first, second = (next(learned_vectors(topics.X, y, others(y, 40), rng=7)) for _ in range(2))
    np.testing.assert_array_equal(first.steps, second.steps)
    np.testing.assert_array_equal(first.scales, second.scales)
    assert (before != topics.X).nnz == 0


def test_the_number_of_threads_changes_nothing(topics, monkeypatch):
    monkeypatch.setattr("codekin.fitting.learned_vectors.SAMPLES_AT_ONCE", 64)
    y = np.asarray(topics.y)
    learned = []
    for n_threads in (1, 3):
        monkeypatch.setattr("codekin.fitting.learned_vectors.available_threads", lambda n=n_threads: n)
        *_, vectors = islice(learned_vectors(topics.X, y, others(y, 40), rng=7), 2)
        learned.append(vectors)
    np.testing.assert_array_equal(learned[0].steps, learned[1].steps)
    np.testing.assert_array_equal(learned[0].scales, learned[1].scales)


def test_samples_at_a_time_change_nothing_but_the_memory(topics, monkeypatch):
    y, rooms, vectors = np.asarray(topics.y), [], []
    made = learning._buffer

    def buffer(n_samples, n_compared, n_entries):
        rooms.append(n_entries)
        return made(n_samples, n_compared, n_entries)

    monkeypatch.setattr(learning, "_buffer", buffer)
    for at_once in (2**20, 5_000, 1):
        monkeypatch.setattr(learning, "ENTRIES_AT_ONCE", at_once)
        vectors.append(next(learned_vectors(topics.X, y, others(y, 40), rng=7)))
        most_of_row = 40 * np.diff(topics.X.indptr).max()
        assert 0 < max(rooms) <= max(2 * at_once, most_of_row)
        rooms.clear()
    for other in vectors[1:]:
        np.testing.assert_array_equal(other.steps, vectors[0].steps)
        np.testing.assert_array_equal(other.scales, vectors[0].scales)


def test_known_means_are_where_learning_begins(topics):
    y = np.asarray(topics.y)
    means = centroids(topics.X, y)
    given, computed = (next(learned_vectors(topics.X, y, others(y, 40), rng=7, means=m)) for m in (means, None))
    np.testing.assert_array_equal(given.steps, computed.steps)
    assert (means != centroids(topics.X, y)).nnz == 0


def test_a_class_without_samples_and_a_sample_without_features_are_no_trouble():
    X = sparse.csr_array(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]))
    vectors = next(learned_vectors(X, np.array([0, 2, 2]), np.array([[1, 2], [0, 1], [-1, -1]]), n_classes=4, rng=0))
    assert np.diff(vectors.indptr).tolist() == [1, 0, 1, 0]
