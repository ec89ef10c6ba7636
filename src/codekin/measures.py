"""How good predictions are: the first class, the first few, and in the class tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from codekin.classes import ClassTree
from codekin.coding import FloatArray, IntArray

__all__ = ["PredictionMeasures", "prediction_measures"]

MAX_LEVELS = 20
"""Deeper class trees have no levels that people could name."""


@dataclass(frozen=True, eq=False)
class PredictionMeasures:
    """How good a model's predictions for some samples are.

    Parameters
    ----------
    n_samples : int
        How many samples were predicted.
    accuracy : float
        The share of samples whose first class is the true one.
    precision_at : dict of int to float
        For each k, the share of true classes among the first k: at most 1/k, since a sample has one true class.
    recall_at : dict of int to float
        For each k, the share of samples whose true class is among the first k.
    level_accuracies : tuple of float
        For each level of the class tree below its root, the share of samples whose first class is below the same node
        of that level as the true one; the last one is the accuracy. Empty without a tree, and for trees of more than
        ``MAX_LEVELS`` levels, such as those from pairwise clustering, whose levels have no meaning.
    mean_error_distance : float or None
        The mean path length, in the class tree, from the true class to the wrong one that was predicted; None without
        a tree, or without errors.
    """

    n_samples: int
    accuracy: float
    precision_at: Mapping[int, float]
    recall_at: Mapping[int, float]
    level_accuracies: tuple[float, ...] = ()
    mean_error_distance: float | None = None


def prediction_measures(
    best_classes: IntArray, class_index: IntArray, *, tree: ClassTree | None = None, at: Sequence[int] = (1, 3, 5)
) -> PredictionMeasures:
    """How good predictions are: the first class, the first few, and in the class tree.

    Parameters
    ----------
    best_classes : array of shape (n_samples, k)
        The best classes of each sample, best first.
    class_index : array of shape (n_samples,)
        The true classes; -1 for a class that the model does not know.
    tree : ClassTree, optional
        For the measures of wrong classes that are near the true ones.
    at : sequence of int, default=(1, 3, 5)
        How many of the first classes to look at; if there are fewer, the rest counts as wrong.

    Returns
    -------
    PredictionMeasures

    Examples
    --------
    >>> measures = prediction_measures(np.array([[0, 1], [2, 1], [1, 2]]), np.array([0, 1, -1]), at=(1, 2))
    >>> measures.recall_at[2], measures.precision_at[2]
    (0.6666666666666666, 0.3333333333333333)
    """
    if len(class_index) == 0:
        raise ValueError("There are no predictions to measure.")
    is_hit = best_classes == class_index[:, None]
    recall = {k: float(is_hit[:, :k].any(axis=1).mean()) for k in at}
    accuracy = float(is_hit[:, 0].mean())
    levels: tuple[float, ...] = ()
    mean_distance = None
    if tree is not None:
        levels = tuple(level_accuracies(best_classes[:, 0], class_index, tree).tolist())
        if len(levels) > MAX_LEVELS:
            levels = ()
        is_wrong = ~is_hit[:, 0] & (class_index >= 0)
        if is_wrong.any():
            mean_distance = float(tree.path_length(best_classes[is_wrong, 0], class_index[is_wrong]).mean())
    return PredictionMeasures(
        len(class_index), accuracy, {k: value / k for k, value in recall.items()}, recall, levels, mean_distance
    )


def level_accuracies(predicted: IntArray, class_index: IntArray, tree: ClassTree) -> FloatArray:
    """The accuracy at each level of a class tree: whether the path from the root is right down to that level.

    Levels go from the children of the root down to the deepest classes; edge lengths are ignored. A class above a level
    is right only if it is the true one. The class -1 is not in the tree.

    Examples
    --------
    >>> tree = ClassTree.from_nested({"animal": ["cat", "dog"], "vehicle": ["bus", "car"]})  # bus, car, cat, dog
    >>> level_accuracies(np.array([0, 1, 3, 3]), np.array([0, 0, 2, 1]), tree)
    array([0.75, 0.25])
    """
    levels = ClassTree(tree.parent, tree.node_of_class)
    depth = levels.depth[levels.node_of_class]
    known = class_index >= 0
    u, v = predicted[known], class_index[known]
    shared = (depth[u] + depth[v] - levels.path_length(u, v)) / 2
    shared[u == v] = np.inf
    n_levels = max(int(depth.max()), 1)
    return np.array([(shared >= level).sum() / len(class_index) for level in range(1, n_levels + 1)])
