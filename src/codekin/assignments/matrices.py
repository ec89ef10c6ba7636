"""The searches on any two matrices: any quadratic assignment problem."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from codekin.assignments.budget import Budget, seed_of
from codekin.assignments.exhaustive import MAX_CODEWORDS
from codekin.assignments.policy import ASSIGNMENTS
from codekin.assignments.quadratic import QuadraticProblem, QuadraticSolution
from codekin.assignments.result import ProgressCallback

SEARCHES = {name: solver.on_matrices for name, solver in ASSIGNMENTS.items() if solver.on_matrices is not None}
"""The methods that need only matrices."""


def quadratic_assignment(
    A: ArrayLike,
    B: ArrayLike,
    method: str = "portfolio",
    *,
    maximize: bool = False,
    rng: np.random.Generator | int | None = None,
    time_limit: float | None = None,
    n_restarts: int | None = None,
    progress: ProgressCallback | None = None,
    n_threads: int | None = None,
) -> QuadraticSolution:
    r"""Minimise :math:`\sum_{uv} A_{uv} B_{p(u)p(v)}` over permutations :math:`p`.

    The problem behind assignments, for any matrices; they need not be symmetric.

    Parameters
    ----------
    A, B : array-like of shape (n, n)
        The matrices.
    method : str, default="portfolio"
        One of "exhaustive" (n at most 10), "optimal", "steepest_descent", "tabu", "annealing", "portfolio",
        "frank_wolfe" and "umeyama".
    maximize : bool, default=False
        Look for the highest sum.
    rng : numpy.random.Generator, int or None
        The source of randomness.
    time_limit : float, optional
        Seconds to search for.
    n_restarts : int, optional
        The number of starts; each method has its own default.
    progress : callable, optional
        Called from time to time with an object that has ``method``, ``seconds``, ``n_evaluations`` and ``score``, the
        best objective so far.
    n_threads : int, optional
        How many searches run at once.

    Returns
    -------
    QuadraticSolution
        With ``order[u] = p(u)``, the objective, and a bound if there is one.

    Examples
    --------
    >>> solution = quadratic_assignment([[0, 3, 1], [3, 0, 2], [1, 2, 0]], [[0, 1, 2], [1, 0, 3], [2, 3, 0]], rng=0)
    >>> solution.order, solution.objective
    (array([1, 0, 2]), 20.0)
    """
    if method not in SEARCHES:
        raise ValueError(f"The 'method' parameter must be one of {', '.join(SEARCHES)}. Got {method!r}.")
    problem = QuadraticProblem.of(A, B)
    if method == "exhaustive" and problem.n > MAX_CODEWORDS:
        raise ValueError(f"All permutations are enumerated for n of at most {MAX_CODEWORDS}. Got {problem.n}.")
    sign = 1.0
    if maximize:
        sign, problem = -1.0, replace(problem, a=-problem.a)
    if n_restarts is None:
        n_restarts = ASSIGNMENTS[method].restarts(problem.n)
    budget = Budget(method, time_limit, n_restarts, progress, n_threads, lambda objective: sign * objective)
    found = SEARCHES[method](problem, budget, seed_of(rng))
    changes: dict[str, Any] = {"objective": sign * found.objective}
    if found.bound is not None:
        changes["bound"] = sign * found.bound
    return replace(found, history=found.history * np.array([1.0, sign]), **changes)
