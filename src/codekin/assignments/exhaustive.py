"""Every assignment: all 3,628,800 assignments of ten codewords are scored in a fraction of a second."""

from __future__ import annotations

from itertools import permutations
from math import factorial, sqrt

import numpy as np
from numpy.typing import ArrayLike

from codekin._system.threads import run_blocks
from codekin.assignments._solver import Need
from codekin.assignments.budget import Budget
from codekin.assignments.quadratic import QuadraticProblem, QuadraticSolution
from codekin.assignments.scores import AssignmentProblem
from codekin.classes import ClassDistances, ClassTree
from codekin.coding import Assignment, Codebook, FloatArray, IntArray

MAX_CODEWORDS = 10
"""The most codewords whose assignments are enumerated."""

FEW_CODEWORDS = Need(
    f"at most {MAX_CODEWORDS} codewords",
    lambda task: task.problem.n_codewords <= MAX_CODEWORDS,
    lambda task: task.problem.n_codewords,
    "use 'optimal' for a few more, 'portfolio' for many",
)


def exhaustive_search(problem: QuadraticProblem, budget: Budget, _seed: int) -> QuadraticSolution:
    """The best of all permutations; among equals, the first in lexicographic order."""
    objectives = all_objectives(problem, n_threads=budget.n_threads)
    least = objectives.min()
    # Equal up to rounding counts as equal.
    rank = int((objectives <= least + problem.tolerance).argmax())
    order = nth_assignment(rank, problem.n_active, problem.n)
    order = np.concatenate([order, np.setdiff1d(np.arange(problem.n), order)])
    budget.report(len(objectives), float(objectives[rank]))
    return QuadraticSolution(
        order,
        float(objectives[rank]),
        len(objectives),
        np.array([[len(objectives), objectives[rank]]]),
        bound=float(objectives[rank]),
        is_optimal=True,
    )


def all_scores(
    codebook: Codebook,
    class_distances: ClassDistances | ClassTree | ArrayLike,
    *,
    squared: bool = False,
    n_threads: int | None = None,
) -> FloatArray:
    """The class-codeword scores of all assignments to at most 10 codewords, in the order of ``itertools.permutations``.

    :func:`nth_assignment` gives the assignment of each score.

    >>> from codekin.coding import Codebook
    >>> codebook = Codebook([[1, 1, 1], [1, 1, -1], [-1, -1, 1]])
    >>> scores = all_scores(codebook, [[0, 3, 1], [3, 0, 2], [1, 2, 0]])
    >>> scores.round(3)
    array([0.655, 0.378, 0.756, 0.   , 0.655, 0.378])
    >>> nth_assignment(int(scores.argmin()), 3, 3)
    array([1, 2, 0])
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
    inner_products = all_objectives(QuadraticProblem(padded[None], d[None], n_classes), n_threads=n_threads)
    squared_norms: FloatArray | float = float(np.sum(d**2))
    if n_codewords > n_classes:
        # The norm of the distances in use is a sum over pairs of classes, too.
        padded[:n_classes, :n_classes] = 1.0
        squared_norms = all_objectives(QuadraticProblem(padded[None], d[None] ** 2, n_classes), n_threads=n_threads)
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
    from codekin.kernels.qap_exhaustive import fill_objectives, fill_tail_sums

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
