"""Dual coordinate descent for a linear support vector machine with a squared hinge loss, one bit at a time."""

import numpy as np


def svm(X, signs, weights, order, damping, duals):
    """The weights and dual variables of one bit after a pass, from dual variables before it.

    ``signs`` has an entry of each sample; samples of sign 0 or weight 0 are left out. The dual problem is to minimise
    ``|w|**2 / 2 - sum(a) + sum(damping / weights * a**2) / 2`` over ``a >= 0`` with ``w = sum(a * signs * X)``.
    """
    duals = np.array(duals, dtype=np.float64)
    for i in order:
        if weights[i] == 0 or signs[i] == 0:
            continue
        added = damping / weights[i]
        w = (duals * signs) @ X
        gradient = signs[i] * (w @ X[i]) - 1 + duals[i] * added
        duals[i] = max(duals[i] - gradient / (X[i] @ X[i] + added), 0)
    return (duals * signs) @ X, duals


def objective(X, signs, weights, damping, w):
    """The primal problem: what the weights of one bit minimise."""
    losses = np.maximum(1 - signs * (X @ w), 0) ** 2
    return w @ w / 2 + (weights / (2 * damping) * losses * (signs != 0)).sum()
