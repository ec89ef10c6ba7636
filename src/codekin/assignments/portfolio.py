"""The default search on matrices: annealing from several starts, tabu search from the best of them, then descent."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from time import perf_counter

from codekin._system.threads import available_threads
from codekin.assignments.annealing import anneal_restarts, default_proposals
from codekin.assignments.budget import Budget, derived_seeds
from codekin.assignments.quadratic import MAX_PROPOSED_IN_TURN, QuadraticProblem, QuadraticSolution, best_of
from codekin.assignments.steepest_descent import descend_from
from codekin.assignments.tabu import default_moves, tabu_from

_N_ELITES = 2
"""From how many of the annealed assignments tabu search starts without a time limit."""
_SWEEPS_PER_RUN = 1_000
"""How often a run should propose every swap before another run is a better use of the time."""


def default_restarts(n: int) -> int:
    """How many times a problem of this size is annealed."""
    # A second run of a large problem ends about where the first one does, in twice the time.
    return 8 if n <= MAX_PROPOSED_IN_TURN else 1


def portfolio_search(problem: QuadraticProblem, budget: Budget, seed: int) -> QuadraticSolution:
    """Annealing, tabu search and descent, within one budget: the default for at most 5,000 codewords.

    No single search is best everywhere: tabu search is best on unstructured and small problems, annealing on structured
    ones from about 60 classes. So annealing finds several local optima, tabu search continues from the best of them,
    and descent polishes the result. For more than 500 codewords there is only annealing (see :func:`annealing_search`).
    Without a time limit it takes about half a second for 100 codewords and about two for 1,000; with one, the budget's
    restarts are an upper limit.
    """
    anneal_seed, tabu_seed = derived_seeds(seed, 2)
    n_threads = budget.n_threads or available_threads()
    if budget.time_limit is None:
        n_runs, until, n_proposals = budget.n_restarts, inf, default_proposals(problem)
        n_tabu, n_moves = _N_ELITES, default_moves(problem)
    else:
        # Tabu search needs no help with small problems.
        until = budget.started + budget.time_limit * (0.25 if problem.n < 50 else 0.5)
        n_runs, n_proposals = _runs_within(until - perf_counter(), problem, n_threads, budget.n_restarts), None
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


def _runs_within(seconds: float, problem: QuadraticProblem, n_threads: int, n_restarts: int) -> int:
    """How many runs of annealing should share the time: one per thread, more if they can be long enough."""
    seconds_per_sweep = problem.n_pairs * (25e-9 + 0.5e-9 * problem.n)
    n_long_runs = seconds * n_threads / (_SWEEPS_PER_RUN * seconds_per_sweep)
    return max(1, min(n_restarts, max(n_threads, int(n_long_runs))))
