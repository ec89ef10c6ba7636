"""Learning on a tree of classes: each node learns on its own which child its samples belong to.

Randomness in a node depends only on the seed and the number of the node, so that it does not matter which thread or
worker trains it, or when, or whether its samples are in memory or on disk.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from threading import Condition, Lock
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from codekin._system.checkpoints import CheckpointError, Checkpoints
from codekin._system.memory import give_back, in_units
from codekin._system.parallel import available_threads, n_workers, on_threads, share_work
from codekin._system.rows import SparseRows
from codekin.code import Code
from codekin.learners.training import Callbacks, EpochReport
from codekin.learners.training_rows import Validation, checksum, pass_order, score_of
from codekin.learners.tree_bits import LearnedNode, TreeBits, WeightsByNode, gathered
from codekin.learners.tree_samples import TreeSamples
from codekin.progress import report
from codekin.samples import Samples

STAGE = "learning the nodes of the tree"
N_CHECKPOINTS = 20
"""How many checkpoints a training leaves, after about equal amounts of work."""
BYTES_PER_CHUNK = 36
"""For the weights of one feature in one node, while all nodes are put together: where they begin, and their order."""
PARTS, COUNTED_BY = ("features", "lengths", "children", "weights"), ("n_chunks", "n_chunks", "n_weights", "n_weights")
"""Of a learned node, as they are saved, and the array with their numbers."""


class Workspace:
    """Memory for training one node after the other, which grows to what the largest needs.

    Arrays of every node's own size would leave gaps that no other node fits into. ``number_of_feature`` is -1
    everywhere, except while the features of a node are numbered.
    """

    def __init__(self, n_features: int) -> None:
        self.number_of_feature = np.full(n_features, -1, dtype=np.int32)
        self._arrays: dict[str, NDArray[Any]] = {}

    @property
    def nbytes(self) -> int:
        """How much it has grown to, beyond a number of each feature."""
        return sum(array.nbytes for array in self._arrays.values())

    def clear(self) -> None:
        """Give the memory back; it grows again for the next node."""
        self._arrays.clear()

    def rows(self, n_rows: int, n_entries: int) -> SparseRows:
        indptr = self._array("indptr", n_rows + 1, np.int64)
        return SparseRows(indptr, self._array("indices", n_entries, np.int32), self._array("values", n_entries))

    def zeros(self, name: str, *shape: int) -> NDArray[np.float32]:
        array = self._array(name, math.prod(shape)).reshape(shape)
        array[...] = 0
        return array

    def _array(self, name: str, length: int, dtype: type = np.float32) -> NDArray[Any]:
        if name not in self._arrays:
            self._arrays[name] = np.empty(length, dtype=dtype)
        elif length > len(self._arrays[name]):
            self._arrays[name].resize(length, refcheck=False)  # no node uses it now
        return self._arrays[name][:length]


class NodeMemory:
    """Gives nodes room to be learned in; with what is learned already, it stays below a limit if there is one.

    If there is too little for all threads, some wait for others. If there is too little for a single node, it raises:
    how many weights nodes keep is known only after they are learned.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = np.inf if limit is None else limit
        self._kept = self._in_use = 0
        self._workspaces: list[Workspace] = []
        self._changed = Condition()

    @contextmanager
    def workspace_for(self, samples: TreeSamples, node: int) -> Iterator[Workspace]:
        """Room for a node, to be used by one thread; waits for it if necessary."""
        needed = 0 if self._limit == np.inf else samples.bytes_in_training(node)
        with self._changed:
            workspace = self._workspaces.pop() if self._workspaces else Workspace(samples.n_features)
            if not self._fits(max(needed, workspace.nbytes)):
                workspace.clear()  # nodes that come later are smaller, and one that waits needs nothing
            taken = max(needed, workspace.nbytes)
            self._changed.wait_for(lambda: self._in_use == 0 or self._fits(taken))
            if not self._fits(taken):
                self._refuse(f"and the next one needs {in_units(needed)} for training")
            if not self._fits(taken + sum(idle.nbytes for idle in self._workspaces)):
                for idle in self._workspaces:
                    idle.clear()
            self._in_use += taken
        try:
            yield workspace
        finally:
            with self._changed:
                self._in_use -= taken
                self._workspaces.append(workspace)
                self._changed.notify_all()

    def keep(self, n_bytes: int) -> None:
        """Count what is kept of nodes that are learned."""
        with self._changed:
            self._kept += n_bytes
            if self._kept > self._limit:
                self._refuse("and there are more to learn or to put together")

    def clear(self) -> None:
        """Free the workspaces, once all nodes are trained."""
        self._workspaces.clear()

    def _fits(self, n_bytes: int) -> bool:
        return self._kept + self._in_use + n_bytes <= self._limit

    def _refuse(self, more: str) -> None:
        raise MemoryError(
            f"The nodes of the tree learned so far need {in_units(self._kept)} for the weights they keep, {more}, but "
            f"{in_units(self._limit)} are allowed by max_memory. Use fewer features or a smaller width, or allow more."
        )


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
        kept: Callable[[int], None],
    ) -> None:
        self.nodes: dict[int, LearnedNode] = {}
        self._work, self._checkpoints, self._training = work, checkpoints, training
        self._total = max(sum(work.values()), 1)
        self._files, self._unsaved = list[str](), list[int]()
        self._lock, self._kept = Lock(), kept
        self._restore()
        self._done = self._saved = sum(work[node] for node in self.nodes)
        report(STAGE, self._done, self._total)

    def add(self, node: int, learned: LearnedNode) -> None:
        with self._lock:
            self.nodes[node] = learned
            self._unsaved.append(node)
            self._done += self._work[node]
            if self._checkpoints is not None and (self._done - self._saved) * N_CHECKPOINTS >= self._total:
                self._save(self._checkpoints)
            report(STAGE, self._done, self._total)
            self._kept(_bytes_kept(learned))

    def _save(self, checkpoints: Checkpoints) -> None:
        """Write a file with the nodes that are in none; those before it stay."""
        name, learned = f"nodes-{len(self._files) + 1}", [self.nodes[node] for node in self._unsaved]
        files, arrays = [*self._files, name], {"nodes": np.array(self._unsaved, dtype=np.int64)}
        for counted, part in (("n_chunks", "features"), ("n_weights", "weights")):
            arrays[counted] = np.array([len(getattr(node, part)) for node in learned], dtype=np.int64)
        arrays |= {part: np.concatenate([getattr(node, part) for node in learned]) for part in PARTS}
        checkpoints.save(self._training, {"files": files}, {name: arrays}, keep=self._files)
        self._files, self._unsaved, self._saved = files, [], self._done

    def _restore(self) -> None:
        saved = None if self._checkpoints is None else self._checkpoints.found(self._training)
        if saved is None:
            return
        for name in saved.progress["files"]:
            arrays = saved.arrays(name)
            pairs = [(arrays[part], arrays[n]) for part, n in zip(PARTS, COUNTED_BY, strict=True)]
            if any(len(of_part) != n.sum() for of_part, n in pairs):
                raise CheckpointError(f"The checkpoint in {saved.folder} has arrays that do not fit together.")
            split = [np.split(of_part, np.cumsum(n)[:-1]) for of_part, n in pairs]
            for node, *parts in zip(arrays["nodes"].tolist(), *split, strict=False):
                own: Any = [*map(np.array, parts), np.zeros(0, dtype=np.float32)]
                self.nodes[node] = LearnedNode(*own)
        if not self.nodes.keys() <= self._work.keys():
            raise CheckpointError(f"The checkpoint in {saved.folder} has nodes that the tree does not have.")
        self._files = list(saved.progress["files"])
        self._kept(sum(map(_bytes_kept, self.nodes.values())))


