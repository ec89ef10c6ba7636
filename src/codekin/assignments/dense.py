"""From a codebook and class distances to a quadratic assignment problem, and from its solution back to an assignment.

If there are more codewords than classes, dummy classes use the spare codewords. They are at the mean distance from all
others, which after centring is a distance of 0.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any

import numpy as np

from codekin.assignments._solver import Search, SearchTask, Solver, options_of
from codekin.assignments.quadratic import MAX_PROPOSED_IN_TURN, QuadraticProblem
from codekin.assignments.result import AssignmentResult, EquidistantCodebookWarning, Sense
from codekin.assignments.scores import AssignmentProblem
from codekin.assignments.seriation import codeword_order, spectral_class_order
from codekin.coding import Assignment, Codebook


def on_matrices(search: Search, **settings: Any) -> Solver:
    """The solver of a search on matrices, ``search(problem, budget, seed, **options)``."""
    return Solver(
        partial(solved_on_matrices, search=search), options=options_of(search), on_matrices=search, **settings
    )


def solved_on_matrices(task: SearchTask, search: Search, **options: Any) -> AssignmentResult:
    """The result of a search for permutations, for a codebook and class distances."""
    problem, sense, budget = task.problem, task.sense, task.budget
    quadratic = quadratic_problem(problem, sense)
    budget.score_of_objective = partial(_score_of_objective, problem, quadratic, sense)
    solution = search(quadratic, budget, task.seed, **options)
    assignment = Assignment(solution.order[: problem.n_classes], method=budget.method)
    history = solution.history.copy()
    history[:, 1] = [budget.score_of_objective(objective) for objective in history[:, 1]]
    bound = None
    if solution.bound is not None and problem.n_codewords == problem.n_classes:
        bound = budget.score_of_objective(solution.bound)
    return task.result(
        assignment, solution.n_evaluations, lambda _: history, bound=bound, is_optimal=solution.is_optimal
    )


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
        distances = problem.class_distances
        row_order = spectral_class_order(distances) if distances.tree is None else distances.tree.class_order()
        value_order = codeword_order(problem.codebook, n_codewords, "preserving")
    return QuadraticProblem(np.ascontiguousarray(a[None]), codeword_distances[None], n_classes, row_order, value_order)


def is_blind(codebook: Codebook) -> bool:
    """Whether all assignments have the same score; warns unless they all give the same classifier."""
    if not codebook.is_equidistant:
        return False
    if not codebook.is_symmetric:
        warnings.warn(
            "All codewords of this codebook are equally far apart, so no assignment is more informed than another, "
            "and none was searched for. Use another codebook, or the assignment 'random'.",
            EquidistantCodebookWarning,
            stacklevel=3,
        )
    return True


def evaluated(task: SearchTask, assignment: Assignment, *, is_optimal: bool = False) -> AssignmentResult:
    """The result of a method that makes one assignment without a search."""
    result = task.result(assignment, 1, lambda score: [(1, score)], is_optimal=is_optimal)
    task.budget.score_of_objective = float
    task.budget.report(1, result.score)
    return replace(result, seed=None, bound=result.score if is_optimal else None)


def _score_of_objective(
    problem: AssignmentProblem, quadratic: QuadraticProblem, sense: Sense, objective: float
) -> float:
    """The score of a permutation with this objective."""
    if not abs(objective) < inf:
        return float("nan")
    inner_product = -objective if sense == "preserving" else objective
    if quadratic.n == quadratic.n_active:
        # The matrix was not centred, to keep integers.
        inner_product -= problem.mean_class_distance * problem.codeword_moments.total
    return problem.score_of_alignment(inner_product)
