"""Searches for assignments to the classes of a tree, for any number of them, without a matrix of all pairs."""

from __future__ import annotations

import numpy as np

from codekin.assignments._solver import check_at_least_1
from codekin.assignments.swap_runs import SwapRun
from codekin.assignments.tree_problem import TreeProblem
from codekin.coding import Assignment, FloatArray, IntArray

_BLOCK_CLASSES = 65_536


def anneal_tree(arrays: TreeProblem, run: SwapRun, deadline: float, *, n_proposals: int | None = None) -> None:
    """Simulated annealing on swaps of codewords, from the depth-first order, on path lengths in a tree.

    The effect of a swap is computed from sums of codewords below the nodes that are above one of the two classes but
    not the other, so a swap costs the same among 100,000 classes as among 1,000. Most proposals exchange codewords of
    classes that are near each other in the tree, or codewords that are near each other in the codebook.

    ``n_proposals`` is how many swaps to propose: by default as many as the time limit allows, or without one 500 per
    class or three million, whichever is more.
    """
    check_at_least_1(n_proposals=n_proposals)
    from codekin.kernels.tree_swaps import anneal_tree_swaps, fill_node_sums

    node_sums = np.zeros((len(arrays.parent), arrays.vectors.shape[1]), dtype=np.float32)
    fill_node_sums(arrays.vectors, arrays.parent, arrays.node_of_class, run.codeword_of_rank, node_sums)
    depth_sums = np.zeros(arrays.vectors.shape[1])
    for start in range(0, arrays.n_classes, _BLOCK_CLASSES):
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

    At every node, from the top, the codewords are divided in their order among the children by their numbers of
    classes; then codewords of different children are swapped as long as that makes the codewords within children more
    similar: ``n_sweeps`` swaps are tried per class and node above it. Faster than annealing but not as good. If there
    are more codewords than classes, evenly spaced ones are used.
    """
    check_at_least_1(n_sweeps=n_sweeps)
    from codekin.kernels.tree_swaps import partition_top_down

    tree = arrays.length, arrays.first_class, arrays.last_class, *_parts(arrays)
    n_considered = partition_top_down(arrays.vectors, *tree, run.codeword_of_rank, run.sign, n_sweeps, run.state)
    dealt = np.empty(arrays.n_classes, dtype=np.intp)
    dealt[arrays.class_order] = run.codeword_of_rank
    run.note(int(n_considered), run.problem.alignment(Assignment(dealt)))


def _parts(arrays: TreeProblem) -> tuple[IntArray, IntArray, IntArray]:
    """The parts of each node's classes, in order: child nodes, and classes directly below it."""
    n_nodes, n_classes = len(arrays.parent), arrays.n_classes
    owner = np.concatenate([arrays.parent[1:], arrays.node_of_class])
    first = np.concatenate([arrays.first_class[1:], np.arange(n_classes)])
    node = np.concatenate([np.arange(1, n_nodes), np.full(n_classes, -1)])
    by_place = np.lexsort([first, owner])
    n_parts = np.bincount(owner, minlength=n_nodes)
    first_child = np.concatenate([[0], np.cumsum(n_parts)])
    return first_child.astype(np.int64), first[by_place].astype(np.int64), node[by_place].astype(np.int64)
