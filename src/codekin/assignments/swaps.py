"""Searches that swap codewords without a matrix of all pairs: for classes given as vectors or by a tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin._system.parallel import single_blas
from codekin.assignments.budget import Budget, check_at_least_1, cooling_steps, generator_state
from codekin.assignments.result import AssignmentResult, Sense
from codekin.assignments.scores import AssignmentProblem
from codekin.assignments.solver import Need, SearchTask, Solver, options_of
from codekin.classes import ClassTree
from codekin.classes.tree_distances import TreeDistances
from codekin.classes.vectors import EmbeddingDistances, ProductDistances
from codekin.code import Assignment, FloatArray, IntArray
from codekin.code.geometry import codeword_vectors, principal_order

_SAMPLES = 5_000
_PROPOSALS_AT_ONCE = 20_000
_BLOCK_CLASSES = 65_536
_CLASSES_PER_SWAP = 2
"""Products are computed again after one swap per this many classes."""


class Schedule(NamedTuple):
    """How a search cools down; ``start`` is in median gains of a proposed swap, ``ratio`` a share of it."""

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
_PATH_SCHEDULE = Schedule(0.2, 0.01, proposals_per_class=2_000, min_proposals=1_000_000, max_proposals=50_000_000)
Arrays = Union["VectorProblem", "TreeProblem"]
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
        self.alignment = self.best_alignment = problem.evaluated(self.assignment("ordered")).alignment
        self.n_evaluations = 1
        self.history = [(1, problem.score_of_alignment(self.alignment))]

    def assignment(self, method: str) -> Assignment:
        """The best assignment so far, with the classes in their original order."""
        return Assignment(self.best_codeword_of_rank[np.argsort(self.class_order)], method)

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
        limits: Any = {"n_at_once": _PROPOSALS_AT_ONCE, "n_proposals": n_proposals, "deadline": deadline}
        for step in cooling_steps(schedule.start * scale, schedule.ratio, **limits):
            change = propose(*step, nothing)
            self.note(step.n_proposals, self.alignment + change)


class FoundAssignment(NamedTuple):
    """The result of a run: the best assignment and its history."""

    assignment: Assignment
    objective: float
    n_evaluations: int
    history: list[tuple[int, float]]


def by_swaps(prepare: Callable[..., Arrays], search: Callable[..., None], *needs: Need) -> Solver:
    """The solver of a search by swaps: arrays by ``prepare(problem, **options)``, then the best of all starts.

    A start is ``search(arrays, run, deadline, **options)``. The arrays may be searched with other distances than the
    task's.
    """
    prepared, searched = options_of(prepare), options_of(search)

    def solve(task: SearchTask, **options: Any) -> AssignmentResult:
        # Products are refreshed many times: several BLAS threads would not pay.
        with single_blas():
            arrays = prepare(task.problem, **{name: options[name] for name in prepared if name in options})
            given = {name: options[name] for name in searched if name in options}
            return _swapped(task, arrays, partial(search, **given))

    return Solver(solve, needs=needs, options=prepared + searched)


def _swapped(task: SearchTask, arrays: Arrays, search: Callable[[Any, SwapRun, float], None]) -> AssignmentResult:
    problem, budget, sign = task.problem, task.budget, task.sign
    budget.score_of_objective = lambda objective: arrays.problem.score_of_alignment(-sign * objective)

    def start(_index: int, seed: int, deadline: float) -> FoundAssignment:
        run = SwapRun(arrays.problem, arrays.class_order, budget, sense=task.sense, seed=seed)
        if problem.n_classes > 1:
            search(arrays, run, deadline)
        found = run.assignment(budget.method)
        return FoundAssignment(found, -sign * run.best_alignment, run.n_evaluations, run.history)

    runs = budget.run_restarts(start, task.seed)
    best = min(runs, key=lambda run: run.objective)
    n_evaluations = sum(run.n_evaluations for run in runs)
    # Scores of other distances are not part of the history.
    before = best.history[:-1] if arrays.problem is problem else []
    return task.result(best.assignment, n_evaluations, lambda score: [*before, (n_evaluations, score)])


@dataclass(frozen=True, eq=False)
class VectorProblem:
    """A codebook and vectors of classes, in the form for :mod:`codekin.kernels.swaps`; distances are squared."""

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
        order = principal_order(points) if class_order is None else np.asarray(class_order)
        if not np.array_equal(np.sort(order, axis=None), np.arange(len(points))):
            raise ValueError(f"'class_order' must have each of the {len(points)} classes once. Got {order!r}.")
        linear = (row_sums - mean * len(points) + own)[order]
        ordered = np.ascontiguousarray(points[order], dtype=np.float32)
        return cls(problem, order, vectors, weight, ordered, offset[order], linear, mean / 2, scale)


def anneal_vectors(arrays: VectorProblem, run: SwapRun, deadline: float, *, n_proposals: int | None = None) -> None:
    """Simulated annealing on swaps of codewords, from an order of the classes, on distances between vectors.

    Scores depend on a sum over bits of squared sums of vectors, so a swap takes as many products of vectors as there
    are different bits in the two codewords, for any number of classes. ``n_proposals`` is how many swaps to propose: by
    default as many as the time limit allows, or without one 500 per class or three million, whichever is more; on a
    trellis 2,000 per class, at least one million and at most fifty million. The search starts from ``class_order``, all
    classes in an order in which neighbours are similar; by default that of their leading principal component.
    """
    check_at_least_1(n_proposals=n_proposals)
    codebook = arrays.problem.codebook
    # If codewords are sums of edges and every path is used, only swaps are possible.
    edges = codebook.path_edges if codebook.n_codewords == arrays.problem.n_classes else None
    if edges is None:
        run.anneal(_proposals_of_codewords(arrays, run), n_proposals=n_proposals, deadline=deadline)
    else:
        propose = _proposals_of_paths(arrays, run, edges)
        run.anneal(propose, n_proposals=n_proposals, deadline=deadline, schedule=_PATH_SCHEDULE)


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


@dataclass(frozen=True, eq=False)
class TreeProblem:
    """A codebook and path lengths in a tree, in the form for :mod:`codekin.kernels.swaps`.

    All that is by class is in depth-first order. Nodes are those above two classes or more, in preorder; a class
    belongs to the lowest of them above it. ``linear`` is what each non-zero bit of a class's codeword adds to the
    alignment.
    """

    problem: AssignmentProblem
    class_order: IntArray
    vectors: NDArray[np.float32]
    weight: FloatArray
    parent: IntArray
    length: FloatArray
    first_class: IntArray
    last_class: IntArray
    node_of_class: IntArray
    depth: FloatArray
    linear: FloatArray
    spread: float

    @classmethod
    def of(cls, problem: AssignmentProblem) -> TreeProblem:
        """The arrays of a problem whose class distances are path lengths in a tree."""
        distances = problem.class_distances
        assert isinstance(distances, TreeDistances)
        tree = distances.tree
        order = tree.class_order()
        depth = tree.depth[tree.node_of_class][order]
        nodes = _shared_nodes(tree)
        vectors, weight = codeword_vectors(problem.codebook.indicators)
        linear = np.zeros(len(order))
        if weight.any():
            # The edge above a single class: |vector|^2 is twice the number of its non-zero bits.
            parent, above, *_, node_of_class = nodes
            above = above.copy()
            for node in range(1, len(parent)):
                above[node] += above[parent[node]]
            own_length = depth - above[node_of_class]
            linear = distances.row_sums()[order] - problem.mean_class_distance * len(order) + 2 * own_length
        return cls(problem, order, vectors, weight, *nodes, depth, linear, problem.mean_class_distance / 2)


def _shared_nodes(tree: ClassTree) -> tuple[IntArray, FloatArray, IntArray, IntArray, IntArray]:
    """The nodes above two classes or more, those above the same classes joined into one, in preorder."""
    n_classes = tree.n_classes
    start, stop = tree.class_spans.T
    is_shared = stop - start > 1
    # Sorted by the first class and, among equals, from the most classes to the fewest: that is preorder.
    key, group = np.unique(start[is_shared] * (n_classes + 1) + n_classes - stop[is_shared], return_inverse=True)
    length = np.bincount(group, weights=tree.edge_length[is_shared], minlength=len(key)).astype(np.float64)
    first_class, rest = np.divmod(key, n_classes + 1)
    last_class = n_classes - rest
    parent = np.full(len(key), -1, dtype=np.int64)
    node_of_class = np.zeros(n_classes, dtype=np.int64)
    above: list[int] = []
    for node, (first, last) in enumerate(zip(first_class.tolist(), last_class.tolist(), strict=True)):
        while above and last_class[above[-1]] <= first:
            above.pop()
        if above:
            parent[node] = above[-1]
        above.append(node)
        node_of_class[first:last] = node
    return parent, length, first_class.astype(np.int64), last_class.astype(np.int64), node_of_class


def anneal_tree(arrays: TreeProblem, run: SwapRun, deadline: float, *, n_proposals: int | None = None) -> None:
    """Simulated annealing on swaps of codewords, from the depth-first order, on path lengths in a tree.

    Most proposals exchange codewords of classes that are near each other in the tree, or near codewords; a swap costs
    the same for any number of classes. ``n_proposals``: by default as many as the time limit allows, or without one 500
    per class or three million, whichever is more.
    """
    check_at_least_1(n_proposals=n_proposals)
    from codekin.kernels.swaps import anneal_tree_swaps, fill_node_sums

    node_sums = np.zeros((len(arrays.parent), arrays.vectors.shape[1]), dtype=np.float32)
    fill_node_sums(arrays.vectors, arrays.parent, arrays.node_of_class, run.codeword_of_rank, node_sums)
    depth_sums = np.zeros(arrays.vectors.shape[1])
    for start in range(0, arrays.problem.n_classes, _BLOCK_CLASSES):
        block = slice(start, start + _BLOCK_CLASSES)
        depth_sums += arrays.depth[block] @ arrays.vectors[run.codeword_of_rank[block]]
    tree = arrays.parent, arrays.length, arrays.node_of_class, arrays.depth, arrays.linear, arrays.spread
    changing = node_sums, depth_sums, run.codeword_of_rank, run.class_of_codeword()

    def propose(temperature: float, factor: float, n_proposals: int, sampled: FloatArray) -> float:
        cooling = temperature, factor, n_proposals, sampled, run.state
        return float(anneal_tree_swaps(arrays.vectors, arrays.weight, *tree, *changing, run.sign, *cooling))

    run.anneal(propose, n_proposals=n_proposals, deadline=deadline)


def deal(arrays: TreeProblem, run: SwapRun, _deadline: float, *, n_sweeps: int = 20) -> None:
    """Distribute codewords from the root of the tree to its leaves, each node's among its children.

    Each node's codewords are divided in their order among its children; then codewords of different children are
    swapped if that makes those within children more similar: ``n_sweeps`` swaps are tried per class and node above it.
    Faster than annealing but not as good. Of spare codewords evenly spaced ones are used.
    """
    check_at_least_1(n_sweeps=n_sweeps)
    from codekin.kernels.swaps import partition_top_down

    tree = arrays.length, arrays.first_class, arrays.last_class, *_parts(arrays)
    n_considered = partition_top_down(arrays.vectors, *tree, run.codeword_of_rank, run.sign, n_sweeps, run.state)
    dealt = Assignment(run.codeword_of_rank[np.argsort(arrays.class_order)])
    run.note(int(n_considered), run.problem.evaluated(dealt).alignment)


def _parts(arrays: TreeProblem) -> tuple[IntArray, IntArray, IntArray]:
    """The parts of each node's classes, in order: child nodes, and classes directly below it."""
    n_nodes, n_classes = len(arrays.parent), arrays.problem.n_classes
    owner = np.concatenate([arrays.parent[1:], arrays.node_of_class])
    first = np.concatenate([arrays.first_class[1:], np.arange(n_classes)])
    node = np.concatenate([np.arange(1, n_nodes), np.full(n_classes, -1)])
    by_place = np.lexsort([first, owner])
    n_parts = np.bincount(owner, minlength=n_nodes)
    first_child = np.concatenate([[0], np.cumsum(n_parts)])
    return first_child.astype(np.int64), first[by_place].astype(np.int64), node[by_place].astype(np.int64)
