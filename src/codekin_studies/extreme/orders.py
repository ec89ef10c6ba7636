"""The orders in which classes get the paths of a trellis, which the extreme study compares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from codekin.assignments import AssignmentResult, assign
from codekin.classes import ClassTree
from codekin.classes.distances import clustering_distances, splitting_distances
from codekin.code import Codebook
from codekin.data import Dataset, load_dataset
from codekin.fitting.classes import Classes
from codekin.fitting.orders import learnability_assignment
from codekin.samples import EncodedLabels

TreeName = Literal["given", "learned"]
MAX_CLUSTERED_CLASSES = 15_000
CLUSTERINGS = ("ordered", "average")
"""How class trees are learned: with branches in a good order, or as the paper's authors did."""


@lru_cache(maxsize=1)  # consecutive tasks of a process mostly use the same data, which may take long to read
def load_many_classes(name: str, data_home: Path | None) -> Dataset:
    """A data set of the extreme study."""
    return load_dataset(name, data_home)


def encoded_labels(data: Dataset) -> EncodedLabels:
    """The classes of the training samples, and that there are classes without any, which get codewords, too."""
    return EncodedLabels(np.arange(data.n_classes), data.y)


def learned_tree(data: Dataset, clustering: str = "ordered") -> ClassTree:
    """A class tree from the class means.

    "ordered" joins pairs or, beyond 15,000 classes, halves; with few classes it turns branches so that neighbours are
    near. "average" is average linkage with branches as they come, however many classes there are. Classes without
    samples come last, and get the paths that are left over.
    """
    known: dict[str, Any] = {"n_classes": data.n_classes, "rng": 0}
    if clustering == "average":
        made = clustering_distances(data.X, data.y, **known, optimal_order=False)
    elif data.n_classes <= MAX_CLUSTERED_CLASSES:
        made = clustering_distances(data.X, data.y, **known)
    else:
        made = splitting_distances(data.X, data.y, **known)
    return made.tree


@dataclass(frozen=True)
class Order:
    """One way to assign paths to classes.

    ``method`` is one that follows the class tree, or "learnability". ``tree`` is the class tree that it follows, None
    for the main one of the data set. ``chance`` plays no part, so that all runs share one assignment; or a part in a
    search, of which a study may make several; or every run draws another assignment.
    """

    title: str
    method: str
    tree: TreeName | None = None
    chance: Literal["none", "search", "draw"] = "none"

    def seed(self, run: int, n_searches: int) -> int:
        """The seed of the assignment of a run, if runs take turns among ``n_searches`` searches."""
        return {"none": 0, "search": run % n_searches, "draw": run}[self.chance]

    def find(
        self, codebook: Codebook, tree: ClassTree, data: Dataset, rng: np.random.Generator, seconds: float | None
    ) -> AssignmentResult:
        """The assignment found by a search of this many seconds; None for the default of the search."""
        if self.method == "learnability":
            classes = Classes(lambda: data.X, data.y, data.n_classes, None, tree, rng)
            return learnability_assignment(codebook, classes, rng, time_limit=seconds)
        return assign(codebook, tree, self.method, rng=rng, time_limit=seconds)


ORDERS: Mapping[str, Order] = {
    "random": Order("random", "random", chance="draw"),
    "given": Order("depth-first, taxonomy", "ordered", "given"),
    "given-searched": Order("searched, taxonomy", "tree_swaps", "given", "search"),
    "learned": Order("depth-first, clustering", "ordered", "learned"),
    "learned-searched": Order("searched, clustering", "tree_swaps", "learned", "search"),
    "learnability": Order("learnability", "learnability", chance="search"),
}
"""The orders by name, as in tables and figures."""


def orders_of(data: Mapping[str, Any]) -> list[str]:
    """The names of the orders that are compared on a data set: without a taxonomy, none that follows one.

    Its ``tree`` is "given" or "learned"; its ``orders``, if there are some, are all wanted.

    >>> orders_of({"tree": "learned"})
    ['random', 'learned', 'learned-searched', 'learnability']
    """
    trees, wanted = trees_of(data), data.get("orders", ORDERS)
    return [name for name, order in ORDERS.items() if name in wanted and order.tree in (None, *trees)]


def trees_of(data: Mapping[str, Any]) -> list[TreeName]:
    """The class trees of a data set, the main one first."""
    return ["given", "learned"] if data["tree"] == "given" else ["learned"]
