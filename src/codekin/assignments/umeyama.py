"""Graph matching by eigenvectors: rows whose entries have the same sizes belong together."""

from __future__ import annotations

import numpy as np

from codekin.assignments.budget import Budget
from codekin.assignments.quadratic import QuadraticProblem, QuadraticSolution
from codekin.assignments.steepest_descent import descend_from
from codekin.coding import FloatArray


def umeyama_search(problem: QuadraticProblem, budget: Budget, seed: int, *, refine: bool = False) -> QuadraticSolution:  # noqa: ARG001
    """The assignment that matches eigenvectors of the class distances to those of the codeword distances.

    If one matrix is the other with its rows and columns permuted, and no eigenvalue occurs twice, the eigenvectors of
    equal rank are permuted likewise, up to their signs. So the permutation is the one that maximises the sum of
    ``|U| |V|'``, where columns of ``U`` and ``V`` are eigenvectors in the order of their eigenvalues: a linear
    assignment problem. The further the matrices are from that, the less their eigenvectors say about each other; here,
    where neither is made from the other, it is for comparison. Matrices that are not symmetric become Hermitian, their
    antisymmetric part imaginary.

    With ``refine=True`` steepest descent follows.

    References
    ----------
    S. Umeyama, "An Eigendecomposition Approach to Weighted Graph Matching Problems", IEEE TPAMI 10(5), 1988.
    """
    from scipy.optimize import linear_sum_assignment

    # The objective is minimised, so large entries of -a go with large entries of b.
    matches = _sizes(-problem.a) @ _sizes(problem.b).T
    order = np.asarray(linear_sum_assignment(matches, maximize=True)[1], dtype=np.intp)
    if refine:
        solution = descend_from(problem, order, budget.deadline)
    else:
        objective = problem.objective(order)
        solution = QuadraticSolution(order, objective, 1, np.array([[1.0, objective]]))
    budget.report(solution.n_evaluations, solution.objective)
    return solution


def _sizes(layers: FloatArray) -> FloatArray:
    """The absolute values of the eigenvectors of a matrix given by its layers, largest eigenvalue first."""
    matrix = layers[0] if len(layers) == 1 else layers[0] + 1j * layers[1]
    return np.asarray(np.abs(np.linalg.eigh(matrix)[1][:, ::-1]))
