"""Dense samples whose classes have a known tree."""

from __future__ import annotations

import numpy as np

from codekin.classes import ClassTree
from codekin.data import Dataset, Split
from codekin.data.embedded import _random_labelled_tree


def make_blobs_with_tree(
    n_classes: int = 16,
    n_samples: int = 2_000,
    *,
    n_features: int = 20,
    branching: int = 2,
    noise: float = 1.0,
    rng: np.random.Generator | int | None = None,
) -> Dataset:
    """Gaussian blobs whose centres follow a tree: the closer two classes are in it, the closer their centres.

    The centre of a node is that of its parent plus a normal step; classes are the leaves.

    There are as many test samples as training samples. An inner node has at most ``branching`` children. ``noise`` is
    the standard deviation of a sample around its centre; a step in the tree has 1. Class numbers are shuffled, so that
    their order says nothing about the tree.

    >>> make_blobs_with_tree(8, 100, rng=0)
    <Dataset blobs: 8 classes, 100 training samples, 100 test samples>
    """
    rng = np.random.default_rng(rng)
    parent, node_of_class = _random_labelled_tree(n_classes, branching, rng)
    centres = np.zeros((len(parent), n_features))
    for node in range(1, len(parent)):
        centres[node] = centres[parent[node]] + rng.normal(size=n_features)
    splits = []
    for _ in range(2):
        y = rng.permutation(np.arange(n_samples, dtype=np.intp) % n_classes)
        X = centres[node_of_class[y]] + noise * rng.normal(size=(n_samples, n_features))
        splits.append(Split(y, X))
    names, tree = tuple(map(str, range(n_classes))), ClassTree(parent, node_of_class)
    return Dataset("blobs", splits[0], names, test=splits[1], class_tree=tree)
