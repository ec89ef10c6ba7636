"""A trellis classifier learns as well from samples on disk as from samples in memory."""

import numpy as np
import pytest

from codekin import ExtremeClassifier
from codekin.data import SparseData, cached_data, make_sparse_topics, write_data
from codekin.samples import EncodedLabels


@pytest.fixture(scope="module")
def topics(tmp_path_factory):
    """Topics in memory, and their training samples on disk: 120 classes, for which much is done by default."""
    made = make_sparse_topics(120, 3_000, n_features=500, rng=0)
    path = tmp_path_factory.mktemp("topics") / "train.svm"
    names = np.array([f"topic-{k:03}" for k in range(120)])
    write_data(path, SparseData(made.X, made.y, names))
    return made, names, cached_data(path, n_features=500, max_memory=2 * 8 * made.X.nnz)


@pytest.mark.parametrize(
    "options",
    [
        {"estimator": "softmax"},
        {"assignment": "preserving", "rerank": "centroid"},
        {"assignment": "preserving", "rerank": None, "width": 3},
        {"assignment": "random", "rerank": None, "n_codes": 2},
        {"code": "tree"},
    ],
    ids=["default", "centroid", "softmax", "members", "tree"],
)
def test_a_classifier_is_as_good_as_one_in_memory(options, topics):
    made, names, stored = topics
    on_disk = ExtremeClassifier(random_state=0, **options).fit(stored.X, stored.encoded_labels)
    in_memory = ExtremeClassifier(random_state=0, **options).fit(made.X, names[made.y])
    assert on_disk.recipe_ == in_memory.recipe_
    np.testing.assert_array_equal(on_disk.classes_, names)
    test, expected = made.test.X, names[made.test.y]
    assert on_disk.score(test, expected) > in_memory.score(test, expected) - 0.03
    measured = on_disk.report(stored.X, stored.encoded_labels), in_memory.report(made.X, names[made.y])
    assert measured[0].error == pytest.approx(measured[1].error, abs=0.03)


def test_a_tree_is_the_same_from_disk_as_from_memory(topics):
    made, names, stored = topics
    settings = {"code": "tree", "rerank": None, "random_state": 0}
    on_disk = ExtremeClassifier(**settings).fit(stored.X, stored.encoded_labels)
    in_memory = ExtremeClassifier(**settings).fit(made.X, names[made.y])
    for name in ("counts", "nodes", "lengths", "children", "weights"):
        of_bits = (getattr(classifier.model_.bits, name) for classifier in (on_disk, in_memory))
        np.testing.assert_array_equal(*of_bits)


def test_labels_as_numbers_give_the_same_as_labels(topics):
    made, names, _ = topics
    encoded = EncodedLabels(names, made.y)
    few = {"assignment": "random", "rerank": None, "random_state": 0}
    first, second = (ExtremeClassifier(**few).fit(made.X, y) for y in (encoded, names[made.y]))
    np.testing.assert_array_equal(first.model_.bits.weights, second.model_.bits.weights)


def test_what_is_not_possible_is_said(topics):
    _, _, stored = topics
    with pytest.raises(ValueError, match="A budget needs samples in memory"):
        ExtremeClassifier(max_model_bytes=10**6).fit(stored.X, stored.encoded_labels)
    with pytest.raises(ValueError, match=r"There are 3000 samples on disk\. Got 2 labels"):
        ExtremeClassifier().fit(stored.X, ["a", "b"])
