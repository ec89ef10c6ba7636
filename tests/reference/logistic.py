"""Trees of logistic regressions, written out: Newton steps for each child on its own, and products along paths."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_expit


def node_logistic(X, targets, weights, order, *, step, curvature) -> tuple[np.ndarray, np.ndarray]:
    """Weights and curvatures, (n_features, n_children), after one diagonal Newton step per entry of the order."""
    w = np.zeros((X.shape[1], targets.shape[1]))
    g = np.full_like(w, curvature)
    for sample in order:
        x = X[sample].astype(np.float64)
        p = expit(x @ w)
        g += weights[sample] * np.outer(x**2, p * (1 - p))
        w -= weights[sample] * step * np.outer(x, p - targets[sample]) / g
    return w, g


def leaf_log_probabilities(margins: np.ndarray, tree) -> np.ndarray:
    """The logarithms of the marginal probabilities of all leaves, (n_samples, n_leaves): sums along the paths."""
    logs = np.zeros((len(margins), tree.n_paths))
    for leaf in range(tree.n_paths):
        path = tree.unrank([leaf])[0]
        logs[:, leaf] = log_expit(margins[:, path[path >= 0]].astype(np.float64)).sum(axis=1)
    return logs