def _bytes_kept(node: LearnedNode) -> int:
    """What a node takes until all are put together."""
    return sum(array.nbytes for array in node) + BYTES_PER_CHUNK * len(node.features)


SHARES_PER_WORKER = 16
"""Each worker gets its nodes in about this many batches."""


def fit_nodes(
    learner: Any, samples: Samples, code: Code, *, rng: Any, validation: Validation | None, callbacks: Callbacks
) -> TreeBits:
    """Learn to tell the children of every node of a tree apart, with the learner's settings.

    Validation samples are only for the score in the report after the last pass. Checkpoints are of finished nodes.
    """
    started, n_epochs = perf_counter(), learner.n_epochs
    bits = _fitted(learner, samples, code, rng=rng, n_epochs=n_epochs, checkpoints=callbacks.checkpoints)
    if callbacks.on_epoch is not None:
        seconds = perf_counter() - started
        score = None if validation is None else score_of(bits, validation)
        callbacks.on_epoch(EpochReport(n_epochs, n_epochs, 1, 1, seconds, score, lambda: bits))  # type: ignore[arg-type,return-value]
    return bits


def continue_nodes(learner: Any, bits: TreeBits | None, samples: Samples, code: Code, *, rng: Any) -> TreeBits:
    """Make one pass over further samples; curvatures are kept, so that training can continue."""
    return _fitted(learner, samples, code, rng=rng, n_epochs=1, begun=bits, learns_on=True)


class _Job(NamedTuple):
    """What all nodes have in common; a worker has ``memory`` of its own, None before it has begun."""

    passes: _Passes
    samples: TreeSamples
    begun: WeightsByNode | None
    n_threads: int
    memory: NodeMemory | None


