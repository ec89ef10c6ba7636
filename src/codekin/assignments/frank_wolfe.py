"""The relaxed problem solved by the method of Frank and Wolfe, rounded, and refined by descent."""

from __future__ import annotations

from typing import Any

import numpy as np

from codekin.assignments.budget import Budget
from codekin.assignments.quadratic import QuadraticProblem, QuadraticSolution, best_of
from codekin.assignments.steepest_descent import descend_from


def frank_wolfe_search(problem: QuadraticProblem, budget: Budget, seed: int) -> QuadraticSolution:
    """SciPy's fast approximate QAP algorithm, followed by steepest descent.

    The first start is the barycentre of all assignments, further ones are random. It is here for comparison: the
    relaxation to doubly stochastic matrices has its optima far from permutations, and alone it does worse than the
    descent that follows it.

    References
    ----------
    J. Vogelstein et al., "Fast approximate quadratic programming for graph matching", PLOS ONE 10, 2015.
    """
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
