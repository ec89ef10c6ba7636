"""Which classes are similar: their order, the tree that it follows, and the nearest classes of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from codekin.classes import ClassDistances, ClassTree
from codekin.classes.means import clustering_distances
from codekin.code import Code, FloatArray, IntArray
from codekin.code.geometry import codeword_distances
from codekin.samples import Samples

MOST_PAIRS = 2_000
"""Up to this many classes, all pairs are compared."""
N_NEAREST = 8


@dataclass(frozen=True, eq=False)
class ClassSimilarity:
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


def class_similarity(
    code: Code, distances: ClassDistances | None, samples: Samples | None, *, is_in_order: bool = False
) -> ClassSimilarity:
    """What is known of the classes, best source first: the model's class distances, the samples, the codewords.

    ``is_in_order``: whether codewords with numbers close to each other are similar.
    """
    n_classes = code.n_classes
    class_tree = None if distances is None else distances.tree
    if class_tree is not None:
        return _by_tree(class_tree, distances, "the class tree of the model")
    if distances is not None and n_classes <= MOST_PAIRS:
        tree = _joined(np.asarray(distances.matrix()))
        return _by_tree(tree, distances, "a tree that joins the nearest classes, by the class distances of the model")
    numbers = as_numbers(samples) if n_classes <= MOST_PAIRS else None
    if numbers is not None:
        own = clustering_distances(numbers.X, numbers.class_index, n_classes=n_classes)
        what = "a tree that joins the nearest class means of the samples; the model stores no class distances"
        return _by_tree(own.tree, own, what)
    if is_in_order:
        order = np.argsort(code.assignment.codeword_of_class, kind="stable")
        return ClassSimilarity(order, None, "the order of the paths; the model stores no class distances")
    if n_classes <= MOST_PAIRS:
        tree = _joined(codeword_distances(code.indicators, code.indicators))
        what = "a tree that joins the nearest codewords; the model stores no class distances"
        return ClassSimilarity(tree.class_order(), tree, what)
    return ClassSimilarity(np.arange(n_classes), None, "the order of the labels; the model stores no class distances")


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


def _by_tree(tree: ClassTree, distances: Any, source: str) -> ClassSimilarity:
    order = tree.class_order()
    n, n_nearest = len(order), min(N_NEAREST, len(order) - 1)
    if n <= MOST_PAIRS:
        apart = np.array(distances.matrix(), dtype=np.float64)[np.ix_(order, order)]
        np.fill_diagonal(apart, np.inf)
        nearest = np.argsort(apart, axis=1, kind="stable")[:, :n_nearest]
        return ClassSimilarity(order, tree, source, nearest, np.take_along_axis(apart, nearest, axis=1))
    # Neighbours in the order, on both sides.
    steps = np.concatenate([np.arange(-n_nearest, 0), np.arange(1, n_nearest + 1)])
    around = np.arange(n)[:, None] + steps
    around = np.where(around < 0, around + 2 * n_nearest + 1, np.where(around >= n, around - 2 * n_nearest - 1, around))
    apart = distances.between(order[:, None], order[around])
    best = np.argsort(apart, axis=1, kind="stable")[:, :n_nearest]
    nearest = np.take_along_axis(around, best, axis=1)
    what = f"{source}; similar classes are looked for near a class in this order"
    return ClassSimilarity(order, tree, what, nearest, np.take_along_axis(apart, best, axis=1))


def tree_arrays(similarity: ClassSimilarity) -> dict[str, NDArray[Any]]:
    """The inner nodes of the tree, if there is one: the rows that each spans in the order, and its depth in edges."""
    tree = similarity.tree
    if tree is None:
        return {}
    spans = tree.class_spans
    sizes = spans[:, 1] - spans[:, 0]
    depth = np.zeros(tree.n_nodes, dtype=np.intp)
    for node in tree.preorder.tolist()[1:]:
        depth[node] = depth[tree.parent[node]] + 1
    inner = np.flatnonzero(sizes > 1)
    return {"node_first": spans[inner, 0], "node_last": spans[inner, 1] - 1, "node_depth": depth[inner]}
