"""Searches for comparison: greedy, by a relaxation (Frank and Wolfe), and by eigenvectors (Umeyama)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from codekin.assignments.budget import Budget
from codekin.assignments.local import descend_from
from codekin.assignments.quadratic import QuadraticProblem, QuadraticSolution, best_of
from codekin.assignments.result import AssignmentResult
from codekin.assignments.solver import SearchTask, solved_on_matrices
from codekin.code import FloatArray, IntArray


def solve_greedily(task: SearchTask) -> AssignmentResult:
    """Visit pairs of classes from the most similar one on, and give each new class the best remaining codeword.

    If one class of a pair has a codeword already, the other gets the free codeword that is nearest to it; if neither
    has, they get the two nearest free codewords. That is the policy of McVay (2020). With ``sense="breaking"`` nearest
    becomes farthest, as in Wan et al. (2022) for robustness against adversaries; both as described in Evron et al.
    (2023). Ties are broken at random, differently in every start.
    """
    return solved_on_matrices(task, partial(greedy_search, sign=-task.sign))


def greedy_search(problem: QuadraticProblem, budget: Budget, seed: int, *, sign: float) -> QuadraticSolution:
    """Greedy permutations of a symmetric problem whose ``a`` is ``sign`` times distances."""
    n_active = problem.n_active
    class_distances = sign * problem.a[0, :n_active, :n_active]
    # Costs: lower is better for two similar classes.
    codeword_costs = -sign * problem.b[0]

    def start(_index: int, seed: int, _deadline: float) -> QuadraticSolution:
        generator = np.random.default_rng(seed)
        classes, codewords = generator.permutation(n_active), generator.permutation(problem.n)
        shuffled = _greedy_order(
            class_distances[np.ix_(classes, classes)], codeword_costs[np.ix_(codewords, codewords)]
        )
        order = np.empty(n_active, dtype=np.intp)
        order[classes] = codewords[shuffled]
        order = np.concatenate([order, np.setdiff1d(np.arange(problem.n), order)])
        objective = problem.objective(order)
        budget.report(1, objective)
        return QuadraticSolution(order, objective, 1, np.array([[1.0, objective]]))

    return best_of(budget.run_restarts(start, seed))


def _greedy_order(class_distances: FloatArray, codeword_costs: FloatArray) -> IntArray:
    n_classes, n_codewords = len(class_distances), len(codeword_costs)
    codeword_of_class = np.full(n_classes, -1, dtype=np.intp)
    is_free = np.ones(n_codewords, dtype=bool)
    best_pairs = _pairs_in_order(codeword_costs)
    next_pair, n_assigned = 0, 0
    if n_classes == 1:
        return np.zeros(1, dtype=np.intp)
    for u, v in zip(*_pairs_in_order(class_distances), strict=True):
        if codeword_of_class[u] < 0 and codeword_of_class[v] < 0:
            # Codewords are never freed, so the position of the best free pair only increases.
            while not (is_free[best_pairs[0][next_pair]] and is_free[best_pairs[1][next_pair]]):
                next_pair += 1
            codeword_of_class[u], codeword_of_class[v] = best_pairs[0][next_pair], best_pairs[1][next_pair]
            is_free[[codeword_of_class[u], codeword_of_class[v]]] = False
            n_assigned += 2
        elif codeword_of_class[u] < 0 or codeword_of_class[v] < 0:
            new, partner = (u, v) if codeword_of_class[u] < 0 else (v, u)
            costs = np.where(is_free, codeword_costs[codeword_of_class[partner]], np.inf)
            codeword_of_class[new] = costs.argmin()
            is_free[codeword_of_class[new]] = False
            n_assigned += 1
        if n_assigned == n_classes:
            break
    return codeword_of_class


def _pairs_in_order(values: FloatArray) -> tuple[IntArray, IntArray]:
    """Pairs ``u < v``, by ascending value."""
    u, v = np.triu_indices(len(values), k=1)
    by_value = np.argsort(values[u, v], kind="stable")
    return u[by_value], v[by_value]


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


def umeyama_search(problem: QuadraticProblem, budget: Budget, seed: int, *, refine: bool = False) -> QuadraticSolution:  # noqa: ARG001
    """The assignment that matches eigenvectors of the class distances to those of the codeword distances.

    If one matrix is the other with its rows and columns permuted, and no eigenvalue occurs twice, the eigenvectors of
    equal rank are permuted in the same way, up to their signs. So the permutation is the one that maximises the sum of
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
