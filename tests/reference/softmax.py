"""The multiclass logistic loss over all codewords, its derivatives and its steps, class by class."""

from __future__ import annotations

import numpy as np


def class_probabilities(margins: np.ndarray, coding_matrix: np.ndarray) -> np.ndarray:
    """The softmax of half the products of the codewords with the margins."""
    scores = coding_matrix @ margins.astype(np.float64) / 2
    shares = np.exp(scores - scores.max())
    return shares / shares.sum()


def loss(margins: np.ndarray, coding_matrix: np.ndarray, true_class: int) -> float:
    return float(-np.log(class_probabilities(margins, coding_matrix)[true_class]))


def edge_marginals(margins: np.ndarray, coding_matrix: np.ndarray) -> np.ndarray:
    """For each edge the probability of all classes whose path has it."""
    return class_probabilities(margins, coding_matrix) @ (coding_matrix > 0)


def softmax(X, classes, coding_matrix, weights, order, *, step, curvature) -> tuple[np.ndarray, np.ndarray]:
    """Weights and curvatures, (n_features, n_bits), after one diagonal Newton step per entry of the order."""
    w = np.zeros((X.shape[1], coding_matrix.shape[1]))
    g = np.full_like(w, curvature)
    for sample in order:
        x = X[sample].astype(np.float64)
        p = class_probabilities(x @ w, coding_matrix)
        mean = p @ coding_matrix / 2
        variance = p @ (coding_matrix / 2) ** 2 - mean**2
        gradient = mean - coding_matrix[classes[sample]] / 2
        g += weights[sample] * np.outer(x**2, variance)
        w -= weights[sample] * step * np.outer(x, gradient) / g
    return w, g
