"""Linear predictors of the bits of a tree: a sample needs few of them, and few of their weights are not zero.

The weights of a feature are stored node by node, as a search from the root needs them. Margins are computed on demand:
those that a search needs, or all of them as an array.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from codekin._system.arrays import as_narrow, writeable
from codekin._system.parallel import SAMPLES_PER_BLOCK, run_blocks
from codekin._system.rows import LARGEST_INT32, SparseRows
from codekin.code import FloatArray, IntArray
from codekin.code.tree import TreeGraph
from codekin.learners.compact import PRECISIONS, Precision
from codekin.learners.linear import KEPT_SHARES, QUANTILE_SAMPLE, Float32Array, LinearForm, LinearRows

FILLED_SHARE = 0.2
"""A chunk with weights for this share of a node's children has zeros for the others while it predicts, at most four for
each weight: adding a whole row is several times as fast as looking up children."""
CHUNKS_AT_ONCE = 2**14
"""While they are filled with zeros."""
LARGEST_STEP = 127
WEIGHTS_AT_ONCE = 2**18
"""How many weights are rounded at a time; each takes about 30 bytes meanwhile."""


@dataclass(frozen=True, eq=False)
class TreeBits(LinearForm):
    """Sparse linear predictors for every child of every node of a tree.

    A chunk holds the weights of one feature in one node. Chunks are in the order of features, then of nodes.

    - ``counts`` of shape (n_features,): the number of chunks of each feature.
    - ``nodes``, ``lengths`` of shape (n_chunks,): the node of each chunk, and its number of weights.
    - ``children`` of shape (n_weights,): which child of the node each weight is for, in increasing order.
    - ``weights`` of shape (n_weights,): floats, or steps from -127 to 127 on a geometric scale.
    - ``scale``: the size of step 1 and of step 127; None for floats.
    - ``curvatures``: those of the weights; None for finished predictors, which cannot learn further.
    - ``link``: whether probabilities of a node's children are the "softmax" of their margins, or each is "logistic".
    """

    kept_shares = 2 * KEPT_SHARES  # it is sparse already

    tree: TreeGraph = field(repr=False)
    counts: NDArray[Any] = field(repr=False)
    nodes: NDArray[Any] = field(repr=False)
    lengths: NDArray[Any] = field(repr=False)
    children: NDArray[Any] = field(repr=False)
    weights: NDArray[Any] = field(repr=False)
    scale: tuple[float, float] | None
    bias: Float32Array = field(repr=False)
    curvatures: Float32Array | None = field(default=None, repr=False)
    n_threads: int | None = None
    link: str = "softmax"

    def __post_init__(self) -> None:
        for name in ("counts", "nodes", "lengths", "children"):
            object.__setattr__(self, name, as_narrow(np.asarray(getattr(self, name))))

    @property
    def n_features(self) -> int:
        return len(self.counts)

    def sizes(self) -> Float32Array:
        """The sizes of some evenly spaced weights."""
        return np.abs(self.values[:: max(1, len(self.values) // QUANTILE_SAMPLE)])

    def margins(self, X: Any) -> Any:
        """The margins of samples as :class:`TreeMargins`, computed on demand."""
        return TreeMargins(self, SparseRows.of(sparse.csr_array(X), self.n_features))

    @cached_property
    def values(self) -> Float32Array:
        return self._values_at(slice(None))

    def _values_at(self, some: slice) -> Float32Array:
        if self.scale is None:
            return np.asarray(self.weights[some], dtype=np.float32)
        return sizes_of_steps(self.scale)[self.weights[some].view(np.uint8)]

    @cached_property
    def kernel_arrays(self) -> tuple[Any, ...]:
        """The weights as kernels take them: chunks with many of a node's children have all of them."""
        chunk_indptr, nodes = np.concatenate([[0], np.cumsum(self.counts, dtype=np.int64)]), self.nodes.astype(np.int32)
        n_children = np.diff(self.tree.first_bits).astype(np.int32)[nodes]
        is_long = self.lengths >= FILLED_SHARE * n_children
        narrow = np.int32 if len(self.weights) <= FILLED_SHARE * LARGEST_INT32 else np.int64
        starts = np.zeros(len(nodes) + 1, dtype=narrow)
        np.cumsum(np.where(is_long, n_children, self.lengths), out=starts[1:])
        children, values = np.zeros(starts[-1], self.children.dtype), np.zeros(starts[-1], np.float32)
        stop = 0
        for first in range(0, len(nodes), CHUNKS_AT_ONCE):
            own = slice(first, first + CHUNKS_AT_ONCE)
            lengths = self.lengths[own].astype(np.intp)
            some = slice(stop, stop := stop + int(lengths.sum()))
            number = np.arange(stop - some.start) - np.repeat(np.cumsum(lengths) - lengths, lengths)
            number = np.where(np.repeat(is_long[own], lengths), self.children[some], number)
            places = np.repeat(starts[:-1][own], lengths) + number
            children[places], values[places] = self.children[some], self._values_at(some)
        return chunk_indptr, nodes, starts, children, values, writeable(self.bias)

    @cached_property
    def kernel_tree(self) -> tuple[NDArray[np.int64], NDArray[np.int64], bool]:
        return self.tree.first_bits.astype(np.int64), self.tree.children.astype(np.int64), self.link == "logistic"

    @cached_property
    def paths(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The node of each bit, and the bits on the path to each leaf."""
        node_of_bit = np.repeat(np.arange(self.tree.n_nodes, dtype=np.int64), np.diff(self.tree.first_bits))
        return node_of_bit, self.tree.unrank(np.arange(self.tree.n_paths)).astype(np.int32)

    @cached_property
    def bit_of_weight(self) -> IntArray:
        first = self.tree.first_bits[self.nodes.astype(np.intp)]
        return np.repeat(first, self.lengths) + self.children.astype(np.intp)

    def to_csr(self) -> sparse.csr_array:
        """The weights as a sparse matrix of shape (n_features, n_bits)."""
        parts = self.values, self.bit_of_weight, _starts(self.lengths)[_starts(self.counts)]
        return sparse.csr_array(parts, shape=(self.n_features, self.n_bits))

    def linear_rows(self) -> LinearRows:
        """Rows with all bits of the tree; features without weights share the first row."""
        n_weights = np.diff(_starts(self.lengths)[_starts(self.counts)])
        used = np.flatnonzero(n_weights)
        row_of_feature = np.zeros(self.n_features, dtype=np.int32)
        row_of_feature[used] = np.arange(1, len(used) + 1)
        stored = self.weights if self.scale is None else self.weights.view(np.uint8)
        weights = np.zeros((len(used) + 1, self.n_bits), dtype=stored.dtype)
        weights[np.repeat(row_of_feature, n_weights), self.bit_of_weight] = stored
        table = None if self.scale is None else sizes_of_steps(self.scale)
        return LinearRows(weights, None, row_of_feature, self.bias, table=table)

    def sparse(self, threshold: float = 0.0) -> TreeBits:
        """The same predictors without weights up to this size."""
        return self._keeping(np.abs(self.values) > threshold)

    def _keeping(self, is_kept: NDArray[np.bool_]) -> TreeBits:
        starts = np.cumsum(self.lengths, dtype=np.intp) - self.lengths
        lengths = np.add.reduceat(is_kept, starts, dtype=np.intp) if len(starts) else starts
        feature = np.repeat(np.arange(self.n_features), self.counts)
        counts = np.bincount(feature[lengths > 0], minlength=self.n_features)
        nodes, lengths = self.nodes[lengths > 0], lengths[lengths > 0]
        curvatures = None if self.curvatures is None else self.curvatures[is_kept]
        return replace(
            self,
            counts=counts,
            nodes=nodes,
            lengths=lengths,
            children=self.children[is_kept],
            weights=self.weights[is_kept],
            curvatures=curvatures,
        )

    def compacted(self, precision: Precision, threshold: float | None = None) -> TreeBits:
        """The same predictors with weights of this precision, which cannot learn further, without small ones."""
        if threshold is not None:
            return self.sparse(threshold).compacted(precision)
        if precision not in PRECISIONS:
            raise ValueError(f"The 'precision' parameter must be one of {list(PRECISIONS)}. Got {precision!r} instead.")
        own, values = replace(self, curvatures=None), self.values
        if precision != "int8":
            return replace(own, weights=values.astype(precision), scale=None)
        is_kept = (values > 0) | (values < 0)
        if not is_kept.all():
            own, values = own._keeping(is_kept), values[is_kept]
        del is_kept
        blocks = [slice(start, start + WEIGHTS_AT_ONCE) for start in range(0, len(values), WEIGHTS_AT_ONCE)]
        smallest = min((float(np.abs(values[block]).min()) for block in blocks), default=1.0)
        largest = max((float(np.abs(values[block]).max()) for block in blocks), default=1.0)
        scale = (min(smallest, 1.0), max(largest, 1.0))
        ratio = max(np.log(scale[1] / scale[0]), 1e-12) / (LARGEST_STEP - 1)
        weights = np.empty(len(values), dtype=np.int8)
        for block in blocks:
            sizes = np.abs(values[block])
            steps = np.clip(np.rint(1 + np.log(sizes / scale[0]) / ratio), 1, LARGEST_STEP)
            weights[block] = np.sign(values[block]) * steps
        return replace(own, weights=weights, scale=scale)

    def decompressed(self) -> TreeBits:
        return replace(self, weights=self.values, scale=None)


def sizes_of_steps(scale: tuple[float, float]) -> Float32Array:
    """The weight of every step, in the order of its bits as an unsigned byte."""
    steps = np.arange(256, dtype=np.uint8).view(np.int8).astype(np.float64)
    ratio = max(np.log(scale[1] / scale[0]), 1e-12) / (LARGEST_STEP - 1)
    sizes = scale[0] * np.exp((np.abs(steps) - 1) * ratio)
    return np.asarray(np.sign(steps) * sizes, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class TreeMargins:
    """The margins of some samples, computed on demand; NumPy can convert it to an (n_samples, n_bits) array."""

    bits: TreeBits
    rows: SparseRows

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.n_rows, self.bits.n_bits

    def __len__(self) -> int:
        return self.rows.n_rows

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """All margins, (n_samples, n_bits)."""
        rows = self.rows
        X = sparse.csr_array((rows.values, rows.indices, rows.indptr), shape=(rows.n_rows, self.bits.n_features))
        return np.asarray((X @ self.bits.to_csr()).toarray() + self.bits.bias, dtype=dtype or np.float32)

    def best_leaves(
        self, n: int, beam: int, temperature: float = 1.0, max_loss_gap: float = np.inf
    ) -> tuple[IntArray, FloatArray]:
        """The most probable leaves that a beam search finds, and the logarithms of their probabilities.

        Those further than ``max_loss_gap`` below the best are left out. If there are fewer than ``n``, the rest are -1
        and minus infinity.
        """
        from codekin.kernels.label_tree import search_leaves

        leaves, logs = np.empty((len(self), n), dtype=np.int64), np.empty((len(self), n))

        weights = self.bits.kernel_tree, self.bits.kernel_arrays

        def fill(start: int, stop: int) -> None:
            own = leaves[start:stop], logs[start:stop]
            search: Any = beam, np.float32(1 / temperature), max_loss_gap
            search_leaves(self._arrays_of(start, stop), *weights, *search, *own)

        run_blocks(fill, len(self), block=SAMPLES_PER_BLOCK, n_threads=self.bits.n_threads)
        return leaves.astype(np.intp, copy=False), logs

    def log_probabilities(self, leaves: IntArray, temperature: float = 1.0) -> FloatArray:
        """The logarithms of the probabilities of given leaves, (n_samples, n); minus infinity for leaf -1."""
        from codekin.kernels.label_tree import leaf_probabilities

        wanted = np.ascontiguousarray(leaves, dtype=np.int64)
        logs = np.empty(wanted.shape)

        weights, paths = (self.bits.kernel_tree, self.bits.kernel_arrays), self.bits.paths

        def fill(start: int, stop: int) -> None:
            own: Any = np.float32(1 / temperature), *paths, wanted[start:stop], logs[start:stop]
            leaf_probabilities(self._arrays_of(start, stop), *weights, *own)

        run_blocks(fill, len(self), block=SAMPLES_PER_BLOCK, n_threads=self.bits.n_threads)
        return logs

    def _arrays_of(self, start: int, stop: int) -> tuple[Any, ...]:
        return self.rows.indptr[start : stop + 1], self.rows.indices, self.rows.values


class LearnedNode(NamedTuple):
    """The weights of a node that are large enough, by feature and by child; curvatures only if it may learn further.

    A node takes little more than in the finished tree.
    """

    features: NDArray[np.int32]
    lengths: NDArray[Any]
    children: NDArray[Any]
    weights: Float32Array
    curvatures: Float32Array


def gathered(
    tree: TreeGraph,
    n_features: int,
    found: dict[int, LearnedNode],
    bias: Float32Array | None,
    *,
    link: str,
    temperature: float,
    learns_on: bool,
    n_threads: int | None,
) -> TreeBits:
    """The weights of all nodes, feature by feature; without a bias, it is the last feature. Empties ``found``.

    Margins are divided by the temperature.
    """
    from codekin.kernels.label_tree import put_chunks

    nodes = sorted(found)
    empty = np.zeros(0, dtype=np.int32)
    features, lengths = (np.concatenate([empty, *(found[node][part] for node in nodes)]) for part in range(2))
    node_of_chunk = np.repeat(np.asarray(nodes, dtype=np.int32), [len(found[node].features) for node in nodes])
    order = np.argsort(features, kind="stable")
    features, node_of_chunk = features[order], node_of_chunk[order]
    lengths = lengths[order]
    ends = np.cumsum(lengths, dtype=np.int64)
    n_weights = int(ends[-1]) if len(ends) else 0
    ends -= lengths
    start_of_chunk = np.empty(len(order), dtype=np.int64)
    start_of_chunk[order] = ends
    del order, ends
    narrow = np.min_scalar_type(max(np.diff(tree.first_bits)[nodes], default=1) - 1)
    children, weights = np.empty(n_weights, dtype=narrow), np.empty(n_weights, dtype=np.float32)
    curvatures = np.empty(n_weights, dtype=np.float32) if learns_on else None
    n_chunks = 0
    for node in nodes:
        # Node by node, so that nothing is there twice.
        own = found.pop(node)
        starts = start_of_chunk[n_chunks : n_chunks + len(own.lengths)]
        put_chunks(own.children.astype(narrow, copy=False), own.lengths, starts, children)
        put_chunks(own.weights, own.lengths, starts, weights)
        if curvatures is not None:
            put_chunks(own.curvatures, own.lengths, starts, curvatures)
        n_chunks += len(own.lengths)
    if bias is None:
        bias = np.zeros(tree.n_edges, dtype=np.float32)
        n_chunks = int(np.searchsorted(features, n_features))
        n_kept = int(lengths[:n_chunks].sum())
        bits = np.repeat(tree.first_bits[node_of_chunk[n_chunks:]], lengths[n_chunks:]) + children[n_kept:]
        bias[bits] = weights[n_kept:]
        features, node_of_chunk, lengths = features[:n_chunks], node_of_chunk[:n_chunks], lengths[:n_chunks]
        children, weights = children[:n_kept], weights[:n_kept]
        curvatures = None if curvatures is None else curvatures[:n_kept]
    counts = np.bincount(features, minlength=n_features)
    for values in (weights, bias) if temperature != 1 else ():
        np.multiply(values, np.float32(1 / temperature), out=values)
    return TreeBits(tree, counts, node_of_chunk, lengths, children, weights, None, bias, curvatures, n_threads, link)


class WeightsByNode(NamedTuple):
    """The weights of a tree by node, to continue from."""

    bits: TreeBits
    feature_of_chunk: IntArray
    starts: IntArray
    chunks: IntArray
    first_chunks: IntArray

    @classmethod
    def of(cls, bits: TreeBits) -> WeightsByNode:
        nodes = bits.nodes.astype(np.intp)
        chunks = np.argsort(nodes, kind="stable")
        first_chunks = np.searchsorted(nodes[chunks], np.arange(bits.tree.n_nodes + 1))
        feature_of_chunk = np.repeat(np.arange(bits.n_features), bits.counts)
        return cls(bits, feature_of_chunk, _starts(bits.lengths), chunks, first_chunks)

    def put_into(self, state: Float32Array, node: int, features: NDArray[np.int32]) -> None:
        """Start the state of a node with the weights and curvatures that its features had, and with its bias."""
        row_of, bits = np.full(self.bits.n_features + 1, -1, dtype=np.intp), self.bits
        row_of[features] = np.arange(len(features))
        of_chunks, lengths, own = self._chunks(node, row_of >= 0)
        rows, children = np.repeat(row_of[of_chunks], lengths), bits.children[own].astype(np.intp)
        state[rows, 0, children] = bits.values[own]
        if bits.curvatures is not None:
            state[rows, 1, children] = bits.curvatures[own]
        if row_of[-1] >= 0:
            state[row_of[-1], 0] = bits.bias[bits.tree.first_bits[node] : bits.tree.first_bits[node + 1]]

    def left_over(self, node: int, features: NDArray[np.int32]) -> LearnedNode:
        is_old, bits = np.ones(self.bits.n_features + 1, dtype=bool), self.bits
        is_old[features] = False
        of_chunks, lengths, own = self._chunks(node, is_old)
        curvatures = np.ones(len(own), np.float32) if bits.curvatures is None else bits.curvatures[own]
        children = bits.children[own].astype(np.int32)
        return LearnedNode(of_chunks.astype(np.int32), lengths, children, bits.values[own], curvatures)

    def _chunks(self, node: int, is_wanted: NDArray[np.bool_]) -> tuple[IntArray, IntArray, IntArray]:
        """The features and lengths of a node's chunks of some features, and where their weights are."""
        chunks = self.chunks[self.first_chunks[node] : self.first_chunks[node + 1]]
        chunks = chunks[is_wanted[self.feature_of_chunk[chunks]]]
        lengths = self.bits.lengths[chunks].astype(np.int64)
        # The positions of runs with these starts and lengths, one run after the other.
        before = np.cumsum(lengths, dtype=np.intp) - lengths
        own = np.repeat(self.starts[chunks] - before, lengths) + np.arange(lengths.sum())
        return self.feature_of_chunk[chunks], lengths, own


def _starts(lengths: NDArray[Any]) -> IntArray:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.intp)])
