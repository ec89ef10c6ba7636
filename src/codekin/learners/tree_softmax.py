"""Softmax on a tree of classes: each node learns on its own which child its samples belong to.

Randomness in a node depends only on the seed and the number of the node, so that it does not matter which thread or
worker trains it, or when, or whether its samples are in memory or on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from codekin._system.arrays import Arrays
from codekin._system.checkpoints import CheckpointError, Checkpoints
from codekin._system.memory import give_back
from codekin._system.parallel import available_threads, n_workers, on_threads, share_work
from codekin.code import Code
from codekin.learners.linear import Float32Array, Validation, score_of
from codekin.learners.training import Callbacks, EpochReport
from codekin.learners.training_rows import checksum, pass_order
from codekin.learners.tree_bits import LearnedNode, TreeBits, WeightsByNode
from codekin.learners.tree_samples import NodeMemory, TreeSamples, Workspace, affordable_threads
from codekin.progress import report
from codekin.samples import Samples

STAGE = "learning the nodes of the tree"
N_CHECKPOINTS = 20
"""How many checkpoints a training leaves, after about equal amounts of work."""
PARTS = ("features", "lengths", "children", "weights")
"""Of a learned node, as they are saved."""


class FinishedNodes:
    """The nodes that are learned, added by any thread; saved now and then if there are checkpoints.

    ``work`` says how much work each node is. A resumed training has the nodes of the last checkpoint. ``kept`` is
    called with the bytes of each node.
    """

    def __init__(
        self,
        work: Mapping[int, int],
        checkpoints: Checkpoints | None,
        training: Mapping[str, Any],
        kept: Callable[[int], None] = lambda _: None,
    ) -> None:
        self.nodes: dict[int, LearnedNode] = {}
        self._work, self._checkpoints, self._training = work, checkpoints, training
        self._total = max(sum(work.values()), 1)
        self._files: list[str] = []
        self._unsaved: list[int] = []
        self._lock, self._kept = Lock(), kept
        self._restore()
        self._done = self._saved = sum(work[node] for node in self.nodes)
        report(STAGE, self._done, self._total)

    def add(self, node: int, learned: LearnedNode) -> None:
        """Take a node that is learned."""
        with self._lock:
            self.nodes[node] = learned
            self._unsaved.append(node)
            self._done += self._work[node]
            if self._checkpoints is not None and (self._done - self._saved) * N_CHECKPOINTS >= self._total:
                self._save(self._checkpoints)
            report(STAGE, self._done, self._total)
            self._kept(learned.nbytes)

    def _save(self, checkpoints: Checkpoints) -> None:
        """Write a file with the nodes that are in none; those before it stay."""
        name = f"nodes-{len(self._files) + 1}"
        files = [*self._files, name]
        arrays = _as_arrays(self._unsaved, self.nodes)
        checkpoints.save(self._training, {"files": files}, {name: arrays}, keep=self._files)
        self._files, self._unsaved, self._saved = files, [], self._done

    def _restore(self) -> None:
        saved = None if self._checkpoints is None else self._checkpoints.found(self._training)
        if saved is None:
            return
        for name in saved.progress["files"]:
            self.nodes |= _from_arrays(saved.arrays(name), f"The checkpoint in {saved.folder}")
        if not self.nodes.keys() <= self._work.keys():
            raise CheckpointError(f"The checkpoint in {saved.folder} has nodes that the tree does not have.")
        self._files = list(saved.progress["files"])
        self._kept(sum(node.nbytes for node in self.nodes.values()))


def _as_arrays(numbers: Sequence[int], nodes: Mapping[int, LearnedNode]) -> Arrays:
    learned = [nodes[node] for node in numbers]
    return {
        "nodes": np.array(numbers, dtype=np.int64),
        "n_chunks": np.array([len(node.features) for node in learned], dtype=np.int64),
        "n_weights": np.array([len(node.weights) for node in learned], dtype=np.int64),
        **{name: np.concatenate([getattr(node, name) for node in learned]) for name in PARTS},
    }


def _from_arrays(arrays: Mapping[str, NDArray[Any]], where: str) -> dict[int, LearnedNode]:
    ends = {name: np.cumsum(arrays[name]) for name in ("n_chunks", "n_weights")}
    split = {name: arrays[name] for name in PARTS}
    n_chunks, n_weights = (int(ends[name][-1]) if len(ends[name]) else 0 for name in ends)
    if [len(split[name]) for name in PARTS] != [n_chunks, n_chunks, n_weights, n_weights]:
        raise CheckpointError(f"{where} has arrays that do not fit together.")
    found, nothing = {}, np.zeros(0, dtype=np.float32)
    for i, node in enumerate(arrays["nodes"].tolist()):
        chunks, weights = (slice(ends[n][i] - arrays[n][i], ends[n][i]) for n in ("n_chunks", "n_weights"))
        own = {name: np.array(split[name][chunks if name in PARTS[:2] else weights]) for name in PARTS}
        found[node] = LearnedNode(**own, curvatures=nothing)
    return found


LEAST_WEIGHT = 0.35
"""Smaller weights are dropped as soon as their node is trained. That is most of them, at the same accuracy: of the
validation samples of 12,582 classes, 47.7, 47.8 and 48.0 % are right with 0.2, 0.3 and 0.4, in 6.6, 5.7 and 5.2 MB; of
two trees of 102,673 classes 39.3, 39.5 and 39.4 %, in 72, 54 and 46 MB."""
SHARES_PER_WORKER = 16
"""Each worker gets its nodes in about this many batches."""


def fit_nodes(
    learner: Any, samples: Samples, code: Code, *, rng: Any, validation: Validation | None, callbacks: Callbacks
) -> TreeBits:
    """Learn a softmax over the children of every node of a tree, with the learner's settings.

    Validation samples are only for the score in the report after the last pass. Checkpoints are of finished nodes.
    """
    started = perf_counter()
    bits = _fitted(learner, samples, code, rng=rng, n_epochs=learner.n_epochs, checkpoints=callbacks.checkpoints)
    if callbacks.on_epoch is not None:
        seconds = perf_counter() - started
        score = None if validation is None else score_of(bits, validation)
        n_epochs = learner.n_epochs
        callbacks.on_epoch(EpochReport(n_epochs, n_epochs, 1, 1, seconds, score, lambda: bits))  # type: ignore[arg-type,return-value]
    return bits


def continue_nodes(learner: Any, bits: TreeBits | None, samples: Samples, code: Code, *, rng: Any) -> TreeBits:
    """Make one pass over further samples; curvatures are kept, so that training can continue."""
    return _fitted(learner, samples, code, rng=rng, n_epochs=1, begun=bits, learns_on=True)


def _fitted(
    learner: Any,
    samples: Samples,
    code: Code,
    *,
    rng: Any,
    n_epochs: int,
    checkpoints: Checkpoints | None = None,
    begun: TreeBits | None = None,
    learns_on: bool = False,
) -> TreeBits:
    own, given = TreeSamples.of(learner, samples, code)
    # The largest first, so that the threads end at about the same time.
    work = {node: own.work(node) for node in range(own.tree.n_nodes)}
    nodes = sorted((node for node in work if work[node] > 0), key=lambda node: -work[node])
    n_threads = affordable_threads(learner.max_memory, own, nodes, learner.n_threads or available_threads())
    seed = int(np.random.default_rng(rng).integers(2**63))
    passes = _Passes(n_epochs, learner.step, learner.shuffle, seed, learner.fit_intercept, learns_on)
    before = None if begun is None else WeightsByNode.of(begun)
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
    begun: WeightsByNode | None
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
    with memory.workspace_for(samples, node) as workspace:
        state, features = _trained(job, node, workspace)
        is_bias = passes.has_bias & (features == samples.n_features - 1)
        thresholds = np.where(is_bias, np.float32(0), np.float32(LEAST_WEIGHT))
        counts, of_child, *kept = large_weights(state, thresholds, passes.learns_on)
        of_child = of_child.astype(np.min_scalar_type(state.shape[2] - 1))
    found = LearnedNode(features[counts > 0], counts[counts > 0].astype(np.int32), of_child, *kept)
    if begun is not None:
        parts: Any = zip(found, begun.left_over(node, features), strict=True)
        found = LearnedNode(*map(np.concatenate, parts))
    return found


def _trained(job: _Job, node: int, workspace: Workspace) -> tuple[Float32Array, NDArray[np.int32]]:
    """The weights and curvatures of a node after all passes, (n_features, 2, n_children), and their features."""
    from codekin.kernels.label_tree import node_softmax_pass

    passes, samples, begun, _, _ = job
    start, stop, n_children, children, weights, is_large = samples.node(node)
    number_of_feature = workspace.number_of_feature
    if is_large:
        features = _features_on_disk(samples, start, stop)
        number_of_feature[features] = np.arange(len(features), dtype=np.int32)
    else:
        own, features = samples.rows(start, stop, workspace)
    state = workspace.state(len(features), n_children, samples.curvature)
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
