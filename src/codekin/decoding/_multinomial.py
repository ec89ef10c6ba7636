"""Multinomial logistic regression whose weights are shrunk towards given ones.

    minimise  sum_i w_i (log sum_k exp(W_k . u_i) - W_y(i) . u_i)  +  strength / (2 K) ||W - centre||^2,   sum_i w_i = 1

Solved by L-BFGS in coordinates in which the curvature is about the same in all directions: ``W R'`` with
``R' R = sum_i w_i u_i u_i' + strength``, since the Hessian is at most half of that for each class (Böhning 1992).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.optimize import minimize, minimize_scalar

from codekin.coding import FloatArray, IntArray

BLOCK_ENTRIES = 2**22
"""Scores of (sample, class) pairs that are in memory at a time: 32 MB."""

WIDEST = 12.0
"""Scores of unit variance are multiplied by at most ``exp(WIDEST)`` and at least ``exp(-WIDEST)``."""

N_CORRECTIONS = 12
"""Of L-BFGS."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Samples whose classes are to be explained."""

    features: FloatArray
    class_index: IntArray
    sample_weight: FloatArray
    """Positive; they sum to 1."""
    n_classes: int
    smoothing: float
    """The share of every sample that is spread over all classes alike, so that certainty has a limit."""

    @property
    def work(self) -> float:
        """That of a gradient."""
        n_samples, n_features = self.features.shape
        return work_of_gradient(n_samples, n_features, self.n_classes)

    def loss(self, weights: FloatArray, gradient: FloatArray | None = None) -> float:
        """The mean negative log-likelihood of weights (n_classes, n_features); adds its gradient to ``gradient``."""
        total, step = 0.0, max(1, BLOCK_ENTRIES // self.n_classes)
        for start in range(0, len(self.features), step):
            rows = slice(start, start + step)
            # A row for each class: sums over few classes are then fast too.
            scores = weights @ self.features[rows].T
            total += self._add(scores, rows)
            if gradient is not None:
                gradient += scores @ self.features[rows]
        return total

    def _add(self, scores: FloatArray, rows: slice) -> float:
        """The loss of some scores, which become its derivatives with respect to them."""
        own = self.class_index[rows], np.arange(scores.shape[1])
        w = self.sample_weight[rows]
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
    """The positive factor of some weights under which the classes are most likely."""
    centred = weights - weights.mean(axis=0)
    second_moment = problem.features.T @ (problem.features * problem.sample_weight[:, None])
    size = float(np.sqrt(max(np.einsum("kf,fg,kg->", centred, second_moment, centred) / problem.n_classes, 0.0)))
    if size == 0:
        return 1.0
    found = minimize_scalar(
        lambda log: problem.loss(weights * (np.exp(log) / size)),
        bounds=(-WIDEST, WIDEST),
        method="bounded",
        options={"xatol": 0.01},
    )
    return float(np.exp(found.x) / size)


def shrunk_weights(
    problem: Problem, centre: FloatArray, strength: float, start: FloatArray, max_gradients: int
) -> tuple[FloatArray, int]:
    """The weights that minimise the penalised loss, as far as so many gradients lead, and how many were used.

    Infinite strength returns the centre.
    """
    if np.isinf(strength):
        return centre, 0
    U, penalty = problem.features, strength / problem.n_classes
    second_moment = U.T @ (U * problem.sample_weight[:, None])
    R = linalg.cholesky(second_moment + strength * np.eye(U.shape[1]))
    inverse = linalg.solve_triangular(R, np.eye(len(R)))
    turned = Problem(U @ inverse, problem.class_index, problem.sample_weight, problem.n_classes, problem.smoothing)

    def objective(x: FloatArray) -> tuple[float, FloatArray]:
        T = x.reshape(centre.shape)
        off = T @ inverse.T - centre
        gradient = penalty * (off @ inverse)
        loss = turned.loss(T, gradient)
        return loss + penalty / 2 * float(np.vdot(off, off)), gradient.ravel()

    found = minimize(
        objective,
        (start @ R.T).ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxfun": max_gradients, "maxcor": N_CORRECTIONS, "ftol": 1e-6, "gtol": 1e-7},
    )
    return np.asarray(found.x.reshape(centre.shape) @ inverse.T), int(found.nfev)
