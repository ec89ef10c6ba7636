"""Greedy assignments: the most similar classes choose their codewords first."""

from __future__ import annotations

from functools import partial

import numpy as np

from codekin.assignments._solver import SearchTask
from codekin.assignments.budget import Budget
from codekin.assignments.dense import solved_on_matrices
from codekin.assignments.quadratic import QuadraticProblem, QuadraticSolution, best_of
from codekin.assignments.result import AssignmentResult
from codekin.coding import FloatArray, IntArray


def solve_greedily(task: SearchTask) -> AssignmentResult:
    """Visit pairs of classes from the most similar one on, and give each new class the best remaining codeword.

    If one class of a pair has a codeword already, the other gets the free codeword that is nearest to it; if neither
    has, they get the two nearest free codewords. That is the policy of McVay (2020). With ``sense="breaking"`` nearest
    becomes farthest, as in Wan et al. (2022) for robustness against adversaries; both as described in Evron et al.
    (2023). Ties are broken at random, differently in every start.
    """
    return solved_on_matrices(task, partial(greedy_search, sign=-task.sign))


def greedy_search(problem: QuadraticProblem, budget: Budget, seed: int, *, sign: float) -> QuadraticSolution:
    """Greedy permutations of a symmetric problem whose ``a`` is ``sign`` times distances."""
    n_active = problem.n_active
    class_distances = sign * problem.a[0, :n_active, :n_active]
    # Costs: lower is better for two similar classes.
    codeword_costs = -sign * problem.b[0]

    def start(_index: int, seed: int, _deadline: float) -> QuadraticSolution:
        generator = np.random.default_rng(seed)
        classes, codewords = generator.permutation(n_active), generator.permutation(problem.n)
        shuffled = _greedy_order(
            class_distances[np.ix_(classes, classes)], codeword_costs[np.ix_(codewords, codewords)]
        )
        order = np.empty(n_active, dtype=np.intp)
        order[classes] = codewords[shuffled]
        order = np.concatenate([order, np.setdiff1d(np.arange(problem.n), order)])
        objective = problem.objective(order)
        budget.report(1, objective)
        return QuadraticSolution(order, objective, 1, np.array([[1.0, objective]]))

    return best_of(budget.run_restarts(start, seed))


def _greedy_order(class_distances: FloatArray, codeword_costs: FloatArray) -> IntArray:
    n_classes, n_codewords = len(class_distances), len(codeword_costs)
    codeword_of_class = np.full(n_classes, -1, dtype=np.intp)
    is_free = np.ones(n_codewords, dtype=bool)
    best_pairs = _pairs_in_order(codeword_costs)
    next_pair, n_assigned = 0, 0
    if n_classes == 1:
        return np.zeros(1, dtype=np.intp)
    for u, v in zip(*_pairs_in_order(class_distances), strict=True):
        if codeword_of_class[u] < 0 and codeword_of_class[v] < 0:
            # Codewords are never freed, so the position of the best free pair only increases.
            while not (is_free[best_pairs[0][next_pair]] and is_free[best_pairs[1][next_pair]]):
                next_pair += 1
            codeword_of_class[u], codeword_of_class[v] = best_pairs[0][next_pair], best_pairs[1][next_pair]
            is_free[[codeword_of_class[u], codeword_of_class[v]]] = False
            n_assigned += 2
        elif codeword_of_class[u] < 0 or codeword_of_class[v] < 0:
            new, partner = (u, v) if codeword_of_class[u] < 0 else (v, u)
            costs = np.where(is_free, codeword_costs[codeword_of_class[partner]], np.inf)
            codeword_of_class[new] = costs.argmin()
            is_free[codeword_of_class[new]] = False
            n_assigned += 1
        if n_assigned == n_classes:
            break
    return codeword_of_class


def _pairs_in_order(values: FloatArray) -> tuple[IntArray, IntArray]:
    """Pairs ``u < v``, by ascending value."""
    u, v = np.triu_indices(len(values), k=1)
    by_value = np.argsort(values[u, v], kind="stable")
    return u[by_value], v[by_value]
