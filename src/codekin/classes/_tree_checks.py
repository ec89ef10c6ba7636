"""Checks that arrays are a tree."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np
from numpy.typing import ArrayLike

from codekin.coding import FloatArray, IntArray


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
