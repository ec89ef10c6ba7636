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


def best_of_cells(cell_scores, n_cells, cells, scores, n):
    """The same among the classes of each row's best cells; -1 behind them."""
    found = []
    for of_cells, of_classes in zip(cell_scores, scores, strict=True):
        order = sorted(range(len(cells)), key=lambda c: -of_cells[c])[:n_cells]
        classes = sorted((k for c in order for k in cells[c]), key=lambda k: (-of_classes[k], k))[:n]
        found.append([int(k) for k in classes] + [-1] * (n - len(classes)))
    return found
