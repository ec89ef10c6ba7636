"""How large the scores of a decoder should be for the best probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from codekin.code import FloatArray

WIDEST = 12.0
"""Scores of unit variance are multiplied by at most ``exp(WIDEST)`` and at least ``exp(-WIDEST)``."""

MAX_ROWS_OF_FACTOR = 4_000
"""This many samples, evenly spaced, suffice to fit one number."""

MAX_FACTOR_STEPS, FACTOR_PRECISION = 40, 0.01


def best_factor(problem: Any, weights: FloatArray) -> float:
    """The positive factor of some weights that maximises the likelihood of the classes."""
    from scipy.special import softmax

    some = slice(None, None, -(-len(problem.features) // MAX_ROWS_OF_FACTOR))
    w = problem.sample_weight[some] / problem.sample_weight[some].sum()
    scores = problem.features[some] @ (weights - weights.mean(axis=0)).T
    size = float(np.sqrt(w @ np.square(scores).mean(axis=1)))
    if size == 0:
        return 1.0
    scores /= size
    explained = (1 - problem.smoothing) * scores[np.arange(len(w)), problem.class_index[some]]
    explained += problem.smoothing * scores.mean(axis=1)
    low, high, log = -WIDEST, WIDEST, 0.0
    for _ in range(MAX_FACTOR_STEPS):  # Newton's method within bounds: the loss is convex in the factor
        probabilities = softmax(np.exp(log) * scores, axis=1)
        mean = (probabilities * scores).sum(axis=1)
        slope = float(w @ (mean - explained))
        curvature = float(w @ ((probabilities * scores**2).sum(axis=1) - mean**2))
        low, high = (low, log) if slope > 0 else (log, high)
        factor = np.exp(log) - slope / max(curvature, 1e-12)
        new = float(np.log(factor)) if factor > 0 else -np.inf
        log, last = new if low < new < high else (low + high) / 2, log
        if abs(log - last) < FACTOR_PRECISION:
            break
    return float(np.exp(log) / size)
