"""Decision trees of scikit-learn as arrays of nodes, one tree after the other.

Compiled code of scikit-learn follows children and features without checking them, and trusts the depth of a tree. So
every node is checked here, and the depth is computed.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree._tree import NODE_DTYPE, Tree

from codekin._system.arrays import Arrays
from codekin._system.index_arrays import check_counts, check_indices
from codekin.storage.values import typed

LEAF = -1
_FIELDS = "left_child right_child feature threshold impurity n_node_samples weighted_n_node_samples missing_go_to_left"
NODE_FIELDS = tuple(_FIELDS.split())
TREE_ARRAYS = (*NODE_FIELDS, "n_nodes", "value")


def arrays_of_trees(learner: Any) -> Arrays:
    """The nodes of a tree, or of the trees of a forest, and how many each has."""
    is_forest = hasattr(learner, "estimators_")
    if not is_forest and not hasattr(learner, "tree_"):
        raise ValueError("this learner has no tree.")
    trees = [each.tree_ for each in learner.estimators_] if is_forest else [learner.tree_]
    if NODE_DTYPE.names != NODE_FIELDS or learner.n_outputs_ != 1:
        raise ValueError("these trees have something else than the fields that are checked here.")
    nodes = np.concatenate([tree.__getstate__()["nodes"] for tree in trees])
    own: Arrays = {name: nodes[name] for name in NODE_FIELDS}
    own["value"] = np.concatenate([tree.value[:, 0] for tree in trees])
    own["n_nodes"] = np.array([tree.node_count for tree in trees])
    return own | ({"n_trees": np.array([len(trees)])} if is_forest else {})


def planted(learners: list[Any], own: Arrays, n_features: int, n_classes: int | None) -> list[Any]:
    """Give learners their trees; returns the learners and the trees of forests."""
    trees = _trees(own, n_features, n_classes or 1)
    counts, owners = own.get("n_trees", np.ones(len(learners), dtype=np.int8)), learners
    check_counts(counts, len(trees), "the numbers of trees")
    if len(counts) != len(learners) or not counts.all():
        raise ValueError(f"each of {len(learners)} learners needs a tree.")
    if "n_trees" in own:
        for forest, n_trees in zip(learners, counts.tolist(), strict=True):
            params = {name: getattr(forest, name) for name in forest.estimator_params}
            forest.estimators_ = [type(forest.estimator)(**params) for _ in range(n_trees)]
        owners = [tree for forest in learners for tree in forest.estimators_]
    for owner, tree in zip(owners, trees, strict=True):
        owner.tree_ = tree
    for each in [*learners, *owners]:
        each.n_outputs_ = 1
        if n_classes is not None:
            each.n_classes_ = n_classes
    return [*learners, *owners]


def _trees(own: Arrays, n_features: int, n_values: int) -> list[Any]:
    """The trees of checked nodes, each of which gives ``n_values`` numbers."""
    n_nodes, value, nodes = own["n_nodes"], typed(own["value"], "value", "float64", 2), own["left_child"]
    check_counts(n_nodes, len(nodes), "the numbers of nodes")
    for name in NODE_FIELDS:
        kinds = "iu" if NODE_DTYPE[name].kind in "iu" else "f"
        if own[name].shape != nodes.shape or own[name].dtype.kind not in kinds:
            raise ValueError(f"the nodes of trees have '{name}' of shape {own[name].shape}, type {own[name].dtype}.")
    if value.shape != (len(nodes), n_values) or not n_nodes.all():
        raise ValueError(f"every tree needs nodes, and each node {n_values} values. Got values of shape {value.shape}.")
    ends = np.cumsum(n_nodes, dtype=np.int64)
    depth = _depths(own, ends, n_features)
    nodes = np.zeros(len(nodes), dtype=NODE_DTYPE)
    for name in NODE_FIELDS:
        nodes[name] = own[name]
    trees = []
    for start, end in pairwise([0, *ends.tolist()]):
        tree = Tree(n_features, np.array([n_values], dtype=np.intp), 1)
        state = {"max_depth": int(depth[start:end].max()), "node_count": end - start, "nodes": nodes[start:end]}
        tree.__setstate__({**state, "values": np.ascontiguousarray(value[start:end, np.newaxis])})
        trees.append(tree)
    return trees


def _depths(own: Arrays, ends: NDArray[np.int64], n_features: int) -> NDArray[np.int64]:
    """The depth of each node, if every node but the first of a tree is the child of one node before it."""
    n_nodes = np.diff(ends, prepend=0)
    parents = np.flatnonzero(own["left_child"] != LEAF)
    if not np.array_equal(parents, np.flatnonzero(own["right_child"] != LEAF)):
        raise ValueError("a node of a tree has one child.")
    check_indices(own["feature"][parents], n_features, "the features of nodes")
    if np.isnan(own["threshold"][parents]).any():
        raise ValueError("the thresholds of nodes must be numbers.")
    roots, tree = ends - n_nodes, np.repeat(np.arange(len(ends)), n_nodes)
    places = []
    for side in ("left_child", "right_child"):
        check_indices(own[side][parents], len(tree), "the children of nodes")
        places.append(own[side][parents].astype(np.int64) + roots[tree[parents]])
    children, above = np.concatenate(places), np.concatenate([parents, parents])
    others = np.delete(np.arange(len(tree)), roots)
    if (
        not np.array_equal(np.sort(children), others)
        or (children <= above).any()
        or (tree[children] != tree[above]).any()
    ):
        raise ValueError("every node of a tree but the first must be the child of one node before it.")
    # Twice as far up in each step, until all are at a root.
    ancestor = np.arange(len(tree))
    ancestor[children] = above
    depth: NDArray[np.int64] = (ancestor != np.arange(len(tree))).astype(np.int64)
    while depth[ancestor].any():
        depth, ancestor = depth + depth[ancestor], ancestor[ancestor]
    return depth
