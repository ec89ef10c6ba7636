import numpy as np
import pytest

from codekin import TrellisClassifier
from codekin.classes import ClassTree
from codekin.datasets import make_sparse_topics
from codekin.fitting import pilot
from codekin.fitting.learner_choice import tree_learner
from codekin.samples import Samples

POLICIES = ("preserving", "halving")


@pytest.fixture(scope="module")
def topics():
    return make_sparse_topics(200, 10_000, n_features=2_000, words_per_sample=7, rng=0)


def shuffled(tree):
    """The same tree with its classes in other places."""
    places = np.random.default_rng(1).permutation(tree.n_classes)
    return ClassTree(tree.parent, tree.node_of_class[places], tree.edge_length)


def chosen(samples, tree):
    return pilot.better_leaves(POLICIES, samples, tree, width=4, learner=tree_learner("auto"))


def test_a_taxonomy_that_fits_the_samples_is_kept_and_a_shuffled_one_is_not(topics):
    samples = Samples(topics.train.X, topics.train.y)
    assert chosen(samples, topics.class_tree) == "preserving"
    assert chosen(samples, shuffled(topics.class_tree)) == "halving"


def test_a_classifier_with_a_misleading_taxonomy_halves_the_set_of_classes(topics):
    fitted = {
        name: TrellisClassifier(code="tree", width=4, rerank=None, taxonomy=tree, random_state=0).fit(
            topics.train.X, topics.train.y
        )
        for name, tree in (("right", topics.class_tree), ("shuffled", shuffled(topics.class_tree)))
    }
    assert [fitted[name].assignment_.method for name in ("right", "shuffled")] == list(POLICIES)
    assert fitted["shuffled"].plan_["assignment"] == "preserving, halving"


def test_an_assignment_that_is_asked_for_is_not_tried(topics, monkeypatch):
    monkeypatch.setattr(pilot, "_accuracy", lambda *_, **__: pytest.fail("a pilot ran"))
    tree = shuffled(topics.class_tree)
    classifier = TrellisClassifier(code="tree", rerank=None, taxonomy=tree, assignment="preserving", random_state=0)
    assert classifier.fit(topics.train.X, topics.train.y).assignment_.method == "preserving"


def test_too_few_samples_to_judge_by_train_nothing(topics, monkeypatch):
    monkeypatch.setattr(pilot, "_accuracy", lambda *_, **__: pytest.fail("a pilot ran"))
    few = Samples(topics.train.X, topics.train.y).at(np.arange(2_000))
    assert chosen(few, topics.class_tree) == "preserving"


def test_the_first_of_equally_accurate_policies_is_chosen(topics, monkeypatch):
    monkeypatch.setattr(pilot, "_accuracy", lambda *_, **__: 0.5)
    assert chosen(Samples(topics.train.X, topics.train.y), topics.class_tree) == "preserving"
