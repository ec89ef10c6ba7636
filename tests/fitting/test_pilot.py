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
    monkeypatch.setattr(pilot, "_is_right", lambda *_, **__: pytest.fail("a pilot ran"))
    tree = shuffled(topics.class_tree)
    classifier = TrellisClassifier(code="tree", rerank=None, taxonomy=tree, assignment="preserving", random_state=0)
    assert classifier.fit(topics.train.X, topics.train.y).assignment_.method == "preserving"


def test_too_few_samples_to_judge_by_train_nothing(topics, monkeypatch):
    monkeypatch.setattr(pilot, "_is_right", lambda *_, **__: pytest.fail("a pilot ran"))
    few = Samples(topics.train.X, topics.train.y).at(np.arange(2_000))
    assert chosen(few, topics.class_tree) == "preserving"


@pytest.mark.parametrize(
    ("n_won", "n_lost", "better"),
    [(0, 1, "preserving"), (0, 0, "preserving"), (52, 48, "preserving"), (80, 20, "halving")],
)
def test_another_policy_must_be_better_by_more_than_its_standard_error(topics, monkeypatch, n_won, n_lost, better):
    def is_right(policy, _taught, judges, *_, **__):
        right = np.zeros(len(judges), dtype=bool)
        right[: n_won if policy == "halving" else 0] = True
        right[len(right) - (n_lost if policy == "preserving" else 0) :] = True
        return right

    monkeypatch.setattr(pilot, "_is_right", is_right)
    assert chosen(Samples(topics.train.X, topics.train.y), topics.class_tree) == better


@pytest.mark.parametrize("n_samples", [40, 30_000, 400_000])
def test_a_pilot_has_some_of_the_classes_and_a_bounded_number_of_samples(topics, n_samples):
    class_index = np.random.default_rng(0).integers(200, size=n_samples)
    some = pilot.some_classes(class_index, topics.class_tree, np.random.default_rng(0))
    assert len(np.unique(some)) == len(some)
    n_chosen = int(np.isin(class_index, some).sum())
    wanted = min(max(n_samples // 4, pilot.LEAST_SAMPLES), pilot.MOST_SAMPLES, n_samples)
    assert n_chosen <= 1.3 * wanted + 1
    assert n_chosen >= 0.5 * wanted


def test_every_class_keeps_a_sample_to_learn_from():
    class_index = np.random.default_rng(0).integers(50, size=200)
    is_held = pilot.held_out(class_index, np.random.default_rng(0))
    assert 0 < is_held.sum() < 100
    np.testing.assert_array_equal(np.unique(class_index[~is_held]), np.unique(class_index))
