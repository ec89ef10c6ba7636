"""The arrays for searches on trees, made once from a codebook and a class tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from codekin.assignments.scores import AssignmentProblem
from codekin.classes import ClassTree
from codekin.classes.tree_distances import TreeDistances
from codekin.coding import FloatArray, IntArray
from codekin.coding.geometry import codeword_vectors


@dataclass(frozen=True, eq=False)
class TreeProblem:
    """A codebook and path lengths in a tree, in the form for :mod:`codekin.kernels.tree_swaps`.

    - ``problem``: what the arrays were made from.
    - ``class_order`` of shape (n_classes,): the classes in depth-first order; everything else that is by class is in
      this order.
    - ``vectors`` of shape (n_codewords, width): the codewords as float32, beside their absolute values where bits may
      be zero.
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
        parent, length, first_class, last_class, node_of_class = _shared_nodes(tree)
        vectors, weight = codeword_vectors(problem.codebook.indicators)
        linear = np.zeros(len(order))
        if weight.any():
            # The edge above a single class: |vector|^2 is twice the number of its non-zero bits.
            own_length = depth - _depth(parent, length)[node_of_class]
            linear = distances.row_sums()[order] - problem.mean_class_distance * len(order) + 2 * own_length
        return cls(
            problem=problem,
            class_order=order,
            vectors=vectors,
            weight=weight,
            parent=parent,
            length=length,
            first_class=first_class,
            last_class=last_class,
            node_of_class=node_of_class,
            depth=depth,
            linear=linear,
            spread=problem.mean_class_distance / 2,
        )

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.class_order)

    @property
    def n_codewords(self) -> int:
        """The number of codewords to choose from."""
        return len(self.vectors)


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
