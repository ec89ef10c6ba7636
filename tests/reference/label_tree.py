"""Trees of classes, written out: softmax steps in a node, and probabilities of all leaves by the chain rule."""

from __future__ import annotations

import numpy as np


def node_softmax(X, children, weights, order, *, n_children, step, curvature) -> tuple[np.ndarray, np.ndarray]:
    """Weights and curvatures, (n_features, n_children), after one diagonal Newton step per entry of the order."""
    w = np.zeros((X.shape[1], n_children))
    g = np.full_like(w, curvature)
    for sample in order:
        x = X[sample].astype(np.float64)
        scores = x @ w
        p = np.exp(scores - scores.max())
        p /= p.sum()
        gradient = p - np.eye(n_children)[children[sample]]
        g += weights[sample] * np.outer(x**2, p * (1 - p))
        w -= weights[sample] * step * np.outer(x, gradient) / g
    return w, g


def large_weights(state: np.ndarray, thresholds: np.ndarray) -> tuple[np.ndarray, ...]:
    """How many weights of each feature are larger than its threshold; their children, sizes and curvatures."""
    is_large = np.abs(state[:, 0]) > thresholds[:, None]
    return is_large.sum(axis=1), np.nonzero(is_large)[1], state[:, 0][is_large], state[:, 1][is_large]


def local_features(indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different features in the order in which they occur, and the number of each entry's."""
    features = list(dict.fromkeys(indices.tolist()))
    return np.array(features), np.array([features.index(feature) for feature in indices.tolist()])


def copied_runs(starts: np.ndarray, lengths: np.ndarray, source: np.ndarray) -> np.ndarray:
    return np.concatenate([source[start : start + length] for start, length in zip(starts, lengths, strict=True)])


def leaf_log_probabilities(margins: np.ndarray, tree) -> np.ndarray:
    """The logarithms of the probabilities of all leaves, (n_samples, n_leaves): from the root down, node by node."""
    logs = np.zeros((len(margins), tree.n_paths))
    nodes = [(0, np.zeros(len(margins)))]
    while nodes:
        node, so_far = nodes.pop()
        bits = slice(tree.first_bits[node], tree.first_bits[node + 1])
        scores = margins[:, bits].astype(np.float64)
        scores = scores - np.log(np.exp(scores - scores.max(axis=1, keepdims=True)).sum(axis=1, keepdims=True))
        scores -= margins[:, bits].max(axis=1, keepdims=True)
        for below, own in zip(tree.children[bits], scores.T, strict=True):
            if below >= 0:
                nodes.append((int(below), so_far + own))
            else:
                logs[:, -1 - below] = so_far + own
    return logs


def searched(margins: np.ndarray, tree, beam: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The best leaves of one sample that a beam search comes upon, and their log-probabilities, best first."""
    leaves: list[tuple[float, int]] = []
    level = [(0.0, 0)]
    while level:
        following = []
        for so_far, node in level:
            bits = slice(tree.first_bits[node], tree.first_bits[node + 1])
            scores = margins[bits].astype(np.float64)
            scores = scores - scores.max() - np.log(np.exp(scores - scores.max()).sum())
            for below, own in zip(tree.children[bits].tolist(), scores, strict=True):
                (following if below >= 0 else leaves).append((so_far + own, below if below >= 0 else -1 - below))
        level = sorted(following, key=lambda pair: -pair[0])[:beam]
    best = sorted(leaves, key=lambda pair: -pair[0])[:n]
    return np.array([leaf for _, leaf in best]), np.array([score for score, _ in best])
