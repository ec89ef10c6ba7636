"""Searches that swap codewords without a matrix of all pairs, and the one for classes that are given as vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin.assignments.budget import Budget, cooling_steps, generator_state
from codekin.assignments.result import AssignmentResult, Sense
from codekin.assignments.scores import AssignmentProblem
from codekin.assignments.solver import Need, SearchTask, Solver, check_at_least_1, options_of
from codekin.classes.vectors import EmbeddingDistances, ProductDistances
from codekin.code import Assignment, FloatArray, IntArray
from codekin.code.geometry import codeword_vectors, principal_order

_SAMPLES = 5_000
_PROPOSALS_AT_ONCE = 20_000


_CLASSES_PER_SWAP = 2
"""Products are computed again after one swap per this many classes."""


class Schedule(NamedTuple):
    """The default cooling schedule of a search.

    - ``start``: the first temperature, in median gains of a proposed swap; low enough to keep a good start.
    - ``ratio``: the last temperature, as a share of the first.
    - ``proposals_per_class``, ``min_proposals``, ``max_proposals``: the number of proposals without a time limit.
    """

    start: float = 0.3
    ratio: float = 0.01
    proposals_per_class: int = 500
    min_proposals: int = 3_000_000
    max_proposals: int | None = None

    def n_proposals(self, n_classes: int) -> int:
        """The number of proposals without a time limit."""
        wanted = max(self.proposals_per_class * n_classes, self.min_proposals)
        return wanted if self.max_proposals is None else min(wanted, self.max_proposals)


_SCHEDULE = Schedule()


class Arrays(Protocol):
    """The arrays of a kind of problem, with the classes in an order in which neighbours are similar."""

    @property
    def problem(self) -> AssignmentProblem: ...
    @property
    def class_order(self) -> IntArray: ...


ProblemArrays = TypeVar("ProblemArrays", bound=Arrays)

Propose = Callable[[float, float, int, FloatArray], float]
"""Makes a number of proposals from a temperature on, with a cooling factor, or samples gains; returns the change."""


class SwapRun:
    """One start of a search: the current assignment and the best so far; codewords are in the arrays' class order."""

    def __init__(
        self, problem: AssignmentProblem, class_order: IntArray, budget: Budget, *, sense: Sense, seed: int
    ) -> None:
        self.problem = problem
        self.class_order = class_order
        self.budget = budget
        self.sign = 1.0 if sense == "preserving" else -1.0
        self.state = generator_state(seed)
        self.codeword_of_rank = problem.codebook.similar_order(problem.n_classes, breaking=sense == "breaking").astype(
            np.int64
        )
        self.best_codeword_of_rank = self.codeword_of_rank.copy()
        self.alignment = self.best_alignment = problem.alignment(self.assignment("ordered"))
        self.n_evaluations = 1
        self.history = [(1, problem.score_of_alignment(self.alignment))]

    def assignment(self, method: str) -> Assignment:
        """The best assignment so far, with the classes in their original order."""
        codeword_of_class = np.empty(len(self.class_order), dtype=np.intp)
        codeword_of_class[self.class_order] = self.best_codeword_of_rank
        return Assignment(codeword_of_class, method)

    def note(self, n_evaluations: int, alignment: float) -> None:
        """Record and report progress."""
        self.n_evaluations += n_evaluations
        self.alignment = alignment
        if self.sign * alignment > self.sign * self.best_alignment:
            self.best_alignment = alignment
            self.best_codeword_of_rank[:] = self.codeword_of_rank
        self.history.append((self.n_evaluations, self.problem.score_of_alignment(self.best_alignment)))
        self.budget.report(n_evaluations, -self.sign * self.best_alignment)

    def class_of_codeword(self) -> IntArray:
        """The rank of the class that uses each codeword; -1 if there is none."""
        inverse = np.full(self.problem.n_codewords, -1, dtype=np.int64)
        inverse[self.codeword_of_rank] = np.arange(len(self.codeword_of_rank))
        return inverse

    def anneal(
        self, propose: Propose, *, n_proposals: int | None, deadline: float, schedule: Schedule = _SCHEDULE
    ) -> None:
        """Cool down, for a number of proposals or until a deadline; without either, a number per class."""
        if n_proposals is None and deadline == np.inf:
            n_proposals = schedule.n_proposals(self.problem.n_classes)
        self.budget.n_expected = n_proposals
        gains = np.zeros(_SAMPLES)
        propose(1.0, 1.0, _SAMPLES, gains)
        scale = float(np.median(gains[gains > 0])) if gains.any() else 1.0
        nothing = np.empty(0)
        for temperature, factor, n_at_once in cooling_steps(
            schedule.start * scale,
            schedule.ratio,
            n_at_once=_PROPOSALS_AT_ONCE,
            n_proposals=n_proposals,
            deadline=deadline,
        ):
            change = propose(temperature, factor, n_at_once, nothing)
            self.note(n_at_once, self.alignment + change)


