import numpy as np
import pytest
from scipy import sparse

from codekin import ECOCClassifier, ExtremeClassifier
from codekin.assignments.direct import online_assignment
from codekin.codebooks import dense_random, trellis_codebook


def texts_of_topics(n_topics=6, n_classes=60, n_per_class=12, seed=0):
    """Samples of classes that come in topics: words of the topic, of the class, and others."""
    rng = np.random.default_rng(seed)
    y = np.repeat(rng.permutation(n_classes), n_per_class)
    X = np.zeros((len(y), n_topics + n_classes + 20))
    rows = np.arange(len(y))
    X[rows, y % n_topics] = 1
    X[rows, n_topics + y] = rng.integers(0, 2, len(y))
    X[rows, n_topics + n_classes + rng.integers(0, 20, len(y))] = 1
    return sparse.csr_array(X / np.linalg.norm(X, axis=1, keepdims=True)), y


def test_classes_without_samples_get_the_remaining_paths():
    X, y = texts_of_topics()
    assignment = online_assignment(X, y, trellis_codebook(70), n_classes=70, rng=np.random.default_rng(0))
    assert sorted(assignment.codeword_of_class) == list(range(70))


def test_similar_classes_get_more_similar_paths_than_by_chance():
    X, y = texts_of_topics()
    codebook, rng = trellis_codebook(60), np.random.default_rng(0)
    is_same_topic = np.arange(60)[:, None] % 6 == np.arange(60) % 6
    np.fill_diagonal(is_same_topic, False)

    def distance_within_topics(codeword_of_class):
        return codebook.row_distances()[np.ix_(codeword_of_class, codeword_of_class)][is_same_topic].mean()

    by_chance = [distance_within_topics(rng.permutation(60)) for _ in range(100)]
    online = online_assignment(X, y, codebook, n_classes=60, rng=rng).codeword_of_class
    assert distance_within_topics(online) < np.quantile(by_chance, 0.01)


def test_classifiers_take_it_by_name_and_a_seed_gives_the_same_paths():
    X, y = texts_of_topics()
    orders = []
    for _ in range(2):
        classifier = ExtremeClassifier(width=2, rerank=None, assignment="online", random_state=0).fit(X, y)
        orders.append(classifier.assignment_.codeword_of_class)
        assert classifier.assignment_.method == "online"
    np.testing.assert_array_equal(*orders)
    assert ECOCClassifier(codebook="trellis", assignment="online", random_state=0).fit(X, y).score(X, y) > 0.2


def test_other_codebooks_have_no_paths():
    X, y = texts_of_topics()
    with pytest.raises(ValueError, match="'online' needs the paths of a trellis. Got the dense_random codebook; use"):
        online_assignment(X, y, dense_random(60, 20, rng=0), n_classes=60, rng=np.random.default_rng(0))
