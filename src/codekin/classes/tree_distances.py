"""Path lengths in a class tree, in closed form for any number of classes, and the forms a taxonomy may have."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from codekin._system.arrays import frozen
from codekin.classes._tree_arrays import listed
from codekin.classes.interface import SummedDistances
from codekin.classes.tree import ClassTree
from codekin.code import CodingMatrix, FloatArray, IntArray

_BLOCK_ENTRIES = 400_000
"""How many running sums are in memory at once."""


class TreeDistances(SummedDistances):
    """Path lengths in a class tree, in closed form: time and memory grow with the tree, not with pairs of classes.

    With ``w_e`` the length of the edge above a node, ``h_u`` the depth of class ``u`` and ``S_e`` the sum of the rows
    of ``M`` below the edge, ``A_uv = h_u + h_v - 2 sum of w_e over the edges above both``, so

        ``Q(M) = 2 <sum_u h_u M_u, sum_u M_u> - 2 sum_e w_e |S_e|^2``.

    >>> distances = TreeDistances(ClassTree.from_nested([["a", "b"], ["c"]]))
    >>> distances.matrix()
    array([[0., 2., 4.],
           [2., 0., 4.],
           [4., 4., 0.]])
    """

    def __init__(self, tree: ClassTree) -> None:
        self.tree: ClassTree = tree

    @property
    def n_classes(self) -> int:
        return self.tree.n_classes

    def between(self, u: ArrayLike, v: ArrayLike) -> FloatArray:
        return self.tree.path_length(u, v)

    @cached_property
    def _class_depth(self) -> FloatArray:
        return self.tree.depth[self.tree.node_of_class]

    @cached_property
    def _shared_edges(self) -> tuple[IntArray, IntArray, FloatArray]:
        """The edges above two classes or more, those above the same classes joined: their classes, and their lengths.

        The classes below an edge are consecutive in depth-first order.
        """
        tree = self.tree
        start, stop = tree.class_spans.T
        is_shared = (stop - start > 1) & (tree.edge_length > 0)
        key, group = np.unique(start[is_shared] * (self.n_classes + 1) + stop[is_shared], return_inverse=True)
        length = np.bincount(group, weights=tree.edge_length[is_shared], minlength=len(key)).astype(np.float64)
        return *np.divmod(key, self.n_classes + 1), length

    @cached_property
    def _own_length(self) -> FloatArray:
        """The length of the edges above only one class, in depth-first order."""
        start, stop = self.tree.class_spans.T
        is_own = stop - start == 1
        return np.bincount(start[is_own], self.tree.edge_length[is_own], self.n_classes).astype(np.float64)

    def _quadratic_form(self, matrix: CodingMatrix) -> float:
        (first, last, length), order = self._shared_edges, self.tree.class_order()
        depth, own_length = self._class_depth[order], self._own_length
        form = 0.0
        # A few bits at a time, so that the running sums of 100,000 classes stay small.
        width = max(1, _BLOCK_ENTRIES // self.n_classes)
        for start in range(0, matrix.shape[1], width):
            M = matrix[order, start : start + width].astype(np.float64)
            running = np.zeros((len(M) + 1, M.shape[1]))
            np.cumsum(M, axis=0, out=running[1:])
            below = running[last] - running[first]
            shared = length @ np.einsum("eb,eb->e", below, below) + own_length @ np.einsum("ub,ub->u", M, M)
            form += 2 * float((depth @ M) @ running[-1]) - 2 * float(shared)
        return form

    @cached_property
    def _row_sums(self) -> FloatArray:
        tree, depth = self.tree, self._class_depth
        # Each edge above u counts as often as there are classes below it, from the first of them in depth-first order
        # to the last.
        start, stop = tree.class_spans.T
        counted = tree.edge_length * (stop - start)
        changes = np.bincount(start, counted, self.n_classes + 1) - np.bincount(stop, counted, self.n_classes + 1)
        shared = np.empty(self.n_classes)
        shared[tree.class_order()] = np.cumsum(changes)[:-1]
        return np.asarray(self.n_classes * depth + depth.sum() - 2 * shared)

    @property
    def _sum_of_squares(self) -> float:
        tree, depth, n_classes = self.tree, self._class_depth, self.n_classes
        spans = tree.class_spans
        n_below = (spans[:, 1] - spans[:, 0]).astype(np.float64)
        running = np.concatenate([[0.0], np.cumsum(depth[tree.class_order()])])
        depth_below = running[spans[:, 1]] - running[spans[:, 0]]
        squared_rise = tree.depth**2 - np.where(tree.parent >= 0, tree.depth[tree.parent], 0.0) ** 2
        return float(
            2 * n_classes * (depth @ depth)
            + 2 * depth.sum() ** 2
            - 8 * float(np.sum(tree.edge_length * depth_below * n_below))
            + 4 * float(np.sum(n_below**2 * squared_rise))
        )

    @cached_property
    def _matrix(self) -> FloatArray:
        tree = self.tree
        order, depth, parting = tree.class_order(), self._class_depth, tree.parting_depths()
        by_rank = np.zeros((self.n_classes, self.n_classes))
        for rank in range(self.n_classes - 1):
            by_rank[rank, rank + 1 :] = np.minimum.accumulate(parting[rank:])
        by_rank = depth[order][:, None] + depth[order][None, :] - 2 * (by_rank + by_rank.T)
        matrix = np.empty_like(by_rank)
        matrix[np.ix_(order, order)] = by_rank
        np.fill_diagonal(matrix, 0.0)
        return frozen(matrix)

    def __repr__(self) -> str:
        return f"<TreeDistances: {self.n_classes} classes, {self.tree.n_nodes} nodes>"


def taxonomy_distances(
    taxonomy: Any, *, classes: Sequence[Hashable] | None = None, separator: str = ".", length: str | None = None
) -> TreeDistances:
    """The lengths of the paths between classes in a taxonomy.

    Parameters
    ----------
    taxonomy : ClassTree, edges, nested dict or list, networkx graph, or names
        Edges are pairs ``(parent, child)`` or triples with a length, as tuples or as the rows of an array; a list of
        lists is nested; names look like ``"a.b.c"``.
    classes : sequence of names, optional
        ``classes[k]`` is the node of class ``k``. By default, the classes of a tree, the names themselves, or the
        leaves in sorted order.
    separator : str, default="."
        The separator of the parts of a name, if names are given.
    length : str, optional
        The edge attribute with the length, if a graph is given; by default all edges have length 1.

    Returns
    -------
    TreeDistances
        Exact and fast for any number of classes.

    Examples
    --------
    >>> taxonomy_distances({"animal": ["cat", "dog"], "vehicle": ["car"]}, classes=["dog", "cat", "car"]).matrix()
    array([[0., 2., 4.],
           [2., 0., 4.],
           [4., 4., 0.]])
    """
    return TreeDistances(class_tree(taxonomy, classes=classes, separator=separator, length=length))


def class_tree(
    taxonomy: Any, *, classes: Sequence[Hashable] | None = None, separator: str = ".", length: str | None = None
) -> ClassTree:
    """A class tree from anything that describes one; the parameters are those of :func:`taxonomy_distances`."""
    if isinstance(taxonomy, ClassTree):
        return taxonomy if classes is None else _reordered(taxonomy, classes)
    if hasattr(taxonomy, "edges") and hasattr(taxonomy, "is_directed"):
        return ClassTree.from_networkx(taxonomy, classes=classes, length=length)
    if isinstance(taxonomy, Mapping):
        return ClassTree.from_nested(taxonomy, classes=classes)
    if isinstance(taxonomy, str) or not isinstance(taxonomy, Iterable):
        raise ValueError(
            "A taxonomy must be a ClassTree, edges, nested dicts or lists, a networkx graph, or names. "
            f"Got {taxonomy!r} instead."
        )
    items = taxonomy if isinstance(taxonomy, np.ndarray) and taxonomy.ndim == 2 else list(taxonomy)
    if isinstance(items, list) and all(isinstance(item, str) for item in items):
        tree = ClassTree.from_names(items, separator=separator)
        return tree if classes is None else _reordered(tree, classes)
    if isinstance(items, np.ndarray) or all(isinstance(item, tuple) for item in items):
        return ClassTree.from_edges(items, classes=classes)
    return ClassTree.from_nested(items, classes=classes)


def _reordered(tree: ClassTree, classes: Sequence[Hashable]) -> ClassTree:
    """The classes of these names, in this order."""
    if tree.class_labels is None:
        raise ValueError("The nodes of this tree have no labels by which 'classes' could be found. Leave it out.")
    class_of_label = {label: k for k, label in enumerate(tree.class_labels)}
    missing = [name for name in classes if name not in class_of_label]
    if missing:
        raise ValueError(f"Every class must be a class of the tree. Not found: {listed(missing)}.")
    return tree.restricted_to([class_of_label[name] for name in classes])
