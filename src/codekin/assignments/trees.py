"""Searches for assignments to the classes of a tree, for any number of them: no matrix of all pairs is ever made."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike

from codekin.assignments.budget import Budget, generator_state, seed_of
from codekin.assignments.dense import check_sense, is_blind, unsearched
from codekin.assignments.orders import codeword_order
from codekin.assignments.result import AssignmentResult, ProgressCallback, Sense
from codekin.assignments.scores import AssignmentProblem
from codekin.assignments.tree_problem import TreeProblem
from codekin.class_trees import ClassTree
from codekin.coding import Assignment, Codebook, IntArray
from codekin.distances import ClassDistances

_START_TEMPERATURE = 0.3
"""In median gains of a proposed swap at the start; the depth-first order is good, and not to be lost."""
_COOLING = 0.01
"""The last temperature, as a share of the first."""
_SAMPLES = 5_000
_PROPOSALS_PER_CLASS = 500
_PROPOSALS_AT_ONCE = 20_000


def tree_swaps(
    codebook: Codebook,
    class_distances: ClassDistances | ClassTree | ArrayLike,
    *,
    sense: Sense = "preserving",
    rng: np.random.Generator | int | None = None,
    time_limit: float | None = None,
    n_restarts: int = 1,
    progress: ProgressCallback | None = None,
    n_threads: int | None = None,
    n_proposals: int | None = None,
) -> AssignmentResult:
    """Simulated annealing on swaps of codewords, from the depth-first order, on path lengths in a tree.

    What a swap changes follows from sums of codewords below the nodes that are above one of the two classes and not
    above the other, so a swap costs the same among 100,000 classes as among 1,000. Most proposals exchange codewords of
    classes that are near each other in the tree, or codewords that are near each other in the codebook.

    Parameters
    ----------
    codebook : Codebook
        The codewords, any number of them.
    class_distances : TreeDistances or ClassTree
        Path lengths in a tree.
    sense : "preserving" or "breaking", default="preserving"
        Whether similar classes are to get similar codewords, or dissimilar ones.
    rng : numpy.random.Generator, int or None
        The source of proposals and of what is accepted.
    time_limit : float, optional
        Seconds over which to cool down; the restarts share them evenly.
    n_restarts : int, default=1
        How many times to anneal, always from the depth-first order.
    progress : callable, optional
        Called with a :class:`SearchProgress` from time to time.
    n_threads : int, optional
        How many restarts run at once; without a time limit the result does not depend on it.
    n_proposals : int, optional
        How many swaps to propose. By default as many as the time limit allows, and without one 500 per class.

    Returns
    -------
    AssignmentResult

    Examples
    --------
    >>> from codekin.class_trees import ClassTree
    >>> from codekin.coding import Codebook
    >>> tree = ClassTree.from_nested({"animal": ["dog", "cat"], "vehicle": ["van", "car"]})
    >>> codebook = Codebook([[1, 1], [1, -1], [-1, -1], [-1, 1]])
    >>> round(tree_swaps(codebook, tree, rng=0).score, 3)
    0.308
    """
    if n_proposals is not None and n_proposals < 1:
        raise ValueError(f"The 'n_proposals' parameter must be at least 1. Got {n_proposals}.")

    def search(arrays: TreeProblem, run: _Run) -> None:
        limit = n_proposals
        if limit is None and run.deadline == np.inf:
            limit = _PROPOSALS_PER_CLASS * arrays.n_classes
        _anneal(arrays, run, limit)

    return _solve(
        search,
        "tree_swaps",
        codebook,
        class_distances,
        sense=sense,
        rng=rng,
        budget=Budget("tree_swaps", time_limit, n_restarts, progress, n_threads),
    )


def top_down(
    codebook: Codebook,
    class_distances: ClassDistances | ClassTree | ArrayLike,
    *,
    sense: Sense = "preserving",
    rng: np.random.Generator | int | None = None,
    time_limit: float | None = None,
    n_restarts: int = 1,
    progress: ProgressCallback | None = None,
    n_threads: int | None = None,
    n_sweeps: int = 20,
) -> AssignmentResult:
    """Deal codewords out from the root of the tree to its leaves, each node's to its children.

    At every node, from the top, the codewords in their order are cut into as many as each child has classes; then
    codewords of different children are swapped as long as that makes the codewords within children more alike. Faster
    than :func:`tree_swaps` and not as good.

    Parameters
    ----------
    codebook : Codebook
        The codewords, any number of them. Of more codewords than classes, evenly spread ones are used.
    class_distances : TreeDistances or ClassTree
        Path lengths in a tree.
    sense : "preserving" or "breaking", default="preserving"
        Whether similar classes are to get similar codewords, or dissimilar ones.
    rng : numpy.random.Generator, int or None
        The source of the swaps that are tried.
    time_limit : float, optional
        Seconds after which no further start is made.
    n_restarts : int, default=1
        How many times to deal; the best assignment is kept.
    progress : callable, optional
        Called with a :class:`SearchProgress` after every start.
    n_threads : int, optional
        How many starts run at once; the result does not depend on it.
    n_sweeps : int, default=20
        How many swaps are tried per class and node above it.

    Returns
    -------
    AssignmentResult

    Examples
    --------
    >>> from codekin.class_trees import ClassTree
    >>> from codekin.coding import Codebook
    >>> tree = ClassTree.from_nested({"animal": ["dog", "cat"], "vehicle": ["van", "car"]})
    >>> codebook = Codebook([[1, 1], [1, -1], [-1, -1], [-1, 1]])
    >>> round(top_down(codebook, tree, rng=0).score, 3)
    0.308
    """
    if n_sweeps < 1:
        raise ValueError(f"The 'n_sweeps' parameter must be at least 1. Got {n_sweeps}.")
    return _solve(
        lambda arrays, run: _deal(arrays, run, n_sweeps),
        "top_down",
        codebook,
        class_distances,
        sense=sense,
        rng=rng,
        budget=Budget("top_down", time_limit, n_restarts, progress, n_threads),
    )


class _Run:
    """One start of a search: an assignment that the search changes, and what it costs."""

    def __init__(
        self,
        problem: AssignmentProblem,
        arrays: TreeProblem,
        budget: Budget,
        *,
        sense: Sense,
        seed: int,
        deadline: float,
    ) -> None:
        self.problem = problem
        self.arrays = arrays
        self.sign = 1.0 if sense == "preserving" else -1.0
        self.state = generator_state(seed)
        self.deadline = deadline
        self.budget = budget
        self.codeword_of_class = codeword_order(problem.codebook, problem.n_classes, sense).astype(np.int64)
        self.best_codeword_of_class = self.codeword_of_class.copy()
        self.alignment = self.best_alignment = problem.alignment(self.assignment("ordered"))
        self.n_evaluations = 1
        self.history = [(1, problem.score_of_alignment(self.alignment))]

    def assignment(self, method: str) -> Assignment:
        """The best that the search has made, with the classes in their own order."""
        codeword_of_class = np.empty(self.arrays.n_classes, dtype=np.intp)
        codeword_of_class[self.arrays.class_order] = self.best_codeword_of_class
        return Assignment(codeword_of_class, method)

    def note(self, n_evaluations: int, alignment: float) -> None:
        """Remember how far the search has come, and tell whoever wants to know."""
        self.n_evaluations += n_evaluations
        self.alignment = alignment
        if self.sign * alignment > self.sign * self.best_alignment:
            self.best_alignment = alignment
            self.best_codeword_of_class[:] = self.codeword_of_class
        self.history.append((self.n_evaluations, self.problem.score_of_alignment(self.best_alignment)))
        self.budget.report(n_evaluations, -self.sign * self.best_alignment)


def _solve(
    search: Callable[[TreeProblem, _Run], None],
    method: str,
    codebook: Codebook,
    class_distances: ClassDistances | ClassTree | ArrayLike,
    *,
    sense: Sense,
    rng: np.random.Generator | int | None,
    budget: Budget,
) -> AssignmentResult:
    check_sense(sense)
    problem = AssignmentProblem.of(codebook, class_distances)
    seed = seed_of(rng)
    arrays = TreeProblem.of(problem, method)
    if is_blind(codebook):
        return unsearched(problem, method, sense, budget)
    sign = 1.0 if sense == "preserving" else -1.0
    budget.score_of_objective = lambda objective: problem.score_of_alignment(-sign * objective)

    def start(_index: int, seed: int, deadline: float) -> _Run:
        run = _Run(problem, arrays, budget, sense=sense, seed=seed, deadline=deadline)
        if problem.n_classes > 1:
            search(arrays, run)
        return run

    runs = budget.run_restarts(start, seed)
    best = max(runs, key=lambda run: sign * run.best_alignment)
    assignment = best.assignment(method)
    return AssignmentResult(
        assignment=assignment,
        score=problem.score(assignment),
        z=problem.z(assignment),
        method=method,
        sense=sense,
        seed=seed,
        n_evaluations=sum(run.n_evaluations for run in runs),
        seconds=budget.seconds,
        history=np.array(best.history, dtype=np.float64),
    )


def _anneal(arrays: TreeProblem, run: _Run, n_proposals: int | None) -> None:
    from codekin.kernels.tree_swaps import anneal_tree_swaps, fill_node_sums

    node_sums = np.zeros((len(arrays.parent), arrays.vectors.shape[1]), dtype=np.float32)
    fill_node_sums(arrays.vectors, arrays.parent, arrays.node_of_class, run.codeword_of_class, node_sums)
    depth_sums = np.zeros(arrays.vectors.shape[1])
    for start in range(0, arrays.n_classes, 65_536):
        block = slice(start, start + 65_536)
        depth_sums += arrays.depth[block] @ arrays.vectors[run.codeword_of_class[block]]
    class_of_codeword = np.full(arrays.n_codewords, -1, dtype=np.int64)
    class_of_codeword[run.codeword_of_class] = np.arange(arrays.n_classes)

    def propose(temperature: float, cooling: float, n: int, sampled: np.ndarray) -> float:
        return float(
            anneal_tree_swaps(
                arrays.vectors,
                arrays.weight,
                arrays.parent,
                arrays.length,
                arrays.node_of_class,
                arrays.depth,
                arrays.linear,
                arrays.spread,
                node_sums,
                depth_sums,
                run.codeword_of_class,
                class_of_codeword,
                run.sign,
                temperature,
                cooling,
                n,
                sampled,
                run.state,
            )
        )

    gains = np.zeros(_SAMPLES)
    propose(1.0, 1.0, _SAMPLES, gains)
    scale = float(np.median(gains[gains > 0])) if gains.any() else 1.0
    first, began, done = _START_TEMPERATURE * scale, perf_counter(), 0
    nothing = np.empty(0)
    while n_proposals is None or done < n_proposals:
        now = perf_counter()
        if now >= run.deadline:
            break
        chunk, cooling = _PROPOSALS_AT_ONCE, 1.0
        if n_proposals is None:
            share = (now - began) / (run.deadline - began)
        else:
            share = done / n_proposals
            chunk, cooling = min(chunk, n_proposals - done), _COOLING ** (1 / n_proposals)
        change = propose(first * _COOLING**share, cooling, chunk, nothing)
        done += chunk
        run.note(chunk, run.alignment + change)


def _deal(arrays: TreeProblem, run: _Run, n_sweeps: int) -> None:
    from codekin.kernels.tree_swaps import partition_top_down

    first_child, child_first, child_node = _parts(arrays)
    n_considered = partition_top_down(
        arrays.vectors,
        arrays.length,
        arrays.first_class,
        arrays.last_class,
        first_child,
        child_first,
        child_node,
        run.codeword_of_class,
        run.sign,
        n_sweeps,
        run.state,
    )
    dealt = np.empty(arrays.n_classes, dtype=np.intp)
    dealt[arrays.class_order] = run.codeword_of_class
    run.note(int(n_considered), run.problem.alignment(Assignment(dealt)))


def _parts(arrays: TreeProblem) -> tuple[IntArray, IntArray, IntArray]:
    """The parts into which each node cuts its classes: child nodes, and classes right below it, in order."""
    n_nodes, n_classes = len(arrays.parent), arrays.n_classes
    owner = np.concatenate([arrays.parent[1:], arrays.node_of_class])
    first = np.concatenate([arrays.first_class[1:], np.arange(n_classes)])
    node = np.concatenate([np.arange(1, n_nodes), np.full(n_classes, -1)])
    by_place = np.lexsort([first, owner])
    n_parts = np.bincount(owner, minlength=n_nodes)
    first_child = np.concatenate([[0], np.cumsum(n_parts)])
    return first_child.astype(np.int64), first[by_place].astype(np.int64), node[by_place].astype(np.int64)
