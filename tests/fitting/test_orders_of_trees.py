import numpy as np
import pytest

from codekin import ExtremeClassifier
from codekin.classes import ClassTree
from codekin.data import make_sparse_topics
from codekin.fitting.trial import Holdout

POLICIES = ("preserving", "halving")


@pytest.fixture(scope="module")
def topics():
    return make_sparse_topics(200, 10_000, n_features=2_000, words_per_sample=7, rng=0)


def shuffled(tree):
    """The same tree with its classes in other places."""
    places = np.random.default_rng(1).permutation(tree.n_classes)
    return ClassTree(tree.parent, tree.node_of_class[places], tree.edge_length)


def fitted(topics, tree, n_samples=None):
    classifier = ExtremeClassifier(code="tree", width=4, rerank=None, taxonomy=tree, random_state=0)
    return classifier.fit(topics.train.X[:n_samples], topics.train.y[:n_samples])


def test_a_taxonomy_that_fits_the_samples_is_kept_and_a_shuffled_one_is_not(topics):
    right, misled = fitted(topics, topics.class_tree), fitted(topics, shuffled(topics.class_tree))
    assert [classifier.assignment_.method for classifier in (right, misled)] == list(POLICIES)
    assert misled.plan_["assignment"] == "halving"  # of the two that were tried


def test_an_assignment_that_is_asked_for_is_not_tried(topics, monkeypatch):
    monkeypatch.setattr(Holdout, "accuracy", lambda *_: pytest.fail("a tree was tried"))
    tree = shuffled(topics.class_tree)
    classifier = ExtremeClassifier(code="tree", rerank=None, taxonomy=tree, assignment="preserving", random_state=0)
    assert classifier.fit(topics.train.X, topics.train.y).assignment_.method == "preserving"


def test_with_too_few_samples_to_hold_out_nothing_is_tried(topics, monkeypatch):
    monkeypatch.setattr(Holdout, "accuracy", lambda *_: pytest.fail("a tree was tried"))
    assert fitted(topics, topics.class_tree, 2_000).assignment_.method == "preserving"


def test_the_first_of_equally_accurate_policies_is_chosen(topics, monkeypatch):
    monkeypatch.setattr(Holdout, "accuracy", lambda *_: 0.5)
    assert fitted(topics, shuffled(topics.class_tree)).assignment_.method == "preserving"
