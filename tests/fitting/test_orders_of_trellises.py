import numpy as np
import pytest

from codekin import ExtremeClassifier
from codekin.data import make_sparse_topics
from codekin.fitting.plan import extreme_plan
from codekin.fitting.trial import Holdout
from tests.fitting.open_settings import open_settings

pytestmark = pytest.mark.xdist_group("order choice")  # one search for all of them


@pytest.fixture(scope="module")
def topics():
    return make_sparse_topics(100, 1_200, n_features=800, rng=0)


def fitted(topics, *, has_validation=True, **settings):
    held_out = (topics.test.X, topics.test.y) if has_validation else None
    classifier = ExtremeClassifier(2, rerank=None, random_state=0, taxonomy=topics.class_tree, **settings)
    return classifier.fit(topics.train.X, topics.train.y, validation=held_out)


def test_beyond_fifty_thousand_classes_the_depth_first_order_is_the_default():
    plans = [extreme_plan(open_settings(n, width=2, rerank=None))[0] for n in (99, 100, 50_000, 50_001)]
    policies = [plan.assignment for plan in plans]
    assert policies == ["ordered", "learnability", "learnability", "ordered"]


@pytest.fixture(scope="module")
def orders(topics):
    """The order of each policy when it is asked for by its name."""
    return {policy: fitted(topics, assignment=policy) for policy in ("learnability", "preserving")}


def test_the_order_that_the_validation_samples_prefer_is_kept(topics, orders, monkeypatch):
    tried = []

    def accuracy(self, code, *_):
        tried.append(code.assignment.method)
        return float(code.assignment.method == favourite)

    monkeypatch.setattr(Holdout, "accuracy", accuracy)
    for favourite, policy in (("portfolio", "learnability"), ("ordered", "preserving")):
        chosen, alone = fitted(topics).assignment_, orders[policy].assignment_
        assert chosen.method == alone.method == favourite
        np.testing.assert_array_equal(chosen.codeword_of_class, alone.codeword_of_class)
    assert tried == ["portfolio", "ordered"] * 2


def test_a_trial_prefers_the_order_whose_bits_can_be_learned(topics, orders):
    chosen = fitted(topics)
    better = max(orders.values(), key=lambda one: one.score(topics.test.X, topics.test.y))
    np.testing.assert_array_equal(chosen.assignment_.codeword_of_class, better.assignment_.codeword_of_class)


def test_without_validation_samples_nothing_is_tried(topics, monkeypatch):
    monkeypatch.setattr(Holdout, "accuracy", lambda *_: pytest.fail("an order was tried"))
    assert fitted(topics, has_validation=False).assignment_.method == "portfolio"
