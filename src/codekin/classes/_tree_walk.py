"""The depth-first walk through a tree, from which all its properties are computed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from codekin.coding import FloatArray, IntArray


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
