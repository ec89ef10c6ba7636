"""From a codebook and class distances to a quadratic assignment problem, and from its solution back to an assignment.

Where there are more codewords than classes, classes are made up that use the spare codewords. They are as far from
everything as classes are on average; with the mean taken off, that is a distance of 0.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from math import inf

import numpy as np
from numpy.typing import ArrayLike

from codekin.assignments.budget import Budget, seed_of
from codekin.assignments.quadratic import MAX_PROPOSED_IN_TURN, QuadraticProblem, QuadraticSolution
from codekin.assignments.result import (
    SENSES,
    AssignmentResult,
    EquidistantCodebookWarning,
    ProgressCallback,
    Sense,
)
from codekin.assignments.scores import AssignmentProblem
from codekin.assignments.seriation import codeword_order, spectral_class_order
from codekin.class_trees import ClassTree
from codekin.coding import Assignment, Codebook
from codekin.distances import ClassDistances

Search = Callable[[QuadraticProblem, Budget, int], QuadraticSolution]
"""A search takes a problem, its limits and a seed."""


def solve(
    search: Search,
    method: str,
    codebook: Codebook,
    class_distances: ClassDistances | ClassTree | ArrayLike,
    *,
    sense: Sense,
    rng: np.random.Generator | int | None,
    time_limit: float | None,
    n_restarts: int,
    progress: ProgressCallback | None,
    n_threads: int | None = None,
) -> AssignmentResult:
    """Run a search for permutations on a codebook and class distances; what all solvers on matrices have in common."""
    problem = AssignmentProblem.of(codebook, class_distances)
    check_sense(sense)
    seed = seed_of(rng)
    budget = Budget(method, time_limit, n_restarts, progress, n_threads)
    if is_blind(codebook):
        return unsearched(problem, method, sense, budget)
    quadratic = quadratic_problem(problem, sense)
    budget.score_of_objective = partial(_score_of_objective, problem, quadratic, sense)
    solution = search(quadratic, budget, seed)
    assignment = Assignment(solution.order[: problem.n_classes], method=method)
    history = solution.history.copy()
    history[:, 1] = [budget.score_of_objective(objective) for objective in history[:, 1]]
    score, z = problem.score_and_z(assignment)
    has_bound = solution.bound is not None and problem.n_codewords == problem.n_classes
    return AssignmentResult(
        assignment=assignment,
        score=score,
        z=z,
        method=method,
        sense=sense,
        seed=seed,
        n_evaluations=solution.n_evaluations,
        seconds=budget.seconds,
        bound=budget.score_of_objective(solution.bound) if has_bound and solution.bound is not None else None,
        is_optimal=solution.is_optimal,
        history=history,
    )


def quadratic_problem(problem: AssignmentProblem, sense: Sense) -> QuadraticProblem:
    """The problem whose lowest objective belongs to the best assignment."""
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
        distances = problem.class_distances
        row_order = spectral_class_order(distances) if distances.tree is None else distances.tree.class_order()
        value_order = codeword_order(problem.codebook, n_codewords, "preserving")
    return QuadraticProblem(np.ascontiguousarray(a[None]), codeword_distances[None], n_classes, row_order, value_order)


def is_blind(codebook: Codebook) -> bool:
    """Whether no assignment has a better score than another; warns unless that is because they are all the same."""
    if not codebook.is_equidistant:
        return False
    if not codebook.is_symmetric:
        warnings.warn(
            "All codewords of this codebook are equally far apart, so no assignment is more informed than another, "
            "and none was searched for. Use another codebook, or the assignment 'random'.",
            EquidistantCodebookWarning,
            stacklevel=4,
        )
    return True


def unsearched(problem: AssignmentProblem, method: str, sense: Sense, budget: Budget) -> AssignmentResult:
    """Class k gets codeword k, for want of anything better."""
    return evaluated(problem, Assignment.identity(problem.n_classes, method), sense, budget, is_optimal=True)


def evaluated(
    problem: AssignmentProblem,
    assignment: Assignment,
    sense: Sense,
    budget: Budget,
    *,
    seed: int | None = None,
    n_evaluations: int = 1,
    is_optimal: bool = False,
) -> AssignmentResult:
    """The result of a method that makes one assignment and has nothing to search."""
    score, z = problem.score_and_z(assignment)
    budget.score_of_objective = float
    budget.report(n_evaluations, score)
    return AssignmentResult(
        assignment=assignment,
        score=score,
        z=z,
        method=assignment.method,
        sense=sense,
        seed=seed,
        n_evaluations=n_evaluations,
        seconds=budget.seconds,
        bound=score if is_optimal else None,
        is_optimal=is_optimal,
        history=np.array([[n_evaluations, score]], dtype=np.float64),
    )


def check_sense(sense: str) -> None:
    """Raise unless it is one of the two."""
    if sense not in SENSES:
        raise ValueError(f"The 'sense' parameter must be 'preserving' or 'breaking'. Got {sense!r}.")


def _score_of_objective(
    problem: AssignmentProblem, quadratic: QuadraticProblem, sense: Sense, objective: float
) -> float:
    """The score of a permutation with this objective."""
    if not abs(objective) < inf:
        return float("nan")
    inner_product = -objective if sense == "preserving" else objective
    if quadratic.n == quadratic.n_active:
        # The matrix was not centred: keep integers integers.
        inner_product -= problem.mean_class_distance * problem.codeword_moments.total
    return problem.score_of_alignment(inner_product)
