"""Several labels per sample as the targets of a learner: every distinct set of columns, and the set of each sample."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from codekin.code import Code, IntArray
from codekin.code.tree import TreeGraph
from codekin.samples import Samples


class LabelSets(NamedTuple):
    """Which columns are positive for which samples.

    - ``of_sample`` of shape (n_samples,): the row of ``sets`` of each.
    - ``sets`` of shape (n_sets, n_columns): 1 for positive columns, 0 for others.
    """

    of_sample: NDArray[np.int64]
    sets: NDArray[np.int8]

    @classmethod
    def of(cls, starts: IntArray, columns: IntArray, n_columns: int) -> Self:
        """The sets of samples whose columns begin at ``starts``, which has one more entry, and are sorted.

        >>> LabelSets.of(np.array([0, 2, 2, 4]), np.array([0, 2, 0, 2]), 3).sets.tolist()
        [[0, 0, 0], [1, 0, 1]]
        """
        number: dict[bytes, int] = {b"": 0}  # no column at all
        narrow = np.ascontiguousarray(columns, dtype=np.int32)
        keys = [narrow[start:stop].tobytes() for start, stop in pairwise(starts.tolist())]
        of_sample = np.array([number.setdefault(key, len(number)) for key in keys], dtype=np.int64)
        sets = np.zeros((len(number), n_columns), dtype=np.int8)
        for key, row in number.items():
            sets[row, np.frombuffer(key, dtype=np.int32)] = 1
        return cls(of_sample, sets)

    @classmethod
    def of_code(cls, samples: Samples, code: Code) -> Self | None:
        """The columns of a code for samples with several labels; None unless each class has a column of its own."""
        is_on = code.coding_matrix > 0
        is_square = is_on.shape[0] == is_on.shape[1] and bool(code.coding_matrix.all())
        if samples.labels is None or not (is_square and (is_on.sum(axis=0) == 1).all() and is_on.any(axis=1).all()):
            return None
        return cls.of(samples.labels.indptr.astype(np.intp), is_on.argmax(axis=1)[samples.labels.indices], code.n_bits)

    @property
    def of_signs(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The row of each sample, and the sets with -1 for columns that are not positive."""
        return self.of_sample, (2 * self.sets - 1).astype(np.float32)


class NodeSets(NamedTuple):
    """The samples of every node of a tree, each once, and the children that it is below.

    A sample is in the root, and in every node above one of its leaves. Its places in all nodes are numbered node by
    node: those of node ``n`` from ``first_places[n]`` on.
    """

    first_places: IntArray
    rows: IntArray
    starts: IntArray
    children: IntArray

    @classmethod
    def of(cls, tree: TreeGraph, indptr: IntArray, leaves: IntArray) -> Self:
        """The nodes and children of samples whose leaves begin at ``indptr``, which has one more entry."""
        n_samples = len(indptr) - 1
        row_of_leaf = np.repeat(np.arange(n_samples), np.diff(indptr))
        bits = tree.unrank(leaves)
        rows, places = np.repeat(row_of_leaf, bits.shape[1])[bits.ravel() >= 0], bits[bits >= 0]
        pairs = np.unique(rows * tree.n_edges + places)
        rows, own = pairs // tree.n_edges, pairs % tree.n_edges
        nodes = np.repeat(np.arange(tree.n_nodes), np.diff(tree.first_bits))[own]
        keys = nodes * n_samples + rows
        order = np.argsort(keys, kind="stable")
        of_nodes = np.union1d(keys, np.arange(n_samples))  # samples without a label are in the root
        starts = np.append(np.searchsorted(keys[order], of_nodes), len(keys))
        first_places = np.searchsorted(of_nodes, np.arange(tree.n_nodes + 1) * n_samples)
        children = (own - tree.first_bits[nodes])[order]
        return cls(first_places, of_nodes % n_samples, starts, children)

    def sets(self, start: int, stop: int, n_children: int) -> LabelSets:
        """The children that the samples between two places of a node are below."""
        starts = self.starts[start : stop + 1]
        return LabelSets.of(starts - starts[0], self.children[starts[0] : starts[-1]], n_children)
