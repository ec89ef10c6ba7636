"""Searches that prove their result: all assignments of few codewords, and branch and bound.

All 3,628,800 assignments of ten codewords are scored in a fraction of a second.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from math import factorial, sqrt
from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike

from codekin._system.parallel import run_blocks
from codekin.assignments.budget import Budget, derived_seeds
from codekin.assignments.local import tabu_search
from codekin.assignments.quadratic import QuadraticProblem, QuadraticSolution
from codekin.assignments.scores import AssignmentProblem
from codekin.assignments.solver import Need
from codekin.classes import ClassDistances, ClassTree
from codekin.code import Assignment, Codebook, FloatArray, IntArray

MAX_CODEWORDS = 10
"""The most codewords whose assignments are enumerated."""

FEW_CODEWORDS = Need(
    f"at most {MAX_CODEWORDS} codewords",
    lambda task: task.problem.n_codewords <= MAX_CODEWORDS,
    lambda task: task.problem.n_codewords,
    "use 'optimal' for a few more, 'portfolio' for many",
)


_MAX_AUTOMORPHISMS = 2_000
_MAX_STEPS = 2_000_000
"""How many candidate images are tried in the search for automorphisms."""
_WORK_AT_ONCE = 10_000_000
"""Between two looks at the clock; a node takes as much as the cube of the number of codewords."""
MAX_WITHOUT_LIMIT = 20
"""Proofs for more codewords take too long; with a time limit, the search ends with a bound."""


def exhaustive_search(problem: QuadraticProblem, budget: Budget, _seed: int) -> QuadraticSolution:
    """The best of all permutations; among equals, the first in lexicographic order."""
    objectives = all_objectives(problem, n_threads=budget.n_threads)
    least = objectives.min()
    # Equal up to rounding counts as equal.
    rank = int((objectives <= least + problem.tolerance).argmax())
    order = nth_assignment(rank, problem.n_active, problem.n)
    order = np.concatenate([order, np.setdiff1d(np.arange(problem.n), order)])
    budget.report(len(objectives), float(objectives[rank]))
    found = float(objectives[rank])
    history = np.array([[len(objectives), found]])
    return QuadraticSolution(order, found, len(objectives), history, bound=found, is_optimal=True)


def all_scores(
    codebook: Codebook, class_distances: ClassDistances | ClassTree | ArrayLike, *, squared: bool = False
) -> FloatArray:
    """The class-codeword scores of all assignments to at most 10 codewords, in the order of :func:`nth_assignment`.

    >>> from codekin.code import Codebook
    >>> codebook = Codebook([[1, 1, 1], [1, 1, -1], [-1, -1, 1]])
    >>> all_scores(codebook, [[0, 3, 1], [3, 0, 2], [1, 2, 0]]).round(3)
    array([0.655, 0.378, 0.756, 0.   , 0.655, 0.378])
    """
    if codebook.n_codewords > MAX_CODEWORDS:
        raise ValueError(
            f"The scores of all assignments are computed for at most {MAX_CODEWORDS} codewords. "
            f"Got {codebook.n_codewords}."
        )
    problem = AssignmentProblem.of(codebook, class_distances)
    a, d = problem.class_distances.matrix(), codebook.row_distances()
    n_classes, n_codewords = problem.n_classes, problem.n_codewords
    padded = np.zeros((n_codewords, n_codewords))
    padded[:n_classes, :n_classes] = a
    inner_products = all_objectives(QuadraticProblem(padded[None], d[None], n_classes))
    squared_norms: FloatArray | float = float(np.sum(d**2))
    if n_codewords > n_classes:
        # The norm of the distances in use is a sum over pairs of classes, too.
        padded[:n_classes, :n_classes] = 1.0
        squared_norms = all_objectives(QuadraticProblem(padded[None], d[None] ** 2, n_classes))
    norms = np.sqrt(squared_norms) * sqrt(problem.class_moments.sum_of_squares)
    if not np.all(norms > 0):
        return np.full(len(inner_products), problem.score(Assignment.identity(n_classes)))
    squares = 2 - 2 * inner_products / norms
    # A tiny difference of equal numbers is rounding.
    squares[squares < 1e-14] = 0.0
    return squares if squared else np.sqrt(squares)


def nth_assignment(rank: int, n_classes: int, n_codewords: int) -> IntArray:
    """The assignment at a position of the lexicographic order, from 0.

    >>> nth_assignment(3, 3, 3)
    array([1, 2, 0])
    """
    n_assignments = factorial(n_codewords) // factorial(n_codewords - n_classes)
    if not 0 <= rank < n_assignments:
        raise ValueError(f"There are {n_assignments} assignments, numbered from 0. Got {rank}.")
    left = list(range(n_codewords))
    codeword_of_class = []
    for _ in range(n_classes):
        n_assignments //= len(left)
        place, rank = divmod(rank, n_assignments)
        codeword_of_class.append(left.pop(place))
    return np.array(codeword_of_class, dtype=np.intp)


def all_objectives(problem: QuadraticProblem, *, n_threads: int | None = None) -> FloatArray:
    """The objectives of all permutations in lexicographic order; those that differ only in unused values once."""
    from codekin.kernels.qap_exact import fill_objectives, fill_tail_sums

    n = problem.n
    # Symmetric and antisymmetric parts need no separate layers here.
    a, b = np.ascontiguousarray(problem.a.sum(axis=0)), np.ascontiguousarray(problem.b.sum(axis=0))
    n_head = n // 2
    tails = np.array(list(permutations(range(n - n_head))), dtype=np.int64)
    tail_sums = np.zeros((2**n, len(tails)))
    fill_tail_sums(a, b, n_head, tails, tail_sums)
    objectives = np.empty(factorial(n))
    run_blocks(
        lambda start, stop: fill_objectives(a, b, n_head, tails, tail_sums, start, stop, objectives),
        factorial(n) // len(tails),
        block=max(1, 500_000 // len(tails)),
        n_threads=n_threads,
    )
    return objectives[:: factorial(n - problem.n_active)]


END_IN_SIGHT = Need(
    f"a time limit for more than {MAX_WITHOUT_LIMIT} codewords",
    lambda task: task.budget.time_limit is not None or task.problem.n_codewords <= MAX_WITHOUT_LIMIT,
    lambda task: f"{task.problem.n_codewords} and none",
    "use 'portfolio' for a good assignment without a proof",
)


def branch_and_bound(problem: QuadraticProblem, budget: Budget, seed: int) -> QuadraticSolution:
    """A tabu search finds a good permutation; branch and bound then proves that there is no better one, or finds it.

    Branches are cut by the Gilmore-Lawler bound, and codewords that a symmetry of the codebook makes equivalent are
    tried once. Seconds for up to 14 codewords; beyond about 16 expect a bound but no proof. Of optimal ones the seed
    decides.
    """
    half = replace(budget, time_limit=budget.time_limit and budget.time_limit / 2)
    start = tabu_search(problem, half, derived_seeds(seed, 1)[0], n_moves=10 * problem.n**2)
    tree = _SearchTree(problem, start)
    history = [tuple(point) for point in start.history]
    # The root is always bounded, even if time is up: that is the bound of a search that was stopped.
    n_at_once = max(1, _WORK_AT_ONCE // problem.n**3)
    while not tree.is_finished and (tree.n_nodes == 0 or perf_counter() < budget.deadline):
        before = tree.objective
        n_nodes = tree.explore(n_at_once)
        budget.report(n_nodes, tree.objective)
        if tree.objective < before:
            history.append((start.n_evaluations + tree.n_nodes, tree.objective))
    objective, n_evaluations = problem.objective(tree.order), start.n_evaluations + tree.n_nodes
    passed = np.array([*history, (n_evaluations, objective)], dtype=np.float64)
    bound = min(objective, tree.bound)
    return QuadraticSolution(tree.order, objective, n_evaluations, passed, bound, is_optimal=tree.is_finished)


class _SearchTree:
    """The stack of a depth-first search that can be suspended and resumed."""

    def __init__(self, problem: QuadraticProblem, start: QuadraticSolution) -> None:
        self.problem = problem
        a, b = (np.ascontiguousarray(layers.sum(axis=0)) for layers in (problem.a, problem.b))
        automorphisms = _automorphisms(b)
        # Only symmetries of the second matrix are used: exchange the matrices if that helps.
        self._is_exchanged = False
        if problem.n_active == problem.n:
            of_a = _automorphisms(a)
            if len(of_a) > len(automorphisms):
                a, b, automorphisms, self._is_exchanged = b, a, of_a, True
        n = problem.n
        rising_a, falling_b = np.argsort(a, axis=1, kind="stable"), np.argsort(-b, axis=1, kind="stable")
        self._given = a, b, problem.n_active, rising_a, falling_b, automorphisms
        self._value_of_row = np.full(n, -1, dtype=np.int64)
        self._row_at, self._n_children, self._next_child = np.zeros((3, n + 1), dtype=np.int64)
        self._child_at = np.zeros((n + 1, n), dtype=np.int64)
        self._bound_at = np.zeros((n + 1, n))
        fixed_cost, n_valid = np.zeros(n + 1), np.zeros(n + 1, dtype=np.int64)
        self._rest_of_stack = fixed_cost, np.zeros((n + 1, len(automorphisms)), dtype=np.int64), n_valid
        self._depth = np.array([-1], dtype=np.int64)
        self._incumbent = (np.argsort(start.order) if self._is_exchanged else start.order).astype(np.int64)
        self._objective = np.array([start.objective])
        self.n_nodes = 0

    @property
    def is_finished(self) -> bool:
        return bool(self._depth[0] == -2)

    @property
    def objective(self) -> float:
        return float(self._objective[0])

    @property
    def order(self) -> IntArray:
        order = np.argsort(self._incumbent) if self._is_exchanged else self._incumbent
        assigned = order[: self.problem.n_active]
        return np.concatenate([assigned, np.setdiff1d(np.arange(self.problem.n), assigned)]).astype(np.intp)

    @property
    def bound(self) -> float:
        """A lower bound on all objectives: the smallest bound of a child that is still to be visited."""
        if self.is_finished:
            return self.objective
        if self._depth[0] == -1:
            return -np.inf
        open_bounds = [
            self._bound_at[depth, self._next_child[depth]]
            for depth in range(int(self._depth[0]) + 1)
            if self._next_child[depth] < self._n_children[depth]
        ]
        return float(min(open_bounds, default=self.objective))

    def explore(self, n_nodes: int) -> int:
        """Explore this many more nodes."""
        from codekin.kernels.qap_exact import explore

        children = self._child_at, self._bound_at, self._n_children, self._next_child
        stack = self._value_of_row, self._row_at, *children, *self._rest_of_stack, self._depth
        # A little less than the step, to allow for rounding of bounds.
        step = self.problem.step * (1 - 1e-6)
        done = explore(*self._given, *stack, self._incumbent, self._objective, step, n_nodes)
        self.n_nodes += int(done)
        return int(done)


def _automorphisms(matrix: FloatArray) -> IntArray:
    from codekin.kernels.qap_exact import find_automorphisms

    found = np.zeros((_MAX_AUTOMORPHISMS, len(matrix)), dtype=np.int64)
    n_found = find_automorphisms(matrix, 1e-12 * float(np.abs(matrix).max(initial=0.0)), _MAX_STEPS, found)
    return found[: max(n_found, 1)] if n_found else np.arange(len(matrix))[None]
