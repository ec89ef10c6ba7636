"""Assignments without a local search of their own: identity, random, matched orders, LTLS's, and three for comparison.

Neighbours in a good order of the classes are similar, and so are neighbours in a good order of the codewords. Matching
the two orders preserves similarity with next to no computation. To break it, the codewords are taken in bit-reversed
order, which puts neighbouring classes far apart.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from codekin._system.memory import require_memory
from codekin._system.rows import SparseRows, blocks_of
from codekin.assignments.budget import Budget
from codekin.assignments.local import descend_from
from codekin.assignments.quadratic import QuadraticProblem, QuadraticSolution, best_of
from codekin.assignments.result import AssignmentResult
from codekin.assignments.solver import SearchTask, evaluated, solved_on_matrices, spectral_class_order
from codekin.code import Assignment, Codebook, FloatArray, IntArray
from codekin.progress import report


def solve_by_identity(task: SearchTask) -> AssignmentResult:
    """Class ``k`` gets codeword ``k``: for codebooks whose rows were made for their classes."""
    return evaluated(task, Assignment.identity(task.problem.n_classes))


def solve_at_random(task: SearchTask) -> AssignmentResult:
    """An assignment drawn at random, or the best of several."""
    problem, budget = task.problem, task.budget
    generator = np.random.default_rng(task.seed)
    best: AssignmentResult | None = None
    history: list[tuple[int, float]] = []
    for drawn in range(1, budget.n_restarts + 1):
        order = generator.permutation(problem.n_codewords)[: problem.n_classes]
        result = evaluated(task, Assignment(order, "random"))
        if best is None or task.sign * result.z > task.sign * best.z:
            best = result
            history.append((drawn, result.score))
        if budget.is_spent:
            break
    assert best is not None
    return replace(
        best, seed=task.seed, n_evaluations=drawn, seconds=budget.seconds, history=np.array(history, dtype=np.float64)
    )


def solve_by_tree_order(task: SearchTask) -> AssignmentResult:
    """The paper's naive algorithm: the depth-first order of the class tree, matched to the order of the codewords.

    The paths of a trellis are in depth-first order; other codewords in that of their leading principal component.
    """
    tree = task.problem.class_distances.tree
    assert tree is not None
    return _laid_onto(task, tree.class_order())


def solve_by_spectral_order(task: SearchTask) -> AssignmentResult:
    """The classes in spectral order, matched to the order of the codewords: for distances without a tree.

    Spectral seriation (J. Atkins, E. Boman and B. Hendrickson, SIAM Journal on Computing 28, 1998) orders the classes
    by the Fiedler vector of their similarities, ``max A - A``; more than 5,000 by their principal component or their
    tree.
    """
    return _laid_onto(task, spectral_class_order(task.problem.class_distances))


def _laid_onto(task: SearchTask, class_order: IntArray) -> AssignmentResult:
    problem = task.problem
    codeword_of_class = np.empty(problem.n_classes, dtype=np.intp)
    codeword_of_class[class_order] = problem.codebook.similar_order(
        problem.n_classes, breaking=task.sense == "breaking"
    )
    return evaluated(task, Assignment(codeword_of_class, task.budget.method))


def online_assignment(
    X: Any, class_index: IntArray, codebook: Codebook, *, n_classes: int, rng: np.random.Generator
) -> Assignment:
    """The paths of a trellis, given to classes in one pass over the samples in random order, as in LTLS.

    The edges have linear weights, which start at zero and are learned meanwhile. The first sample of a class ranks the
    paths by the weights of their edges; the class gets the first of them that is free, if there is one among the best
    ``ceil(log2 K)``, and otherwise a random one. After every sample, if the path of its class is not ahead of the best
    other path by 1, its edges gain the sample and those of the other path lose it (the separation ranking loss). The
    weights are then dropped; LTLS keeps them. In the authors' code, shortcuts to the sink count more than other edges.

    K. Jasinska and N. Karampatziakis, "Log-time and Log-space Extreme Classification", arXiv:1611.01964, 2016.
    """
    from codekin.kernels.paths import assign_online

    if "online" not in codebook.orders:
        raise ValueError(
            f"The assignment 'online' needs the paths of a trellis. Got the {codebook.name} codebook; use "
            "codebook='trellis', or 'learnability', which suits any codebook."
        )
    trellis, n_features = codebook.trellis, int(X.shape[1])
    require_memory(
        4 * n_features * trellis.n_edges,
        f"Weights of {n_features:,} features x {trellis.n_edges:,} bits x 4 bytes",
        "Use another assignment, fewer bits or fewer features.",
    )
    fallback = rng.permutation(trellis.n_paths)
    weights = np.zeros((n_features, trellis.n_edges), dtype=np.float32)
    taken = np.zeros(trellis.n_paths, dtype=np.bool_)
    path_of_class = np.full(n_classes, -1, dtype=np.int64)
    graph = trellis.width, trellis.digits, trellis.edge_offsets, trellis.unrank(np.arange(trellis.n_paths))
    k = int(np.ceil(np.log2(trellis.n_paths)))
    for some, block in blocks_of(X):
        report("giving paths to classes online", some.start, X.shape[0], unit="samples")
        rows, classes = SparseRows.of(block), np.ascontiguousarray(class_index[some], dtype=np.int64)
        samples = rows.indptr, rows.indices, rows.values, classes, rng.permutation(len(classes))
        assign_online(*samples, *graph, fallback, k, weights, taken, path_of_class)
    unseen = np.flatnonzero(path_of_class < 0)
    path_of_class[unseen] = fallback[~taken[fallback]][: len(unseen)]
    return Assignment(path_of_class, method="online")


def solve_greedily(task: SearchTask) -> AssignmentResult:
    """Visit pairs of classes from the most similar one on, and give each new class the best remaining codeword.

    If one class of a pair has a codeword already, the other gets the free codeword nearest to it; if neither has, they
    get the two nearest free ones (McVay, 2020). To break, nearest becomes farthest (Wan et al., 2022). Ties are random.
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
    n_classes = len(class_distances)
    if n_classes == 1:
        return np.zeros(1, dtype=np.intp)
    codeword_of_class = np.full(n_classes, -1, dtype=np.intp)
    is_free, n_left = np.ones(len(codeword_costs), dtype=bool), n_classes
    # Codewords are never freed, so the position of the best free pair only increases.
    free_pairs = ((c, d) for c, d in zip(*_pairs_in_order(codeword_costs), strict=True) if is_free[c] and is_free[d])
    for u, v in zip(*_pairs_in_order(class_distances), strict=True):
        new = [k for k in (u, v) if codeword_of_class[k] < 0]
        if len(new) == 2:
            codeword_of_class[new] = next(free_pairs)
        elif new:
            partner = v if new == [u] else u
            codeword_of_class[new] = np.where(is_free, codeword_costs[codeword_of_class[partner]], np.inf).argmin()
        is_free[codeword_of_class[new]] = False
        n_left -= len(new)
        if not n_left:
            break
    return codeword_of_class


def _pairs_in_order(values: FloatArray) -> tuple[IntArray, IntArray]:
    """Pairs ``u < v``, by ascending value."""
    u, v = np.triu_indices(len(values), k=1)
    by_value = np.argsort(values[u, v], kind="stable")
    return u[by_value], v[by_value]


def frank_wolfe_search(problem: QuadraticProblem, budget: Budget, seed: int) -> QuadraticSolution:
    """SciPy's fast approximate QAP algorithm (J. Vogelstein et al., PLOS ONE 10, 2015), followed by steepest descent.

    The first start is the barycentre of all assignments, further ones are random. For comparison: the optima of the
    relaxation are far from permutations, and alone it does worse than the descent that follows it.
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

    If one matrix is a permutation of the other, their eigenvectors of equal rank are permuted alike, up to their signs:
    the permutation maximises the sum of ``|U| |V|'`` (S. Umeyama, IEEE TPAMI 10(5), 1988). For comparison: here neither
    matrix is made from the other. Matrices that are not symmetric become Hermitian. ``refine`` adds steepest descent.
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
