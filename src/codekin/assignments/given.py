"""Assignments without a search: class k gets codeword k, or a random one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from codekin.assignments._solver import SearchTask
from codekin.assignments.dense import evaluated
from codekin.assignments.result import AssignmentResult
from codekin.coding import Assignment


def solve_by_identity(task: SearchTask) -> AssignmentResult:
    """Class ``k`` gets codeword ``k``: for codebooks whose rows were made for their classes."""
    return evaluated(task, Assignment.identity(task.problem.n_classes))


def solve_at_random(task: SearchTask) -> AssignmentResult:
    """An assignment drawn at random, or the best of several."""
    problem, budget = task.problem, task.budget
    generator = np.random.default_rng(task.seed)
    best: AssignmentResult | None = None
    history: list[tuple[int, float]] = []
    for drawn in range(1, budget.n_restarts + 1):
        order = generator.permutation(problem.n_codewords)[: problem.n_classes]
        result = evaluated(task, Assignment(order, "random"))
        if best is None or task.sign * result.z > task.sign * best.z:
            best = result
            history.append((drawn, result.score))
        if budget.is_spent:
            break
    assert best is not None
    return replace(
        best, seed=task.seed, n_evaluations=drawn, seconds=budget.seconds, history=np.array(history, dtype=np.float64)
    )
