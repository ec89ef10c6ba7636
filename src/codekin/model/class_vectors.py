"""Class vectors: for each class a sparse vector on the features of its training samples, three bytes per entry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from codekin._system.arrays import writeable
from codekin._system.sparse_rows import SparseRows
from codekin._system.stored_rows import StoredRows, class_sums
from codekin._system.threads import run_blocks
from codekin.coding import FloatArray, IntArray

LARGEST_STEP = 127
LARGEST_GAP = 2**16 - 1
CLASSES_PER_BLOCK = 1_024
SAMPLES_PER_BLOCK = 4_096
"""While samples are scored: every block needs room for a number of each feature and class."""


@dataclass(frozen=True, eq=False)
class ClassVectors:
    """A sparse vector for each class, its entries rounded to 255 steps between minus and plus the largest.

    The entries of class ``c`` are ``scales[c] * steps[j]`` on ``features[j]``, for ``j`` from ``indptr[c]`` to
    ``indptr[c + 1]``. Features are two bytes each if that is enough; those of a class are distinct and get sorted.

    >>> vectors = ClassVectors.of([[0.0, 2.0, -1.0], [0.5, 0.0, 0.0]])
    >>> vectors.to_csr().toarray().round(2)
    array([[ 0.  ,  2.  , -1.01],
           [ 0.5 ,  0.  ,  0.  ]], dtype=float32)
    """

    indptr: NDArray[np.int64] = field(repr=False)
    features: NDArray[Any] = field(repr=False)
    steps: NDArray[np.int8] = field(repr=False)
    scales: NDArray[np.float32] = field(repr=False)
    n_features: int

    def __post_init__(self) -> None:
        """Convert the arrays to their types and sort the features of each class."""
        object.__setattr__(self, "indptr", np.asarray(self.indptr, dtype=np.int64))
        object.__setattr__(self, "features", np.asarray(self.features, dtype=narrow_type(self.n_features)))
        object.__setattr__(self, "steps", np.asarray(self.steps, dtype=np.int8))
        object.__setattr__(self, "scales", np.asarray(self.scales, dtype=np.float32))
        if not self._is_increasing():
            order = np.lexsort((self.features, np.repeat(np.arange(self.n_classes), np.diff(self.indptr))))
            object.__setattr__(self, "features", self.features[order])
            object.__setattr__(self, "steps", self.steps[order])
            if not self._is_increasing():
                raise ValueError("The features of a class vector must differ. Got two entries on one feature.")

    def _is_increasing(self) -> bool:
        """Whether the features of every class increase."""
        is_increasing = self.features[1:] > self.features[:-1]
        is_increasing[self.indptr[(self.indptr > 0) & (self.indptr < len(self.features))] - 1] = True
        return bool(is_increasing.all())

    @classmethod
    def of(cls, vectors: Any) -> Self:
        """The class vectors nearest to the rows of a finite matrix; entries below half a step take no space."""
        rows = sparse.csr_array(vectors)
        return cls.rounded((rows[start:stop] for start, stop in class_blocks(rows.shape[0])), int(rows.shape[1]))

    @classmethod
    def rounded(cls, blocks: Iterable[sparse.csr_array], n_features: int) -> Self:
        """The class vectors nearest to the rows of some matrices, one below the other; these may be changed."""
        lengths, features, steps, scales = ([np.zeros(0, dtype)] for dtype in (np.int64, np.int32, np.int8, np.float32))
        narrow = narrow_type(n_features)
        for block in blocks:
            parts = _rounded(block)
            lengths.append(parts[0])
            features.append(parts[1].astype(narrow))
            steps.append(parts[2])
            scales.append(parts[3])
        indptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
        features[0] = features[0].astype(narrow)
        return cls(indptr, np.concatenate(features), np.concatenate(steps), np.concatenate(scales), n_features)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.scales)

    @property
    def n_entries(self) -> int:
        """The number of non-zero entries."""
        return len(self.steps)

    @property
    def nbytes(self) -> int:
        """The memory of the vectors."""
        return self.indptr.nbytes + self.features.nbytes + self.steps.nbytes + self.scales.nbytes

    @cached_property
    def reach(self) -> tuple[NDArray[np.float32], NDArray[np.float32], float]:
        """Bounds of all vectors: the largest and smallest entry of each feature, and the largest length."""
        rows = self.to_csr()
        highest, lowest = np.zeros((2, self.n_features), dtype=np.float32)
        np.maximum.at(highest, rows.indices, rows.data)
        np.minimum.at(lowest, rows.indices, rows.data)
        return highest, lowest, float(np.sqrt(rows.multiply(rows).sum(axis=1).max(initial=0.0)))

    @cached_property
    def by_feature(self) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int8], NDArray[np.int8]]:
        """The entries by feature, for lookups in kernels: where they begin, classes, steps and turns."""
        from codekin.kernels.class_entries import turns_by_feature

        indptr, classes, places = listed_by_feature(self.indptr, self.features, self.n_features)
        steps, turns = np.empty(self.n_entries, dtype=np.int8), np.empty(self.n_entries, dtype=np.int8)
        turns_by_feature(self.indptr, classes, places, writeable(self.steps), steps, turns)
        return indptr, classes, steps, turns

    def scores(self, X: Any, classes: IntArray) -> FloatArray:
        """The dot products of each sample and the vectors of its classes, (n_samples, n); 0 for class -1."""
        from codekin.kernels.reranking import score_classes

        rows = SparseRows.of(sparse.csr_array(X))
        own, by_feature = (self.indptr, self.features, self.steps, self.scales), self.by_feature
        found = np.empty(classes.shape)

        def fill(start: int, stop: int) -> None:
            samples = rows.indptr[start : stop + 1], rows.indices, rows.values
            of_samples = classes[start:stop].astype(np.intp), found[start:stop]
            score_classes(samples, own, by_feature, self.n_features, *of_samples)

        run_blocks(fill, rows.n_rows, block=SAMPLES_PER_BLOCK)
        return found

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays of a file: ``lengths`` of the vectors, ``features`` or ``gaps``, ``steps`` and ``scales``.

        These are three bytes per entry. If two bytes cannot number the features, gaps are stored: the distance from the
        previous feature of the class, or from feature 0; larger gaps than two bytes hold are bridged by steps of zero.
        """
        lengths = np.diff(self.indptr)
        if self.features.itemsize == 2:
            # The number of a class's entries takes half the space of the position where they begin.
            own = {"lengths": lengths.astype(np.uint32), "features": self.features, "steps": self.steps}
            return {**own, "scales": self.scales}
        gap = np.diff(self.features.astype(np.int64), prepend=0)
        firsts = self.indptr[:-1][lengths > 0]
        gap[firsts] = self.features[firsts]
        n_bridges = np.maximum(gap - 1, 0) // LARGEST_GAP
        place = np.cumsum(1 + n_bridges) - 1
        n_written = int(place[-1]) + 1 if len(place) else 0
        gaps, steps = np.full(n_written, LARGEST_GAP, dtype=np.uint16), np.zeros(n_written, dtype=np.int8)
        gaps[place], steps[place] = gap - LARGEST_GAP * n_bridges, self.steps
        before = np.concatenate([[0], np.cumsum(1 + n_bridges)])
        lengths = np.diff(before[self.indptr])
        return {"lengths": lengths.astype(np.uint32), "gaps": gaps, "steps": steps, "scales": self.scales}

    def to_csr(self, first: int = 0, last: int | None = None) -> sparse.csr_array:
        """The vectors, or those of some classes, as a sparse matrix of shape (n_classes, n_features), float32."""
        scales = self.scales[first:last]
        ends = self.indptr[first : first + len(scales) + 1]
        own = slice(int(ends[0]), int(ends[-1]))
        values = self.steps[own] * np.repeat(scales, np.diff(ends))
        return sparse.csr_array(
            (values, self.features[own].astype(np.int32), ends - ends[0]), shape=(len(scales), self.n_features)
        )


