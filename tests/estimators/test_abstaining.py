"""Answers keep the precision that was promised; samples without a sure answer get None, everywhere in the same way."""

import numpy as np
import pytest

from codekin import ExtremeClassifier, Predictor, load_model, save_model
from codekin.data import make_sparse_topics
from codekin.measures.thresholds import least_for_precision

DATA = make_sparse_topics(40, 3_000, n_features=200, rng=0)
X, Y = DATA.train.X, DATA.train.y
HELD, OF_HELD, NEW, OF_NEW = X[600:1800], Y[600:1800], X[1800:], Y[1800:]


@pytest.fixture(scope="module")
def cautious():
    classifier = ExtremeClassifier(code="tree", width=3, rerank=None, random_state=0).fit(X[:600], Y[:600])
    return classifier.calibrate_sets(HELD, OF_HELD, min_precision=0.9)


def test_the_promised_precision_is_kept_by_giving_fewer_answers(cautious):
    assert cautious.score(NEW, OF_NEW) < 0.88
    answers = cautious.predict(NEW)
    is_given = np.array([answer is not None for answer in answers])
    assert 0.3 < is_given.mean() < 1
    assert (answers == OF_NEW)[is_given].mean() >= 0.9


def test_an_answer_is_the_most_probable_label_if_it_is_probable_enough(cautious):
    best, probabilities = cautious.top_k_proba(NEW, 1)
    for least in (0.2, 0.9):
        wanted = [label if p >= least else None for (label,), (p,) in zip(best.tolist(), probabilities, strict=True)]
        assert cautious.predict(NEW, min_probability=least).tolist() == wanted
    everything = cautious.predict(NEW, min_probability=0)
    assert everything.dtype == Y.dtype
    assert (everything == OF_NEW).mean() == cautious.score(NEW, OF_NEW)


def test_the_promise_is_saved_and_kept_for_single_samples(cautious, tmp_path):
    folder = save_model(cautious, tmp_path / "model")
    answers = cautious.predict(NEW[:40]).tolist()
    assert None in answers
    assert load_model(folder).predict(NEW[:40]).tolist() == answers
    for predictor in (Predictor(cautious), Predictor.load(folder)):
        assert [predictor.predict(NEW[[i]]) for i in range(40)] == answers
        assert predictor.predict(NEW[[0]], min_probability=0) == cautious.predict(NEW[:1], min_probability=0)[0]


def test_learning_on_ends_the_promise():
    classifier = ExtremeClassifier(width=2, rerank=None, random_state=0)
    classifier.partial_fit(X[:600], Y[:600], classes=np.unique(Y)).calibrate_sets(HELD, OF_HELD, min_precision=0.8)
    assert None in classifier.predict(NEW).tolist()
    assert None not in classifier.partial_fit(X[:600], Y[:600]).predict(NEW).tolist()


@pytest.mark.parametrize(("given", "name"), [({"min_probability": 1.5}, "min_probability"), ({}, "min_precision")])
def test_shares_are_between_0_and_1(cautious, given, name):
    with pytest.raises(ValueError, match=f"The '{name}' parameter must be between 0 and 1. Got 1.5 instead."):
        cautious.predict(NEW, **given) if given else cautious.calibrate_sets(HELD, OF_HELD, min_precision=1.5)


@pytest.mark.parametrize(("min_precision", "enough"), [(0.85, 0.4), (0.95, 0.15)])
def test_a_promise_is_broken_in_one_of_twenty_splits_at_most(min_precision, enough):
    # Answers of probability p are right with probability 1 - (1 - p)**2: those above t with 1 - (1 - t)**2 / 3.
    n_splits, broken, answered = 400, 0, 0.0
    for seed in range(n_splits):
        p, u = np.random.default_rng(seed).random((2, 1_000))
        try:
            least = least_for_precision(p, u < 1 - (1 - p) ** 2, min_precision)
        except ValueError:  # nothing is promised
            continue
        broken += 1 - (1 - least) ** 2 / 3 < min_precision
        answered += 1 - least
    # Three standard deviations above 5 %; and the promise is not kept by answering nobody.
    assert broken / n_splits <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n_splits)
    assert answered / n_splits > enough


def test_a_precision_out_of_reach_is_an_error():
    with pytest.raises(
        ValueError, match=r"No threshold keeps a precision of 0\.99 with certainty: at the .* 100 of 200"
    ):
        least_for_precision(np.linspace(0, 1, 200), np.arange(200) % 2 == 0, 0.99)
