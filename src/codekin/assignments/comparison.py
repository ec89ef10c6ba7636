"""Several methods on one problem, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from codekin.assignments.budget import derived_seeds, seed_of
from codekin.assignments.policy import ASSIGNMENTS, POLICIES, assign
from codekin.assignments.result import AssignmentResult, Sense
from codekin.classes import ClassDistances, ClassTree, as_class_distances
from codekin.coding import Codebook

COLUMNS = ("method", "sense", "score", "z", "bound", "is_optimal", "n_evaluations", "seconds")
"""The columns of a table of results."""


@dataclass(frozen=True, eq=False)
class AssignmentComparison:
    """A table of results, one row per method, in the given order.

    Parameters
    ----------
    results : tuple of AssignmentResult
        The rows.
    """

    results: tuple[AssignmentResult, ...]

    @property
    def best(self) -> AssignmentResult:
        """The result with the best score for its sense, the first among equals."""
        return max(self.results, key=lambda result: result.z if result.sense == "preserving" else -result.z)

    def rows(self) -> list[dict[str, Any]]:
        """The table as a list of dictionaries, ready for a data frame."""
        return [{name: getattr(result, name) for name in COLUMNS} for result in self.results]

    def __str__(self) -> str:
        """The table as text."""
        header = f"{'method':<17} {'score':>9} {'z':>9} {'evaluations':>13} {'seconds':>9}"
        lines = [
            f"{result.method:<17} {result.score:>9.5f} {result.z:>9.2f} {result.n_evaluations:>13,} "
            f"{result.seconds:>9.3f}{'  optimal' if result.is_optimal else ''}"
            for result in self.results
        ]
        return "\n".join([header, *lines])


def compare_assignments(
    codebook: Codebook,
    class_distances: ClassDistances | ClassTree | ArrayLike,
    methods: Sequence[str] = ("random", "greedy", "steepest_descent", "portfolio"),
    *,
    sense: Sense = "preserving",
    rng: np.random.Generator | int | None = None,
    time_limit: float | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> AssignmentComparison:
    """Run several methods on one problem.

    Parameters
    ----------
    codebook : Codebook
        The codewords.
    class_distances : ClassDistances, ClassTree or array-like of shape (n_classes, n_classes)
        How far apart the classes are.
    methods : sequence of str
        Names in ``ASSIGNMENTS``, or "preserving" or "breaking" for the method that would be chosen.
    sense : "preserving" or "breaking", default="preserving"
        What the methods look for.
    rng : numpy.random.Generator, int or None
        The source of randomness; every method gets its own seed, which does not depend on the other methods.
    time_limit : float, optional
        Seconds for each method.
    options : mapping, optional
        Further options by the name of the method.

    Returns
    -------
    AssignmentComparison

    Examples
    --------
    >>> from codekin.coding import Codebook
    >>> codebook = Codebook([[1, 1, 1], [1, 1, -1], [-1, -1, 1]])
    >>> table = compare_assignments(codebook, [[0, 3, 1], [3, 0, 2], [1, 2, 0]], ["identity", "exhaustive"])
    >>> [(row["method"], round(row["score"], 3)) for row in table.rows()]
    [('identity', 0.655), ('exhaustive', 0.0)]
    """
    distances = as_class_distances(class_distances)
    names = [*POLICIES, *ASSIGNMENTS]
    seeds = dict(zip(names, derived_seeds(seed_of(rng), len(names)), strict=True))
    given: dict[str, Any]
    results = []
    for method in methods:
        if method not in names:
            raise ValueError(f"A method to compare must be one of {', '.join(names)}. Got {method!r}.")
        given = {"sense": None if method in POLICIES else sense, "rng": seeds[method], "time_limit": time_limit}
        results.append(assign(codebook, distances, method, **given, **(options or {}).get(method, {})))
    return AssignmentComparison(tuple(results))
