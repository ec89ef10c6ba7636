"""Class vectors: for each class a sparse vector on the features of its training samples, three bytes per entry."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from codekin._system.stored_rows import StoredRows, class_sums
from codekin.coding import FloatArray, IntArray

LARGEST_STEP = 127
LARGEST_GAP = 2**16 - 1


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
        narrow = np.uint16 if self.n_features <= np.iinfo(np.uint16).max + 1 else np.int32
        object.__setattr__(self, "indptr", np.asarray(self.indptr, dtype=np.int64))
        object.__setattr__(self, "features", np.asarray(self.features, dtype=narrow))
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
        rows = sparse.csr_array(vectors, dtype=np.float32, copy=True)
        rows.sum_duplicates()
        lengths = np.diff(rows.indptr)
        largest = np.zeros(rows.shape[0], dtype=np.float32)
        has_entries = lengths > 0
        largest[has_entries] = np.maximum.reduceat(np.abs(rows.data), rows.indptr[:-1][has_entries])
        scales = (largest / LARGEST_STEP).astype(np.float32)
        unit = np.repeat(np.where(scales > 0, scales, 1), lengths)
        steps = np.rint(rows.data / unit).astype(np.int8)
        n_kept_before = np.concatenate([[0], np.cumsum(steps != 0)])
        kept = steps != 0
        return cls(n_kept_before[rows.indptr], rows.indices[kept], steps[kept], scales, int(rows.shape[1]))

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
        indptr, classes, places = listed_by_feature(self.indptr, self.features, self.n_features)
        start, stop = self.indptr[:-1], self.indptr[1:]
        place = np.arange(self.n_entries) - np.repeat(start, stop - start)
        # The last entries of a class, if fewer than four, all belong to the first sum.
        is_in_round = place < np.repeat((stop - start) & ~3, stop - start)
        turns = np.where(is_in_round, place & 3, 0).astype(np.int8)
        return indptr, classes, self.steps[places], turns[places]

    def scores(self, X: Any, classes: IntArray) -> FloatArray:
        """The dot products of each sample and the vectors of its classes, (n_samples, n); 0 for class -1."""
        from codekin.kernels.reranking import score_classes

        rows = sparse.csr_array(X)
        samples = rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data.astype(np.float32)
        own = self.indptr, self.features, self.steps, self.scales
        found = np.empty(classes.shape)
        score_classes(samples, own, self.by_feature, self.n_features, np.asarray(classes, dtype=np.intp), found)
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

    def to_csr(self) -> sparse.csr_array:
        """The vectors as a sparse matrix of shape (n_classes, n_features), float32."""
        values = self.steps * np.repeat(self.scales, np.diff(self.indptr))
        return sparse.csr_array(
            (values, self.features.astype(np.int32), self.indptr), shape=(self.n_classes, self.n_features)
        )


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
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """The entries of compressed class vectors in the order of their features.

    Returns where the entries of each feature begin, the classes of the entries, in increasing order for each feature,
    and the positions of the entries in the class vectors.

    >>> listed_by_feature(np.array([0, 2, 3]), np.array([0, 2, 0]), 3)
    (array([0, 2, 2, 3]), array([0, 1, 0], dtype=int32), array([0, 2, 1]))
    """
    n_classes, n_entries = len(indptr) - 1, len(features)
    rows = sparse.csr_array((np.arange(n_entries), features, indptr), shape=(n_classes, n_features))
    columns = rows.tocsc()
    return columns.indptr.astype(np.int64), columns.indices.astype(np.int32), columns.data


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
    sums = class_sums(rows, classes, weights, n)
    sums.sort_indices()
    lengths = np.sqrt(sums.multiply(sums).sum(axis=1))
    sums.data /= np.repeat(np.where(lengths > 0, lengths, 1.0), np.diff(sums.indptr))
    return sums.astype(np.float32)
