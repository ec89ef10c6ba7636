"""Path lengths in a taxonomy, which may be given in several forms."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from codekin.classes import ClassTree
from codekin.classes._tree_checks import listed
from codekin.classes.tree_distances import TreeDistances


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
    """A class tree from anything that describes one.

    The parameters are those of :func:`taxonomy_distances`.

    Examples
    --------
    >>> class_tree(["animal/cat", "animal/dog", "ship"], separator="/")
    <ClassTree: 3 classes, 5 nodes, height 2>
    """
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
