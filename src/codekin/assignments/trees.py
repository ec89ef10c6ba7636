"""Searches for assignments to the classes of a tree, for any number of them: no matrix of all pairs is ever made."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from codekin.assignments.budget import Budget
from codekin.assignments.result import AssignmentResult, ProgressCallback, Sense
from codekin.assignments.swap_runs import SwapRun, solve_by_swaps
from codekin.assignments.tree_problem import TreeProblem
from codekin.class_trees import ClassTree
from codekin.coding import Assignment, Codebook, FloatArray, IntArray
from codekin.distances import ClassDistances

_BLOCK_CLASSES = 65_536


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
        How many swaps to propose. By default as many as the time limit allows, and without one 500 per
        class or three million, whichever is more.

    Returns
    -------
    AssignmentResult

    Examples
    --------
    >>> from codekin.class_trees import ClassTree
    >>> from codekin.coding import Codebook
    >>> tree = ClassTree.from_nested({"animal": ["dog", "cat"], "vehicle": ["van", "car"]})
    >>> codebook = Codebook([[1, 1], [1, -1], [-1, -1], [-1, 1]])
    >>> round(tree_swaps(codebook, tree, rng=0, n_proposals=1_000).score, 3)
    0.308
    """
    if n_proposals is not None and n_proposals < 1:
        raise ValueError(f"The 'n_proposals' parameter must be at least 1. Got {n_proposals}.")

    return solve_by_swaps(
        TreeProblem.of,
        lambda arrays, run, deadline: _anneal(arrays, run, deadline, n_proposals),
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
    return solve_by_swaps(
        TreeProblem.of,
        lambda arrays, run, _deadline: _deal(arrays, run, n_sweeps),
        codebook,
        class_distances,
        sense=sense,
        rng=rng,
        budget=Budget("top_down", time_limit, n_restarts, progress, n_threads),
    )


def _anneal(arrays: TreeProblem, run: SwapRun, deadline: float, n_proposals: int | None) -> None:
    from codekin.kernels.tree_swaps import anneal_tree_swaps, fill_node_sums

    node_sums = np.zeros((len(arrays.parent), arrays.vectors.shape[1]), dtype=np.float32)
    fill_node_sums(arrays.vectors, arrays.parent, arrays.node_of_class, run.codeword_of_rank, node_sums)
    depth_sums = np.zeros(arrays.vectors.shape[1])
    for start in range(0, arrays.n_classes, _BLOCK_CLASSES):
        block = slice(start, start + _BLOCK_CLASSES)
        depth_sums += arrays.depth[block] @ arrays.vectors[run.codeword_of_rank[block]]
    class_of_codeword = run.class_of_codeword()

    def propose(temperature: float, factor: float, n_proposals: int, sampled: FloatArray) -> float:
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
                run.codeword_of_rank,
                class_of_codeword,
                run.sign,
                temperature,
                factor,
                n_proposals,
                sampled,
                run.state,
            )
        )

    run.anneal(propose, n_proposals=n_proposals, deadline=deadline)


def _deal(arrays: TreeProblem, run: SwapRun, n_sweeps: int) -> None:
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
        run.codeword_of_rank,
        run.sign,
        n_sweeps,
        run.state,
    )
    dealt = np.empty(arrays.n_classes, dtype=np.intp)
    dealt[arrays.class_order] = run.codeword_of_rank
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
