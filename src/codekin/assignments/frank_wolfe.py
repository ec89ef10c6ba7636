"""The relaxed problem solved by the method of Frank and Wolfe, rounded, and refined by descent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from codekin.assignments.budget import Budget
from codekin.assignments.dense import solve
from codekin.assignments.quadratic import QuadraticProblem, QuadraticSolution, best_of
from codekin.assignments.result import AssignmentResult, ProgressCallback, Sense
from codekin.assignments.steepest_descent import descend_from
from codekin.class_trees import ClassTree
from codekin.coding import Codebook
from codekin.distances import ClassDistances


def frank_wolfe(
    codebook: Codebook,
    class_distances: ClassDistances | ClassTree | ArrayLike,
    *,
    sense: Sense = "preserving",
    rng: np.random.Generator | int | None = None,
    time_limit: float | None = None,
    n_restarts: int = 1,
    progress: ProgressCallback | None = None,
    n_threads: int | None = None,
) -> AssignmentResult:
    """SciPy's fast approximate QAP algorithm, and steepest descent from what it returns.

    Here for comparison. The relaxation to doubly stochastic matrices has its optima at matrices far from permutations,
    and alone it does worse than the descent that follows it.

    Parameters
    ----------
    codebook : Codebook
        The codewords, at most 5,000.
    class_distances : ClassDistances, ClassTree or array-like of shape (n_classes, n_classes)
        How far apart the classes are.
    sense : "preserving" or "breaking", default="preserving"
        Whether similar classes are to get similar codewords, or dissimilar ones.
    rng : numpy.random.Generator, int or None
        The source of the random starts.
    time_limit : float, optional
        Seconds after which no further start is made.
    n_restarts : int, default=1
        How many starts to make: the first one from the barycentre of all assignments, further ones at random.
    progress : callable, optional
        Called with a :class:`SearchProgress` after every start.
    n_threads : int, optional
        How many starts are made at once.

    Returns
    -------
    AssignmentResult

    References
    ----------
    J. Vogelstein et al., "Fast approximate quadratic programming for graph matching", PLOS ONE 10, 2015.

    Examples
    --------
    >>> from codekin.coding import Codebook
    >>> codebook = Codebook([[1, 1, 1], [1, 1, -1], [-1, -1, 1]])
    >>> frank_wolfe(codebook, [[0, 3, 1], [3, 0, 2], [1, 2, 0]], rng=0).score
    0.0
    """
    return solve(
        frank_wolfe_search,
        "frank_wolfe",
        codebook,
        class_distances,
        sense=sense,
        rng=rng,
        time_limit=time_limit,
        n_restarts=n_restarts,
        progress=progress,
        n_threads=n_threads,
    )


def frank_wolfe_search(problem: QuadraticProblem, budget: Budget, seed: int) -> QuadraticSolution:
    """The relaxation, its rounding and a descent, from the barycentre and from random starts."""
    from scipy.optimize import quadratic_assignment

    a, b = problem.a.sum(axis=0), problem.b.sum(axis=0)

    def start(index: int, seed: int, _deadline: float) -> QuadraticSolution:
        generator = np.random.default_rng(seed)
        options: Any = {"P0": "barycenter" if index == 0 else "randomized", "rng": generator}
        found = quadratic_assignment(a, b, method="faq", options=options)
        solution = descend_from(problem, np.asarray(found.col_ind, dtype=np.intp), budget.deadline)
        budget.report(found.nit + solution.n_evaluations, solution.objective)
        return solution

    return best_of(budget.run_restarts(start, seed))
