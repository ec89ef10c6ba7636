"""Simulated annealing: swaps that make things worse are accepted, less and less often."""

from __future__ import annotations

import numpy as np

from codekin.assignments._solver import check_at_least_1
from codekin.assignments.budget import Budget, generator_state
from codekin.assignments.cooling import cooling_steps
from codekin.assignments.near_annealing import near_anneal_restarts
from codekin.assignments.quadratic import MAX_PROPOSED_IN_TURN, QuadraticProblem, QuadraticSolution, best_of
from codekin.assignments.steepest_descent import descend_from
from codekin.coding import IntArray

_START_TEMPERATURES = (0.2, 0.3)
"""First temperatures in units of the mean change by a random swap; restarts alternate between them. The lower one is
better if both matrices have structure, the higher one if codewords are random."""
_COOLING = 0.12
"""The last temperature, as a share of the first."""
_SAMPLES = 2_000
"""How many random swaps determine the scale of temperatures."""


def annealing_search(
    problem: QuadraticProblem, budget: Budget, seed: int, *, n_proposals: int | None = None
) -> QuadraticSolution:
    """Several runs of simulated annealing, each followed by steepest descent.

    All swaps are proposed in turn (Connolly, 1990) while the temperature falls by a constant factor; a proposal takes
    O(K). The strongest single search if distances have structure and there are more than about 60 classes. More than
    500 codewords have too many swaps for that: annealing then starts by matching a spectral order of the classes to the
    order of the codewords, and mostly proposes swaps of neighbours in either.

    ``n_proposals`` is how many swaps each start proposes: by default as many as the time limit allows; without one,
    all swaps 200 times, or 1,000 per class for more than 500 codewords.

    References
    ----------
    D. Connolly, "An improved annealing scheme for the QAP", European Journal of Operational Research 46, 1990.
    """
    check_at_least_1(n_proposals=n_proposals)
    if n_proposals is None and budget.time_limit is None:
        n_proposals = default_proposals(problem)
    return best_of(anneal_restarts(problem, budget, seed, n_proposals=n_proposals, until=budget.deadline))


def default_proposals(problem: QuadraticProblem) -> int:
    """The number of proposals of a run without limits."""
    if problem.n > MAX_PROPOSED_IN_TURN:
        return 1_000 * problem.n_active
    return min(200 * problem.n_pairs, 100_000_000 // problem.n)


def anneal_restarts(
    problem: QuadraticProblem, budget: Budget, seed: int, *, n_proposals: int | None, until: float
) -> list[QuadraticSolution]:
    """The local optima that the budget's restarts end in, in order."""
    if problem.n > MAX_PROPOSED_IN_TURN:
        return near_anneal_restarts(problem, budget, seed, n_proposals=n_proposals, until=until)

    def start(index: int, seed: int, deadline: float) -> QuadraticSolution:
        order = np.random.default_rng(seed).permutation(problem.n)
        temperature = _START_TEMPERATURES[index % len(_START_TEMPERATURES)]
        return anneal_from(problem, order, budget, seed, temperature, n_proposals=n_proposals, deadline=deadline)

    return budget.run_restarts(start, seed, until=until)


def anneal_from(
    problem: QuadraticProblem,
    order: IntArray,
    budget: Budget,
    seed: int,
    start_temperature: float,
    *,
    n_proposals: int | None,
    deadline: float,
) -> QuadraticSolution:
    """Anneal from a permutation, for a number of proposals or until a deadline, then descend to a local optimum."""
    from codekin.kernels.qap_swaps import anneal_moves, mean_absolute_delta

    order = np.array(order, dtype=np.int64)
    b, random_state = problem.permuted_b(order), generator_state(seed)
    objective = best = problem.objective(order)
    best_order = order.copy()
    history = [(1, objective)]
    if problem.n < 2:
        return QuadraticSolution(order.astype(np.intp), objective, 1, np.array(history))
    scale = mean_absolute_delta(problem.a, b, problem.n_active, _SAMPLES, random_state)
    pair = np.array([0, 1], dtype=np.int64)
    done = 1
    for temperature, factor, n_at_once in cooling_steps(
        start_temperature * max(scale, problem.tolerance),
        _COOLING,
        n_at_once=max(100, 1_000_000 // problem.n),
        n_proposals=n_proposals,
        deadline=deadline,
    ):
        objective += anneal_moves(
            problem.a, b, problem.n_active, order, pair, temperature, factor, n_at_once, random_state
        )
        done += n_at_once
        if objective < best - problem.tolerance:
            best, best_order = objective, order.copy()
        history.append((done, best))
        budget.report(n_at_once, best)
    # Annealing almost always ends in the best it has seen; a short run may have been better before.
    local = descend_from(problem, (order if objective <= best else best_order).astype(np.intp), budget.deadline)
    history.append((done + local.n_evaluations, local.objective))
    return QuadraticSolution(local.order, local.objective, done + local.n_evaluations, np.array(history))
