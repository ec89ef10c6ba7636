"""The two-way splits of a class tree, from the root down."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from codekin.coding import IntArray

if TYPE_CHECKING:
    from codekin.classes.tree import ClassTree


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
