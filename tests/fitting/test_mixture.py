"""Three weights by Newton's steps agree with a general minimiser, and their vectors with the sum of the scores."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import log_softmax

from codekin.fitting.learned_vectors import mixed_vectors, share_of_means, three_weights
from codekin.model.class_vectors import ClassVectors


def negative_log_likelihood(weights, scores, is_true):
    rows = is_true.any(axis=1)
    logs = log_softmax(np.tensordot(weights, scores[:, rows], axes=1), axis=1)
    return -logs[is_true[rows]].mean()


@pytest.mark.parametrize("strengths", [(1.0, 0.5, 2.0), (1.0, 0.0, 0.7), (0.4, 1.5, 0.0)])
def test_three_weights_are_those_of_the_smallest_loss(strengths):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(3, 800, 6))
    chances = np.exp(np.tensordot(strengths, scores, axes=1))
    places = (np.cumsum(chances / chances.sum(axis=1, keepdims=True), axis=1) < rng.random((800, 1))).sum(axis=1)
    is_true = places[:, None] == np.arange(6)
    is_true[:50] = False  # not among the candidates
    found = three_weights(scores, is_true)
    best = minimize(negative_log_likelihood, np.ones(3), (scores, is_true), bounds=[(0, None)] * 3)
    np.testing.assert_allclose(found, best.x, atol=3e-3)


def test_missing_candidates_and_unknown_classes_say_nothing():
    rng = np.random.default_rng(1)
    scores, is_true = rng.normal(size=(3, 200, 4)), np.arange(4) == rng.integers(4, size=200)[:, None]
    longer = np.concatenate([scores, rng.normal(size=(3, 200, 2))], axis=2)
    longer[0, :, 4:] = -np.inf
    more = np.pad(is_true, ((0, 0), (0, 2)))
    np.testing.assert_allclose(three_weights(longer, more), three_weights(scores, is_true), rtol=0.02)
    assert three_weights(scores, np.zeros_like(is_true)).shape == (3,)


def test_mixed_vectors_score_like_the_two_together():
    rng = np.random.default_rng(2)
    means = sparse.random_array((5, 30), density=0.4, rng=rng, format="csr", dtype=np.float32)
    learned = ClassVectors.of(means.multiply(3.0) - 0.5 * (means != 0))
    X, classes = rng.random((7, 30)), np.tile(np.arange(5), (7, 1))
    apart = learned.scores(X, classes) + 2.5 * (X @ means.T.toarray())
    np.testing.assert_allclose(mixed_vectors(learned, means, 2.5).scores(X, classes), apart, atol=0.2)
    assert mixed_vectors(learned, means, 0.0) is learned
    alone = mixed_vectors(learned, means, share_of_means(np.array([1.0, 0.0, 2.0])))
    np.testing.assert_allclose(alone.to_csr().toarray(), means.toarray(), atol=0.01)