def narrow_type(n_features: int) -> type[np.uint16] | type[np.int32]:
    """The type of the features of class vectors."""
    return np.uint16 if n_features <= np.iinfo(np.uint16).max + 1 else np.int32


def class_blocks(n_classes: int) -> Iterator[tuple[int, int]]:
    """Some classes at a time, so that what is computed for all of their entries takes little memory."""
    for start in range(0, n_classes, CLASSES_PER_BLOCK):
        yield start, min(start + CLASSES_PER_BLOCK, n_classes)


def _rounded(rows: sparse.csr_array) -> tuple[IntArray, IntArray, NDArray[np.int8], NDArray[np.float32]]:
    """How many entries each row keeps, their features and steps, and the scale of each row."""
    rows = rows.astype(np.float32, copy=False)
    rows.sum_duplicates()
    lengths = np.diff(rows.indptr)
    has_entries = lengths > 0
    starts = rows.indptr[:-1][has_entries]
    largest = np.zeros(rows.shape[0], dtype=np.float32)
    largest[has_entries] = np.maximum.reduceat(np.abs(rows.data), starts)
    scales = (largest / LARGEST_STEP).astype(np.float32)
    unit = np.repeat(np.where(scales > 0, scales, 1), lengths)
    steps = np.rint(rows.data / unit).astype(np.int8)
    kept = steps != 0
    n_kept = np.zeros(rows.shape[0], dtype=np.int64)
    n_kept[has_entries] = np.add.reduceat(kept, starts, dtype=np.int64)
    return n_kept, rows.indices[kept], steps[kept], scales


