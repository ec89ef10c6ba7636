"""Weights of a code, learned class vectors, class means and seen rows, fitted with the multinomial logistic loss.

The final score of a candidate is ``a * path + b * <learned vector, x> + c * <class mean, x>``. The two vectors have
entries on the same features, so that ``learned + c / b * mean`` is one vector: no extra bytes, no extra time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logsumexp, softmax

from codekin.coding import FloatArray
from codekin.model.class_vectors import ClassVectors

N_STEPS, N_HALVINGS = 12, 20
RIDGE = 1e-4
"""Keeps weights without influence near zero."""
ENOUGH = 1e-6
LEAST_SHARE = 1e-3
"""If a learned vector has less than this share of the weight of the mean, it is noise."""


def score_weights(scores: FloatArray, is_true: NDArray[np.bool_], *, n_signed: int = 0) -> FloatArray:
    """The weights that maximise the likelihood of the true classes among the candidates.

    ``scores`` of shape (n_scores, n_samples, n_candidates); minus infinity in the first means a missing candidate. The
    last ``n_signed`` weights may be negative, the others not. Newton steps on a convex function of a few numbers;
    samples whose class is not among the candidates are ignored.

    >>> scores = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.2], [0.5, 0.1]], [[0.0, 0.0], [0.0, 0.0]]])
    >>> (score_weights(scores, np.array([[True, False], [False, True]])) > 0).tolist()
    [True, False, False]
    """
    rows = is_true.any(axis=1)
    missing = ~np.isfinite(scores[0][rows])
    features = np.where(missing, 0.0, scores[:, rows])
    n = len(scores)
    scale = np.maximum(features.std(axis=(1, 2)), 1e-12)[:, None, None] if features.size else np.ones((n, 1, 1))
    features = features / scale
    own = features[:, is_true[rows]]
    lowest = np.where(np.arange(n) < n - n_signed, 0.0, -np.inf)
    weights = np.where(np.isfinite(lowest), 1.0, 0.0)

    def logits(weights: FloatArray) -> FloatArray:
        return np.where(missing, -np.inf, np.tensordot(weights, features, axes=1))

    def loss(weights: FloatArray) -> float:
        return float((logsumexp(logits(weights), axis=1) - weights @ own).mean() + RIDGE / 2 * weights @ weights)

    for _ in range(N_STEPS if features.size else 0):
        shares = softmax(logits(weights), axis=1)
        means = (shares * features).sum(axis=2)
        gradient = (means - own).mean(axis=1) + RIDGE * weights
        curved = np.einsum("snk,tnk->st", shares * features, features) - means @ means.T
        bend = curved / features.shape[1] + RIDGE * np.eye(n)
        # A weight at zero that would become negative stays there.
        active = (weights > lowest) | (gradient < 0)
        step = np.zeros(n)
        step[active] = np.linalg.solve(bend[np.ix_(active, active)], gradient[active])
        highest = loss(weights)
        # A full step may lead beyond the minimum, from where the next one leads back.
        for _ in range(N_HALVINGS):
            if loss(np.maximum(weights - step, lowest)) <= highest:
                break
            step /= 2
        weights = np.maximum(weights - step, lowest)
        if np.abs(step).max() < ENOUGH:
            break
    return np.asarray(weights / scale[:, 0, 0])


def share_of_means(weights: FloatArray) -> float:
    """How much of a class mean is added to a learned vector; infinite if only the mean counts."""
    learned, mean = weights[1:3]
    return float(np.inf if learned < LEAST_SHARE * mean else mean / learned) if mean > 0 else 0.0


def mixed_vectors(learned: ClassVectors, means: sparse.csr_array, share: float) -> ClassVectors:
    """Learned vectors plus a share of the class means, or the means alone."""
    if share == 0:
        return learned
    return ClassVectors.of(means if share == np.inf else learned.to_csr() + np.float32(share) * means)
