"""What held-out samples said about prediction sets and about when to answer, as a state."""

from __future__ import annotations

from reprlib import repr as shortened
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin._system.arrays import Arrays, as_narrow, check_indices
from codekin.classes import ClassTree
from codekin.model.answer_tree import AnswerTree
from codekin.model.prediction_sets import SetCalibration
from codekin.states.values import Json

VERSION, VERSION_OF_GROUPS = 1, 2
"""Without groups of classes, and with them."""
PROMISE = ("min_probability", "min_precision")


def describe_sets(calibration: SetCalibration, arrays: Arrays) -> Json:
    """A calibration as JSON and arrays, which are added to the given ones."""
    arrays["set_scores"] = calibration.scores
    promise = {name: getattr(calibration, name) for name in PROMISE if calibration.min_precision}
    if calibration.groups is not None:
        tree = calibration.groups.tree
        arrays |= {"set_parent": as_narrow(tree.parent), "set_node_of_class": as_narrow(tree.node_of_class)}
        names = [None if name is None else str(name) for name in tree.labels or ()]
        # Classes are named by their labels.
        for node in tree.node_of_class.tolist() if names else ():
            names[node] = None
        promise["group_names"] = names if any(name is not None for name in names) else None
    return {
        "version": VERSION if calibration.groups is None else VERSION_OF_GROUPS,
        "score": "log_probability",
        **promise,
    }


def restore_sets(description: Any, arrays: Arrays, labels: NDArray[Any]) -> SetCalibration | None:
    """What :func:`describe_sets` described."""
    if description is None:
        return None
    version = description.get("version") if isinstance(description, dict) else None
    if version not in (VERSION, VERSION_OF_GROUPS):
        raise ValueError(f"'prediction_sets' must have the version 1 or 2. Got {shortened(description)}.")
    groups = None
    if version == VERSION_OF_GROUPS:
        parent, node_of_class, names = arrays["set_parent"], arrays["set_node_of_class"], description["group_names"]
        check_tree_arrays(parent, node_of_class, len(labels))
        right = names is None or (isinstance(names, list) and len(names) == len(parent))
        if not right or not all(name is None or isinstance(name, str) for name in names or ()):
            raise ValueError(f"'group_names' must be {len(parent)} texts or null. Got {shortened(names)}.")
        tree = ClassTree(parent.astype(np.intp), node_of_class.astype(np.intp), None, names)
        groups = AnswerTree.of(tree, labels)
    least, promised = (description.get(name, 0.0) for name in PROMISE)
    return SetCalibration(np.array(arrays["set_scores"]), least, promised, groups)


def check_tree_arrays(parent: NDArray[Any], node_of_class: NDArray[Any], n_classes: int) -> None:
    """Raise unless arrays can be the parents and the classes of a tree, which checks the rest itself."""
    check_indices(node_of_class, len(parent), "the nodes of classes")
    # The parent of the root is -1.
    if parent.dtype.kind not in "iu" or int(parent.max(initial=0)) >= len(parent) or len(node_of_class) != n_classes:
        raise ValueError(f"the class tree must have nodes for {n_classes} classes.")
