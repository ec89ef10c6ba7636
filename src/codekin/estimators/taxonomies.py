"""The class tree of an estimator's labels, from any form of taxonomy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.classes import ClassTree


def as_class_tree(taxonomy: Any, labels: NDArray[Any]) -> ClassTree:
    """The class tree whose class ``k`` is ``labels[k]``, from any form of taxonomy.

    Names of leaves are compared with the labels as text, so that 7 and "7" are the same. If they do not match, the
    labels 0, 1, ... are the class indices of a ClassTree.
    """
    names = [str(label) for label in labels.tolist()]
    if isinstance(taxonomy, ClassTree):
        return _tree_of_labels(taxonomy, names)
    if isinstance(taxonomy, Mapping):
        return _tree_of_labels(ClassTree.from_nested(taxonomy), names)
    if hasattr(taxonomy, "edges"):
        taxonomy = list(taxonomy.edges)
    return ClassTree.from_edges(_named_edges(taxonomy), classes=names)


def _named_edges(taxonomy: Any) -> list[tuple[str, str]]:
    rule = "The 'taxonomy' parameter must be a ClassTree, (parent, child) pairs, a nested dict or a networkx graph."
    if isinstance(taxonomy, str) or not isinstance(taxonomy, Iterable):
        raise ValueError(f"{rule} Got {taxonomy!r} instead.")
    edges = list(taxonomy)
    for edge in edges:
        if isinstance(edge, str) or not isinstance(edge, Sized) or len(edge) != 2:
            raise ValueError(f"{rule} Got {edge!r} instead of a pair.")
    return [(str(parent), str(child)) for parent, child in edges]


def _tree_of_labels(tree: ClassTree, names: list[str]) -> ClassTree:
    leaves = None if tree.class_labels is None else [str(label) for label in tree.class_labels]
    place = {leaf: k for k, leaf in enumerate(leaves or [])}
    missing = [name for name in names if name not in place]
    if not missing:
        return tree if leaves == names else tree.restricted_to(np.array([place[name] for name in names], dtype=np.intp))
    if names == [str(k) for k in range(tree.n_classes)]:
        return tree
    raise ValueError(
        f"The taxonomy of {tree.n_classes} class{'es' * (tree.n_classes > 1)} has no leaf for {len(missing)} of the "
        f"{len(names)} labels, {missing[0]!r} among them."
    )
