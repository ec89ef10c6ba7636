"""Softmax on a tree of classes: each node learns on its own which child its samples belong to.

Randomness in a node depends only on the seed and the number of the node, so that it does not matter which thread or
worker trains it, or when, or whether its samples are in memory or on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from codekin._system.checkpoints import Checkpoints
from codekin._system.memory import give_back
from codekin._system.threads import available_threads, on_threads
from codekin._system.workers import n_workers, share_work
from codekin.coding import Code, IntArray
from codekin.learners.linear import Float32Array, Validation, score_of
from codekin.learners.training import EpochReport
from codekin.learners.training_rows import checksum, pass_order
from codekin.learners.tree_bits import TreeBits
from codekin.learners.tree_memory import NodeMemory, affordable_threads
from codekin.learners.tree_progress import FinishedNodes, LearnedNode
from codekin.learners.tree_samples import NodeRoom, TreeSamples
from codekin.samples import Samples

LEAST_WEIGHT = 0.35
"""Smaller weights are dropped as soon as their node is trained. That is most of them, at the same accuracy: of the
validation samples of 12,582 classes, 47.7, 47.8 and 48.0 % are right with 0.2, 0.3 and 0.4, in 6.6, 5.7 and 5.2 MB; of
two trees of 102,673 classes 39.3, 39.5 and 39.4 %, in 72, 54 and 46 MB."""
SHARES_PER_WORKER = 16
"""Each worker gets its nodes in about this many batches."""


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
    checkpoints: Checkpoints | None = None,
) -> TreeBits:
    """Learn a softmax over the children of every node of a tree.

    - ``learner``: a :class:`codekin.learners.Softmax`, whose settings apply to every node.
    - ``begun``: predictors to continue from.
    - ``learns_on``: keep the curvatures, so that training can continue.
    - ``validation``: only for the score in the report after the last pass.
    - ``checkpoints``: where to save finished nodes.
    """
    started = perf_counter()
    own, given = TreeSamples.of(learner, samples, code)
    # The largest first, so that the threads end at about the same time.
    work = {node: own.work(node) for node in range(own.tree.n_nodes)}
    nodes = sorted((node for node in work if work[node] > 0), key=lambda node: -work[node])
    n_threads = affordable_threads(learner.max_memory, own, nodes, learner.n_threads or available_threads())
    seed = int(np.random.default_rng(rng).integers(2**63))
    passes = _Passes(n_epochs, learner.step, learner.shuffle, seed, learner.fit_intercept, learns_on)
    before = None if begun is None else _Begun.of(begun)
    memory = NodeMemory(learner.max_memory)
    job = _Job(passes, own, before, n_threads, memory)
    training = {} if checkpoints is None else _identity(learner, passes, own, code, given.checksum)
    finished = FinishedNodes(work, checkpoints, training, memory.keep)
    left = [node for node in nodes if node not in finished.nodes]
    groups = own.groups(left, 1 if n_workers() == 1 else SHARES_PER_WORKER * n_workers())
    if n_workers() > 1 and begun is None:
        shared = job._replace(memory=None)
        for group, learned in zip(groups, share_work(_learned_by_worker, shared, groups), strict=True):
            for node, of_node in zip(group, learned, strict=True):
                finished.add(node, of_node)
    else:
        for group in groups:
            _learn(job, group, finished.add)
    found = finished.nodes
    memory.clear()
    give_back()
    if before is not None:
        nothing = np.zeros(0, dtype=np.int32)
        untouched = [node for node in range(own.tree.n_nodes) if node not in found]
        found |= {node: before.left_over(node, nothing) for node in untouched}
    bits = _gathered(own, found, has_bias=learner.fit_intercept, n_threads=learner.n_threads, learns_on=learns_on)
    if begun is not None and not learner.fit_intercept:
        bits = replace(bits, bias=begun.bias)  # what corrects for the class sizes
    if on_epoch is not None:
        seconds = perf_counter() - started
        score = None if validation is None else score_of(bits, validation)
        on_epoch(EpochReport(n_epochs, n_epochs, 1, 1, seconds, score, lambda: bits))  # type: ignore[arg-type,return-value]
    return bits


def _identity(learner: Any, passes: _Passes, samples: TreeSamples, code: Code, checksum_of_rows: str) -> dict[str, Any]:
    """What identifies a training, as JSON."""
    tree, codewords = samples.tree, code.assignment.codeword_of_class
    return {
        "learner": "softmax on a tree",
        **passes._asdict(),
        "damping": learner.damping_on(code.codebook),
        "n_samples": len(samples.leaves),
        "n_features": samples.n_features,
        "samples_checksum": checksum_of_rows,
        "tree_checksum": checksum(tree.first_bits, tree.spans, codewords),
    }


class _Job(NamedTuple):
    """What all nodes have in common; a worker has ``memory`` of its own, None before it has begun."""

    passes: _Passes
    samples: TreeSamples
    begun: _Begun | None
    n_threads: int
    memory: NodeMemory | None


def _learn(job: _Job, nodes: Sequence[int], done: Callable[[int, LearnedNode], None]) -> None:
    """Learn some nodes on threads; rows on disk are read first."""
    loaded = job._replace(samples=job.samples.loaded(nodes)) if nodes else job
    on_threads(lambda node: done(node, _learned_node(loaded, node)), nodes, n_threads=job.n_threads)


def _learned_by_worker(job: _Job, nodes: Sequence[int]) -> list[LearnedNode]:
    found: dict[int, LearnedNode] = {}
    _learn(job._replace(n_threads=1, memory=NodeMemory(None)), nodes, found.__setitem__)
    return [found[node] for node in nodes]


def _learned_node(job: _Job, node: int) -> LearnedNode:
    from codekin.kernels.label_tree import large_weights

    passes, samples, begun, _, memory = job
    assert memory is not None
    with memory.room_for(samples, node) as room:
        state, features = _trained(job, node, room)
        is_bias = passes.has_bias & (features == samples.n_features - 1)
        thresholds = np.where(is_bias, np.float32(0), np.float32(LEAST_WEIGHT))
        counts, of_child, *kept = large_weights(state, thresholds, passes.learns_on)
    of_child = of_child.astype(np.min_scalar_type(samples.n_children(node) - 1))
    found = LearnedNode(features[counts > 0], counts[counts > 0].astype(np.int32), of_child, *kept)
    if begun is not None:
        parts: Any = zip(found, begun.left_over(node, features), strict=True)
        found = LearnedNode(*map(np.concatenate, parts))
    return found


def _trained(job: _Job, node: int, room: NodeRoom) -> tuple[Float32Array, NDArray[np.int32]]:
    """The weights and curvatures of a node after all passes, (n_features, 2, n_children), and their features."""
    from codekin.kernels.label_tree import node_softmax_pass

    passes, samples, begun, _, _ = job
    start, stop = samples.span(node)
    children, weights = samples.children(node), samples.weights[start:stop]
    number_of_feature, is_large = room.number_of_feature, samples.is_large(node)
    if is_large:
        features = _features_on_disk(samples, start, stop)
        number_of_feature[features] = np.arange(len(features), dtype=np.int32)
    else:
        own, features = samples.rows(start, stop, room)
    state = room.state(len(features), samples.n_children(node), samples.curvature)
    if begun is not None:
        begun.put_into(state, node, features)
    for epoch in range(passes.n_epochs):
        order = pass_order(stop - start, passes.seed_of(node, epoch), is_shuffled=passes.shuffle)
        if not is_large:
            node_softmax_pass(own.indptr, own.indices, own.values, children, weights, order, passes.step, state)
            continue
        for places, rows, row_of_place in samples.pieces(start + order):
            local, of_row = number_of_feature[rows.indices], np.empty(len(places), dtype=np.intp)
            of_row[row_of_place] = places - start
            of_samples = rows.indptr, local, rows.values, children[of_row], weights[of_row]
            node_softmax_pass(*of_samples, row_of_place, passes.step, state)
    if is_large:
        number_of_feature[features] = -1
    return state, features


def _features_on_disk(samples: TreeSamples, start: int, stop: int) -> NDArray[np.int32]:
    """The features of the samples between two places, in increasing order."""
    is_present = np.zeros(samples.n_features, dtype=bool)
    for _, rows, _ in samples.pieces(np.arange(start, stop)):
        is_present[rows.indices] = True
    return np.flatnonzero(is_present).astype(np.int32)


class _Passes(NamedTuple):
    """How every node is trained."""

    n_epochs: int
    step: float
    shuffle: bool
    seed: int
    has_bias: bool
    learns_on: bool

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
        own = _within_runs(self.starts[chunks], lengths)
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
        own = _within_runs(self.starts[chunks], lengths)
        bits = self.bits
        curvatures = np.ones(len(own), np.float32) if bits.curvatures is None else bits.curvatures[own]
        of_chunks = self.feature_of_chunk[chunks].astype(np.int32), lengths
        return LearnedNode(*of_chunks, bits.children[own].astype(np.int32), bits.values[own], curvatures)


def _gathered(
    samples: TreeSamples, found: dict[int, LearnedNode], *, has_bias: bool, n_threads: int | None, learns_on: bool
) -> TreeBits:
    """The weights of all nodes, feature by feature."""
    from codekin.kernels.label_tree import put_chunks

    tree, n_features = samples.tree, samples.n_features - has_bias
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
    narrow = np.min_scalar_type(max((samples.n_children(node) for node in nodes), default=1) - 1)
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


def _within_runs(starts: NDArray[Any], lengths: NDArray[Any]) -> IntArray:
    """The positions of runs that begin somewhere and are so long, one after the other."""
    before = np.cumsum(lengths, dtype=np.intp) - lengths
    return np.repeat(starts - before, lengths) + np.arange(lengths.sum())


def _starts(lengths: NDArray[Any]) -> IntArray:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.intp)])
