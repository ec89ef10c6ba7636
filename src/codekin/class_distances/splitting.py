"""A class tree for any number of classes, by repeatedly halving the class means."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from codekin.class_distances.samples import class_samples
from codekin.classes import ClassTree
from codekin.classes.tree_distances import TreeDistances
from codekin.coding import IntArray

N_ITERATIONS = 10


def splitting_distances(
    X: Any,
    class_index: ArrayLike,
    *,
    n_classes: int | None = None,
    sample_weight: ArrayLike | None = None,
    rng: np.random.Generator | int | None = None,
) -> TreeDistances:
    """Path lengths in a balanced binary tree of the classes, made by repeatedly halving the set of classes.

    Each set is split by balanced 2-means of the directions of its class means, which stay sparse. Time grows with their
    non-zeros times the depth of the tree, memory with the non-zeros; there is no matrix of pairs, even for a million
    classes.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples.
    class_index : array-like of int of shape (n_samples,)
        The class of each sample, numbered from 0.
    n_classes : int, optional
        The number of classes, if it is not the largest ``class_index`` plus one.
    sample_weight : array-like of shape (n_samples,), optional
        How much each sample counts.
    rng : numpy.random.Generator or int, optional
        For shuffling the classes at the start, so that ties do not depend on their indices.

    Returns
    -------
    TreeDistances
        Every edge has length 1.

    Examples
    --------
    >>> X = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.1], [0.1, 1.0]]
    >>> tree = splitting_distances(X, [0, 1, 2, 3], rng=0).tree
    >>> float(tree.path_length(0, 2)), float(tree.path_length(0, 1))
    (2.0, 4.0)
    """
    samples = class_samples(X, class_index, n_classes=n_classes, sample_weight=sample_weight)
    return TreeDistances(halving_tree(halving_order(samples.class_means, rng)))


def halving_order(vectors: Any, rng: np.random.Generator | int | None = None) -> IntArray:
    """An order of vectors whose halves, quarters and so on contain similar directions.

    >>> halving_order(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1], [0.1, 1.0]]), 0) % 2
    array([1, 1, 0, 0])
    """
    from codekin.kernels.balanced_split import balanced_split_order

    rows = sparse.csr_array(vectors)
    norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    rows = sparse.csr_array(sparse.diags_array(1 / np.where(norms > 0, norms, 1)) @ rows)
    order = np.random.default_rng(rng).permutation(rows.shape[0]).astype(np.int64)
    own = rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data.astype(np.float64, copy=False)
    balanced_split_order(*own, rows.shape[1], N_ITERATIONS, order)
    return np.asarray(order, dtype=np.intp)


def halving_tree(order: IntArray) -> ClassTree:
    """The binary tree over classes in this order in which every node halves its classes, the first half the larger.

    >>> halving_tree(np.array([2, 0, 1])).class_order()
    array([2, 0, 1])
    """
    parents = [np.array([-1])]
    node_of_class = np.zeros(len(order), dtype=np.intp)
    nodes, starts, stops = np.array([0]), np.array([0]), np.array([len(order)])
    n_nodes = 1
    while True:
        sizes = stops - starts
        node_of_class[order[starts[sizes == 1]]] = nodes[sizes == 1]
        inner = sizes > 1
        if not inner.any():
            return ClassTree(np.concatenate(parents), node_of_class)
        nodes, starts, stops = nodes[inner], starts[inner], stops[inner]
        middles = starts + (stops - starts + 1) // 2
        parents.append(np.repeat(nodes, 2))
        starts = np.column_stack([starts, middles]).ravel()
        stops = np.column_stack([middles, stops]).ravel()
        nodes = n_nodes + np.arange(len(starts))
        n_nodes += len(starts)
