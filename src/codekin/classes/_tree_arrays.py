"""The arrays of a class tree: their checks, the depth-first walk from which its properties follow, and its splits."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from codekin.code import FloatArray, IntArray

if TYPE_CHECKING:
    from codekin.classes.tree import ClassTree


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
    rows = [values]
    width = 1
    while 2 * width <= len(values):
        row = rows[-1].copy()
        row[:-width] = np.minimum(row[:-width], row[width:])
        rows.append(row)
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
    if parent.min() < -1 or parent.max() >= n_nodes:
        wrong = first_outside(parent, -1, n_nodes)
        raise ValueError(f"Parents must be nodes, numbered 0 to {n_nodes - 1}. Got {wrong}.")
    if not len(node_of_class):
        raise ValueError("A class tree needs at least one class. Got an empty node_of_class.")
    if node_of_class.min() < 0 or node_of_class.max() >= n_nodes:
        wrong = first_outside(node_of_class, 0, n_nodes)
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


def first_outside(values: IntArray, low: int, high: int) -> int:
    """The first of ``values`` that is not in ``range(low, high)``."""
    return int(values[(values < low) | (values >= high)][0])


def cycle_sentence(parent: IntArray, astray: int, labels: tuple[Hashable, ...] | None) -> str:
    """The error message for the cycle above the node ``astray``."""
    path: list[int] = []
    node, seen = astray, set[int]()
    while node not in seen:
        seen.add(node)
        path.append(node)
        node = int(parent[node])
    cycle = path[path.index(node) :]
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
