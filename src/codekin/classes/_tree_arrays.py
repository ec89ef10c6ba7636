"""The arrays of a class tree: where they come from, their checks, the depth-first walk through them, and its splits.

Every ``tree_from`` function turns one source into the four arguments of :class:`~codekin.classes.ClassTree`; the class
methods that call them document their arguments.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from codekin.code import FloatArray, IntArray

if TYPE_CHECKING:
    from codekin.classes.tree import ClassTree


TreeArguments = tuple[ArrayLike, ArrayLike, FloatArray | None, Sequence[Hashable] | None]
"""The arguments of a class tree: parents, nodes of the classes, lengths of edges, labels."""


class Walk(NamedTuple):
    """One depth-first walk; all arrays are by node except ``preorder`` and ``children``."""

    preorder: IntArray
    position: IntArray  # where a node is in preorder
    subtree_end: IntArray  # the position after the last node below it
    depth: FloatArray
    children: IntArray  # of node v: children[first_child[v] : first_child[v + 1]]
    first_child: IntArray


def walk_through(parent: IntArray, edge_length: FloatArray) -> Walk:
    """Walk from the root; nodes that it does not reach are missing from ``preorder``."""
    n_nodes = len(parent)
    children = np.argsort(parent, kind="stable")[1:]
    first_child = np.zeros(n_nodes + 1, dtype=np.intp)
    np.cumsum(np.bincount(parent[children], minlength=n_nodes), out=first_child[1:])
    # Plain lists are several times faster than arrays when read one by one, and any depth is possible.
    child_list, starts = children.tolist(), first_child.tolist()
    parents, lengths = parent.tolist(), edge_length.tolist()
    preorder: list[int] = []
    depth = [0.0] * n_nodes
    stack = np.flatnonzero(parent == -1).tolist()
    while stack:
        node = stack.pop()
        preorder.append(node)
        if parents[node] >= 0:
            depth[node] = depth[parents[node]] + lengths[node]
        stack.extend(reversed(child_list[starts[node] : starts[node + 1]]))
    size = [1] * n_nodes
    for node in reversed(preorder[1:]):
        size[parents[node]] += size[node]
    order = np.array(preorder, dtype=np.intp)
    position = np.zeros(n_nodes, dtype=np.intp)
    position[order] = np.arange(len(order))
    walk = Walk(order, position, position + np.array(size), np.array(depth), children, first_child)
    for array in walk:
        array.flags.writeable = False
    return walk


def range_minima(values: FloatArray) -> FloatArray:
    """Row ``p``, column ``i``: the minimum of the values ``i`` to ``i + 2**p - 1``."""
    rows, width = [values], 1
    while 2 * width <= len(values):
        rows.append(np.append(np.minimum(rows[-1][:-width], rows[-1][width:]), rows[-1][-width:]))
        width *= 2
    return np.array(rows)


def check_tree(
    parent: IntArray, node_of_class: IntArray, edge_length: FloatArray, labels: tuple[Hashable, ...] | None
) -> None:
    """Raise if arrays are not a tree; cycles are found later, when the tree is traversed."""
    n_nodes = len(parent)
    n_roots = int((parent == -1).sum())
    if n_roots != 1:
        raise ValueError(f"A class tree has one root, the node whose parent is -1. Got {n_roots}.")
    if (wrong := first_outside(parent, -1, n_nodes)) is not None:
        raise ValueError(f"Parents must be nodes, numbered 0 to {n_nodes - 1}. Got {wrong}.")
    if not len(node_of_class):
        raise ValueError("A class tree needs at least one class. Got an empty node_of_class.")
    if (wrong := first_outside(node_of_class, 0, n_nodes)) is not None:
        raise ValueError(f"Classes are on nodes, numbered 0 to {n_nodes - 1}. Got {wrong} in node_of_class.")
    n_classes_on = np.bincount(node_of_class, minlength=n_nodes)
    if n_classes_on.max() > 1:
        node = int(n_classes_on.argmax())
        first, second = np.flatnonzero(node_of_class == node)[:2]
        name = f"node {node}" if labels is None else repr(labels[node])
        raise ValueError(f"No two classes may share a node. Classes {first} and {second} are both on {name}.")
    if edge_length.shape != (n_nodes,):
        raise ValueError(f"There is one edge length per node, {n_nodes}. Got shape {edge_length.shape} instead.")
    is_wrong = ~(np.isfinite(edge_length) & (edge_length >= 0)) & (parent >= 0)
    if is_wrong.any():
        node = int(is_wrong.argmax())
        name = f"node {node}" if labels is None else repr(labels[node])
        raise ValueError(f"Edge lengths must be finite and not negative. Got {edge_length[node]} above {name}.")
    if labels is not None and len(labels) != n_nodes:
        raise ValueError(f"There is one label per node, {n_nodes}. Got {len(labels)} labels.")


def node_numbers(values: ArrayLike, name: str) -> IntArray:
    """A copy of a list of integers."""
    given = np.asarray(values)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise ValueError(
            f"{name} must be a one-dimensional array of integers. "
            f"Got an array of shape {given.shape} and type {given.dtype} instead."
        )
    return given.astype(np.intp)


def first_outside(values: IntArray, low: int, high: int) -> int | None:
    """The first of ``values`` that is not in ``range(low, high)``, if there is one."""
    outside = values[(values < low) | (values >= high)]
    return int(outside[0]) if outside.size else None


def cycle_sentence(parent: IntArray, astray: int, labels: tuple[Hashable, ...] | None) -> str:
    """The error message for the cycle above the node ``astray``."""
    path, node = dict[int, int](), astray  # in the order in which nodes are passed
    while node not in path:
        path[node] = len(path)
        node = int(parent[node])
    cycle = list(path)[path[node] :]
    names = [repr(labels[v]) if labels is not None else str(v) for v in cycle]
    shown = names if len(names) <= 5 else [*names[:4], "..."]
    return f"A tree has no cycles. Going up from {names[0]} leads back to it: {' -> '.join([*shown, names[0]])}."


def listed(names: Iterable[Hashable], n_shown: int = 3) -> str:
    """The first few names, and how many more there are."""
    all_names = [repr(name) for name in names]
    shown = ", ".join(all_names[:n_shown])
    return shown if len(all_names) <= n_shown else f"{shown} and {len(all_names) - n_shown} more"


def splits(tree: ClassTree) -> Iterator[tuple[IntArray, IntArray]]:
    """The splits of the binary form of the tree, from the root down; see :meth:`ClassTree.splits`."""
    order, spans = tree.class_order(), tree.class_spans
    # Pending are runs of siblings: the classes of nodes[i] are order[bounds[i]:bounds[i + 1]].
    pending = [_child_bounds(tree, tree.root)]
    while pending:
        bounds, nodes = pending.pop()
        if len(nodes) == 1:
            node = int(nodes[0])
            if node >= 0 and spans[node, 1] - spans[node, 0] > 1:
                pending.append(_child_bounds(tree, node))
            continue
        middle = bounds[0] + bounds[-1]
        cut = int(np.abs(2 * bounds[1:-1] - middle).argmin()) + 1
        yield order[bounds[0] : bounds[cut]], order[bounds[cut] : bounds[-1]]
        pending.append((bounds[cut:], nodes[cut:]))
        pending.append((bounds[: cut + 1], nodes[:cut]))


def _child_bounds(tree: ClassTree, node: int) -> tuple[IntArray, IntArray]:
    """The non-empty children of ``node`` and the bounds of their classes; its own class is a child named -1."""
    children, spans = tree.children(node), tree.class_spans
    start, stop = spans[node]
    stops = spans[children, 1]
    first = spans[children[0], 0] if len(children) else stop
    if first > start:
        children, stops = np.concatenate([[-1], children]), np.concatenate([[first], stops])
    bounds = np.concatenate([[start], stops])
    is_filled = np.diff(bounds) > 0
    return bounds[np.concatenate([[True], is_filled])], children[is_filled]


def tree_from_edges(edges: Iterable[Sequence[Any]] | ArrayLike, classes: Sequence[Hashable] | None) -> TreeArguments:
    """From pairs or triples of names."""
    parents, children, lengths = _edge_columns(edges)
    parent_of: dict[Any, Any] = {}
    for above, child in zip(parents, children, strict=True):
        if child in parent_of and parent_of[child] == above:
            raise ValueError(f"Each edge may be given once. Got {above!r} -> {child!r} twice.")
        if child in parent_of:
            raise ValueError(f"A node of a tree has one parent. {child!r} has two, {parent_of[child]!r} and {above!r}.")
        parent_of[child] = above
    roots = [name for name in dict.fromkeys(parents) if name not in parent_of]
    new_root = [None] if len(roots) != 1 else []
    labels = [*new_root, *roots, *children]
    node_of_name = {name: node for node, name in enumerate(labels) if node >= len(new_root)}
    roots_parent = [-1, *[0] * len(roots)] if new_root else [-1]
    parent = [*roots_parent, *[node_of_name[name] for name in parents]]
    if not roots:
        raise ValueError(cycle_sentence(np.array(parent), 1, tuple(labels)))
    edge_length = np.concatenate([np.ones(len(roots_parent)), lengths])
    return _labelled(parent, labels, classes, edge_length)


def tree_from_nested(nested: Mapping[Any, Any] | Sequence[Any], classes: Sequence[Hashable] | None) -> TreeArguments:
    """From nested dicts and lists."""
    parent, labels, contents = [-1], [cast(Hashable, None)], [cast(Any, nested)]
    # A list that grows while it is read: nodes by level, to any depth.
    for node, content in enumerate(contents):
        for name, inside in _nested_children(content):
            parent.append(node)
            labels.append(name)
            contents.append(inside)
    if len(parent) == 1:
        raise ValueError(f"A nested tree is a mapping or a list with something in it. Got {nested!r}.")
    return _labelled(parent, labels, classes)


def tree_from_names(names: Sequence[str], separator: str) -> TreeArguments:
    """From names that contain their path from the root."""
    if not separator:
        raise ValueError("The 'separator' parameter must not be empty. Got ''.")
    node_of_path: dict[tuple[str, ...], int] = {(): 0}
    parent, labels = [-1], [cast(Hashable, None)]
    node_of_class: list[int] = []
    for name in names:
        node, path = 0, cast(tuple[str, ...], ())
        for part in filter(None, str(name).split(separator)):
            path = (*path, part)
            if path not in node_of_path:
                node_of_path[path] = len(parent)
                parent.append(node)
                labels.append(separator.join(path))
            node = node_of_path[path]
        if node == 0:
            raise ValueError(f"The names of classes must not be empty. Got {name!r} for class {len(node_of_class)}.")
        node_of_class.append(node)
    return parent, node_of_class, None, labels


def tree_from_networkx(
    graph: Any, classes: Sequence[Hashable] | None, root: Hashable | None, length: str | None
) -> TreeArguments:
    """From the edges of a graph."""
    pairs = graph.edges
    if not graph.is_directed():
        if root is None:
            raise ValueError("An undirected graph does not show which node is the root. Give it as 'root'.")
        import networkx  # optional, so not above

        pairs = list(networkx.bfs_edges(graph, root))
        if not len(pairs) == graph.number_of_edges() == graph.number_of_nodes() - 1:
            raise ValueError(
                f"A tree with {graph.number_of_nodes()} nodes has {graph.number_of_nodes() - 1} edges, all of them in "
                f"reach of its root. Got {graph.number_of_edges()} edges, {len(pairs)} of them leading to new nodes."
            )
    if length is None:
        return tree_from_edges(pairs, classes)
    return tree_from_edges(((u, v, graph.edges[u, v][length]) for u, v in pairs), classes)


def tree_from_linkage(linkage: ArrayLike, labels: Sequence[Hashable] | None, unit_edges: bool) -> TreeArguments:
    """From the rows of a linkage matrix."""
    rows = np.asarray(linkage, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != 4 or not len(rows):
        raise ValueError(f"A linkage matrix has four columns and at least one row. Got shape {rows.shape}.")
    n_classes, n_nodes = len(rows) + 1, 2 * len(rows) + 1
    joined = rows[:, :2].astype(np.intp)
    if not np.array_equal(np.sort(joined, axis=None), np.arange(n_nodes - 1)):
        raise ValueError("Each cluster of a linkage matrix is joined exactly once. Got one that is not.")
    # From the root down, each pair of siblings gets the next two numbers, which keeps their order.
    node_of_cluster = np.zeros(n_nodes, dtype=np.intp)
    node_of_cluster[joined[::-1].ravel()] = np.arange(1, n_nodes)
    height = np.concatenate([np.zeros(n_classes), rows[:, 2]])
    above = n_classes + np.repeat(np.arange(len(rows)), 2)
    parent = np.full(n_nodes, -1, dtype=np.intp)
    parent[node_of_cluster[joined.ravel()]] = node_of_cluster[above]
    edge_length = np.ones(n_nodes)
    if not unit_edges:
        rises = (height[above] - height[joined.ravel()]) / 2
        if rises.min() < -1e-9 * height.max():  # equal heights may differ by rounding
            raise ValueError(
                "A linkage whose heights decrease (centroid and median linkage do that) gives no path lengths. "
                "Use unit_edges=True, or another linkage."
            )
        edge_length[node_of_cluster[joined.ravel()]] = np.maximum(rises, 0.0)
    names: list[Hashable] | None = None
    if labels is not None:
        if len(labels) != n_classes:
            raise ValueError(f"There is one label per class, {n_classes}. Got {len(labels)} labels.")
        names = [None] * n_nodes
        for k, name in enumerate(labels):
            names[node_of_cluster[k]] = name
    return parent, node_of_cluster[:n_classes], edge_length, names


def _labelled(
    parent: Sequence[int],
    labels: Sequence[Hashable],
    classes: Sequence[Hashable] | None,
    edge_length: FloatArray | None = None,
) -> TreeArguments:
    """Look up the classes among the labels: leaves first, then inner nodes."""
    numbers = np.asarray(parent, dtype=np.intp)
    is_inner = np.zeros(len(numbers), dtype=bool)
    is_inner[numbers[numbers >= 0]] = True
    node_of_leaf, repeated_leaves = _index(labels, np.flatnonzero(~is_inner))
    if classes is None:
        if repeated_leaves:
            raise ValueError(f"Each leaf needs its own name. Got {listed(repeated_leaves)} more than once.")
        try:
            classes = sorted(cast(Iterable[Any], node_of_leaf))
        except TypeError:
            raise ValueError("The names of the leaves cannot be sorted. Give their order as 'classes'.") from None
    node_of_inner, repeated_inner = _index(labels, np.flatnonzero(is_inner))
    node_of_name = node_of_inner | node_of_leaf
    ambiguous = repeated_leaves | (repeated_inner - node_of_leaf.keys())
    names = list(classes)
    missing = [name for name in names if name not in node_of_name]
    if missing:
        raise ValueError(f"Every class must be a node of the tree. Not found: {listed(missing)}.")
    unclear = [name for name in names if name in ambiguous]
    if unclear:
        raise ValueError(f"Every class must be one node of the tree. Found more than once: {listed(unclear)}.")
    return numbers, [node_of_name[name] for name in names], edge_length, labels


def _edge_columns(edges: Iterable[Sequence[Any]] | ArrayLike) -> tuple[list[Any], list[Any], FloatArray]:
    rows = edges.tolist() if isinstance(edges, np.ndarray) else list(cast(Iterable[Sequence[Any]], edges))
    if not rows:
        raise ValueError("A class tree needs at least one edge. Got none.")
    sizes = {len(row) for row in rows}
    if sizes not in ({2}, {3}):
        wrong = next((row for row in rows if len(row) not in (2, 3)), rows[0])
        raise ValueError(
            f"Edges must be pairs (parent, child) or triples (parent, child, length), all alike. Got {wrong!r}."
        )
    lengths = np.array([row[2] for row in rows], dtype=np.float64) if sizes == {3} else np.ones(len(rows))
    return [row[0] for row in rows], [row[1] for row in rows], lengths


def _nested_children(content: Any) -> Iterator[tuple[Hashable, Any]]:
    """The name and the content of each child."""
    if content is None:
        return
    if isinstance(content, Mapping):
        yield from content.items()
    elif isinstance(content, (list, tuple)):
        for item in content:
            if isinstance(item, Mapping):
                yield from item.items()
            elif isinstance(item, (list, tuple)):
                yield None, item
            else:
                yield item, None
    else:
        yield content, None


def _index(labels: Sequence[Hashable], nodes: IntArray) -> tuple[dict[Hashable, int], set[Hashable]]:
    """The node of each name among ``nodes``, and the names that more than one of them has."""
    node_of_name: dict[Hashable, int] = {}
    repeated: set[Hashable] = set()
    for node in nodes.tolist():
        name = labels[node]
        if name is None:
            continue
        if name in node_of_name:
            repeated.add(name)
        node_of_name[name] = node
    return node_of_name, repeated