def features_of_gaps(lengths: NDArray[Any], gaps: NDArray[np.uint16]) -> NDArray[np.int64]:
    """The features from gaps, class by class; ``lengths`` are the numbers of gaps.

    >>> features_of_gaps(np.array([2, 1]), np.array([3, 4, 5]))
    array([3, 7, 5])
    """
    reached = np.concatenate([[0], np.cumsum(gaps, dtype=np.int64)])
    begins = np.cumsum(lengths, dtype=np.int64) - lengths
    return np.asarray(reached[1:] - np.repeat(reached[begins], lengths))


def listed_by_feature(
    indptr: NDArray[np.int64], features: NDArray[Any], n_features: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]:
    """The entries of compressed class vectors in the order of their features.

    Returns where the entries of each feature begin, the classes of the entries, in increasing order for each feature,
    and the positions of the entries in the class vectors.

    >>> listed_by_feature(np.array([0, 2, 3]), np.array([0, 2, 0]), 3)
    (array([0, 2, 2, 3]), array([0, 1, 0], dtype=int32), array([0, 2, 1], dtype=int32))
    """
    from codekin.kernels.class_entries import list_by_feature

    n_entries = len(features)
    where = np.int32 if n_entries <= np.iinfo(np.int32).max else np.int64
    listed = np.empty(n_features + 1, dtype=np.int64), np.empty(n_entries, dtype=np.int32), np.empty(n_entries, where)
    list_by_feature(indptr, writeable(features), *listed)
    return listed


def n_class_entries(X: Any, class_index: IntArray, n_classes: int, most: float = np.inf) -> int:
    """How many features the samples of each class have, added up: the entries of class vectors before any is dropped.

    Rows on disk are not counted further than ``most``.

    >>> n_class_entries(sparse.csr_array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), np.array([0, 0, 1]), 2)
    3
    """
    from codekin.kernels.class_entries import count_entries

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


def centroid_vectors(
    X: Any, class_index: IntArray, *, n_classes: int | None = None, sample_weight: ArrayLike | None = None
) -> ClassVectors:
    """The mean of each class's samples, scaled to length 1; empty for a class without samples.

    >>> centroid_vectors([[3.0, 4.0], [0.0, 2.0], [0.0, 5.0]], np.array([0, 1, 1])).to_csr().toarray().round(2)
    array([[0.6, 0.8],
           [0. , 1. ]], dtype=float32)
    """
    return ClassVectors.of(centroids(X, class_index, n_classes=n_classes, sample_weight=sample_weight))


def centroids(
    X: Any, class_index: IntArray, *, n_classes: int | None = None, sample_weight: ArrayLike | None = None
) -> sparse.csr_array:
    """The means of the classes, scaled to length 1, with an entry for each feature of a class's samples."""
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