class _Passes(NamedTuple):
    """How every node is trained."""

    n_epochs: int
    steps: Any
    shuffle: bool
    seed: int
    has_bias: bool
    learns_on: bool


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
    tree = own.tree
    # The largest first, so that the threads end at about the same time.
    work = {node: own.work(node) for node in range(tree.n_nodes)}
    nodes = sorted((node for node in work if work[node] > 0), key=lambda node: -work[node])
    n_threads = own.affordable_threads(learner.max_memory, nodes, learner.n_threads or available_threads())
    seed = int(np.random.default_rng(rng).integers(2**63))
    steps = learner._node_steps(code.codebook, own.mean_squared_norm)
    passes = _Passes(n_epochs, steps, learner.shuffle, seed, own.has_bias, learns_on)
    before = None if begun is None else WeightsByNode.of(begun)
    memory = NodeMemory(learner.max_memory)
    training = checkpoints and {
        "learner": type(learner).__name__,
        **passes._asdict(),
        "steps": astuple(passes.steps)[:1],  # the learner's own; the others follow
        "curvature": passes.steps.curvature,
        "n_samples": len(own.leaves),
        "n_features": own.n_features,
        "samples_checksum": given.checksum + own.targets,
        "tree_checksum": checksum(tree.first_bits, tree.spans, code.assignment.codeword_of_class),
    }
    del given  # its weights and classes by row
    finished = FinishedNodes(work, checkpoints, training or {}, memory.keep)
    left = [node for node in nodes if node not in finished.nodes]
    groups = own.groups(left, 1 if n_workers() == 1 else SHARES_PER_WORKER * n_workers())
    job = _Job(passes, own, before, n_threads, memory)
    if n_workers() > 1 and begun is None:
        for group, learned in zip(
            groups, share_work(_learned_by_worker, job._replace(memory=None), groups), strict=True
        ):
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
        found |= {node: before.left_over(node, nothing) for node in range(tree.n_nodes) if node not in found}
    # The bias of earlier bits corrects for the class sizes.
    bias = None if own.has_bias else np.zeros(tree.n_edges, np.float32) if begun is None else begun.bias
    n_features = own.n_features - own.has_bias
    # Softmax needs only the differences of margins, log-odds their size.
    temperature = getattr(learner, "usual_temperature", 1.0) if own.link == "logistic" else 1.0
    how: Any = {"link": own.link, "temperature": temperature, "learns_on": learns_on, "n_threads": learner.n_threads}
    return gathered(tree, n_features, found, bias, **how)


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
        (state, *_), features, numbers = _trained(job, node, workspace)
        is_bias = passes.has_bias & (features == samples.n_features - 1)
        thresholds = np.where(is_bias, np.float32(0), np.float32(passes.steps.least_weight))
        counts, of_child, *kept = large_weights(state, numbers, thresholds, passes.learns_on)
        of_child = of_child.astype(np.min_scalar_type(state.shape[2] - 1))
    found = LearnedNode(features[counts > 0], counts[counts > 0].astype(np.int32), of_child, *kept)
    if begun is None:
        return found
    parts: Any = zip(found, begun.left_over(node, features), strict=True)
    return LearnedNode(*map(np.concatenate, parts))


def _trained(
    job: _Job, node: int, workspace: Workspace
) -> tuple[tuple[Any, ...], NDArray[np.int32], NDArray[np.int32]]:
    """The state of a node after all passes, the weights in the first array, the features, and the state of each."""
    passes, samples, begun, _, _ = job
    own_node = samples.node(node)
    start, stop, n_entries, _, children, weights, is_large, _ = own_node
    number_of_feature = workspace.number_of_feature
    if is_large:
        features = samples.features_on_disk(start, stop)
        numbers = np.arange(len(features), dtype=np.int32)
        number_of_feature[features] = numbers
    else:
        own = workspace.rows(stop - start, n_entries)
        merges = passes.steps.merges and begun is None
        features, numbers = samples.copy_rows(start, stop, own, number_of_feature, merges=merges)
    n_numbers = int(numbers.max(initial=-1)) + 1
    state = passes.steps.begun(workspace, own_node, n_numbers)
    if begun is not None:
        begun.put_into(state[0], node, features)
    for epoch in range(passes.n_epochs):
        seed: Any = [passes.seed, node, epoch]
        order = pass_order(stop - start, seed, is_shuffled=passes.shuffle)
        if not is_large:
            passes.steps.make((own.indptr, own.indices, own.values), children, weights, order, state)
            continue
        for places, rows, row_of_place in samples.pieces(start + order):
            local, of_row = number_of_feature[rows.indices], np.empty(len(places), dtype=np.intp)
            of_row[row_of_place] = places - start
            own_rows = rows.indptr, local, rows.values
            passes.steps.make(own_rows, children[of_row], weights[of_row], row_of_place, state)
    if is_large:
        number_of_feature[features] = -1
    return state, features, numbers
