"""A tree of classes as a code: every child of every node is a bit, and a node's bits ignore all classes elsewhere.

A codeword has +1 on the children along the path from the root to its leaf, -1 on their siblings and 0 on all other
bits. Leaves are numbered from left to right. Two numbers define the tree, which divides the row of leaves evenly. Which
class is at which leaf is an assignment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import index
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from codekin.code.codebook import Codebook, GraphCodebook
from codekin.code.types import CodingMatrix, FloatArray, IntArray, RankingConstants

LEAVES_PER_CHILD = 4
"""A node with up to this many times ``width`` leaves has the leaves themselves as children."""


class TreeCodebook(GraphCodebook):
    """The leaves of a tree."""

    kind = "tree"
    is_lazy = True
    learned_in = "nodes"
    uses_all_threads = True
    is_tried_on_some_classes = True
    weights_per_feature = None  # nodes keep only their large weights
    complementary_orders = ("preserving", "halving")
    halved_orders = ("halving", "learnability", "cooccurrence", "mixed")
    softmax_damping = 0.15  # gains 0.3 points with 1,532 and 12,582 classes, and nothing with 102,673
    softmax_loss = "logistic"
    usual_size_power = 0.2  # gains 0.2 to 1 point on trees of 1,532, 12,582 and 102,673 classes
    # The best ten of a tree are as good as fifty: 48.5 and 48.4 % of 12,582 classes, 39.2 and 39.2 % of 102,673. Of
    # 20,000 validation samples of these, 38.8 % are right after one pass with ten confused classes and 38.6 % with
    # twenty, in twice the time; 39.0 % at a rate of 1 and 38.8 % at 0.5. A second tree that lists confused classes
    # would double the time. A loss gap of 2 keeps candidates at most exp(2) times less probable than the best one.
    ranking_constants = RankingConstants(
        (10, 20), n_confused=10, n_confusing_codes=1, rate=1.0, loss_gaps=(2.0, 3.0, 5.0)
    )
    min_distance = 2.0  # two leaves of one node differ in two bits and share all others; others differ in more
    work = 500  # about as long as this many bits of a trellis
    graph: TreeGraph
    orders: ClassVar[Mapping[str, str]] = {
        "preserving": "class_tree",
        "breaking": "class_tree",
        "random": "",
        "learnability": "learnability",
        "halving": "class_means",
        "cooccurrence": "class_means",
        "mixed": "class_means",
        "identity": "",
    }
    takes_searches = False

    def least_bytes(self, n_features: int) -> int:
        """A bias for every class, and the number of weights of every feature."""
        return 4 * self.n_codewords + n_features

    @property
    def tree(self) -> TreeGraph:
        """The graph."""
        return self.graph

    @property
    def is_ternary(self) -> bool:
        """Whether a node ignores the classes below others."""
        return self.graph.n_nodes > 1

    def size_terms(self, size_of_codeword: FloatArray, power: float) -> FloatArray:
        """What to add to the margin of each bit to divide the probabilities of the leaves by ``size**power``.

        Exact for leaves of one node; the total of a child with several leaves is estimated from their sizes.
        """
        before = np.concatenate([[0.0], np.cumsum(size_of_codeword)])
        reduced = np.concatenate([[0.0], np.cumsum(size_of_codeword ** (1 - power))])
        begins = self.graph.bit_starts
        ends = np.append(begins[1:], 0)
        ends[self.graph.first_bits[1:] - 1] = self.graph.spans[:, 1]
        return np.asarray(np.log((reduced[ends] - reduced[begins]) / (before[ends] - before[begins])))


def label_tree(n_codewords: int, width: int = 32) -> Codebook:
    """The leaves of a balanced tree as codewords: a ternary code whose bits are learned node by node.

    F. Morin and Y. Bengio, "Hierarchical Probabilistic Neural Network Language Model", AISTATS 2005. Y. Prabhu et al.,
    "Parabel: Partitioned Label Trees for Extreme Classification with Application to Dynamic Search Advertising", WWW
    2018.

    >>> label_tree(9, 2)
    <Codebook label_tree: 9 codewords x 11 bits, minimum distance 2>
    >>> label_tree(9, 2).codewords([0, 5])
    array([[ 1, -1,  1, -1, -1, -1, -1,  0,  0,  0,  0],
           [-1,  1,  0,  0,  0,  0,  0,  1, -1, -1, -1]], dtype=int8)
    """
    return TreeCodebook(name="label_tree", tree=TreeGraph(n_codewords, width))


@dataclass(frozen=True)
class TreeGraph:
    """A balanced tree over a row of ``n_paths`` leaves, at least 2.

    The root has all of them. A node with more than ``4 * width`` leaves has ``width`` children, among which repeated
    halving divides the leaves; any other node has its leaves as children. Nodes are numbered level by level and from
    left to right; so are their children, the bits.

    >>> tree = TreeGraph(n_paths=9, width=2)
    >>> tree.first_bits, tree.children
    (array([ 0,  2,  7, 11]), array([ 1,  2, -1, -2, -3, -4, -5, -6, -7, -8, -9]))
    """

    n_paths: int
    width: int
    spans: IntArray = field(init=False, repr=False, compare=False)
    """The first leaf of each node and the one after its last, (n_nodes, 2)."""
    first_bits: IntArray = field(init=False, repr=False, compare=False)
    """Where the bits of each node begin, (n_nodes + 1,)."""
    bit_starts: IntArray = field(init=False, repr=False, compare=False)
    """The first leaf below each bit, (n_bits,)."""
    children: IntArray = field(init=False, repr=False, compare=False)
    """The node below each bit, or ``-1 - leaf``, (n_bits,)."""
    n_nodes: int = field(init=False, repr=False, compare=False)
    """The number of nodes with children."""
    n_edges: int = field(init=False, repr=False, compare=False)
    """The number of bits."""
    _levels: list[IntArray] = field(init=False, repr=False, compare=False)
    """For each level the first leaf of each child."""

    def __post_init__(self) -> None:
        """Check the two numbers that define the tree, and divide the leaves."""
        n_paths, width = index(self.n_paths), index(self.width)
        if n_paths < 2:
            raise ValueError(f"A tree needs at least 2 codewords. Got {n_paths} instead.")
        if width < 2:
            raise ValueError(f"The width of a tree must be at least 2. Got {width} instead.")
        levels, every, counts = [], [], []
        spans = np.array([[0, n_paths]], dtype=np.intp)
        while len(spans):
            sizes = spans[:, 1] - spans[:, 0]
            is_wide = sizes > LEAVES_PER_CHILD * width
            n_children = np.where(is_wide, width, sizes)
            begins = [
                _cuts(start, stop, n) for (start, stop), n in zip(spans.tolist(), n_children.tolist(), strict=True)
            ]
            levels.append(np.concatenate(begins))
            every.append(spans)
            counts.append(n_children)
            below = [
                np.column_stack([own, np.append(own[1:], spans[i, 1])]) for i, own in enumerate(begins) if is_wide[i]
            ]
            spans = np.concatenate(below) if below else np.zeros((0, 2), dtype=np.intp)
        spans, of_nodes, bit_starts = np.concatenate(every), np.concatenate(counts), np.concatenate(levels)
        is_above_leaves = np.repeat(spans[:, 1] - spans[:, 0] == of_nodes, of_nodes)
        arrays = {
            "spans": spans,
            "first_bits": np.concatenate([[0], np.cumsum(of_nodes)]),
            "bit_starts": bit_starts,
            "children": np.where(is_above_leaves, -1 - bit_starts, np.cumsum(~is_above_leaves)),
        }
        for array in arrays.values():
            array.flags.writeable = False
        numbers = {"n_paths": n_paths, "width": width, "n_nodes": len(spans), "n_edges": len(bit_starts)}
        self.__dict__.update(arrays, **numbers, _levels=levels)

    @property
    def depth(self) -> int:
        """The most nodes on the path to a leaf."""
        return len(self._levels)

    def unrank(self, ranks: ArrayLike) -> IntArray:
        """The bits that are +1 for these leaves, from the root down; padded with -1, (n, depth)."""
        leaves = np.asarray(ranks, dtype=np.intp)
        outside = leaves[(leaves < 0) | (leaves >= self.n_paths)]
        if leaves.ndim != 1 or outside.size:
            raise ValueError(
                f"Leaves must be an array of numbers between 0 and {self.n_paths - 1}. Got {ranks!r} instead."
            )
        bits = np.full((len(leaves), self.depth), -1, dtype=np.intp)
        is_open, first = np.ones(len(leaves), dtype=bool), 0
        for level, begins in enumerate(self._levels):
            bits[is_open, level] = first + np.searchsorted(begins, leaves[is_open], side="right") - 1
            is_open[is_open] = self.children[bits[is_open, level]] >= 0
            first += len(begins)
        return bits

    def codewords(self, ranks: ArrayLike) -> CodingMatrix:
        """The codewords of these leaves: +1 on the path to the leaf, -1 on siblings, 0 elsewhere."""
        bits = self.unrank(ranks)
        codewords = np.zeros((len(bits), self.n_edges), dtype=np.int8)
        node_of_bit = np.repeat(np.arange(self.n_nodes), np.diff(self.first_bits))
        for row, own in enumerate(bits):
            for bit in own[own >= 0]:
                node = node_of_bit[bit]
                codewords[row, self.first_bits[node] : self.first_bits[node + 1]] = -1
                codewords[row, bit] = 1
        return codewords


def _cuts(start: int, stop: int, n_parts: int) -> IntArray:
    """Where the parts of a row of leaves begin, by repeated halving; the first half is the larger one."""
    if n_parts == stop - start:
        return np.arange(start, stop, dtype=np.intp)
    begins, sizes = np.array([start]), np.array([stop - start])
    parts = np.array([n_parts])
    while (parts > 1).any():
        first = (parts + 1) // 2
        of_first = -(-sizes * first // parts)
        begins = np.column_stack([begins, begins + of_first]).ravel()
        sizes = np.column_stack([of_first, sizes - of_first]).ravel()
        parts = np.column_stack([first, parts - first]).ravel()
        begins, sizes, parts = begins[parts > 0], sizes[parts > 0], parts[parts > 0]
    return begins.astype(np.intp)
