"""AROW for one learner and one sample at a time, as the paper states it."""

from __future__ import annotations

import numpy as np

ONE, ZERO = np.float32(1), np.float32(0)


def arow_step(weights: np.ndarray, variances: np.ndarray, x: dict[int, np.float32], y: int, r: np.float32) -> None:
    """One learner meets one sample; both arrays, over the features, are changed in place."""
    y32 = np.float32(y)
    margin, confidence = ZERO, ZERO
    for feature, value in x.items():
        margin = margin + value * weights[feature]
        confidence = confidence + value * value * variances[feature]
    if y32 * margin >= 1:
        return
    beta = ONE / (confidence + r)
    alpha = (ONE - y32 * margin) * beta
    for feature, value in x.items():
        reach = variances[feature] * value
        weights[feature] += y32 * alpha * reach
        variances[feature] -= beta * (reach * reach)


def arow(X: np.ndarray, labels: np.ndarray, r: np.ndarray, order: list[int]) -> tuple[np.ndarray, ...]:
    """Weights and variances, (n_features, n_learners), and the weights after each step.

    ``labels`` has a column per learner; 0 means that the learner skips the sample. A number in ``order`` from
    ``len(X)`` on stands for a sample that only the learners see for which it is positive.
    """
    weights = np.zeros((X.shape[1], labels.shape[1]), dtype=np.float32)
    variances = np.ones_like(weights)
    history = []
    for number in order:
        sample = number % len(X)
        x = {int(f): np.float32(X[sample, f]) for f in np.flatnonzero(X[sample])}
        for learner, y in enumerate(labels[sample]):
            is_shown = y != 0 if number < len(X) else y > 0
            if is_shown:
                arow_step(weights[:, learner], variances[:, learner], x, y, np.float32(r[sample]))
        history.append(weights.copy())
    return weights, variances, np.array(history)
