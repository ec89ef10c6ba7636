"""Local searches on matrices: steepest descent, tabu search, simulated annealing, and the default portfolio of them."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from time import perf_counter

import numpy as np

from codekin._system.parallel import available_threads
from codekin.assignments.budget import Budget, check_at_least_1, cooling_steps, derived_seeds, generator_state
from codekin.assignments.quadratic import MAX_PROPOSED_IN_TURN, QuadraticProblem, QuadraticSolution, SwapState, best_of
from codekin.code import IntArray
from codekin.code.geometry import bit_reversed

_TENURE = 8
"""The longest ban, in numbers of moves per row."""
_PATIENCE = 5
"""A swap that has been possible for this times n^2 moves is made at any cost."""
_MOVES_BETWEEN_REFRESHES = 10_000
_START_TEMPERATURES = (0.2, 0.3)
"""First temperatures in units of the mean change by a random swap; restarts alternate between them. The lower one is
better if both matrices have structure, the higher one if codewords are random."""
_COOLING = 0.12
"""The last temperature, as a share of the first."""
_SAMPLES = 2_000
"""How many random swaps determine the scale of temperatures."""
_NEAR_TEMPERATURE = 0.3
"""In units of the mean change of the objective by a random swap of a random permutation."""
_NEAR_COOLING = 0.03
_N_ELITES = 2
"""From how many of the annealed assignments tabu search starts without a time limit."""
_SWEEPS_PER_RUN = 1_000
"""How often a run should propose every swap before another run is a better use of the time."""


def descent_search(problem: QuadraticProblem, budget: Budget, seed: int) -> QuadraticSolution:
    """Local optima, each found by steepest descent from a random permutation.

    This is the local search of Evron et al. (2023, appendix on CIFAR-100), who use ten restarts. A move looks at all
    swaps of two codewords; updating what each of them would change takes O(K^2) per move.
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


def tabu_search(
    problem: QuadraticProblem, budget: Budget, seed: int, *, n_moves: int | None = None
) -> QuadraticSolution:
    """Robust tabu search (E. Taillard, Parallel Computing 17, 1991) from random permutations.

    Strong if the problem has no structure to exploit, and for fewer than about 60 classes; a move takes O(K^2).
    ``n_moves`` is how many moves each start makes: by default as many as the time limit allows, or without one up to
    100,000, which takes some tenths of a second.
    """
    check_at_least_1(n_moves=n_moves)
    if n_moves is None and budget.time_limit is None:
        n_moves = default_moves(problem)

    def start(_index: int, seed: int, deadline: float) -> QuadraticSolution:
        order = np.random.default_rng(seed).permutation(problem.n)
        return tabu_from(problem, order, budget, seed, n_moves=n_moves, deadline=deadline)

    return best_of(budget.run_restarts(start, seed))


