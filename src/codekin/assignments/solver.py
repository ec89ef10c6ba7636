"""A solver: a search, and what it needs of a problem.

If there are more codewords than classes, dummy classes use the spare codewords. They are at the mean distance from all
others, which after centring is a distance of 0.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any

import numpy as np

from codekin.assignments.budget import Budget
from codekin.assignments.quadratic import MAX_PROPOSED_IN_TURN, QuadraticProblem, QuadraticSolution
from codekin.assignments.result import AssignmentResult, Sense
from codekin.assignments.scores import AssignmentProblem
from codekin.classes import ClassDistances
from codekin.classes.tree_distances import TreeDistances
from codekin.classes.vectors import EmbeddingDistances, ProductDistances
from codekin.code import Assignment, FloatArray, IntArray
from codekin.code.geometry import MAX_DENSE_CODEWORDS, order_along, principal_order

_MAX_DENSE_EIGENPROBLEM = 300
"""Up to this many rows all eigenvectors are computed; beyond, only the one that is needed."""


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
    """A condition that a problem must meet, and the parts of the error message if it does not."""

    what: str
    is_met: Callable[[SearchTask], bool]
    got: Callable[[SearchTask], object]
    remedy: str


def has_dense_vectors(class_distances: ClassDistances) -> bool:
    """Whether these are distances between vectors that are not sparse."""
    if isinstance(class_distances, EmbeddingDistances):
        return isinstance(class_distances.vectors, np.ndarray)
    return isinstance(class_distances, ProductDistances)


def _of_distances(what: str, is_met: Callable[[ClassDistances], bool], remedy: str) -> Need:
    """A condition on class distances."""
    return Need(
        what, lambda task: is_met(task.problem.class_distances), lambda task: task.problem.class_distances, remedy
    )


ANY = "use 'portfolio' or 'spectral'"
TREE = _of_distances(
    "class distances that come from a tree", lambda one: bool(one.tree), "use 'spectral', which finds its own order"
)
PATH_LENGTHS = _of_distances("path lengths in a class tree", lambda one: isinstance(one, TreeDistances), ANY)
VECTORS = _of_distances("distances between vectors that are not sparse", has_dense_vectors, ANY)


@dataclass(frozen=True)
class Solver:
    """An entry of ``ASSIGNMENTS``: ``solve(task, **options)``, and what there is to know about it.

    ``n_restarts`` may be a function of the number of codewords; ``on_matrices`` is the search itself, if it works on
    any two matrices.
    """

    solve: Callable[..., AssignmentResult]
    needs: tuple[Need, ...] = ()
    n_restarts: int | Callable[[int], int] = 1
    is_informed: bool = True
    is_random: bool = True
    options: tuple[str, ...] = ()
    on_matrices: Callable[..., QuadraticSolution] | None = None

    def restarts(self, n_codewords: int, given: int | None) -> int:
        """The given number of starts, or the default."""
        if given is not None:
            return given
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


def on_matrices(search: Search, **settings: Any) -> Solver:
    """The solver of a search on matrices, ``search(problem, budget, seed, **options)``."""
    return Solver(
        partial(solved_on_matrices, search=search), options=options_of(search), on_matrices=search, **settings
    )


def solved_on_matrices(task: SearchTask, search: Search, **options: Any) -> AssignmentResult:
    """The result of a search for permutations, for a codebook and class distances."""
    problem, budget = task.problem, task.budget
    quadratic = quadratic_problem(problem, task.sense)

    def score_of(objective: float) -> float:
        if not abs(objective) < inf:
            return float("nan")
        # The matrix was not centred if there are no spare codewords, to keep integers.
        is_centred = quadratic.n > quadratic.n_active
        mean = 0.0 if is_centred else problem.mean_class_distance * problem.codeword_moments.total
        return problem.score_of_alignment(-task.sign * objective - mean)

    budget.score_of_objective = score_of
    solution = search(quadratic, budget, task.seed, **options)
    assignment = Assignment(solution.order[: problem.n_classes], method=budget.method)
    history = solution.history.copy()
    history[:, 1] = [score_of(objective) for objective in history[:, 1]]
    is_bounded = solution.bound is not None and problem.n_codewords == problem.n_classes
    facts: Any = {"bound": score_of(solution.bound or 0.0) if is_bounded else None, "is_optimal": solution.is_optimal}
    return task.result(assignment, solution.n_evaluations, lambda _: history, **facts)


def quadratic_problem(problem: AssignmentProblem, sense: Sense) -> QuadraticProblem:
    """The problem whose minimum is the best assignment."""
    sign = -1.0 if sense == "preserving" else 1.0
    n_classes, n_codewords = problem.n_classes, problem.n_codewords
    codeword_distances = problem.codebook.row_distances()
    a = sign * problem.class_distances.matrix()
    if n_codewords > n_classes:
        a = np.zeros((n_codewords, n_codewords))
        a[:n_classes, :n_classes] = sign * (problem.class_distances.matrix() - problem.mean_class_distance)
        np.fill_diagonal(a, 0.0)
    row_order = value_order = None
    if n_codewords > MAX_PROPOSED_IN_TURN:
        tree = problem.class_distances.tree
        row_order = tree.class_order() if tree else spectral_class_order(problem.class_distances)
        value_order = problem.codebook.similar_order(n_codewords)
    return QuadraticProblem(np.ascontiguousarray(a[None]), codeword_distances[None], n_classes, row_order, value_order)


def evaluated(task: SearchTask, assignment: Assignment, *, is_optimal: bool = False) -> AssignmentResult:
    """The result of a method that makes one assignment without a search."""
    result = task.result(assignment, 1, lambda score: [(1, score)], is_optimal=is_optimal)
    task.budget.score_of_objective = float
    task.budget.report(1, result.score)
    return replace(result, seed=None, bound=result.score if is_optimal else None)


def spectral_class_order(class_distances: ClassDistances) -> IntArray:
    """The classes in an order in which neighbours are similar, from the distances alone if a matrix is possible."""
    n_classes = class_distances.n_classes
    if n_classes <= MAX_DENSE_CODEWORDS:
        return _fiedler_order(class_distances.matrix())
    if isinstance(class_distances, EmbeddingDistances):
        return principal_order(class_distances.vectors)
    if isinstance(class_distances, ProductDistances):
        return principal_order(class_distances.factors)
    if class_distances.tree:
        return class_distances.tree.class_order()
    return _fiedler_order(class_distances.matrix())


def _fiedler_order(distances: FloatArray) -> IntArray:
    """Ascending along the eigenvector of the second smallest eigenvalue of the similarities' Laplacian."""
    from scipy.linalg import eigh

    n = len(distances)
    if n < 3:
        return np.arange(n)
    similarities = distances.max() - distances
    np.fill_diagonal(similarities, 0.0)
    degrees = similarities.sum(axis=1)
    if n > _MAX_DENSE_EIGENPROBLEM:
        return order_along(_fiedler_vector(similarities, degrees))
    _, vectors = eigh(np.diag(degrees) - similarities, subset_by_index=[1, 1])
    return order_along(vectors[:, 0])


def _fiedler_vector(similarities: FloatArray, degrees: FloatArray) -> FloatArray:
    """The Fiedler vector by Lanczos iterations; an order needs few digits."""
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    n = len(degrees)
    # The negative Laplacian, with its constant eigenvector moved out of the way.
    operator: Any = LinearOperator(
        (n, n),
        matvec=lambda x: similarities @ x.ravel() - degrees * x.ravel() - 2 * degrees.max() * x.mean(),
        dtype=np.float64,
    )
    start = np.linspace(-1.0, 1.0, n)
    try:
        _, vectors = eigsh(operator, k=1, which="LA", v0=start, tol=1e-3, maxiter=50)
    except ArpackNoConvergence as failure:
        return np.real(failure.eigenvectors[:, 0]) if failure.eigenvectors.size else -degrees
    return np.asarray(vectors)[:, 0]
