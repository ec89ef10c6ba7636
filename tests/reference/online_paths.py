"""LTLS's assignment of paths by trying every path."""

from __future__ import annotations

import numpy as np

from tests.reference.trellis import trellis_paths


def assign_online(X, class_index, order, n_paths, width, fallback, k, n_classes):
    """The path of each class, -1 for those without a sample, and the weights of the edges."""
    paths = trellis_paths(n_paths, width)
    weights = np.zeros((X.shape[1], 1 + max(edge for path in paths for edge in path)))
    path_of_class = np.full(n_classes, -1)
    for sample in order:
        label = class_index[sample]
        if label < 0:
            continue
        edge_weights = X[sample] @ weights
        totals = np.array([edge_weights[list(path)].sum() for path in paths])
        ranked = np.argsort(-totals, kind="stable")
        if path_of_class[label] < 0:
            n_taken = int((path_of_class >= 0).sum())
            among = [path for path in ranked[: min(max(n_taken + 2, 2), k)] if path not in path_of_class]
            path_of_class[label] = [*among, *(path for path in fallback if path not in path_of_class)][0]
        own = path_of_class[label]
        rival = next(path for path in ranked if path != own)
        if totals[rival] + 1 >= totals[own]:
            for path, sign in ((own, 1), (rival, -1)):
                for edge in paths[path]:
                    weights[:, edge] += sign * X[sample]
    return path_of_class, weights
