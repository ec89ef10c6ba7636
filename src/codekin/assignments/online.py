"""LTLS's own assignment: a class gets its path when its first sample comes by."""

from __future__ import annotations

from typing import Any

import numpy as np

from codekin._system.memory import require_memory
from codekin._system.sparse_rows import SparseRows
from codekin._system.stored_rows import blocks_of
from codekin.coding import Assignment, Codebook, IntArray
from codekin.progress import tell


def online_assignment(
    X: Any, class_index: IntArray, codebook: Codebook, *, n_classes: int, rng: np.random.Generator
) -> Assignment:
    """The paths of a trellis, given to classes in one pass over the samples in random order.

    The edges have linear weights, which start at zero and are learned meanwhile. The first sample of a class ranks the
    paths by the weights of their edges; the class gets the first of them that is free, if there is one among the best
    ``ceil(log2 K)``, and otherwise a random one. After every sample, if the path of its class is not ahead of the best
    other path by 1, its edges gain the sample and those of the other path lose it (the separation ranking loss).
    Classes without a sample get the remaining paths at random.

    The weights are dropped: codekin's learners begin afresh with the assignment. LTLS goes on with them. In the
    authors' code, shortcuts to the sink count more than other edges; here they do not.

    References
    ----------
    K. Jasinska and N. Karampatziakis, "Log-time and Log-space Extreme Classification", arXiv:1611.01964, 2016.
    """
    from codekin.kernels.online_paths import assign_online

    trellis = codebook.trellis
    if trellis is None:
        raise ValueError(
            f"The assignment 'online' needs the paths of a trellis. Got the {codebook.name} codebook; use "
            "codebook='trellis', or 'learnability', which suits any codebook."
        )
    n_features = int(X.shape[1])
    require_memory(
        4 * n_features * trellis.n_edges,
        f"Weights of {n_features:,} features x {trellis.n_edges:,} bits x 4 bytes",
        "Use another assignment, fewer bits or fewer features.",
    )
    fallback = rng.permutation(trellis.n_paths)
    weights = np.zeros((n_features, trellis.n_edges), dtype=np.float32)
    taken = np.zeros(trellis.n_paths, dtype=np.bool_)
    path_of_class = np.full(n_classes, -1, dtype=np.int64)
    graph = trellis.width, trellis.digits, trellis.edge_offsets, trellis.unrank(np.arange(trellis.n_paths))
    k = int(np.ceil(np.log2(trellis.n_paths)))
    for some, block in blocks_of(X):
        tell("giving paths to classes online", some.start, X.shape[0], unit="samples")
        rows, classes = SparseRows.of(block), np.ascontiguousarray(class_index[some], dtype=np.int64)
        samples = rows.indptr, rows.indices, rows.values, classes, rng.permutation(len(classes))
        assign_online(*samples, *graph, fallback, k, weights, taken, path_of_class)
    unseen = np.flatnonzero(path_of_class < 0)
    path_of_class[unseen] = fallback[~taken[fallback]][: len(unseen)]
    return Assignment(path_of_class, method="online")
