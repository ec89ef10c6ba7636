"""Softmax on a tree of classes: each node learns on its own which child its samples belong to.

Samples are sorted by the leaves of their classes, so that those of a node are contiguous. Randomness in a node depends
only on the seed and the number of the node, so that it does not matter which thread trains it, or when.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from codekin._system.memory import available_memory, in_units
from codekin._system.sparse_rows import SparseRows
from codekin._system.stored_rows import StoredRows
from codekin._system.threads import available_threads, on_threads
from codekin.coding import Code, FloatArray, IntArray
from codekin.coding.graphs import Tree
from codekin.learners.linear import Float32Array, Validation
from codekin.learners.training import EpochReport
from codekin.learners.training_rows import TrainingRows, pass_order
from codekin.learners.tree_bits import TreeBits
from codekin.progress import tell
from codekin.samples import Samples

LEAST_WEIGHT = 0.35
"""Smaller weights are dropped as soon as their node is trained. That is most of them, at the same accuracy: of the
validation samples of 12,582 classes, 47.7, 47.8 and 48.0 % are right with 0.2, 0.3 and 0.4, in 6.6, 5.7 and 5.2 MB; of
two trees of 102,673 classes 39.3, 39.5 and 39.4 %, in 72, 54 and 46 MB."""
STAGE = "learning the nodes of the tree"
BYTES_PER_WEIGHT = 8


class LearnedNode(NamedTuple):
    """The weights of a node that are large enough, by feature and by child."""

    features: NDArray[np.int32]
    lengths: NDArray[np.int64]
    children: NDArray[np.int32]
    weights: Float32Array
    curvatures: Float32Array


@dataclass(frozen=True, eq=False)
class TreeSamples:
    """Training samples in the order of their leaves, so that those of a node are contiguous."""

    tree: Tree
    rows: SparseRows
    n_features: int
    leaves: IntArray
    weights: FloatArray
    curvature: float

    @classmethod
    def of(cls, learner: Any, samples: Samples, code: Code) -> TreeSamples:
        """Check the samples and sort them; ``learner`` has the class weights, the damping and ``fit_intercept``."""
        tree = code.codebook.tree
        assert tree is not None
        if isinstance(samples.X, StoredRows):
            raise ValueError("A tree needs samples in memory. Got samples on disk; use a trellis for them.")
        given = TrainingRows.of(
            samples.X,
            samples.class_index,
            code.n_classes,
            samples.weights,
            learner.class_weight,
            has_bias=learner.fit_intercept,
        )
        leaves = code.assignment.codeword_of_class[given.class_of_sample]
        order = np.argsort(leaves, kind="stable")
        own = given.rows
        X = sparse.csr_array((own.values, own.indices, own.indptr), shape=(own.n_rows, given.n_features))[order]
        curvature = learner._damping_on(tree) * given.mean_squared_norm
        weights = given.weight_of_sample[order]
        return cls(tree, SparseRows.of(X), given.n_features, leaves[order], weights, curvature)

    def span(self, node: int) -> tuple[int, int]:
        """The first sample of a node and one past its last."""
        start, stop = np.searchsorted(self.leaves, self.tree.spans[node])
        return int(start), int(stop)

    def n_children(self, node: int) -> int:
        """How many children a node has."""
        return int(self.tree.first_bits[node + 1] - self.tree.first_bits[node])

    def work(self, node: int) -> int:
        """About how long a pass over the samples of a node takes."""
        start, stop = self.span(node)
        return int(self.rows.indptr[stop] - self.rows.indptr[start]) * self.n_children(node)


def fit_tree(
    learner: Any,
    samples: Samples,
    code: Code,
    *,
    rng: np.random.Generator | int | None,
    n_epochs: int,
    begun: TreeBits | None = None,
    learns_on: bool = False,
    validation: Validation | None = None,
    on_epoch: Callable[[EpochReport], None] | None = None,
) -> TreeBits:
    """Learn a softmax over the children of every node of a tree.

    - ``learner``: a :class:`codekin.learners.Softmax`, whose settings apply to every node.
    - ``begun``: predictors to continue from.
    - ``learns_on``: keep the curvatures, so that training can continue.
    - ``validation``: only for the score in the report after the last pass.
    """
    started = perf_counter()
    own = TreeSamples.of(learner, samples, code)
    n_threads = learner.n_threads or available_threads()
    # The largest first, so that the threads end at about the same time.
    work = {node: own.work(node) for node in range(own.tree.n_nodes)}
    nodes = sorted((node for node in work if work[node] > 0), key=lambda node: -work[node])
    _check_memory(learner, own, nodes[:n_threads])
    seed = int(np.random.default_rng(rng).integers(2**63))
    passes = _Passes(n_epochs, learner.step, learner.shuffle, seed, learner.fit_intercept)
    before = None if begun is None else _Begun.of(begun)
    total, n_done = max(sum(work.values()), 1), 0

    def learned(node: int) -> LearnedNode:
        nonlocal n_done
        found = _learned_node(passes, own, node, before)
        n_done += work[node]
        tell(STAGE, n_done, total)
        return found

    tell(STAGE, 0, total)
    found = dict(zip(nodes, on_threads(learned, nodes, n_threads=n_threads), strict=True))
    if before is not None:
        nothing = np.zeros(0, dtype=np.int32)
        untouched = [node for node in range(own.tree.n_nodes) if node not in found]
        found |= {node: before.left_over(node, nothing) for node in untouched}
    bits = _gathered(own, found, has_bias=learner.fit_intercept, n_threads=learner.n_threads, learns_on=learns_on)
    if begun is not None and not learner.fit_intercept:
        bits = replace(bits, bias=begun.bias)  # what corrects for the class sizes
    if on_epoch is not None:
        seconds = perf_counter() - started
        score = None if validation is None else validation.score(bits.margins(validation.X))
        on_epoch(EpochReport(n_epochs, n_epochs, 1, 1, seconds, score, lambda: bits))  # type: ignore[arg-type,return-value]
    return bits


def _learned_node(passes: _Passes, samples: TreeSamples, node: int, begun: _Begun | None) -> LearnedNode:
    from codekin.kernels.label_tree import large_weights, local_features, node_softmax_pass

    start, stop = samples.span(node)
    first, n_children = int(samples.tree.first_bits[node]), samples.n_children(node)
    rows, tree = samples.rows, samples.tree
    indptr = rows.indptr[start : stop + 1] - rows.indptr[start]
    entries = slice(int(rows.indptr[start]), int(rows.indptr[stop]))
    local = np.empty(entries.stop - entries.start, dtype=np.int32)
    features = local_features(rows.indices[entries], np.full(samples.n_features, -1, dtype=np.int32), local)
    children = (
        np.searchsorted(tree.bit_starts[first : first + n_children], samples.leaves[start:stop], side="right") - 1
    )
    state = np.zeros((len(features), 2, n_children), dtype=np.float32)
    state[:, 1] = samples.curvature
    if begun is not None:
        begun.put_into(state, node, features)
    for epoch in range(passes.n_epochs):
        order = pass_order(stop - start, passes.seed_of(node, epoch), is_shuffled=passes.shuffle)
        own = indptr, local, rows.values[entries], children, samples.weights[start:stop]
        node_softmax_pass(*own, order, passes.step, state)
    is_bias = passes.has_bias & (features == samples.n_features - 1)
    thresholds = np.where(is_bias, np.float32(0), np.float32(LEAST_WEIGHT))
    counts, of_child, weights, curvatures = large_weights(state, thresholds)
    found = LearnedNode(features[counts > 0], counts[counts > 0], of_child, weights, curvatures)
    if begun is None:
        return found
    parts: Any = zip(found, begun.left_over(node, features), strict=True)
    return LearnedNode(*map(np.concatenate, parts))


class _Passes(NamedTuple):
    """How every node is trained."""

    n_epochs: int
    step: float
    shuffle: bool
    seed: int
    has_bias: bool

    def seed_of(self, node: int, epoch: int) -> Any:
        """The seed of a pass over a node."""
        return [self.seed, node, epoch]


class _Begun(NamedTuple):
    """What was learned before, by node."""

    bits: TreeBits
    feature_of_chunk: IntArray
    starts: IntArray
    chunks: IntArray
    first_chunks: IntArray

    @classmethod
    def of(cls, bits: TreeBits) -> _Begun:
        """Find the chunks of each node."""
        nodes = bits.nodes.astype(np.intp)
        chunks = np.argsort(nodes, kind="stable")
        first_chunks = np.searchsorted(nodes[chunks], np.arange(bits.tree.n_nodes + 1))
        feature_of_chunk = np.repeat(np.arange(bits.n_features), bits.counts)
        return cls(bits, feature_of_chunk, _starts(bits.lengths), chunks, first_chunks)

    def put_into(self, state: Float32Array, node: int, features: NDArray[np.int32]) -> None:
        """Start the state of a node with the weights and curvatures that its features had, and with its bias."""
        row_of = np.full(self.bits.n_features + 1, -1, dtype=np.intp)
        row_of[features] = np.arange(len(features))
        chunks = self.chunks[self.first_chunks[node] : self.first_chunks[node + 1]]
        chunks = chunks[row_of[self.feature_of_chunk[chunks]] >= 0]
        lengths = self.bits.lengths[chunks].astype(np.intp)
        own = np.repeat(self.starts[chunks] - _starts(lengths)[:-1], lengths) + np.arange(lengths.sum())
        rows, children = (
            np.repeat(row_of[self.feature_of_chunk[chunks]], lengths),
            self.bits.children[own].astype(np.intp),
        )
        state[rows, 0, children] = self.bits.values[own]
        if self.bits.curvatures is not None:
            state[rows, 1, children] = self.bits.curvatures[own]
        if row_of[-1] >= 0:
            first_bits = self.bits.tree.first_bits
            state[row_of[-1], 0] = self.bits.bias[first_bits[node] : first_bits[node + 1]]

    def left_over(self, node: int, features: NDArray[np.int32]) -> LearnedNode:
        """The weights of other features of a node."""
        is_new = np.zeros(self.bits.n_features + 1, dtype=bool)
        is_new[features] = True
        chunks = self.chunks[self.first_chunks[node] : self.first_chunks[node + 1]]
        chunks = chunks[~is_new[self.feature_of_chunk[chunks]]]
        lengths = self.bits.lengths[chunks].astype(np.int64)
        own = np.repeat(self.starts[chunks] - _starts(lengths)[:-1], lengths) + np.arange(lengths.sum())
        bits = self.bits
        curvatures = np.ones(len(own), np.float32) if bits.curvatures is None else bits.curvatures[own]
        of_chunks = self.feature_of_chunk[chunks].astype(np.int32), lengths
        return LearnedNode(*of_chunks, bits.children[own].astype(np.int32), bits.values[own], curvatures)


def _gathered(
    samples: TreeSamples, found: dict[int, LearnedNode], *, has_bias: bool, n_threads: int | None, learns_on: bool
) -> TreeBits:
    """The weights of all nodes, feature by feature."""
    from codekin.kernels.label_tree import copy_runs

    tree, n_features = samples.tree, samples.n_features - has_bias
    nodes = sorted(found)
    nothing: Any = (np.zeros(0, dtype) for dtype in ("int32", "int64", "int32", "float32", "float32"))
    parts = [found[node] for node in nodes] or [LearnedNode(*nothing)]
    features, lengths = (np.concatenate([part[i] for part in parts]) for i in range(2))
    node_of_chunk = np.repeat(np.asarray(nodes, dtype=np.int32), [len(found[node].features) for node in nodes])
    order = np.argsort(features, kind="stable")
    starts = _starts(lengths)[:-1][order]
    features, node_of_chunk, lengths = features[order], node_of_chunk[order], lengths[order]

    def in_order(of_part: int) -> NDArray[Any]:
        given = np.concatenate([part[of_part] for part in parts])
        out = np.empty_like(given)
        copy_runs(starts, lengths, given, out)
        return out

    children, weights = in_order(2), in_order(3)
    curvatures = in_order(4) if learns_on else None
    bias = np.zeros(tree.n_edges, dtype=np.float32)
    if has_bias:
        n_chunks = int(np.searchsorted(features, n_features))
        n_kept = int(lengths[:n_chunks].sum())
        bits = np.repeat(tree.first_bits[node_of_chunk[n_chunks:]], lengths[n_chunks:]) + children[n_kept:]
        bias[bits] = weights[n_kept:]
        features, node_of_chunk, lengths = features[:n_chunks], node_of_chunk[:n_chunks], lengths[:n_chunks]
        children, weights = children[:n_kept], weights[:n_kept]
        curvatures = None if curvatures is None else curvatures[:n_kept]
    counts = np.bincount(features, minlength=n_features)
    return TreeBits(tree, counts, node_of_chunk, lengths, children, weights, None, bias, curvatures, n_threads)


def _starts(lengths: NDArray[Any]) -> IntArray:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.intp)])


def _check_memory(learner: Any, samples: TreeSamples, nodes: list[int]) -> None:
    """Raise before anything is allocated that would not fit: the states of the nodes that are trained at once."""
    limits = [limit for limit in (learner.max_memory, available_memory()) if limit is not None]
    needed = 0
    for node in nodes:
        start, stop = samples.span(node)
        n_entries = int(samples.rows.indptr[stop] - samples.rows.indptr[start])
        needed += min(n_entries, samples.n_features) * samples.n_children(node) * BYTES_PER_WEIGHT
    if limits and needed > min(limits):
        limit = "allowed by max_memory" if min(limits) == learner.max_memory else "available"
        raise MemoryError(
            f"The largest nodes of the tree need {in_units(needed)} for training, but "
            f"{in_units(min(limits))} are {limit}. "
            "Use a smaller width, fewer threads or fewer features."
        )
