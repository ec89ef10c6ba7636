"""The memory of a tree in training: nodes take turns so that what they need and what is learned stays below a limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Condition

import numpy as np

from codekin._system.memory import available_memory, in_units
from codekin._system.stored_rows import BYTES_PER_VALUE
from codekin.learners.tree_samples import NodeRoom, TreeSamples

BYTES_PER_WEIGHT = 8
"""In training: a weight and its curvature."""
BYTES_PER_FEATURE = 24
"""Of a node, while its large weights are picked: its number, a threshold and how many there are."""


def bytes_in_training(samples: TreeSamples, node: int, enough: float = 0) -> int:
    """What a node takes while it is learned, or more if that is not more than ``enough``.

    That is 8 bytes for each feature and child, 24 for each feature, and in memory 8 for each entry of its samples. The
    features are counted only if it matters, and not on disk, where they may be fewer.
    """
    start, stop = samples.span(node)
    n_entries, n_children = samples.n_entries(start, stop), samples.n_children(node)

    def needed(n_features: int) -> int:
        of_rows = 0 if samples.is_on_disk else n_entries * BYTES_PER_VALUE
        return n_features * (n_children * BYTES_PER_WEIGHT + BYTES_PER_FEATURE) + of_rows

    most = needed(min(n_entries, samples.n_features))
    return most if most <= enough or samples.is_on_disk else needed(samples.count_features(start, stop))


def affordable_threads(max_memory: int | None, samples: TreeSamples, nodes: Sequence[int], n_threads: int) -> int:
    """How many nodes can be learned at once, whichever they are; raises if the largest cannot."""
    limits = [limit for limit in (max_memory, available_memory()) if limit is not None]
    if not limits or not nodes:
        return n_threads
    needed = sorted((bytes_in_training(samples, node, min(limits)) for node in nodes), reverse=True)[:n_threads]
    if needed[0] > min(limits):
        limit = "allowed by max_memory" if min(limits) == max_memory else "available"
        raise MemoryError(
            f"The largest node of the tree needs {in_units(needed[0])} for training, but "
            f"{in_units(min(limits))} are {limit}. Use a smaller width or fewer features, or allow more."
        )
    n_at_once = int(np.searchsorted(np.cumsum(needed), min(limits), side="right"))
    return n_threads if n_at_once == len(needed) else n_at_once


class NodeMemory:
    """Gives nodes room to be learned in; with what is learned already, it stays below a limit if there is one.

    If there is too little for all threads, some wait for others. If there is too little for a single node, it raises:
    how many weights nodes keep is known only after they are learned.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = np.inf if limit is None else limit
        self._kept = self._in_use = 0
        self._rooms: list[NodeRoom] = []
        self._changed = Condition()

    @contextmanager
    def room_for(self, samples: TreeSamples, node: int) -> Iterator[NodeRoom]:
        """Room for a node, to be used by one thread; waits for it if necessary."""
        needed = 0 if self._limit == np.inf else bytes_in_training(samples, node)
        with self._changed:
            room = self._rooms.pop() if self._rooms else NodeRoom(samples.n_features)
            if not self._is_room_for(max(needed, room.nbytes)):
                room.clear()  # nodes that come later are smaller, and one that waits needs nothing
            taken = max(needed, room.nbytes)
            self._changed.wait_for(lambda: self._in_use == 0 or self._is_room_for(taken))
            if not self._is_room_for(taken):
                self._refuse(f"and the next one needs {in_units(needed)} for training")
            if not self._is_room_for(taken + sum(idle.nbytes for idle in self._rooms)):
                for idle in self._rooms:
                    idle.clear()
            self._in_use += taken
        try:
            yield room
        finally:
            with self._changed:
                self._in_use -= taken
                self._rooms.append(room)
                self._changed.notify_all()

    def keep(self, n_bytes: int) -> None:
        """Count what is kept of nodes that are learned."""
        with self._changed:
            self._kept += n_bytes
            if self._kept > self._limit:
                self._refuse("and there are more to learn or to put together")

    def clear(self) -> None:
        """Give back the rooms, which nobody uses any more."""
        self._rooms.clear()

    def _is_room_for(self, n_bytes: int) -> bool:
        return self._kept + self._in_use + n_bytes <= self._limit

    def _refuse(self, more: str) -> None:
        raise MemoryError(
            f"The nodes of the tree learned so far need {in_units(self._kept)} for the weights they keep, {more}, but "
            f"{in_units(self._limit)} are allowed by max_memory. Use fewer features or a smaller width, or allow more."
        )