def default_moves(problem: QuadraticProblem) -> int:
    """The number of moves without limits: some tenths of a second, and at least one per row."""
    return max(min(100_000, 3_000 * problem.n, 300_000_000 // problem.n**2), problem.n)


def tabu_from(
    problem: QuadraticProblem, order: IntArray, budget: Budget, seed: int, *, n_moves: int | None, deadline: float
) -> QuadraticSolution:
    """Robust tabu search from a given permutation, for a number of moves or until a deadline."""
    from codekin.kernels.qap_swaps import tabu_moves

    n, n_pairs = problem.n, problem.n_pairs
    state, random_state = SwapState(problem, order), generator_state(seed)
    best_order = state.order.copy()
    history = [(1, state.objective)]
    if n < 2:
        return QuadraticSolution(best_order.astype(np.intp), state.objective, 1, np.array(history))
    # All different, so that swaps become overdue one by one.
    banned_until = -np.arange(n * n, dtype=np.int64).reshape(n, n)
    by_place = banned_until[:, state.order]
    move_banned_until = np.minimum(by_place, by_place.T)
    clock = np.array([0.0, state.objective])
    n_at_once = max(10, 5_000_000 // n**2)
    done, refreshed = 0, 0
    while n_moves is None or done < n_moves:
        chunk = n_at_once if n_moves is None else min(n_at_once, n_moves - done)
        before = clock[1]
        bans = banned_until, move_banned_until
        limits = chunk, float(_TENURE * n), _PATIENCE * n * n
        state.objective = tabu_moves(
            *state.arrays, *bans, state.objective, best_order, problem.tolerance, clock, *limits, random_state
        )
        done += chunk
        if clock[1] < before:
            history.append((1 + done * n_pairs, clock[1]))
        budget.report(chunk * n_pairs, clock[1])
        if perf_counter() >= deadline:
            break
        if done - refreshed >= _MOVES_BETWEEN_REFRESHES:
            state.refresh()
            refreshed = done
    objective = problem.objective(best_order)
    history.append((1 + done * n_pairs, objective))
    return QuadraticSolution(best_order.astype(np.intp), objective, 1 + done * n_pairs, np.array(history))


def annealing_search(
    problem: QuadraticProblem, budget: Budget, seed: int, *, n_proposals: int | None = None
) -> QuadraticSolution:
    """Several runs of simulated annealing, each followed by steepest descent.

    All swaps are proposed in turn (D. Connolly, European Journal of Operational Research 46, 1990) while the
    temperature falls by a constant factor; a proposal takes O(K). The strongest single search if distances have
    structure and there are more than about 60 classes. More than 500 codewords have too many swaps for that: annealing
    then starts by matching a spectral order of the classes to that of the codewords, and mostly proposes swaps of
    neighbours in either. ``n_proposals`` is how many swaps each start proposes: by default as many as the time limit
    allows; without one, all swaps 200 times, or 1,000 per class for more than 500 codewords.
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
        from codekin.kernels.qap_swaps import anneal_moves, mean_absolute_delta

        order = np.random.default_rng(seed).permutation(problem.n).astype(np.int64)
        b, random_state, pair = problem.permuted_b(order), generator_state(seed), np.array([0, 1], dtype=np.int64)
        objective = best = problem.objective(order)
        best_order, done = order.copy(), 1
        history = [(done, objective)]
        if problem.n < 2:
            return QuadraticSolution(order.astype(np.intp), objective, 1, np.array(history))
        scale = mean_absolute_delta(problem.a, b, problem.n_active, _SAMPLES, random_state)
        first = _START_TEMPERATURES[index % len(_START_TEMPERATURES)] * max(scale, problem.tolerance)
        n_at_once, given = max(100, 1_000_000 // problem.n), (problem.a, b, problem.n_active, order, pair)
        for step in cooling_steps(first, _COOLING, n_at_once=n_at_once, n_proposals=n_proposals, deadline=deadline):
            objective += anneal_moves(*given, *step, random_state)
            done += step.n_proposals
            if objective < best - problem.tolerance:
                best, best_order = objective, order.copy()
            history.append((done, best))
            budget.report(step.n_proposals, best)
        # Annealing almost always ends in the best it has seen; a short run may have been better before.
        local = descend_from(problem, order if objective <= best else best_order, budget.deadline)
        done += local.n_evaluations
        return QuadraticSolution(local.order, local.objective, done, np.array([*history, (done, local.objective)]))

    return budget.run_restarts(start, seed, until=until)


def near_anneal_restarts(
    problem: QuadraticProblem, budget: Budget, seed: int, *, n_proposals: int | None, until: float
) -> list[QuadraticSolution]:
    """The results of the budget's restarts, which all start by matching one order to the other."""
    ordered, rows, values = problem.in_order()
    # Neighbours matched to neighbours, or put far apart, whichever is better; evenly spaced if values are spare.
    spread = np.arange(problem.n_active) * problem.n // problem.n_active
    candidates = (spread, spread[bit_reversed(problem.n_active)])
    starts = [np.concatenate([chosen, np.setdiff1d(np.arange(problem.n), chosen)]) for chosen in candidates]
    best_start = min(starts, key=ordered.objective)

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
        first, n_at_once = _NEAR_TEMPERATURE * max(scale, problem.tolerance), max(100, 1_000_000 // problem.n)
        for step in cooling_steps(
            first, _NEAR_COOLING, n_at_once=n_at_once, n_proposals=n_proposals, deadline=deadline
        ):
            objective += anneal_near_moves(a, b, problem.n_active, order, place, *step, state)
            done += step.n_proposals
            history.append((done, min(objective, history[-1][1])))
            budget.report(step.n_proposals, objective)
        found = np.empty(problem.n, dtype=np.intp)
        found[rows] = values[order]
        objective = problem.objective(found)
        # Without time to cool down, annealing is worse than its start.
        if objective > history[0][1]:
            found[rows], objective = values[best_start], history[0][1]
        history = [(count, max(value, objective)) for count, value in history]
        return QuadraticSolution(found, objective, done, np.array([*history, (done, objective)]))

    return budget.run_restarts(start, seed, until=until)


def default_restarts(n: int) -> int:
    """How many times a problem of this size is annealed."""
    # A second run of a large problem ends about where the first one does, in twice the time.
    return 8 if n <= MAX_PROPOSED_IN_TURN else 1


def portfolio_search(problem: QuadraticProblem, budget: Budget, seed: int) -> QuadraticSolution:
    """Annealing, tabu search and descent, within one budget: the default for at most 5,000 codewords.

    No single search is best everywhere: tabu search is best on unstructured and small problems, annealing on structured
    ones from about 60 classes. So annealing finds several local optima, tabu search continues from the best of them,
    and descent polishes the result. For more than 500 codewords there is only annealing. Without a time limit it takes
    about half a second for 100 codewords and two for 1,000; with one, the budget's restarts are an upper limit.
    """
    anneal_seed, tabu_seed = derived_seeds(seed, 2)
    n_threads = budget.n_threads or available_threads()
    if budget.time_limit is None:
        n_runs, until, n_proposals = budget.n_restarts, inf, default_proposals(problem)
        n_tabu, n_moves = _N_ELITES, default_moves(problem)
    else:
        # Tabu search needs no help with small problems.
        until = budget.started + budget.time_limit * (0.25 if problem.n < 50 else 0.5)
        # One run of annealing per thread, more if they can be long enough.
        seconds_per_run = _SWEEPS_PER_RUN * problem.n_pairs * (25e-9 + 0.5e-9 * problem.n)
        n_long_runs = int((until - perf_counter()) * n_threads / seconds_per_run)
        n_runs, n_proposals = max(1, min(budget.n_restarts, max(n_threads, n_long_runs))), None
        n_tabu, n_moves = n_threads, None
    if problem.n > MAX_PROPOSED_IN_TURN:
        # A move of tabu search or descent looks at all swaps; annealing makes better use of the time.
        return best_of(anneal_restarts(problem, budget, anneal_seed, n_proposals=n_proposals, until=budget.deadline))
    annealed = anneal_restarts(
        problem, replace(budget, n_restarts=n_runs), anneal_seed, n_proposals=n_proposals, until=until
    )
    elites = sorted(annealed, key=lambda solution: solution.objective)[:_N_ELITES]

    def start(index: int, seed: int, deadline: float) -> QuadraticSolution:
        order = elites[index % len(elites)].order
        return tabu_from(problem, order, budget, seed, n_moves=n_moves, deadline=deadline)

    improved = replace(budget, n_restarts=n_tabu).run_restarts(start, tabu_seed)
    best = min([*annealed, *improved], key=lambda solution: solution.objective)
    return best_of([*annealed, *improved, descend_from(problem, best.order, inf)])
