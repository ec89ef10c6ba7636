"""Multinomial logistic regression shrunk towards given weights, one sample and one class at a time."""

import math

import numpy as np


def objective(weights, features, class_index, sample_weight, smoothing, centre, strength):
    """The penalised loss and its gradient, by definition."""
    n_classes = len(weights)
    loss, gradient = 0.0, np.zeros_like(weights)
    for u, y, w in zip(features, class_index, sample_weight, strict=True):
        scores = [float(row @ u) for row in weights]
        log_sum = max(scores) + math.log(sum(math.exp(score - max(scores)) for score in scores))
        for k, score in enumerate(scores):
            target = (1 - smoothing) * (k == y) + smoothing / n_classes
            loss += w * target * (log_sum - score)
            gradient[k] += w * (math.exp(score - log_sum) - target) * u
    penalty = strength / n_classes
    return loss + penalty / 2 * float(((weights - centre) ** 2).sum()), gradient + penalty * (weights - centre)


def class_losses(margins, weights, biases, loss):
    """Minus the score of every class, by definition."""
    losses = np.zeros((len(margins), len(weights)))
    for i, f in enumerate(margins):
        g = [(float(loss(np.array([-x]))[0]) - float(loss(np.array([x]))[0])) / 2 for x in f]
        for k, row in enumerate(weights):
            losses[i, k] = -sum(w * value for w, value in zip(row, g, strict=True)) - biases[k]
    return losses
