"""Class vectors made of samples: class means, and vectors that separate each sample's class from its candidates.

Learned vectors are mixed with the means of the classes.

The final score of a candidate is ``a * path + b * <learned vector, x> + c * <class mean, x>``, whose weights are fitted
with the multinomial logistic loss. The two vectors have entries on the same features, so that
``learned + c / b * mean`` is one vector: no extra bytes, no extra time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import logsumexp, softmax

from codekin._system.parallel import available_threads, borrowed, prepared
from codekin._system.rows import SparseRows, StoredRows, class_sums
from codekin.code import FloatArray, IntArray
from codekin.model.class_vectors import ClassVectors, class_blocks, listed_by_feature

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
N_STEPS, N_HALVINGS = 12, 20
RIDGE = 1e-4
"""Keeps weights without influence near zero."""
ENOUGH = 1e-6
LEARNED_PER_BLOCK = 1_024
LEAST_SHARE = 1e-3
"""If a learned vector has less than this share of the weight of the mean, it is noise."""


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
        shape = len(self.indptr) - 1, self.n_features
        return ClassVectors.of(sparse.csr_array((self.values, self.features, self.indptr), shape=shape))

    def go_through(
        self, X: sparse.csr_array, classes: NDArray[Any], weights: FloatArray, candidates: IntArray, order: IntArray
    ) -> None:
        """Learn from samples in this order.

        The steps are made one after the other. Other threads find the entries that the next ones need, which does not
        depend on what is learned.
        """
        from codekin.kernels.class_vectors import find_entries, learn_vectors

        rows, n_compared = SparseRows.of(X), candidates.shape[1] + 1
        of_rows = rows.indptr, rows.indices, rows.values
        listed = np.ascontiguousarray(candidates, dtype=np.int32)
        n_most = n_compared * np.diff(rows.indptr)  # the entries of each sample need at most this much room
        n_each = max(1, int(n_most[order].sum()) // max(1, len(order)))
        at_once = min(max(1, ENTRIES_AT_ONCE // n_each), SAMPLES_AT_ONCE)
        batches = [order[start : start + at_once] for start in range(0, len(order), at_once)]
        room_for = max((int(n_most[batch].sum()) for batch in batches), default=0)
        rooms: list[Any] = []
        # As many as are in use at a time, to be used again.
        buffers: list[Any] = []

        def found(batch: IntArray) -> Any:
            room, buffer = (
                borrowed(rooms, self._room),
                borrowed(buffers, lambda: _buffer(at_once, n_compared, room_for)),
            )
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
        np.empty(n_entries + 1, dtype=np.int64),
        np.empty(n_entries + 1, dtype=np.float32),
    )


def three_weights(scores: Sequence[FloatArray] | FloatArray, is_true: NDArray[np.bool_]) -> FloatArray:
    """The non-negative weights that maximise the likelihood of the true classes among the candidates.

    ``scores`` are three arrays of shape (n_samples, n_candidates); a path score of minus infinity means a missing
    candidate. Newton steps on a convex function of three numbers; samples whose class is not among the candidates are
    ignored.

    >>> scores = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.2], [0.5, 0.1]], [[0.0, 0.0], [0.0, 0.0]]])
    >>> (three_weights(scores, np.array([[True, False], [False, True]])) > 0).tolist()
    [True, False, False]
    """
    rows, places = np.nonzero(is_true)
    if len(rows) == 0:
        return np.ones(3)
    blocks = [rows[start : start + LEARNED_PER_BLOCK] for start in range(0, len(rows), LEARNED_PER_BLOCK)]
    scale = np.maximum([_spread(own, scores[0], rows) for own in scores], 1e-12)
    own = np.stack([given[rows, places] for given in scores]) / scale[:, None]
    weights = np.ones(3)

    def features_and_logits(weights: FloatArray, block: IntArray) -> tuple[FloatArray, FloatArray]:
        features = np.empty((3, len(block), scores[0].shape[1]))
        for own_features, given in zip(features, scores, strict=True):
            own_features[:] = given[block]
        missing = ~np.isfinite(features[0])
        features[:, missing] = 0.0
        features /= scale[:, None, None]
        return features, np.where(missing, -np.inf, np.tensordot(weights, features, axes=1))

    def loss(weights: FloatArray) -> float:
        totals = np.concatenate([logsumexp(features_and_logits(weights, block)[1], axis=1) for block in blocks])
        return float((totals - weights @ own).mean() + RIDGE / 2 * weights @ weights)

    for _ in range(N_STEPS):
        means, curved = np.empty((3, 0)), np.zeros((3, 3))
        for block in blocks:
            features, logits = features_and_logits(weights, block)
            weighted = softmax(logits, axis=1) * features
            means = np.concatenate([means, weighted.sum(axis=2)], axis=1)
            curved += np.einsum("snk,tnk->st", weighted, features)
        gradient = (means - own).mean(axis=1) + RIDGE * weights
        bend = (curved - means @ means.T) / len(rows) + RIDGE * np.eye(3)
        # A weight at zero that would become negative stays there.
        active = (weights > 0) | (gradient < 0)
        step = np.zeros(3)
        step[active] = np.linalg.solve(bend[np.ix_(active, active)], gradient[active])
        highest = loss(weights)
        # A full step may lead beyond the minimum, from where the next one leads back.
        for _ in range(N_HALVINGS):
            if loss(np.maximum(weights - step, 0.0)) <= highest:
                break
            step /= 2
        weights = np.maximum(weights - step, 0.0)
        if np.abs(step).max() < ENOUGH:
            break
    return np.asarray(weights / scale)


def _spread(scores: FloatArray, path_scores: FloatArray, rows: IntArray) -> float:
    """The standard deviation of the scores of some samples, 0 where a candidate is missing."""
    own = scores[rows]
    own[~np.isfinite(path_scores)[rows]] = 0.0
    # As NumPy does it, but in place: there may be as many scores as weights.
    own -= own.mean()
    return float(np.sqrt(np.multiply(own, own, out=own).mean()))


def fitted_share(scores: Sequence[FloatArray], is_true: NDArray[np.bool_]) -> float:
    """How much of a class mean to add to a learned vector, from the scores of :func:`three_weights`."""
    return share_of_means(three_weights(scores, is_true))


def share_of_means(weights: FloatArray) -> float:
    """How much of a class mean is added to a learned vector; infinite if only the mean counts."""
    _, learned, mean = weights
    return float(np.inf if learned < LEAST_SHARE * mean else mean / learned) if mean > 0 else 0.0


def mixed_vectors(learned: ClassVectors | None, means: sparse.csr_array | None, share: float) -> ClassVectors | None:
    """Learned vectors plus a share of the class means, or the means alone; all others as they are."""
    if learned is None or means is None or share == 0:
        return learned
    if share == np.inf:
        return ClassVectors.of(means)
    blocks = class_blocks(learned.n_classes)
    mixed = (learned.to_csr(start, stop) + np.float32(share) * means[start:stop] for start, stop in blocks)
    return ClassVectors.rounded(mixed, learned.n_features)


def n_class_entries(X: Any, class_index: IntArray, n_classes: int, most: float = np.inf) -> int:
    """How many features the samples of each class have, added up: the entries of class vectors before any is dropped.

    Rows on disk are not counted further than ``most``.

    >>> n_class_entries(sparse.csr_array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), np.array([0, 0, 1]), 2)
    3
    """
    from codekin.kernels.class_vectors import count_entries

    if isinstance(X, StoredRows):
        pairs = np.zeros(0, dtype=np.int64)
        for rows, block in X.blocks():
            of_block = np.repeat(class_index[rows].astype(np.int64), np.diff(block.indptr)) * X.shape[1] + block.indices
            pairs = np.union1d(pairs, of_block)
            if len(pairs) > most:
                break
        return len(pairs)
    order = np.argsort(class_index, kind="stable")
    ends = np.searchsorted(np.asarray(class_index)[order], np.arange(n_classes + 1))
    is_dense = not sparse.issparse(X)
    if is_dense:
        dense = np.asarray(X)  # which would be several times as large if it were made sparse
        return sum(int(dense[order[start:stop]].any(axis=0).sum()) for start, stop in pairwise(ends.tolist()))
    given = SparseRows.of(sparse.csr_array(X))
    return int(count_entries(given.indptr, given.indices, order, ends, np.empty(X.shape[1], dtype=np.int32)))


def centroids(
    X: Any, class_index: IntArray, *, n_classes: int | None = None, sample_weight: ArrayLike | None = None
) -> sparse.csr_array:
    """The means of the classes, scaled to length 1, with an entry for each feature of a class's samples.

    >>> centroids([[3.0, 4.0], [0.0, 2.0], [0.0, 5.0]], np.array([0, 1, 1])).toarray()
    array([[0.6, 0.8],
           [0. , 1. ]], dtype=float32)
    """
    rows = X if isinstance(X, StoredRows) else sparse.csr_array(X)
    classes = np.asarray(class_index)
    if classes.shape != (rows.shape[0],):
        raise ValueError(f"class_index must have one entry for each of the {rows.shape[0]} samples in X.")
    n = int(classes.max(initial=-1)) + 1 if n_classes is None else n_classes
    if classes.size and not 0 <= classes.min() <= classes.max() < n:
        raise ValueError(
            f"class_index must be between 0 and {n - 1}. Got values from {classes.min()} to {classes.max()}."
        )
    weights: FloatArray = np.ones(len(classes)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    if isinstance(rows, StoredRows):
        return _of_length_one(class_sums(rows, classes, weights, n))
    order, parts = np.argsort(classes, kind="stable"), []
    ends = np.searchsorted(classes[order], np.arange(n + 1))
    for start, stop in class_blocks(n):
        own = order[ends[start] : ends[stop]]
        parts.append(_of_length_one(class_sums(rows[own], classes[own] - start, weights[own], stop - start)))
    return sparse.csr_array(sparse.vstack(parts, format="csr")) if parts else sparse.csr_array(rows[:0])


def _of_length_one(sums: sparse.csr_array) -> sparse.csr_array:
    """The rows scaled to length 1, in single precision; changed in place."""
    sums.sort_indices()
    lengths = np.sqrt(sums.multiply(sums).sum(axis=1))
    sums.data /= np.repeat(np.where(lengths > 0, lengths, 1.0), np.diff(sums.indptr))
    return sums.astype(np.float32)
