"""Small problems shared by the tests."""

import numpy as np

from codekin.classes import ClassTree
from codekin.classes.tree_distances import TreeDistances
from codekin.code import Codebook


def random_codebook(n_codewords, n_bits=6, seed=0, *, is_ternary=False):
    rng = np.random.default_rng(seed)
    rows = np.unique(rng.choice([-1, 0, 1] if is_ternary else [-1, 1], (20 * n_codewords, n_bits)), axis=0)
    while True:
        chosen = rows[rng.permutation(len(rows))[:n_codewords]]
        if not is_ternary or ((chosen > 0).any() and (chosen < 0).any()):
            return Codebook(chosen)


def random_distances(n_classes, seed=0):
    points = np.random.default_rng(seed).normal(size=(n_classes, 3))
    return np.linalg.norm(points[:, None] - points[None], axis=-1)


def random_tree(n_classes, seed=0):
    """A binary-ish tree with the classes on its leaves, in shuffled order."""
    rng = np.random.default_rng(seed)
    nodes = [str(k) for k in rng.permutation(n_classes)]
    while len(nodes) > 1:
        size = int(rng.integers(2, 4))
        nodes = [*nodes[size:], nodes[:size]]
    return ClassTree.from_nested(
        nodes[0] if isinstance(nodes[0], list) else nodes, classes=[str(k) for k in range(n_classes)]
    )


def random_tree_distances(n_classes, seed=0):
    return TreeDistances(random_tree(n_classes, seed))
