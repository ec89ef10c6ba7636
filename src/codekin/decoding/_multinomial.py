"""Multinomial logistic regression whose weights are shrunk towards given ones, by the best of several strengths.

    minimise  sum_i w_i (log sum_k exp(W_k . u_i) - W_y(i) . u_i)  +  strength / (2 K) ||W - centre||^2,   sum_i w_i = 1

Solved by L-BFGS in coordinates in which the curvature is about the same in all directions: the eigenvectors of
``sum_i w_i u_i u_i'``, divided by the roots of eigenvalue + strength, since the Hessian is at most half of that for
each class (Böhning 1992). The eigenvectors serve all strengths; gradients are computed in single precision.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.code import FloatArray, IntArray

BLOCK_ENTRIES = 2**22
"""Scores of (sample, class) pairs in memory at a time: 32 MB."""

WIDEST = 12.0
"""Scores of unit variance are multiplied by at most ``exp(WIDEST)`` and at least ``exp(-WIDEST)``."""

MAX_ROWS_OF_FACTOR = 4_000
"""This many samples, evenly spaced, suffice to fit one number."""
MAX_FACTOR_STEPS, FACTOR_PRECISION = 40, 0.01

N_CORRECTIONS = 12
"""Of L-BFGS."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Samples whose classes are to be predicted."""

    features: NDArray[np.floating[Any]]
    class_index: IntArray
    sample_weight: FloatArray
    """Positive; they sum to 1."""
    n_classes: int
    smoothing: float
    """Label smoothing: the share of every sample that is spread evenly over all classes."""

    @property
    def work(self) -> float:
        n_samples, n_features = self.features.shape
        return work_of_gradient(n_samples, n_features, self.n_classes)

    def without(self, rows: IntArray) -> Problem:
        """The same without some samples."""
        kept = np.delete(np.arange(len(self.class_index)), rows)
        weights = self.sample_weight[kept]
        return replace(
            self,
            features=self.features[kept],
            class_index=self.class_index[kept],
            sample_weight=weights / weights.sum(),
        )

    @cached_property
    def axes(self) -> tuple[FloatArray, FloatArray, Problem]:
        """Eigenvalues and eigenvectors of the second moments, and the same problem in these coordinates."""
        from scipy import linalg

        second_moment = self.features.T @ (self.features * self.sample_weight[:, None])
        values, vectors = linalg.eigh(second_moment)
        turned = (self.features @ vectors).astype(np.float32)
        return np.maximum(values, 0), vectors, replace(self, features=turned)

    def loss(self, weights: FloatArray, gradient: FloatArray | None = None) -> float:
        """The mean negative log-likelihood of weights (n_classes, n_features); adds its gradient to ``gradient``."""
        total, step = 0.0, max(1, BLOCK_ENTRIES // self.n_classes)
        weights = weights.astype(self.features.dtype, copy=False)
        for start in range(0, len(self.features), step):
            rows = slice(start, start + step)
            # One row per class, so that sums over few classes are fast too.
            scores = weights @ self.features[rows].T
            total += self._add(scores, rows)
            if gradient is not None:
                gradient += scores @ self.features[rows]
        return total

    def _add(self, scores: FloatArray, rows: slice) -> float:
        """The loss of some scores, which are overwritten by its derivatives."""
        own = self.class_index[rows], np.arange(scores.shape[1])
        w = self.sample_weight[rows].astype(scores.dtype, copy=False)
        scores -= scores.max(axis=0)
        explained = (1 - self.smoothing) * scores[own] + self.smoothing * scores.mean(axis=0)
        np.exp(scores, out=scores)
        total = scores.sum(axis=0)
        scores *= w / total
        scores -= self.smoothing / self.n_classes * w
        scores[own] -= (1 - self.smoothing) * w
        return float(w @ (np.log(total) - explained))


def work_of_gradient(n_samples: int, n_features: int, n_classes: int) -> float:
    """About how many multiplications a gradient takes; an exponential counts as twenty."""
    return float(n_samples * n_classes * (2 * n_features + 20))


def best_factor(problem: Problem, weights: FloatArray) -> float:
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


def shrunk_weights(
    problem: Problem,
    centre: FloatArray,
    strength: float,
    start: FloatArray,
    max_gradients: int,
    *,
    tolerance: float = 1e-6,
) -> tuple[FloatArray, int]:
    """The weights that minimise the penalised loss within a number of gradients, and how many were used.

    Infinite strength returns the centre. A step that gains less than ``tolerance`` is the last.
    """
    if np.isinf(strength):
        return centre, 0
    values, vectors, turned = problem.axes
    penalty, scale, turned_centre = strength / problem.n_classes, 1 / np.sqrt(values + strength), centre @ vectors

    def objective(x: FloatArray) -> tuple[float, FloatArray]:
        W = x.reshape(centre.shape) * scale
        off = W - turned_centre
        gradient = penalty * off
        loss = turned.loss(W, gradient)
        return loss + penalty / 2 * float(np.vdot(off, off)), (gradient * scale).ravel()

    from scipy.optimize import minimize

    found = minimize(
        objective,
        (start @ vectors / scale).ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxfun": max_gradients, "maxcor": N_CORRECTIONS, "ftol": tolerance, "gtol": 1e-7},
    )
    return np.asarray((found.x.reshape(centre.shape) * scale) @ vectors.T), int(found.nfev)
