"""Training samples of a tree of classes: those of each node, in memory or on disk.

Samples have places: those of the first leaf come first, then those of the second, and so on, so that a node's samples
have consecutive places. Rows are copied node by node. Rows on disk are read for as many neighbouring nodes at a time as
memory allows; those of a larger node are read some at a time in every pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from codekin._system.memory import available_memory, in_units
from codekin._system.rows import BYTES_PER_ROW, BYTES_PER_VALUE, LARGEST_INT32, SparseRows, StoredRows
from codekin.code import Code, FloatArray, IntArray
from codekin.code.tree import TreeGraph
from codekin.learners.label_sets import NodeSets
from codekin.learners.training_rows import StreamedRows, TrainingRows, checksum, compressed_rows, training_rows
from codekin.samples import Samples

SHARE_OF_BLOCK = 4
"""Rows on disk are read into this part of the memory allowed for samples; sorting and numbering them takes the rest."""
ROWS_AT_ONCE = 10_000
"""Of samples in memory, while their norms are measured."""


class Node(NamedTuple):
    """The samples of a node: their places, the child that each is below, and their weights.

    Samples with several labels may be below several children: ``children`` are then the rows of ``sets``.
    """

    start: int
    stop: int
    n_entries: int
    n_children: int
    children: IntArray
    weights: FloatArray
    is_large: bool
    """Whether their rows have to stay on disk because they take too much memory."""
    sets: NDArray[np.int8] | None = None


@dataclass(frozen=True, eq=False)
class TreeSamples:
    """Training samples by place.

    - ``held``: rows, in memory or on disk; those in memory include the feature of the bias.
    - ``row_of_place``: the row of each held sample, from place ``first_place`` on.
    - ``leaves``, ``weights``: of all samples, by place; no weights if all are 1.
    - ``entries_before``: how many entries the samples before each place have.
    - ``mean_squared_norm``: of the samples that are not empty.
    - ``bytes_per_sample``: what learning takes for each sample and child, besides the rows.
    - ``targets``: a checksum of the labels, if samples may have several.
    """

    tree: TreeGraph
    held: SparseRows | StoredRows
    row_of_place: NDArray[Any]
    leaves: NDArray[np.int32]
    weights: FloatArray | None
    entries_before: NDArray[np.int64]
    n_features: int
    has_bias: bool
    mean_squared_norm: float
    bytes_per_sample: int = 0
    first_place: int = 0
    targets: str = ""
    link: ClassVar[str] = "softmax"
    """From the margins of a node's children to their probabilities."""
    bytes_per_target: ClassVar[int] = 0
    """What its targets take for each sample and child."""

    @classmethod
    def of(cls, learner: Any, samples: Samples, code: Code) -> tuple[TreeSamples, TrainingRows | StreamedRows]:
        """Checked samples by place, and in their given order.

        ``learner`` has the class weights, the damping and ``fit_intercept``.
        """
        tree: TreeGraph = code.codebook.graph
        given = training_rows(learner, samples, code, has_targets=samples.labels is not None)
        kind, further = cls, dict[str, Any]()
        has_bias = bool(learner.fit_intercept or samples.labels is not None)
        if samples.labels is None:
            leaves = code.assignment.codeword_of_class[given.class_of_sample]
            order = np.argsort(leaves, kind="stable")
            leaves = leaves[order]
        else:
            kind, starts = SharedSamples, samples.labels.indptr.astype(np.intp)
            leaves = code.assignment.codeword_of_class[samples.labels.indices]
            of_nodes = NodeSets.of(tree, starts, leaves)
            further, order = {"of_nodes": of_nodes, "targets": checksum(starts, leaves)}, of_nodes.rows
        order = order.astype(np.int32 if len(order) <= LARGEST_INT32 else np.int64)
        has_weights = samples.weights is not None or learner.class_weight is not None
        held: SparseRows | StoredRows
        if isinstance(given, StreamedRows):
            held = given.X
            numbers = np.arange(held.shape[0]) if held.rows is None else held.rows
            lengths = held.row_ends[numbers + 1] - held.row_ends[numbers] + given.has_bias
        else:
            held = given.rows
            lengths = np.diff(given.rows.indptr)
        return kind(
            tree,
            held,
            order,
            leaves.astype(np.int32),
            given.weight_of_sample[order] if has_weights else None,
            np.concatenate([[0], np.cumsum(lengths[order], dtype=np.int64)]),
            given.n_features,
            has_bias,
            _mean_squared_norm(held, has_bias=has_bias),
            learner.bytes_per_sample,
            **further,
        ), given

    def span(self, node: int) -> tuple[int, int]:
        """The first place of a node and one past its last."""
        start, stop = np.searchsorted(self.leaves, self.tree.spans[node].astype(np.int32))
        return int(start), int(stop)

    def n_children(self, node: int) -> int:
        return int(self.tree.first_bits[node + 1] - self.tree.first_bits[node])

    def n_entries(self, start: int, stop: int) -> int:
        """How many entries the samples between two places have."""
        return int(self.entries_before[stop] - self.entries_before[start])

    def work(self, node: int) -> int:
        """About how long a pass over the samples of a node takes."""
        return self.n_entries(*self.span(node)) * self.n_children(node)

    def node(self, node: int) -> Node:
        start, stop = self.span(node)
        first, n_children = int(self.tree.first_bits[node]), self.n_children(node)
        starts = self.tree.bit_starts[first : first + n_children]
        children = np.searchsorted(starts, self.leaves[start:stop], side="right") - 1
        n_entries = self.n_entries(start, stop)
        return Node(start, stop, n_entries, n_children, children, self._weights(start, stop), self.is_large(node))

    def _weights(self, start: int, stop: int) -> FloatArray:
        return np.ones(stop - start) if self.weights is None else self.weights[start:stop]

    def copy_rows(
        self, start: int, stop: int, own: SparseRows, number_of_feature: NDArray[np.int32], *, merges: bool
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Copy the rows between two places, which are in memory; returns their features and the numbers of these."""
        from codekin.kernels.label_tree import node_rows

        assert not isinstance(self.held, StoredRows)
        wanted = self.row_of_place[start - self.first_place : stop - self.first_place]
        given = self.held.indptr, self.held.indices, self.held.values
        found: Any = node_rows(given, wanted, number_of_feature, merges, own.indptr, own.indices, own.values)
        return found  # type: ignore[no-any-return]

    def bytes_in_training(self, node: int, enough: float = 0) -> int:
        """What a node takes while it is learned, or more if that is not more than ``enough``.

        That is 8 bytes for each feature and child, 24 for each feature, and in memory 8 for each entry of its samples,
        perhaps more for each sample and child.
        The features are counted only if it matters, and not on disk, where they may be fewer.
        """
        from codekin.kernels.class_vectors import count_entries

        start, stop = self.span(node)
        n_entries, n_children = self.n_entries(start, stop), self.n_children(node)

        def needed(n_features: int) -> int:
            of_rows = 0 if self.is_on_disk else n_entries * BYTES_PER_VALUE
            of_rows += (stop - start) * n_children * (self.bytes_per_sample + self.bytes_per_target)
            return n_features * (n_children * BYTES_PER_WEIGHT + BYTES_PER_FEATURE) + of_rows

        most = needed(min(n_entries, self.n_features))
        if most <= enough or isinstance(self.held, StoredRows):
            return most
        rows = self.row_of_place[start - self.first_place : stop - self.first_place]
        ends, room = np.array([0, len(rows)], dtype=np.int64), np.empty(self.n_features, dtype=np.int32)
        return needed(int(count_entries(self.held.indptr, self.held.indices, rows, ends, room)))

    def affordable_threads(self, max_memory: int | None, nodes: Sequence[int], n_threads: int) -> int:
        """How many nodes can be learned at once, whichever they are; raises if the largest cannot."""
        limits = [limit for limit in (max_memory, available_memory()) if limit is not None]
        if not limits or not nodes:
            return n_threads
        needed = sorted((self.bytes_in_training(node, min(limits)) for node in nodes), reverse=True)[:n_threads]
        if needed[0] > min(limits):
            limit = "allowed by max_memory" if min(limits) == max_memory else "available"
            raise MemoryError(
                f"The largest node of the tree needs {in_units(needed[0])} for training, but "
                f"{in_units(min(limits))} are {limit}. Use a smaller width or fewer features, or allow more."
            )
        n_at_once = int(np.searchsorted(np.cumsum(needed), min(limits), side="right"))
        return n_threads if n_at_once == len(needed) else n_at_once

    # ----- rows on disk -----------------------------------------------------------------------------------------

    @property
    def is_on_disk(self) -> bool:
        """Whether the rows have to be read before a node can be trained."""
        return isinstance(self.held, StoredRows)

    def is_large(self, node: int) -> bool:
        """Whether the rows of a node have to stay on disk because they take too much memory."""
        start, stop = self.span(node)
        return self.is_on_disk and self._bytes(start, stop) > self._most_bytes

    def groups(self, nodes: Sequence[int], n_shares: int = 1) -> list[list[int]]:
        """The nodes in groups to be trained together: as many at a time as can be read, or about equal shares of work.

        In memory there are about ``n_shares`` groups; a node that is more work than that is alone.
        """
        if not self.is_on_disk:
            ends = np.cumsum([self.work(node) for node in nodes], dtype=np.int64)
            share_of_node = -(-ends * n_shares // max(int(ends[-1]), 1)) if len(ends) else ends
            cuts = np.flatnonzero(np.diff(share_of_node)) + 1
            return [part.tolist() for part in np.split(np.asarray(nodes, dtype=np.intp), cuts)]
        depth = _depths(self.tree)
        groups: list[list[int]] = []
        begin = 0
        for node in sorted(nodes, key=lambda node: (depth[node], self.tree.spans[node, 0])):
            start, stop = self.span(node)
            is_next = bool(groups) and not self.is_large(groups[-1][-1]) and depth[groups[-1][-1]] == depth[node]
            if is_next and self._bytes(begin, stop) <= self._most_bytes:
                groups[-1].append(node)
            else:
                groups.append([node])
                begin = start
        return groups

    def loaded(self, nodes: Sequence[int]) -> TreeSamples:
        """The same with the rows of a group of nodes in memory, unless they are there or too many."""
        if not self.is_on_disk or self.is_large(nodes[0]):
            return self
        start, stop = self.span(nodes[0])[0], max(self.span(node)[1] for node in nodes)
        held, place = self._read(np.arange(start, stop))
        return replace(self, held=held, row_of_place=place, first_place=start)

    def pieces(self, places: IntArray) -> Iterator[tuple[IntArray, SparseRows, IntArray]]:
        """Some places in turns, as many at a time as memory allows, their rows, and the row of each place."""
        ends = np.cumsum(BYTES_PER_VALUE * (self.entries_before[places + 1] - self.entries_before[places]))
        ends += BYTES_PER_ROW * np.arange(1, len(places) + 1)
        start = 0
        while start < len(places):
            limit = self._most_bytes + (ends[start - 1] if start else 0)
            stop = max(int(np.searchsorted(ends, limit, side="right")), start + 1)
            some = places[start:stop]
            rows, place = self._read(some)
            yield some, rows, place
            start = stop

    def features_on_disk(self, start: int, stop: int) -> NDArray[np.int32]:
        """The features of the samples between two places, in increasing order."""
        is_present = np.zeros(self.n_features, dtype=bool)
        for _, rows, _ in self.pieces(np.arange(start, stop)):
            is_present[rows.indices] = True
        return np.flatnonzero(is_present).astype(np.int32)

    def _bytes(self, start: int, stop: int) -> int:
        return BYTES_PER_VALUE * self.n_entries(start, stop) + BYTES_PER_ROW * (stop - start)

    @property
    def _most_bytes(self) -> int:
        assert isinstance(self.held, StoredRows)
        return self.held.max_memory // SHARE_OF_BLOCK

    def _read(self, places: IntArray) -> tuple[SparseRows, IntArray]:
        """The rows of some places in the order of the file, and which of them is whose."""
        assert isinstance(self.held, StoredRows)
        numbers = self.row_of_place[places]
        distinct, row_of = np.unique(numbers, return_inverse=True)
        compressed, _ = compressed_rows(self.held.at(distinct).in_memory(), self.has_bias)
        return compressed, row_of.astype(self.row_of_place.dtype)


@dataclass(frozen=True, eq=False)
class SharedSamples(TreeSamples):
    """Training samples with several labels: each has a place in every node above one of them, and in the root.

    There always is a bias, since most children are improbable.

    """

    of_nodes: NodeSets | None = None
    link: ClassVar[str] = "logistic"
    bytes_per_target: ClassVar[int] = 5
    """Of each sample and child: whether it is below, also as a sign."""

    def span(self, node: int) -> tuple[int, int]:
        """The first place of a node and one past its last."""
        assert self.of_nodes is not None
        start, stop = self.of_nodes.first_places[node : node + 2]
        return int(start), int(stop)

    def node(self, node: int) -> Node:
        (start, stop), n_children = self.span(node), self.n_children(node)
        assert self.of_nodes is not None
        of_sample, sets = self.of_nodes.sets(start, stop, n_children)
        of_rows = self.n_entries(start, stop), n_children
        return Node(start, stop, *of_rows, of_sample, self._weights(start, stop), self.is_large(node), sets)


def _depths(tree: TreeGraph) -> IntArray:
    """How many nodes are above each node."""
    depth = np.zeros(tree.n_nodes, dtype=np.intp)
    for node in range(tree.n_nodes):
        children = tree.children[tree.first_bits[node] : tree.first_bits[node + 1]]
        depth[children[children >= 0]] = depth[node] + 1
    return depth


def _mean_squared_norm(X: SparseRows | StoredRows, *, has_bias: bool) -> float:
    """The mean of ``|x|**2`` over the samples that are not empty, the same to the last digit in memory and on disk."""
    norms = [np.zeros(0)]
    for ends, values in _ends_and_values(X, has_bias):
        starts = ends[:-1][np.diff(ends) > 0]
        if len(starts):
            norms.append(np.add.reduceat(np.square(values, dtype=np.float64), starts))
    of_filled = np.concatenate(norms)
    return float(of_filled.mean()) or 1.0 if len(of_filled) else 1.0


def _ends_and_values(X: SparseRows | StoredRows, has_bias: bool) -> Iterator[tuple[NDArray[np.int64], Any]]:
    """Where the values of some rows at a time begin and end, and these values."""
    if isinstance(X, StoredRows):
        for start in range(0, X.shape[0], X.rows_at_once):
            rows, _ = compressed_rows(X[start : start + X.rows_at_once], has_bias)
            yield rows.indptr, rows.values
        return
    for start in range(0, len(X.indptr) - 1, ROWS_AT_ONCE):
        ends = X.indptr[start : start + ROWS_AT_ONCE + 1]
        yield ends - ends[0], X.values[ends[0] : ends[-1]]


BYTES_PER_WEIGHT = 8
"""In training: a weight and its curvature."""
BYTES_PER_FEATURE = 24
"""Of a node, while its large weights are picked: its number, a threshold and how many there are."""
