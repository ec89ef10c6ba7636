"""Trees of classes, written out: softmax steps in a node, and probabilities of all leaves by the chain rule."""

from __future__ import annotations

from collections import Counter

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


def large_weights(state: np.ndarray, numbers: np.ndarray, thresholds: np.ndarray) -> tuple[np.ndarray, ...]:
    """How many weights of each feature are larger than its threshold; their children, sizes and curvatures."""
    state = state[numbers]
    is_large = np.abs(state[:, 0]) > thresholds[:, None]
    return is_large.sum(axis=1), np.nonzero(is_large)[1], state[:, 0][is_large], state[:, 1][is_large]


def put_chunks(values: np.ndarray, lengths: np.ndarray, starts: np.ndarray, n: int) -> np.ndarray:
    """An array of length n with chunks of values at their places, and zeros between them."""
    out, ends = np.zeros(n, dtype=values.dtype), np.cumsum(lengths)
    for start, length, end in zip(starts, lengths, ends, strict=True):
        out[start : start + length] = values[end - length : end]
    return out


def node_rows(
    X, wanted: np.ndarray, *, merges: bool = False
) -> tuple[dict[int, int], list[list[int]], list[list[float]]]:
    """The numbers of the features of some rows, in the order in which they occur, and those and the values of each row.

    Features of a single row with the same value may share a number, which is written as -1 - number but for the first.
    """
    own = [slice(X.indptr[row], X.indptr[row + 1]) for row in wanted]
    rows = [list(zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True)) for part in own]
    counts = Counter(feature for row in rows for feature, _ in row)
    found: dict[int, int] = {}
    listed = []
    for row in rows:
        alone: dict[float, int] = {}
        local = []
        for feature, x in row:
            is_merged = merges and counts[feature] == 1 and x in alone
            if feature not in found:
                found[feature] = alone[x] if is_merged else max(found.values(), default=-1) + 1
                if counts[feature] == 1:
                    alone.setdefault(x, found[feature])
            local.append(-1 - found[feature] if is_merged else found[feature])
        listed.append(local)
    return found, listed, [[x for _, x in row] for row in rows]


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


def searched(
    margins: np.ndarray, tree, beam: int, n: int, reach: float = np.inf, far: float = np.inf
) -> tuple[np.ndarray, np.ndarray]:
    """The best leaves of one sample that a beam search comes upon, and their log-probabilities, best first.

    Those further than ``reach`` below the best are left out, and so are nodes further than ``far`` below the best of
    their level, if the nodes before them have enough children.
    """
    leaves: list[tuple[float, int]] = []
    level = [(0.0, 0)]
    while level:
        following = []
        for so_far, node in level:
            if so_far < level[0][0] - far and (len(leaves) >= n or len(following) >= beam):
                break
            bits = slice(tree.first_bits[node], tree.first_bits[node + 1])
            scores = margins[bits].astype(np.float64)
            scores = scores - scores.max() - np.log(np.exp(scores - scores.max()).sum())
            for below, own in zip(tree.children[bits].tolist(), scores, strict=True):
                (following if below >= 0 else leaves).append((so_far + own, below if below >= 0 else -1 - below))
        level = sorted(following, key=lambda pair: -pair[0])[:beam]
    best = sorted(leaves, key=lambda pair: -pair[0])[:n]
    best = [pair for pair in best if pair[0] >= best[0][0] - reach]
    return np.array([leaf for _, leaf in best]), np.array([score for score, _ in best])


def merged_lists(listed, losses, is_candidate, n_each) -> list[dict[int, tuple[list[float], bool]]]:
    """For each sample the classes that trees list, each with its losses (NaN if not listed): is it a candidate?"""
    n_trees = listed.shape[1] // n_each
    every = []
    for classes, own, candidates in zip(listed.tolist(), losses.tolist(), is_candidate.tolist(), strict=True):
        found: dict[int, tuple[list[float], bool]] = {}
        for place, (c, loss, candidate) in enumerate(zip(classes, own, candidates, strict=True)):
            if c >= 0:
                known, was_candidate = found.get(c, ([float("nan")] * n_trees, False))
                known[place // n_each] = loss
                found[c] = known, was_candidate or candidate
        every.append(found)
    return every


def ranked_list(classes, losses, is_candidate, weight, scores, n_out) -> list[tuple[int, float]]:
    """The classes of one sample with their final losses: candidates first, then the others with raised losses."""
    entries = [entry for entry in zip(classes, losses, is_candidate, scores, strict=True) if entry[0] >= 0]
    first = [(loss - weight * score, c) for c, loss, candidate, score in entries if candidate]
    others = [(loss, c) for c, loss, candidate, _ in entries if not candidate]
    worst = max((loss for loss, _ in first), default=-np.inf)
    raised = max(worst - min((loss for loss, _ in others), default=np.inf), 0.0)
    ranked = sorted(first, key=lambda pair: pair[0]) + sorted(
        ((max(loss + raised, worst), c) for loss, c in others), key=lambda pair: pair[0]
    )
    return [(c, loss) for loss, c in ranked[:n_out]]
