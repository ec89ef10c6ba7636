"""Softmax over a few classes of each sample, and the best classes by exact scores, one number at a time."""

import numpy as np


def softmax_pass(rows, class_of_row, weights, candidates, steps, of_bias, vectors, bias):
    """The vectors and biases after a gradient step for each row."""
    vectors, bias = np.array(vectors, dtype=np.float64), np.array(bias, dtype=np.float64)
    for x, own, weight, listed, step in zip(rows, class_of_row, weights, candidates, steps, strict=True):
        classes = sorted({int(own), *(int(k) for k in listed if k >= 0)})
        scores = vectors[classes] @ x + bias[classes]
        excess = np.exp(scores - scores.max())
        excess /= excess.sum()
        excess[classes.index(own)] -= 1
        vectors[classes] -= step * weight * excess[:, None] * x
        bias[classes] -= of_bias * step * weight * excess
    return vectors, bias


def best_classes(scores, n):
    """The classes of the n largest scores; of equal ones, the first class."""
    return [sorted(range(len(row)), key=lambda k: (-row[k], k))[:n] for row in scores]
