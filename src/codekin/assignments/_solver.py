"""A solver: a search, and what it needs of a problem.

:func:`codekin.assignments.assign` checks all arguments and gives the solver a :class:`SearchTask`; the solver returns
an :class:`AssignmentResult`. Searches on matrices and searches by swaps are wrapped by
:func:`codekin.assignments.dense.on_matrices` and :func:`codekin.assignments.swap_runs.by_swaps`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from codekin.assignments.budget import Budget
from codekin.assignments.quadratic import QuadraticSolution
from codekin.assignments.result import AssignmentResult, Sense
from codekin.assignments.scores import AssignmentProblem
from codekin.classes import ClassDistances
from codekin.classes.embedding import EmbeddingDistances
from codekin.classes.product import ProductDistances
from codekin.classes.tree_distances import TreeDistances
from codekin.coding import Assignment


@dataclass(frozen=True, eq=False)
class SearchTask:
    """The input of a solver; ``budget`` has time, restarts, threads and the method's name."""

    problem: AssignmentProblem
    sense: Sense
    budget: Budget
    seed: int

    @property
    def sign(self) -> float:
        """1 to preserve, -1 to break."""
        return 1.0 if self.sense == "preserving" else -1.0

    def result(
        self, assignment: Assignment, n_evaluations: int, history: Callable[[float], Any], **facts: Any
    ) -> AssignmentResult:
        """The result of the task; ``history`` makes the history from the score of the assignment."""
        score, z = self.problem.score_and_z(assignment)
        passed = np.array(history(score), dtype=np.float64)
        search = assignment.method, self.sense, self.seed, n_evaluations, self.budget.seconds
        return AssignmentResult(assignment, score, z, *search, history=passed, **facts)


@dataclass(frozen=True)
class Need:
    """A condition that a problem must meet, with the parts of the error message if it does not.

    - ``what``: "The method 'tabu' needs ..."
    - ``got``: what the task has instead.
    - ``remedy``: what to do: "use 'portfolio'".
    """

    what: str
    is_met: Callable[[SearchTask], bool]
    got: Callable[[SearchTask], object]
    remedy: str


def has_dense_vectors(class_distances: ClassDistances) -> bool:
    """Whether these are distances between vectors that are not sparse."""
    if isinstance(class_distances, EmbeddingDistances):
        return isinstance(class_distances.vectors, np.ndarray)
    return isinstance(class_distances, ProductDistances)


def _distances(task: SearchTask) -> object:
    return task.problem.class_distances


TREE = Need(
    "class distances that come from a tree",
    lambda task: task.problem.class_distances.tree is not None,
    _distances,
    "use 'spectral', which finds its own order",
)
PATH_LENGTHS = Need(
    "path lengths in a class tree",
    lambda task: isinstance(task.problem.class_distances, TreeDistances),
    _distances,
    "use 'portfolio' or 'spectral'",
)
VECTORS = Need(
    "distances between vectors that are not sparse",
    lambda task: has_dense_vectors(task.problem.class_distances),
    _distances,
    "use 'portfolio' or 'spectral'",
)


@dataclass(frozen=True)
class Solver:
    """An entry of ``ASSIGNMENTS``.

    - ``solve``: ``solve(task, **options)``, an :class:`AssignmentResult`.
    - ``needs``: what it needs of a problem.
    - ``n_restarts``: the default number of starts, perhaps as a function of the number of codewords.
    - ``is_informed``: whether it uses the class distances.
    - ``is_random``: whether it is random.
    - ``options``: the names of its further options.
    - ``on_matrices``: the search itself, if it works on any two matrices.
    """

    solve: Callable[..., AssignmentResult]
    needs: tuple[Need, ...] = ()
    n_restarts: int | Callable[[int], int] = 1
    is_informed: bool = True
    is_random: bool = True
    options: tuple[str, ...] = ()
    on_matrices: Callable[..., QuadraticSolution] | None = None

    def restarts(self, n_codewords: int) -> int:
        """The default number of starts."""
        return self.n_restarts if isinstance(self.n_restarts, int) else self.n_restarts(n_codewords)

    def check(self, task: SearchTask, options: dict[str, Any]) -> None:
        """Raise unless it can solve a task with these options."""
        method = task.budget.method
        for name in options:
            if name not in self.options:
                known = f"Its options are {', '.join(self.options)}." if self.options else "It has none."
                raise TypeError(f"The method {method!r} has no option {name!r}. {known}")
        for need in self.needs:
            if not need.is_met(task):
                raise ValueError(f"The method {method!r} needs {need.what}. Got {need.got(task)}; {need.remedy}.")


Search = Callable[..., QuadraticSolution]
"""A search on matrices: ``search(problem, budget, seed, **options)``."""


def options_of(*functions: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the keyword-only parameters of some functions."""
    return tuple(
        name
        for function in functions
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    )


def check_at_least_1(**values: int | None) -> None:
    """Raise if an option that counts steps is below 1."""
    for name, value in values.items():
        if value is not None and value < 1:
            raise ValueError(f"The '{name}' parameter must be at least 1. Got {value}.")
