"""Class vectors trained to tell each sample's class from the code's best candidates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from codekin._system.sparse_rows import SparseRows
from codekin._system.stored_rows import StoredRows
from codekin._system.threads import available_threads, prepared, taken
from codekin.coding import FloatArray, IntArray
from codekin.model.class_vectors import ClassVectors, centroids, listed_by_feature

START = 8.0
"""The length of the vectors before the first pass."""
RATE = 0.5
"""The share of a Newton step that is made."""
FIRST_CURVATURE = 0.2
SAMPLES_AT_ONCE = 1_024
"""For how many samples at most a thread finds the entries that their steps need."""
ENTRIES_AT_ONCE = 2**20
"""For how many such entries, about, each of 12 bytes: thousand dense samples would need far more."""
MOST_THREADS = 8
"""Each has two lists of entries ready, so that all of them take 200 MB at most, however many processors there are."""


def learned_vectors(
    X: Any,
    class_index: IntArray,
    candidates: IntArray | Callable[[Any], IntArray],
    *,
    n_classes: int | None = None,
    sample_weight: ArrayLike | None = None,
    means: sparse.csr_array | None = None,
    rate: float = RATE,
    rng: np.random.Generator | int | None = None,
) -> Iterator[ClassVectors]:
    """Yields the class vectors after one pass over the samples, after two, and so on.

    Softmax regression over a sample's class and its candidates, starting from eight times the centroids, with Newton
    steps and a curvature for each entry. A vector has entries only on the features of its class's samples.

    ``candidates`` of shape (n_samples, n_candidates) are the classes to separate each sample from, such as the code's
    best; -1 if there are fewer. For rows on disk it is a function of some rows in memory. ``means`` are the centroids
    if they are known.

    >>> X = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    >>> passes = learned_vectors(X, np.array([0, 1]), np.array([[1], [0]]), rng=0)
    >>> (next(passes).to_csr().toarray() @ X.T).argmax(axis=0)
    array([0, 1])
    """
    generator = np.random.default_rng(rng)
    start = centroids(X, class_index, n_classes=n_classes, sample_weight=sample_weight) if means is None else means
    learning = _Learning.of(start, rate)
    classes = np.asarray(class_index, dtype=np.int32)
    weights = np.ones(len(classes)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    in_memory = None if isinstance(X, StoredRows) else sparse.csr_array(X)
    while True:
        if in_memory is not None:
            listed = candidates(in_memory) if callable(candidates) else candidates
            learning.go_through(in_memory, classes, weights, listed, generator.permutation(len(classes)))
        else:
            for rows, block in X.shuffled_blocks(generator):
                listed = candidates(block) if callable(candidates) else candidates[rows]
                learning.go_through(block, classes[rows], weights[rows], listed, generator.permutation(len(rows)))
        yield learning.vectors()


@dataclass(frozen=True, eq=False)
class _Learning:
    """Class vectors that learn; ``values`` and ``curvature`` of their entries are changed in place."""

    indptr: NDArray[np.int64]
    features: NDArray[np.int32]
    values: NDArray[np.float32]
    curvature: NDArray[np.float32]
    by_feature: tuple[NDArray[Any], ...]
    n_features: int
    rate: float

    @classmethod
    def of(cls, means: sparse.csr_array, rate: float) -> _Learning:
        """Eight times the means, before the first step."""
        indptr, features = means.indptr.astype(np.int64), np.asarray(means.indices, dtype=np.int32)
        by_feature = listed_by_feature(indptr, features, means.shape[1])
        curvature = np.full(len(features), FIRST_CURVATURE, dtype=np.float32)
        values = START * np.asarray(means.data, dtype=np.float32)
        return cls(indptr, features, values, curvature, by_feature, int(means.shape[1]), rate)

    def vectors(self) -> ClassVectors:
        """What is learned so far."""
        shape = len(self.indptr) - 1, self.n_features
        return ClassVectors.of(sparse.csr_array((self.values, self.features, self.indptr), shape=shape))

    def go_through(
        self, X: sparse.csr_array, classes: NDArray[Any], weights: FloatArray, candidates: IntArray, order: IntArray
    ) -> None:
        """Learn from samples in this order.

        The steps are made one after the other. Other threads find the entries that the next ones need, which does not
        depend on what is learned.
        """
        from codekin.kernels.vector_learning import find_entries, learn_vectors, most_entries

        rows, n_compared = SparseRows.of(X), candidates.shape[1] + 1
        of_rows = rows.indptr, rows.indices, rows.values
        listed = np.ascontiguousarray(candidates, dtype=np.int32)
        n_each = max(1, int(most_entries(order, rows.indptr, n_compared)) // max(1, len(order)))
        at_once = min(max(1, ENTRIES_AT_ONCE // n_each), SAMPLES_AT_ONCE)
        batches = [order[start : start + at_once] for start in range(0, len(order), at_once)]
        room_for = max((int(most_entries(batch, rows.indptr, n_compared)) for batch in batches), default=0)
        rooms: list[Any] = []
        # As many as are in use at a time, to be used again.
        buffers: list[Any] = []

        def found(batch: IntArray) -> Any:
            room, buffer = taken(rooms, self._room), taken(buffers, lambda: _buffer(at_once, n_compared, room_for))
            of_classes = (self.indptr, self.features), self.by_feature
            arguments: Any = batch, of_rows, classes, listed, *of_classes, room, *buffer
            find_entries(*arguments)
            rooms.append(room)
            return batch, buffer

        for batch, buffer in prepared(found, batches, n_threads=min(available_threads(), MOST_THREADS)):
            steps: Any = batch, weights, *buffer, self.rate, self.values, self.curvature
            learn_vectors(*steps)
            buffers.append(buffer)

    def _room(self) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        return np.zeros(self.n_features, dtype=np.float32), np.full(len(self.indptr) - 1, -1, dtype=np.int32)


def _buffer(n_samples: int, n_compared: int, n_entries: int) -> tuple[NDArray[Any], ...]:
    """Room for what the steps of some samples need."""
    return (
        np.empty((n_samples, n_compared), dtype=np.int32),
        np.empty((n_samples, n_compared + 1), dtype=np.int64),
        np.empty(n_entries, dtype=np.int64),
        np.empty(n_entries, dtype=np.float32),
    )
