"""The paper's search: from a random assignment, make the best swap of two codewords until no swap helps."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from codekin.assignments.budget import Budget
from codekin.assignments.quadratic import QuadraticProblem, QuadraticSolution, SwapState, best_of
from codekin.coding import IntArray


def descent_search(problem: QuadraticProblem, budget: Budget, seed: int) -> QuadraticSolution:
    """Local optima, each found by steepest descent from a random permutation.

    This is the local search of Evron et al. (2023, appendix on CIFAR-100), who use ten restarts; with
    ``sense="breaking"`` it is their steepest ascent. A move looks at all swaps of two codewords; updating what each of
    them would change takes O(K^2) per move, computing it from scratch O(K^3).
    """

    def start(_index: int, seed: int, _deadline: float) -> QuadraticSolution:
        order = np.random.default_rng(seed).permutation(problem.n)
        solution = descend_from(problem, order, budget.deadline)
        budget.report(solution.n_evaluations, solution.objective)
        return solution

    return best_of(budget.run_restarts(start, seed))


def descend_from(problem: QuadraticProblem, order: IntArray, deadline: float) -> QuadraticSolution:
    """The local optimum that steepest descent reaches from a permutation, unless time runs out."""
    from codekin.kernels.qap_swaps import descend

    state = SwapState(problem, order)
    objectives = [state.objective]
    # Some hundredths of a second at a time; then everything is computed again, to remove rounding.
    n_at_once = max(16, 50_000_000 // problem.n**2)
    deltas = np.empty(n_at_once)
    while True:
        n_moves = descend(*state.arrays, problem.tolerance, n_at_once, deltas)
        objectives.extend(objectives[-1] + np.cumsum(deltas[:n_moves]))
        if n_moves < n_at_once or perf_counter() >= deadline:
            break
        state.refresh()
        objectives[-1] = state.objective
    objectives[-1] = problem.objective(state.order)
    n_evaluations = 1 + problem.n_pairs * np.arange(len(objectives))
    return QuadraticSolution(
        state.order.astype(np.intp),
        objectives[-1],
        int(n_evaluations[-1]) + problem.n_pairs,
        np.column_stack([n_evaluations, np.minimum.accumulate(objectives)]),
    )
