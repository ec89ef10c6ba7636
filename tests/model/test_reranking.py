import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codekin.fitting.trial import best_weight
from codekin.model.reranking import Reranking


def accuracy(losses, scores, is_true, weight):
    return is_true[np.arange(len(losses)), (losses - weight * scores).argmin(axis=1)].mean()


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_the_accuracy_is_that_of_the_weight_and_no_worse_than_without(seed):
    rng = np.random.default_rng(seed)
    losses, scores = np.sort(rng.exponential(size=(60, 5)), axis=1), rng.normal(size=(60, 5))
    place = rng.integers(0, 6, 60)
    is_true = place[:, None] == np.arange(5)
    scores[is_true] += 0.8
    losses[rng.random((60, 5)) < 0.1] = np.inf
    is_true &= np.isfinite(losses)
    weight, claimed = best_weight(losses, scores, is_true)
    np.testing.assert_allclose(claimed, accuracy(losses, scores, is_true, weight), atol=1e-12)
    assert claimed >= accuracy(losses, scores, is_true, 0.0)


def test_useless_scores_get_no_weight():
    losses = np.tile([0.0, 1.0], (20, 1))
    is_true = np.tile([True, False], (20, 1))
    assert best_weight(losses, -1.0 * is_true, is_true) == (0.0, 1.0)
    assert best_weight(losses, np.zeros((20, 2)), ~is_true) == (0.0, 0.0)
    assert best_weight(losses, np.zeros((20, 2)), np.zeros((20, 2), dtype=bool)) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_candidates": 0}, "'n_candidates' of a re-ranking must be at least 1. Got 0"),
        ({"n_candidates": 1, "weight": -1.0}, "'weight' of a re-ranking must not be negative"),
        ({"n_candidates": 1, "weight": np.nan}, "'weight' of a re-ranking must not be negative"),
        ({"n_candidates": 1, "temperature": 0.0}, "'temperature' of a re-ranking must be greater than 0"),
    ],
)
def test_numbers_that_mean_nothing_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        Reranking(**parameters)
