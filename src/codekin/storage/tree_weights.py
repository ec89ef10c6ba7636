"""The weights of a tree's predictors as arrays; every index is checked before it is used."""

from __future__ import annotations

from typing import Any

import numpy as np

from codekin._system.arrays import Arrays
from codekin._system.index_arrays import check_counts, check_indices
from codekin.coding.tree import TreeGraph
from codekin.learners.compact import PRECISIONS
from codekin.learners.tree_bits import TreeBits
from codekin.storage.files import Json
from codekin.storage.values import positive_number, shortened, typed

PARTS = ("counts", "nodes", "lengths", "children", "weights")


def describe_tree_bits(bits: TreeBits, arrays: Arrays) -> Json:
    """The predictors of a tree as JSON and arrays."""
    arrays["bias"] = bits.bias
    arrays.update({f"chunk_{name}": getattr(bits, name) for name in PARTS})
    return {"kind": "tree", "scale": None if bits.scale is None else list(bits.scale)}


def restore_tree_bits(description: Json, arrays: Arrays, tree: TreeGraph) -> TreeBits:
    """What :func:`describe_tree_bits` described."""
    counts, nodes, lengths, children, weights = (arrays[f"chunk_{name}"] for name in PARTS)
    check_counts(counts, len(nodes), "the numbers of chunks")
    check_indices(nodes, tree.n_nodes, "the nodes of chunks")
    check_counts(lengths, len(weights), "the lengths of chunks")
    if lengths.shape != nodes.shape or children.shape != weights.shape or (lengths == 0).any():
        raise ValueError("every chunk needs a node and a weight, and every weight a child.")
    feature = np.repeat(np.arange(len(counts)), counts)
    _check_increasing(nodes, feature, "the nodes of a feature's chunks")
    chunk = np.repeat(np.arange(len(lengths)), lengths)
    n_children = np.diff(tree.first_bits)[nodes.astype(np.intp)]
    check_indices(children, int(n_children.max(initial=0)), "the children of weights")
    if (children.astype(np.int64) >= n_children[chunk]).any():
        raise ValueError("a weight is for a child that its node does not have.")
    _check_increasing(children, chunk, "the children of a chunk's weights")
    bias = typed(arrays["bias"], "bias", "float32")
    if bias.shape != (tree.n_edges,):
        raise ValueError(f"there are biases for {bias.size} bits, not for {tree.n_edges}.")
    scale = _restored_scale(description["scale"], weights)
    return TreeBits(tree, counts, nodes, lengths, children, weights, scale, bias)


def _restored_scale(scale: Any, weights: Any) -> tuple[float, float] | None:
    if weights.ndim != 1 or weights.dtype.name not in PRECISIONS or (weights.dtype == np.int8) != (scale is not None):
        raise ValueError(f"weights of type {weights.dtype} do not go with the scale {shortened(scale)}.")
    if scale is None:
        return None
    if not isinstance(scale, list) or len(scale) != 2:
        raise ValueError(f"'scale' must be a pair of numbers. Got {shortened(scale)}.")
    smallest, largest = (positive_number(size, "scale") for size in scale)
    if smallest > largest:
        raise ValueError(f"'scale' must not fall. Got {shortened(scale)}.")
    return smallest, largest


def _check_increasing(values: Any, group: Any, what: str) -> None:
    """Raise unless values increase within groups of neighbours."""
    if ((values[1:] <= values[:-1]) & (group[1:] == group[:-1])).any():
        raise ValueError(f"{what} must increase.")
