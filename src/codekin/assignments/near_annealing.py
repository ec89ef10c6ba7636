"""Annealing if there are too many swaps to propose each of them often: along orders of similar neighbours."""

from __future__ import annotations

import numpy as np

from codekin.assignments.budget import Budget, generator_state
from codekin.assignments.cooling import cooling_steps
from codekin.assignments.quadratic import QuadraticProblem, QuadraticSolution
from codekin.assignments.seriation import bit_reversed
from codekin.coding import IntArray

_START_TEMPERATURE = 0.3
"""In units of the mean change of the objective by a random swap of a random permutation."""
_COOLING = 0.03
_SAMPLES = 2_000


def near_anneal_restarts(
    problem: QuadraticProblem, budget: Budget, seed: int, *, n_proposals: int | None, until: float
) -> list[QuadraticSolution]:
    """The results of the budget's restarts, which all start by matching one order to the other."""
    ordered, rows, values = problem.in_order()
    best_start = _start(ordered)

    def start(_index: int, seed: int, deadline: float) -> QuadraticSolution:
        # Imported here: a compiled function that is sent to a worker would be compiled there again.
        from codekin.kernels.qap_swaps import anneal_near_moves, mean_absolute_delta

        state = generator_state(seed)
        shuffled = np.random.default_rng(seed).permutation(problem.n)
        scale = mean_absolute_delta(ordered.a, ordered.permuted_b(shuffled), problem.n_active, _SAMPLES, state)
        order, place = best_start.astype(np.int64), np.argsort(best_start).astype(np.int64)
        # Single precision is enough to choose swaps, and the kernel is limited by memory.
        a, b = ordered.a.astype(np.float32), ordered.permuted_b(order).astype(np.float32)
        objective, done = ordered.objective(order), 1
        history = [(done, objective)]
        for temperature, factor, n_at_once in cooling_steps(
            _START_TEMPERATURE * max(scale, problem.tolerance),
            _COOLING,
            n_at_once=max(100, 1_000_000 // problem.n),
            n_proposals=n_proposals,
            deadline=deadline,
        ):
            objective += anneal_near_moves(a, b, problem.n_active, order, place, temperature, factor, n_at_once, state)
            done += n_at_once
            history.append((done, min(objective, history[-1][1])))
            budget.report(n_at_once, objective)
        found = np.empty(problem.n, dtype=np.intp)
        found[rows] = values[order]
        objective = problem.objective(found)
        # Without time to cool down, annealing is worse than its start.
        if objective > history[0][1]:
            found[rows], objective = values[best_start], history[0][1]
        history = [(count, max(value, objective)) for count, value in history]
        return QuadraticSolution(found, objective, done, np.array([*history, (done, objective)]))

    return budget.run_restarts(start, seed, until=until)


def _start(problem: QuadraticProblem) -> IntArray:
    """Neighbours matched to neighbours, or put far apart, whichever is better; evenly spaced if values are spare."""
    spread = np.arange(problem.n_active) * problem.n // problem.n_active
    candidates = [
        np.concatenate([chosen, np.setdiff1d(np.arange(problem.n), chosen)])
        for chosen in (spread, spread[bit_reversed(problem.n_active)])
    ]
    return min(candidates, key=problem.objective)
