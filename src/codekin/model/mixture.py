"""Weights of a code, learned class vectors and class means, fitted with the multinomial logistic loss.

The final score of a candidate is ``a * path + b * <learned vector, x> + c * <class mean, x>``. The two vectors have
entries on the same features, so that ``learned + c / b * mean`` is one vector: no extra bytes, no extra time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logsumexp, softmax

from codekin.coding import FloatArray, IntArray
from codekin.model.class_vectors import ClassVectors, class_blocks

N_STEPS, N_HALVINGS = 12, 20
RIDGE = 1e-4
"""Keeps weights without influence near zero."""
ENOUGH = 1e-6
SAMPLES_PER_BLOCK = 1_024
LEAST_SHARE = 1e-3
"""If a learned vector has less than this share of the weight of the mean, it is noise."""


def three_weights(scores: Sequence[FloatArray] | FloatArray, is_true: NDArray[np.bool_]) -> FloatArray:
    """The non-negative weights that maximise the likelihood of the true classes among the candidates.

    ``scores`` are three arrays of shape (n_samples, n_candidates); a path score of minus infinity means a missing
    candidate. Newton steps on a convex function of three numbers; samples whose class is not among the candidates are
    ignored.

    >>> scores = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.2], [0.5, 0.1]], [[0.0, 0.0], [0.0, 0.0]]])
    >>> (three_weights(scores, np.array([[True, False], [False, True]])) > 0).tolist()
    [True, False, False]
    """
    rows = np.flatnonzero(is_true.any(axis=1))
    if len(rows) == 0:
        return np.ones(3)
    blocks = [rows[start : start + SAMPLES_PER_BLOCK] for start in range(0, len(rows), SAMPLES_PER_BLOCK)]
    scale = np.maximum([_spread(own, scores[0], rows) for own in scores], 1e-12)
    own = np.stack([given[rows][is_true[rows]] for given in scores]) / scale[:, None]
    weights = np.ones(3)

    def features_and_logits(weights: FloatArray, block: IntArray) -> tuple[FloatArray, FloatArray]:
        features = np.empty((3, len(block), scores[0].shape[1]))
        for own_features, given in zip(features, scores, strict=True):
            own_features[:] = given[block]
        missing = ~np.isfinite(features[0])
        features[:, missing] = 0.0
        features /= scale[:, None, None]
        return features, np.where(missing, -np.inf, np.tensordot(weights, features, axes=1))

    def loss(weights: FloatArray) -> float:
        totals = np.concatenate([logsumexp(features_and_logits(weights, block)[1], axis=1) for block in blocks])
        return float((totals - weights @ own).mean() + RIDGE / 2 * weights @ weights)

    for _ in range(N_STEPS):
        means, curved = np.empty((3, 0)), np.zeros((3, 3))
        for block in blocks:
            features, logits = features_and_logits(weights, block)
            weighted = softmax(logits, axis=1) * features
            means = np.concatenate([means, weighted.sum(axis=2)], axis=1)
            curved += np.einsum("snk,tnk->st", weighted, features)
        gradient = (means - own).mean(axis=1) + RIDGE * weights
        bend = (curved - means @ means.T) / len(rows) + RIDGE * np.eye(3)
        # A weight at zero that would become negative stays there.
        active = (weights > 0) | (gradient < 0)
        step = np.zeros(3)
        step[active] = np.linalg.solve(bend[np.ix_(active, active)], gradient[active])
        highest = loss(weights)
        # A full step may lead beyond the minimum, from where the next one leads back.
        for _ in range(N_HALVINGS):
            if loss(np.maximum(weights - step, 0.0)) <= highest:
                break
            step /= 2
        weights = np.maximum(weights - step, 0.0)
        if np.abs(step).max() < ENOUGH:
            break
    return np.asarray(weights / scale)


def _spread(scores: FloatArray, path_scores: FloatArray, rows: IntArray) -> float:
    """The standard deviation of the scores of some samples, 0 where a candidate is missing."""
    own = scores[rows]
    own[~np.isfinite(path_scores)[rows]] = 0.0
    # As NumPy does it, but in place: there may be as many scores as weights.
    own -= own.mean()
    return float(np.sqrt(np.multiply(own, own, out=own).mean()))


def share_of_means(weights: FloatArray) -> float:
    """How much of a class mean is added to a learned vector; infinite if only the mean counts."""
    _, learned, mean = weights
    return float(np.inf if learned < LEAST_SHARE * mean else mean / learned) if mean > 0 else 0.0


def mixed_vectors(learned: ClassVectors, means: sparse.csr_array, share: float) -> ClassVectors:
    """Learned vectors plus a share of the class means, or the means alone."""
    if share == 0:
        return learned
    if share == np.inf:
        return ClassVectors.of(means)
    blocks = class_blocks(learned.n_classes)
    mixed = (learned.to_csr(start, stop) + np.float32(share) * means[start:stop] for start, stop in blocks)
    return ClassVectors.rounded(mixed, learned.n_features)
