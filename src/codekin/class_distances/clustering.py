"""A class tree learned from data: average linkage of the class means."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from codekin.class_distances.projections import leading_directions
from codekin.class_distances.samples import class_samples
from codekin.classes import ClassTree
from codekin.classes.embedding import EmbeddingDistances
from codekin.classes.interface import MAX_DENSE_CLASSES
from codekin.classes.tree_distances import TreeDistances
from codekin.coding import FloatArray, IntArray

MAX_ORDERED_CLASSES = 2_000
"""Up to this many leaves are put in optimal order, in cubic time."""


def clustering_distances(
    X: Any,
    class_index: ArrayLike,
    *,
    n_classes: int | None = None,
    sample_weight: ArrayLike | None = None,
    rng: np.random.Generator | int | None = None,
    optimal_order: bool | None = None,
    unit_edges: bool = False,
    n_components: int = 256,
) -> TreeDistances:
    """Path lengths in a binary tree of the classes, made by repeatedly joining the two nearest clusters.

    The distance of two clusters is the average over their pairs of class means. The length of the path between two
    classes is the distance of the clusters that joined them. The tree also gives an order of the classes: neighbours in
    ``distances.tree.class_order()`` are similar.

    Up to 5,000 classes this is average linkage of Euclidean distances. Beyond that there is no matrix of all pairs:
    averages of squared distances are computed from the centres and radii of the clusters, in ``n_components``
    dimensions; time grows with the square of the number of classes.

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
        For the projection beyond 5,000 classes; nothing else is random.
    optimal_order : bool, optional
        Order the branches so that neighbours in depth-first order are as near as the tree allows. By default, up to
        2,000 classes; at most 5,000.
    unit_edges : bool, default=False
        Give every edge length 1, as in a taxonomy without lengths.
    n_components : int, default=256
        How many leading singular directions of the class means are used beyond 5,000 classes.

    Returns
    -------
    TreeDistances
        Classes without samples hang from the root, as deep as the others.

    Examples
    --------
    >>> tree = clustering_distances([[0.0], [1.0], [9.0], [4.0]], [0, 1, 2, 3]).tree
    >>> tree.class_order()
    array([2, 3, 1, 0])
    """
    samples = class_samples(X, class_index, n_classes=n_classes, sample_weight=sample_weight)
    known = np.flatnonzero(samples.has_samples)
    if optimal_order and len(known) > MAX_DENSE_CLASSES:
        raise ValueError(
            f"Leaves are put in optimal order for at most {MAX_DENSE_CLASSES} classes. Got {len(known)} with samples. "
            "Use optimal_order=False."
        )
    means = samples.class_means[known]
    if len(known) == 1:
        tree = ClassTree([-1, 0], [1])
    elif len(known) <= MAX_DENSE_CLASSES:
        if optimal_order is None:
            optimal_order = len(known) <= MAX_ORDERED_CLASSES
        tree = ClassTree.from_linkage(_average_linkage(means, optimal_order), unit_edges=unit_edges)
    else:
        if means.shape[1] > n_components:
            means = means @ leading_directions(means, n_components, np.random.default_rng(rng))
        elif samples.is_sparse:
            means = means.toarray()
        # For many small products threads would mostly wait for each other.
        with threadpool_limits(1, user_api="blas"):
            tree = ClassTree.from_linkage(squared_average_linkage(means), unit_edges=unit_edges)
    return TreeDistances(_with_unknown(tree, known, samples.n_classes))


def _average_linkage(means: Any, optimal_order: bool) -> FloatArray:
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    distances = squareform(EmbeddingDistances(means).matrix(), checks=False)
    return np.asarray(linkage(distances, method="average", optimal_ordering=optimal_order))


def squared_average_linkage(vectors: ArrayLike) -> FloatArray:
    r"""Average linkage of squared Euclidean distances, without the distances.

    The mean squared distance between two clusters is :math:`s_A + s_B - 2 \langle c_A, c_B \rangle`, where :math:`c` is
    the mean and :math:`s` the mean square of the vectors of a cluster. A chain of nearest neighbours (Benzécri 1982;
    Müllner 2011, algorithm 2) finds all joins with at most ``3 * n`` products of a vector and the matrix of means.

    The linkage matrix has the form of SciPy's, except that joins are not sorted by height; heights are roots of mean
    squared distances.
    """
    centred = np.asarray(vectors, dtype=np.float64)
    means = (centred - centred.mean(axis=0)).astype(np.float32)
    n_vectors = len(means)
    squares = np.einsum("ij,ij->i", means, means)
    # Above twice the rounding error of a distance in float32, so that distances fall along a chain and it cannot cycle.
    tie = 1e-5 * float(squares.max())
    size = np.ones(n_vectors)
    # The remaining clusters are in the first rows of the arrays; a join frees a row, which the last one moves into.
    cluster_in_row = np.arange(n_vectors)
    row_of_cluster = np.concatenate([np.arange(n_vectors), np.full(n_vectors - 1, -1)])
    height = np.zeros(2 * n_vectors - 1)
    linkage = np.empty((n_vectors - 1, 4))
    chain: list[int] = []
    for join in range(n_vectors - 1):
        n_left = n_vectors - join
        if not chain:
            chain.append(int(cluster_in_row[0]))
        while True:
            row = row_of_cluster[chain[-1]]
            distances = squares[:n_left] + squares[row] - 2 * (means[:n_left] @ means[row])
            distances[row] = np.inf
            nearest = int(distances.argmin())
            if len(chain) > 1 and distances[row_of_cluster[chain[-2]]] <= distances[nearest] + tie:
                break
            chain.append(int(cluster_in_row[nearest]))
        second, first = chain.pop(), chain.pop()
        a, b = row_of_cluster[first], row_of_cluster[second]
        joined = n_vectors + join
        # Not below its parts, which rounding of a tie could cause.
        height[joined] = max(np.sqrt(max(distances[a], 0.0)), height[first], height[second])
        linkage[join] = first, second, height[joined], size[a] + size[b]
        share = size[a] / (size[a] + size[b])
        means[a] = share * means[a] + (1 - share) * means[b]
        squares[a] = share * squares[a] + (1 - share) * squares[b]
        size[a] += size[b]
        cluster_in_row[a], row_of_cluster[joined] = joined, a
        last = n_left - 1
        if b != last:
            means[b], squares[b], size[b] = means[last], squares[last], size[last]
            cluster_in_row[b] = cluster_in_row[last]
            row_of_cluster[cluster_in_row[b]] = b
    return linkage


def _with_unknown(tree: ClassTree, known: IntArray, n_classes: int) -> ClassTree:
    """The tree of all classes; unknown ones are children of the root."""
    if len(known) == n_classes:
        return tree
    unknown = np.setdiff1d(np.arange(n_classes), known)
    node_of_class = np.empty(n_classes, dtype=np.intp)
    node_of_class[known] = tree.node_of_class
    node_of_class[unknown] = tree.n_nodes + np.arange(len(unknown))
    depth = float(tree.depth[tree.node_of_class].max())
    return ClassTree(
        np.concatenate([tree.parent, np.full(len(unknown), tree.root)]),
        node_of_class,
        np.concatenate([tree.edge_length, np.full(len(unknown), depth)]),
    )