class FoundAssignment(NamedTuple):
    """The result of a run: the best assignment and its history."""

    assignment: Assignment
    objective: float
    n_evaluations: int
    history: list[tuple[int, float]]


def by_swaps(
    prepare: Callable[..., ProblemArrays], search: Callable[..., None], *needs: Need, **settings: Any
) -> Solver:
    """The solver of a search by swaps.

    It makes arrays, ``prepare(problem, **options)``, runs ``search(arrays, run, deadline, **options)`` from every
    start, and returns the best. The arrays may be searched with other distances than the task's.
    """
    prepared, searched = options_of(prepare), options_of(search)

    def solve(task: SearchTask, **options: Any) -> AssignmentResult:
        from threadpoolctl import threadpool_limits

        # Products are refreshed many times: several BLAS threads would not pay.
        with threadpool_limits(1, user_api="blas"):
            arrays = prepare(task.problem, **{name: options[name] for name in prepared if name in options})
            given = {name: options[name] for name in searched if name in options}
            return _swapped(task, arrays, partial(search, **given))

    return Solver(solve, needs=needs, options=prepared + searched, **settings)


def _swapped(
    task: SearchTask, arrays: ProblemArrays, search: Callable[[ProblemArrays, SwapRun, float], None]
) -> AssignmentResult:
    problem, sense, budget, sign = task.problem, task.sense, task.budget, task.sign
    method = budget.method
    budget.score_of_objective = lambda objective: arrays.problem.score_of_alignment(-sign * objective)

    def start(_index: int, seed: int, deadline: float) -> FoundAssignment:
        run = SwapRun(arrays.problem, arrays.class_order, budget, sense=sense, seed=seed)
        if problem.n_classes > 1:
            search(arrays, run, deadline)
        return FoundAssignment(run.assignment(method), -sign * run.best_alignment, run.n_evaluations, run.history)

    runs = budget.run_restarts(start, task.seed)
    best = min(runs, key=lambda run: run.objective)
    n_evaluations = sum(run.n_evaluations for run in runs)
    # Scores of other distances are not part of the history.
    before = best.history[:-1] if arrays.problem is problem else []
    return task.result(best.assignment, n_evaluations, lambda score: [*before, (n_evaluations, score)])


_PATH_SCHEDULE = Schedule(0.2, 0.01, proposals_per_class=2_000, min_proposals=1_000_000, max_proposals=50_000_000)


@dataclass(frozen=True, eq=False)
class VectorProblem:
    """A codebook and vectors of classes, in the form for :mod:`codekin.kernels.swaps`.

    Euclidean distances, which are not a sum over bits, are replaced by their squares.
    """

    problem: AssignmentProblem
    class_order: IntArray
    vectors: NDArray[np.float32]
    weight: FloatArray
    points: NDArray[np.float32]
    offset: FloatArray
    linear: FloatArray
    spread: float
    scale: float

    @classmethod
    def of(cls, problem: AssignmentProblem, *, class_order: ArrayLike | None = None) -> VectorProblem:
        """The arrays of a problem; the search starts with the codewords matched to the given order of the classes."""
        distances = problem.class_distances
        if isinstance(distances, EmbeddingDistances):
            if not distances.squared:
                problem = replace(problem, class_distances=EmbeddingDistances(distances.vectors, squared=True))
            points = distances.vectors - distances.vectors.mean(axis=0)
            offset, scale = np.einsum("ij,ij->i", points, points), 1.0
        else:
            assert isinstance(distances, ProductDistances)
            points = distances.factors
            offset, scale = np.zeros(len(points)), 0.5
        row_sums, mean = problem.class_distances.row_sums(), problem.mean_class_distance
        vectors, weight = codeword_vectors(problem.codebook.indicators)
        # Remove the product of each class with itself: |vector|^2 is twice its weight.
        own = 2 * offset - 2 * scale * np.einsum("ij,ij->i", points, points)
        order = principal_order(points) if class_order is None else _checked_order(class_order, len(points))
        linear = (row_sums - mean * len(points) + own)[order]
        ordered = np.ascontiguousarray(points[order], dtype=np.float32)
        return cls(problem, order, vectors, weight, ordered, offset[order], linear, mean / 2, scale)

    @property
    def edges(self) -> IntArray | None:
        """The edges of the paths, if codewords are sums of edges and every path is used: only swaps are possible."""
        codebook = self.problem.codebook
        return codebook.path_edges if codebook.n_codewords == self.problem.n_classes else None


