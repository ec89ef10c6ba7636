"""Class distances from class means: between them, in a tree by clustering, and in a tree by repeated halving."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from codekin._system.parallel import single_blas
from codekin.classes import ClassDistances, ClassTree
from codekin.classes.interface import MAX_DENSE_CLASSES, PartialDistances
from codekin.classes.least_squares import leading_directions
from codekin.classes.samples import class_samples
from codekin.classes.tree_distances import TreeDistances
from codekin.classes.vectors import EmbeddingDistances
from codekin.code import FloatArray, IntArray

MAX_ORDERED_CLASSES = 2_000
"""Up to this many leaves are put in optimal order, in cubic time."""
N_ITERATIONS = 10


def mean_distances(
    X: Any,
    class_index: ArrayLike,
    *,
    n_classes: int | None = None,
    sample_weight: ArrayLike | None = None,
    rng: np.random.Generator | int | None = None,  # noqa: ARG001  # all distances from data have it
    squared: bool = False,
) -> ClassDistances:
    r"""Euclidean distances between the means of the classes (App. C.3.2 of Evron et al., 2023).

    .. math:: A_{uv} = \lVert \mu_u - \mu_v \rVert, \qquad \mu_u = \sum_{i: y_i = u} w_i x_i \Big/ \sum_{i: y_i = u} w_i

    with :math:`w` the sample weights. A linear learner can easily keep classes together whose means are close; which
    these are depends on the scale of the features. Means of sparse samples stay sparse.

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
        Ignored: nothing is random here.
    squared : bool, default=False
        Take the squares of the distances; at more than 5,000 classes their sums are much faster.

    Returns
    -------
    ClassDistances
        Classes without samples are at the mean distance from all others.

    Examples
    --------
    >>> mean_distances([[0.0], [2.0], [4.0], [9.0]], [0, 0, 1, 2]).matrix()
    array([[0., 3., 8.],
           [3., 0., 5.],
           [8., 5., 0.]])
    """
    samples = class_samples(X, class_index, n_classes=n_classes, sample_weight=sample_weight)
    known = np.flatnonzero(samples.has_samples)
    distances = EmbeddingDistances(samples.class_means[known], squared=squared)
    if len(known) == samples.n_classes:
        return distances
    return PartialDistances(distances, known, n_classes=samples.n_classes)


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
        from scipy.cluster.hierarchy import linkage
        from scipy.spatial.distance import squareform

        if optimal_order is None:
            optimal_order = len(known) <= MAX_ORDERED_CLASSES
        distances = squareform(EmbeddingDistances(means).matrix(), checks=False)
        joined = linkage(distances, method="average", optimal_ordering=optimal_order)
        tree = ClassTree.from_linkage(joined, unit_edges=unit_edges)
    else:
        if means.shape[1] > n_components:
            means = means @ leading_directions(means, n_components, np.random.default_rng(rng))
        elif samples.is_sparse:
            means = means.toarray()
        # For many small products threads would mostly wait for each other.
        with single_blas():
            tree = ClassTree.from_linkage(squared_average_linkage(means), unit_edges=unit_edges)
    return TreeDistances(_with_unknown(tree, known, samples.n_classes))


def squared_average_linkage(vectors: ArrayLike) -> FloatArray:
    r"""Average linkage of squared Euclidean distances, without the distances, as a linkage matrix of SciPy's form.

    The mean squared distance between two clusters is :math:`s_A + s_B - 2 \langle c_A, c_B \rangle`, where :math:`c` is
    the mean and :math:`s` the mean square of the vectors of a cluster. A chain of nearest neighbours (Benzécri 1982;
    Müllner 2011, algorithm 2) finds all joins with at most ``3 * n`` products of a vector and the matrix of means.
    Joins are not sorted by height; heights are roots of mean squared distances.
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
    """An order of vectors whose halves, quarters and so on contain similar directions."""
    from codekin.kernels.balanced_split import balanced_split_order

    rows = sparse.csr_array(vectors)
    norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    rows = sparse.csr_array(sparse.diags_array(1 / np.where(norms > 0, norms, 1)) @ rows)
    order = np.random.default_rng(rng).permutation(rows.shape[0]).astype(np.int64)
    own = rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data.astype(np.float64, copy=False)
    balanced_split_order(*own, rows.shape[1], N_ITERATIONS, order)
    return np.asarray(order, dtype=np.intp)


def halving_tree(order: IntArray) -> ClassTree:
    """The binary tree over classes in this order in which every node halves its classes, the first half the larger."""
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
