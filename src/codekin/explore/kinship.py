"""Which classes are kin: their order, the tree beside it, and the nearest of each class."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from codekin.class_distances.clustering import clustering_distances
from codekin.classes import ClassDistances, ClassTree
from codekin.coding import Code, FloatArray, IntArray
from codekin.coding.geometry import codeword_distances
from codekin.samples import Samples

MOST_PAIRS = 2_000
"""Up to this many classes, all pairs are compared."""
N_KIN = 8


@dataclass(frozen=True, eq=False)
class Kinship:
    """The classes in an order in which neighbours are similar.

    - ``order`` of shape (n_classes,): the classes; everything on the page is in this order.
    - ``tree``: the class tree that the order follows; None if there is none.
    - ``source``: a sentence about where both are from.
    - ``nearest``, ``distances`` of shape (n_classes, n): the nearest classes of each, as places in the order, and how
      far they are; None if no distances are known.
    """

    order: IntArray = field(repr=False)
    tree: ClassTree | None
    source: str
    nearest: IntArray | None = field(default=None, repr=False)
    distances: FloatArray | None = field(default=None, repr=False)


def kinship(code: Code, distances: ClassDistances | None, samples: Samples | None) -> Kinship:
    """What is known of the classes, best source first: the model's class distances, the samples, the codewords."""
    n_classes = code.n_classes
    if distances is not None and distances.tree is not None:
        return _by_tree(distances.tree, distances, "the class tree of the model")
    if distances is not None and n_classes <= MOST_PAIRS:
        tree = _joined(np.asarray(distances.matrix()))
        return _by_tree(tree, distances, "a tree that joins the nearest classes, by the class distances of the model")
    numbers = as_numbers(samples) if n_classes <= MOST_PAIRS else None
    if numbers is not None:
        own = clustering_distances(numbers.X, numbers.class_index, n_classes=n_classes)
        what = "a tree that joins the nearest class means of the samples; the model stores no class distances"
        return _by_tree(own.tree, own, what)
    if code.codebook.graph is not None:
        order = np.argsort(code.assignment.codeword_of_class, kind="stable")
        return Kinship(order, None, "the order of the paths; the model stores no class distances")
    if n_classes <= MOST_PAIRS:
        tree = _joined(codeword_distances(code.indicators, code.indicators))
        what = "a tree that joins the nearest codewords; the model stores no class distances"
        return Kinship(tree.class_order(), tree, what)
    return Kinship(np.arange(n_classes), None, "the order of the labels; the model stores no class distances")


def as_numbers(samples: Samples | None) -> Samples | None:
    """The samples that class means can be made of: finite numbers and a known class; None if there are none."""
    if samples is None:
        return None
    known = np.flatnonzero(samples.class_index >= 0)
    X: Any = samples.X
    is_sparse = sparse.issparse(samples.X)
    try:
        X = X if is_sparse else np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    values = X.data if is_sparse else X
    is_usable = len(known) and X.ndim == 2 and np.isfinite(values).all()
    return Samples(X[known], samples.class_index[known]) if is_usable else None


def _joined(matrix: FloatArray) -> ClassTree:
    """The tree of average linkage with its branches in the best order; distances may be negative."""
    apart = matrix - min(float(matrix.min()), 0.0)
    np.fill_diagonal(apart, 0.0)
    return ClassTree.from_linkage(linkage(squareform(apart, checks=False), "average", optimal_ordering=True))


def _by_tree(tree: ClassTree, distances: Any, source: str) -> Kinship:
    order = tree.class_order()
    n, n_kin = len(order), min(N_KIN, len(order) - 1)
    if n <= MOST_PAIRS:
        apart = np.array(distances.matrix(), dtype=np.float64)[np.ix_(order, order)]
        np.fill_diagonal(apart, np.inf)
        nearest = np.argsort(apart, axis=1, kind="stable")[:, :n_kin]
        return Kinship(order, tree, source, nearest, np.take_along_axis(apart, nearest, axis=1))
    # Neighbours in the order, on both sides.
    steps = np.concatenate([np.arange(-n_kin, 0), np.arange(1, n_kin + 1)])
    around = np.arange(n)[:, None] + steps
    around = np.where(around < 0, around + 2 * n_kin + 1, np.where(around >= n, around - 2 * n_kin - 1, around))
    apart = distances.between(order[:, None], order[around])
    best = np.argsort(apart, axis=1, kind="stable")[:, :n_kin]
    nearest = np.take_along_axis(around, best, axis=1)
    what = f"{source}; kin are looked for near a class in this order"
    return Kinship(order, tree, what, nearest, np.take_along_axis(apart, best, axis=1))


def tree_arrays(tree: ClassTree) -> dict[str, NDArray[Any]]:
    """The inner nodes of a tree: the rows that each spans in the order of the classes, and its depth in edges."""
    spans = tree.class_spans
    sizes = spans[:, 1] - spans[:, 0]
    depth = np.zeros(tree.n_nodes, dtype=np.intp)
    for node in tree.preorder.tolist()[1:]:
        depth[node] = depth[tree.parent[node]] + 1
    inner = np.flatnonzero(sizes > 1)
    return {"node_first": spans[inner, 0], "node_last": spans[inner, 1] - 1, "node_depth": depth[inner]}