def _checked_order(class_order: ArrayLike, n_classes: int) -> IntArray:
    class_order = np.asarray(class_order)
    if not np.array_equal(np.sort(class_order, axis=None), np.arange(n_classes)):
        raise ValueError(f"'class_order' must have each of the {n_classes} classes once. Got {class_order!r}.")
    return class_order.astype(np.intp)


def anneal_vectors(arrays: VectorProblem, run: SwapRun, deadline: float, *, n_proposals: int | None = None) -> None:
    """Simulated annealing on swaps of codewords, from an order of the classes, on distances between vectors.

    Scores depend on a sum over bits of squared sums of vectors, so a swap takes as many products of vectors as there
    are different bits in the two codewords, for any number of classes. This is how learnability is optimised for very
    many classes. Two paths of a trellis differ in few bits, and most proposals are rejected after a few additions.

    ``n_proposals`` is how many swaps to propose: by default as many as the time limit allows, or without one 500 per
    class or three million, whichever is more; on a trellis 2,000 per class, at least one million and at most fifty
    million. The search starts from ``class_order``, all classes in an order in which neighbours are similar, such as
    that of a taxonomy; by default the order along the leading principal component of the vectors.
    """
    check_at_least_1(n_proposals=n_proposals)
    edges = arrays.edges
    if edges is None:
        run.anneal(_proposals_of_codewords(arrays, run), n_proposals=n_proposals, deadline=deadline)
    else:
        run.anneal(
            _proposals_of_paths(arrays, run, edges), n_proposals=n_proposals, deadline=deadline, schedule=_PATH_SCHEDULE
        )


def _proposals_of_codewords(arrays: VectorProblem, run: SwapRun) -> Propose:
    from codekin.kernels.swaps import anneal_vector_swaps

    used = arrays.vectors[run.codeword_of_rank]
    bit_sums = np.ascontiguousarray(used.T @ arrays.points)
    totals = used.sum(axis=0, dtype=np.float64)
    offset_totals = arrays.offset @ used
    classes = arrays.points, arrays.offset, arrays.linear, arrays.spread, arrays.scale
    changing = bit_sums, totals, offset_totals, run.codeword_of_rank, run.class_of_codeword()

    def propose(temperature: float, factor: float, n_proposals: int, sampled: FloatArray) -> float:
        cooling = temperature, factor, n_proposals, sampled, run.state
        return float(anneal_vector_swaps(arrays.vectors, arrays.weight, *classes, *changing, run.sign, *cooling))

    return propose


def _proposals_of_paths(arrays: VectorProblem, run: SwapRun, edges: IntArray) -> Propose:
    from codekin.kernels.swaps import anneal_path_swaps

    points, squares = arrays.points, np.einsum("ij,ij->i", arrays.points, arrays.points, dtype=np.float64)
    edge_sums = np.ascontiguousarray(arrays.vectors[run.codeword_of_rank].T @ points)
    # The part of the alignment from offsets, -<T, S>, is a sum over classes and their paths: all codewords are in use.
    height = -(arrays.vectors @ arrays.vectors.sum(axis=0, dtype=np.float64))
    products = points @ edge_sums.T
    given = edges, points, squares, arrays.offset, height, arrays.scale
    changing = edge_sums, products, run.codeword_of_rank, run.class_of_codeword()
    most_swaps = max(len(points) // _CLASSES_PER_SWAP, 1)
    swaps_left = most_swaps

    def propose(temperature: float, factor: float, n_proposals: int, sampled: FloatArray) -> float:
        nonlocal swaps_left
        change, n_left = 0.0, n_proposals
        while n_left > 0:
            if swaps_left <= 0:
                np.matmul(points, edge_sums.T, out=products)
                swaps_left = most_swaps
            cooling = temperature, factor, n_left, swaps_left, sampled, run.state
            gained, n_proposed, n_swaps = anneal_path_swaps(*given, *changing, run.sign, *cooling)
            change += gained
            n_left -= n_proposed
            swaps_left -= n_swaps
            temperature *= factor**n_proposed
        return change

    return propose
