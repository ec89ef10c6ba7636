"""A tree with the classes on its nodes: a given taxonomy, or the result of a clustering.

One walk through the tree is enough, even for 100,000 classes. In depth-first order the classes below a node are
consecutive, so sums over them are differences of running sums. The depth at which two classes part is the minimum of
the depths at which neighbours between them part, so path lengths are range minima.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from codekin._system.arrays import frozen
from codekin.classes._tree_arrays import (
    Walk,
    check_tree,
    cycle_sentence,
    first_outside,
    node_numbers,
    range_minima,
    splits,
    tree_from_edges,
    tree_from_linkage,
    tree_from_names,
    tree_from_nested,
    tree_from_networkx,
    walk_through,
)
from codekin.code import FloatArray, IntArray


class ClassTree:
    """A rooted tree and the nodes of the classes.

    Parameters
    ----------
    parent : array-like of shape (n_nodes,)
        The parent of each node; -1 for the root. Children of one node are in the order of their numbers.
    node_of_class : array-like of shape (n_classes,)
        The node of each class; no two classes share one. A class may be on an inner node: it then counts as a leaf
        below this node, before its other children, on an edge of length 0.
    edge_length : array-like of shape (n_nodes,), optional
        The length of the edge above each node, not negative; 1 by default. That of the root is treated as 0.
    labels : sequence of length n_nodes, optional
        The names of the nodes; None for a node without a name.

    Examples
    --------
    >>> tree = ClassTree.from_nested({"animal": ["cat", "dog"], "vehicle": {"road": ["bus", "car"], "sea": ["ship"]}})
    >>> tree
    <ClassTree: 5 classes, 10 nodes, height 3>
    >>> tree.class_labels
    ('bus', 'car', 'cat', 'dog', 'ship')
    >>> [tree.class_labels[k] for k in tree.class_order()]
    ['cat', 'dog', 'bus', 'car', 'ship']
    >>> tree.path_length([0, 0, 0], [1, 4, 2])
    array([2., 4., 5.])
    """

    def __init__(
        self,
        parent: ArrayLike,
        node_of_class: ArrayLike,
        edge_length: ArrayLike | None = None,
        labels: Sequence[Hashable] | None = None,
    ) -> None:
        self.parent = node_numbers(parent, "parent")
        self.node_of_class = node_numbers(node_of_class, "node_of_class")
        n_nodes = len(self.parent)
        self.edge_length = np.ones(n_nodes) if edge_length is None else np.array(edge_length, dtype=np.float64)
        self.labels = None if labels is None else tuple(labels)
        check_tree(self.parent, self.node_of_class, self.edge_length, self.labels)
        self.edge_length[self.parent == -1] = 0.0
        for array in (self.parent, self.node_of_class, self.edge_length):
            array.flags.writeable = False
        if len(self._walk.preorder) < n_nodes:
            astray = np.setdiff1d(np.arange(n_nodes), self._walk.preorder)
            raise ValueError(cycle_sentence(self.parent, int(astray[0]), self.labels))

    # ----- making trees ---------------------------------------------------------------------------------------------

    @classmethod
    def from_edges(
        cls, edges: Iterable[Sequence[Any]] | ArrayLike, *, classes: Sequence[Hashable] | None = None
    ) -> ClassTree:
        """A tree from pairs ``(parent, child)`` of names.

        Parameters
        ----------
        edges : iterable of (parent, child) or (parent, child, length)
            The edges, in any order; names are anything hashable, and an array with two columns is accepted. Children
            keep the order of their edges. If several nodes have no parent, they are joined under a new unnamed root, by
            edges of length 1.
        classes : sequence of names, optional
            ``classes[k]`` is the node of class ``k``. By default the leaves in sorted order, as scikit-learn numbers
            labels.

        Returns
        -------
        ClassTree
            With the names as labels.

        Examples
        --------
        >>> edges = [("thing", "animal"), ("animal", "dog"), ("animal", "cat"), ("thing", "ship")]
        >>> ClassTree.from_edges(edges).class_labels
        ('cat', 'dog', 'ship')
        >>> ClassTree.from_edges(edges, classes=["ship", "dog"]).path_length(0, 1)
        array(3.)
        """
        return cls(*tree_from_edges(edges, classes))

    @classmethod
    def from_nested(
        cls, nested: Mapping[Any, Any] | Sequence[Any], *, classes: Sequence[Hashable] | None = None
    ) -> ClassTree:
        """A tree from nested dicts and lists.

        Parameters
        ----------
        nested : mapping or list
            The keys of a mapping are named nodes, a list within a list is an unnamed inner node, and anything else is a
            leaf; so is a name that maps to None or to something empty. The outermost container is the root.
        classes : sequence of names, optional
            ``classes[k]`` is the node of class ``k``; by default the leaves in sorted order.

        Returns
        -------
        ClassTree
            With the names as labels. Inner nodes in different places may share a name.

        Examples
        --------
        >>> tree = ClassTree.from_nested([["cat", "dog"], {"vehicle": ["bus", "car"]}])
        >>> tree.labels
        (None, None, 'vehicle', 'cat', 'dog', 'bus', 'car')
        """
        return cls(*tree_from_nested(nested, classes))

    @classmethod
    def from_names(cls, names: Sequence[str], *, separator: str = ".") -> ClassTree:
        """A tree from class names that contain their path from the root, like file and module names.

        Parameters
        ----------
        names : sequence of str
            ``names[k]`` is the name of class ``k``. Separators at either end, and repeated ones, are ignored.
        separator : str, default="."
            The separator of the parts of a name.

        Returns
        -------
        ClassTree
            Inner nodes are labelled with the prefix of the name that leads to them.

        Examples
        --------
        >>> tree = ClassTree.from_names(["animal/cat", "animal/dog", "ship"], separator="/")
        >>> tree.labels
        (None, 'animal', 'animal/cat', 'animal/dog', 'ship')
        """
        return cls(*tree_from_names(names, separator))

    @classmethod
    def from_networkx(
        cls,
        graph: Any,
        *,
        classes: Sequence[Hashable] | None = None,
        root: Hashable | None = None,
        length: str | None = None,
    ) -> ClassTree:
        """A tree from a networkx graph.

        Parameters
        ----------
        graph : networkx.DiGraph or networkx.Graph
            With edges from parents to children; those of an undirected graph point away from ``root``.
        classes : sequence of nodes, optional
            ``classes[k]`` is the node of class ``k``; by default the leaves in sorted order.
        root : node, optional
            The root of an undirected tree.
        length : str, optional
            The name of the edge attribute with the length; by default all edges have length 1.

        Returns
        -------
        ClassTree
            With the nodes of the graph as labels.
        """
        return cls(*tree_from_networkx(graph, classes, root, length))

    @classmethod
    def from_linkage(
        cls, linkage: ArrayLike, *, labels: Sequence[Hashable] | None = None, unit_edges: bool = False
    ) -> ClassTree:
        """A tree from a linkage matrix of :func:`scipy.cluster.hierarchy.linkage`; leaf ``k`` is class ``k``.

        Parameters
        ----------
        linkage : array-like of shape (n_classes - 1, 4)
            The matrix; the two parts of a row keep their order, so that an optimal leaf order is kept.
        labels : sequence of length n_classes, optional
            The names of the classes.
        unit_edges : bool, default=False
            Give every edge the length 1. Otherwise path lengths are cophenetic distances: the heights at which
            classes are joined.

        Returns
        -------
        ClassTree

        Examples
        --------
        >>> tree = ClassTree.from_linkage([[0, 2, 1.0, 2], [3, 1, 5.0, 3]])
        >>> tree.path_length([0, 0], [2, 1])
        array([1., 5.])
        """
        return cls(*tree_from_linkage(linkage, labels, unit_edges))

    # ----- what a tree knows ----------------------------------------------------------------------------------------

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.node_of_class)

    @property
    def n_nodes(self) -> int:
        """The number of nodes, with or without a class."""
        return len(self.parent)

    @property
    def root(self) -> int:
        """The root node."""
        return int(self._walk.preorder[0])

    @property
    def depth(self) -> FloatArray:
        """The length of the path from the root to each node, (n_nodes,)."""
        return self._walk.depth

    @property
    def preorder(self) -> IntArray:
        """The nodes in depth-first order: each before its children, children in their order."""
        return self._walk.preorder

    @property
    def class_labels(self) -> tuple[Hashable, ...] | None:
        """The labels of the classes' nodes."""
        return None if self.labels is None else tuple(self.labels[node] for node in self.node_of_class)

    def children(self, node: int) -> IntArray:
        """The children of ``node``, in order."""
        start, stop = self._walk.first_child[node : node + 2]
        return self._walk.children[start:stop]

    def class_order(self, rng: np.random.Generator | None = None) -> IntArray:
        """The classes in depth-first order, the children of every node in their order, or shuffled by ``rng``."""
        if rng is None:
            return self._class_order
        number = rng.permutation(self.n_nodes)
        parent = np.empty_like(self.parent)
        parent[number] = np.where(self.parent >= 0, number[self.parent], -1)
        walk = walk_through(parent, np.zeros(self.n_nodes))
        return np.asarray(np.argsort(walk.position[number[self.node_of_class]]), dtype=np.intp)

    @cached_property
    def class_spans(self) -> IntArray:
        """Which classes are on and below each node, (n_nodes, 2): ``class_order()[start:stop]``."""
        walk = self._walk
        has_class = np.zeros(self.n_nodes + 1, dtype=np.intp)
        has_class[walk.position[self.node_of_class] + 1] = 1
        n_classes_before = np.cumsum(has_class)
        return frozen(np.column_stack([n_classes_before[walk.position], n_classes_before[walk.subtree_end]]))

    def classes_below(self, node: int) -> IntArray:
        """The classes on ``node`` and below it, in depth-first order."""
        start, stop = self.class_spans[node]
        return self._class_order[start:stop]

    @cached_property
    def is_binary(self) -> bool:
        """Whether every inner node has two children; a class on the node counts as a child."""
        n_children = np.bincount(self.parent[self.parent >= 0], minlength=self.n_nodes)
        n_below = n_children.copy()
        n_below[self.node_of_class] += 1
        return bool((n_below[n_children > 0] == 2).all())

    def path_length(self, u: ArrayLike, v: ArrayLike) -> FloatArray:
        """The length of the path between classes ``u`` and ``v``.

        Parameters
        ----------
        u, v : int or array-like of int
            Classes; arrays are broadcast against each other.

        Returns
        -------
        ndarray
            Of the shape to which ``u`` and ``v`` broadcast.
        """
        first, second = np.broadcast_arrays(np.asarray(u, dtype=np.intp), np.asarray(v, dtype=np.intp))
        rank_u, rank_v = self._rank_of_class[first], self._rank_of_class[second]
        low, high = np.minimum(rank_u, rank_v), np.maximum(rank_u, rank_v)
        differ = low < high
        # Two overlapping windows of size 2**power cover the neighbours from low to high.
        power = np.zeros(low.shape, dtype=np.intp)
        power[differ] = np.frexp((high - low)[differ])[1] - 1
        table = self._least_parting_depths
        stop = np.maximum(high - (1 << power), 0)
        parting = np.minimum(table[power, np.minimum(low, table.shape[1] - 1)], table[power, stop])
        leaf_depth = self.depth[self.node_of_class]
        return np.where(differ, leaf_depth[first] + leaf_depth[second] - 2 * parting, 0.0)

    def parting_depths(self) -> FloatArray:
        """The depth of the lowest node above both of two neighbours in depth-first order, (n_classes - 1,)."""
        walk = self._walk
        positions = walk.position[self.node_of_class[self._class_order]]
        if len(positions) < 2:
            return np.zeros(0)
        # Between two classes the walk goes up to the child of their common ancestor and no further.
        depth_of_parent = walk.depth[np.maximum(self.parent[walk.preorder], 0)]
        return np.minimum.reduceat(depth_of_parent[: positions[-1] + 1], positions[:-1] + 1)

    def restricted_to(self, classes: ArrayLike) -> ClassTree:
        """The tree of some of the classes, with the same paths between them; branches without any of them are removed.

        ``classes[k]`` becomes class ``k``.
        """
        kept_classes = np.asarray(classes, dtype=np.intp)
        if (wrong := first_outside(kept_classes, 0, self.n_classes)) is not None:
            raise ValueError(f"Classes are numbered 0 to {self.n_classes - 1}. Got {wrong}.")
        rank_is_kept = np.zeros(self.n_classes + 1, dtype=np.intp)
        rank_is_kept[self._rank_of_class[kept_classes] + 1] = 1
        n_kept_before = np.cumsum(rank_is_kept)
        is_kept = np.diff(n_kept_before[self.class_spans], axis=1).ravel() > 0
        new_number = np.full(self.n_nodes + 1, -1, dtype=np.intp)  # the last entry serves the root's parent, -1
        new_number[:-1][is_kept] = np.arange(is_kept.sum())
        return ClassTree(
            new_number[self.parent[is_kept]],
            new_number[self.node_of_class[kept_classes]],
            self.edge_length[is_kept],
            None if self.labels is None else [self.labels[node] for node in np.flatnonzero(is_kept)],
        )

    def splits(self) -> Iterator[tuple[IntArray, IntArray]]:
        """The ``n_classes - 1`` two-way splits of the binary form of the tree, each before those within its two sides.

        A split is the classes on the left and those on the right, in depth-first order. A node with more than two
        children is cut between neighbours so that the numbers of classes on both sides are most nearly equal; a node
        with one child is skipped.
        """
        return splits(self)

    @cached_property
    def _walk(self) -> Walk:
        return walk_through(self.parent, self.edge_length)

    @cached_property
    def _class_order(self) -> IntArray:
        return frozen(np.argsort(self._walk.position[self.node_of_class]))

    @cached_property
    def _rank_of_class(self) -> IntArray:
        rank = np.empty(self.n_classes, dtype=np.intp)
        rank[self._class_order] = np.arange(self.n_classes)
        return rank

    @cached_property
    def _least_parting_depths(self) -> FloatArray:
        return range_minima(self.parting_depths() if self.n_classes > 1 else np.zeros(1))

    def __repr__(self) -> str:
        """One line: the numbers of classes and nodes, and the height."""
        return f"<ClassTree: {self.n_classes} classes, {self.n_nodes} nodes, height {self.depth.max():g}>"
