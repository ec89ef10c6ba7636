"""The finished nodes of a tree in training: how many there are, and checkpoints of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from codekin._system.arrays import Arrays
from codekin._system.checkpoints import CheckpointError, Checkpoints
from codekin.learners.linear import Float32Array
from codekin.progress import tell

STAGE = "learning the nodes of the tree"
N_CHECKPOINTS = 20
"""How many checkpoints a training leaves, after about equal amounts of work."""
PARTS = ("features", "lengths", "children", "weights")
"""Of a learned node, as they are saved."""
BYTES_PER_CHUNK = 36
"""For the weights of one feature in one node, while all nodes are put together: where they begin, and their order."""


class LearnedNode(NamedTuple):
    """The weights of a node that are large enough, by feature and by child; curvatures only if it may learn further.

    A node takes little more than in the finished tree.
    """

    features: NDArray[np.int32]
    lengths: NDArray[Any]
    children: NDArray[Any]
    weights: Float32Array
    curvatures: Float32Array

    @property
    def nbytes(self) -> int:
        """What it takes until all nodes are put together."""
        return sum(array.nbytes for array in self) + BYTES_PER_CHUNK * len(self.features)


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
        tell(STAGE, self._done, self._total)

    def add(self, node: int, learned: LearnedNode) -> None:
        """Take a node that is learned."""
        with self._lock:
            self.nodes[node] = learned
            self._unsaved.append(node)
            self._done += self._work[node]
            if self._checkpoints is not None and (self._done - self._saved) * N_CHECKPOINTS >= self._total:
                self._save(self._checkpoints)
            tell(STAGE, self._done, self._total)
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
