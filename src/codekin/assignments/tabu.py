"""Robust tabu search: always the best swap that does not undo a recent one."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from codekin.assignments._solver import check_at_least_1
from codekin.assignments.budget import Budget, generator_state
from codekin.assignments.quadratic import QuadraticProblem, QuadraticSolution, SwapState, best_of
from codekin.coding import IntArray

_TENURE = 8
"""The longest ban, in numbers of moves per row."""
_PATIENCE = 5
"""A swap that has been possible for this times n^2 moves is made at any cost."""
_MOVES_BETWEEN_REFRESHES = 10_000


def tabu_search(
    problem: QuadraticProblem, budget: Budget, seed: int, *, n_moves: int | None = None
) -> QuadraticSolution:
    """Robust tabu search (Taillard, 1991) from random permutations.

    Strong if the problem has no structure to exploit, and for fewer than about 60 classes; a move takes O(K^2).
    ``n_moves`` is how many moves each start makes: by default as many as the time limit allows, or without one up to
    100,000, which takes some tenths of a second.

    References
    ----------
    E. Taillard, "Robust taboo search for the quadratic assignment problem", Parallel Computing 17, 1991.
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
