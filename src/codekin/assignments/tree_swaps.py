"""Searches for assignments to the classes of a tree, for any number of them, without a matrix of all pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from codekin.assignments.scores import AssignmentProblem
from codekin.assignments.solver import check_at_least_1
from codekin.assignments.swaps import SwapRun
from codekin.classes import ClassTree
from codekin.classes.tree_distances import TreeDistances
from codekin.code import Assignment, FloatArray, IntArray
from codekin.code.geometry import codeword_vectors

_BLOCK_CLASSES = 65_536


@dataclass(frozen=True, eq=False)
class TreeProblem:
    """A codebook and path lengths in a tree, in the form for :mod:`codekin.kernels.tree_swaps`.

    - ``problem``: what the arrays were made from.
    - ``class_order`` of shape (n_classes,): the classes in depth-first order; everything else that is by class is in
      this order.
    - ``vectors`` of shape (n_codewords, width): the codewords as float32, with their absolute values appended if
      bits may be zero.
    - ``weight`` of shape (n_codewords,): how many bits of each codeword are not zero; 0 if that is the same for all.
    - ``parent``, ``length``, ``first_class``, ``last_class`` of shape (n_nodes,): the nodes above two classes or more,
      in preorder: the parent, the length of the edge above, the classes below.
    - ``node_of_class`` of shape (n_classes,): the lowest of these nodes above each class.
    - ``depth``, ``linear`` of shape (n_classes,): the depth of each class, and what each non-zero bit of its codeword
      adds to the alignment.
    - ``spread``: half the mean class distance.
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
        parent, length, *_, node_of_class = nodes
        vectors, weight = codeword_vectors(problem.codebook.indicators)
        linear = np.zeros(len(order))
        if weight.any():
            # The edge above a single class: |vector|^2 is twice the number of its non-zero bits.
            own_length = depth - _depth(parent, length)[node_of_class]
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


def _depth(parent: IntArray, length: FloatArray) -> FloatArray:
    depth = length.copy()
    for node in range(1, len(parent)):
        depth[node] += depth[parent[node]]
    return depth


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

    At every node, from the top, the codewords are divided in their order among the children by their numbers of
    classes; then codewords of different children are swapped as long as that makes the codewords within children more
    similar: ``n_sweeps`` swaps are tried per class and node above it. Faster than annealing but not as good. If there
    are more codewords than classes, evenly spaced ones are used.
    """
    check_at_least_1(n_sweeps=n_sweeps)
    from codekin.kernels.tree_swaps import partition_top_down

    tree = arrays.length, arrays.first_class, arrays.last_class, *_parts(arrays)
    n_considered = partition_top_down(arrays.vectors, *tree, run.codeword_of_rank, run.sign, n_sweeps, run.state)
    dealt = np.empty(arrays.problem.n_classes, dtype=np.intp)
    dealt[arrays.class_order] = run.codeword_of_rank
    run.note(int(n_considered), run.problem.alignment(Assignment(dealt)))


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
