"""Class vectors: for each class a sparse vector on the features of its training samples, three bytes per entry.

An inverted index of them, from the features of a sample to the classes that have most of them, lists candidates without
a code. Each class has only the largest entries of its vector in it, so that searching stays cheap, and since they are
entries of the vectors that rescore candidates, an index takes no space on disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from codekin._system.arrays import writeable
from codekin._system.parallel import run_blocks
from codekin._system.rows import SparseRows
from codekin.code import FloatArray, IntArray

LARGEST_STEP = 127
LARGEST_GAP = 2**16 - 1
CLASSES_PER_BLOCK = 1_024
SCORED_PER_BLOCK = 4_096
"""While samples are scored: every block needs room for a number of each feature and class."""
INDEXED_PER_BLOCK = 512
ENTRIES_OF_ALL = 2**17
FEWEST_ENTRIES, MOST_ENTRIES = 8, 32
"""How many entries of each class an index has. With 16 instead of 8, the right one of 12,582 classes is among the best
twenty for 79.5 instead of 77.9 % of the samples, and a sample meets 3.4 times as many entries."""


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
        return len(self.scales)

    @property
    def n_entries(self) -> int:
        return len(self.steps)

    @property
    def nbytes(self) -> int:
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
        from codekin.kernels.class_vectors import turns_by_feature

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

        run_blocks(fill, rows.n_rows, block=SCORED_PER_BLOCK)
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
        found = zip(*(self._gaps(*block) for block in class_blocks(self.n_classes)), strict=True)
        parts = (np.concatenate([np.zeros(0, kind), *own]) for kind, own in zip("IHb", found, strict=True))
        return {**dict(zip(("lengths", "gaps", "steps"), parts, strict=True)), "scales": self.scales}

    def _gaps(self, start: int, stop: int) -> tuple[NDArray[np.uint32], NDArray[np.uint16], NDArray[np.int8]]:
        """How many gaps some classes have, these, and their steps."""
        ends = self.indptr[start : stop + 1] - self.indptr[start]
        own = slice(int(self.indptr[start]), int(self.indptr[stop]))
        gap = np.diff(self.features[own].astype(np.int64), prepend=0)
        firsts = ends[:-1][np.diff(ends) > 0]
        gap[firsts] = self.features[own][firsts]
        n_bridges = np.maximum(gap - 1, 0) // LARGEST_GAP
        before = np.concatenate([[0], np.cumsum(1 + n_bridges)])
        gaps, steps = np.full(before[-1], LARGEST_GAP, dtype=np.uint16), np.zeros(before[-1], dtype=np.int8)
        gaps[before[1:] - 1], steps[before[1:] - 1] = gap - LARGEST_GAP * n_bridges, self.steps[own]
        return np.diff(before[ends]).astype(np.uint32), gaps, steps

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
    from codekin.kernels.class_vectors import list_by_feature

    n_entries = len(features)
    where = np.int32 if n_entries <= np.iinfo(np.int32).max else np.int64
    listed = np.empty(n_features + 1, dtype=np.int64), np.empty(n_entries, dtype=np.int32), np.empty(n_entries, where)
    list_by_feature(indptr, writeable(features), *listed)
    return listed


def index_entries(n_classes: int) -> int:
    """How many entries of each class an index has: the fewer, the more classes there are.

    >>> [index_entries(n) for n in (150, 12_582, 102_673)]
    [32, 10, 8]
    """
    return int(np.clip(ENTRIES_OF_ALL // n_classes, FEWEST_ENTRIES, MOST_ENTRIES))


@dataclass(frozen=True, eq=False)
class ClassIndex:
    """The largest entries of class vectors, by class and by list.

    There are two lists for each feature: ``2 * feature`` has the positive entries, ``2 * feature + 1`` the negative
    ones. The score of a class is the sum of the products with the sample that are positive.

    - ``by_class``: where the entries of each class begin, their lists and their sizes.
    - ``by_list``: where each list begins, its classes and their sizes, the largest first.

    >>> vectors = ClassVectors.of([[3.0, 1.0, 0.0], [1.0, 2.0, -4.0], [0.0, 0.0, 5.0]])
    >>> index = ClassIndex.of(vectors, n_entries=2)
    >>> index.best(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]), 2)
    array([[0, 1],
           [2, 0]])
    """

    by_class: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]] = field(repr=False)
    by_list: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]] = field(repr=False)
    n_features: int

    @classmethod
    def of(cls, vectors: ClassVectors, n_entries: int) -> Self:
        """The index of the ``n_entries`` largest entries of each class; of equal ones, those of the first features."""
        lengths = np.diff(vectors.indptr)
        row = np.repeat(np.arange(vectors.n_classes), lengths)
        order = np.lexsort((vectors.features, -np.abs(vectors.steps.astype(np.int16)), row))
        place = np.arange(vectors.n_entries) - np.repeat(vectors.indptr[:-1], lengths)
        kept = np.sort(order[place < n_entries])
        row, steps = row[kept], vectors.steps[kept]
        lists = 2 * vectors.features[kept].astype(np.int32) + (steps < 0).astype(np.int32)
        sizes = np.abs(steps * vectors.scales[row])
        by_size = np.lexsort((row, -sizes, lists))
        return cls(
            (_begins(row, vectors.n_classes), lists, sizes),
            (_begins(lists, 2 * vectors.n_features), row[by_size].astype(np.int32), sizes[by_size]),
            vectors.n_features,
        )

    @property
    def n_classes(self) -> int:
        return len(self.by_class[0]) - 1

    def best(self, X: Any, k: int, n_threads: int | None = None) -> IntArray:
        """The k classes with the largest scores, largest first, -1 if fewer have one above zero: (n_samples, k)."""
        from codekin.kernels.class_vectors import best_of_index

        rows = SparseRows.of(X, self.n_features)
        found = np.empty((len(rows.indptr) - 1, k), dtype=np.intp)

        def fill(start: int, stop: int) -> None:
            own = rows.indptr[start : stop + 1], rows.indices, rows.values
            best_of_index(own, self.by_class, self.by_list, found[start:stop])

        run_blocks(fill, len(found), block=INDEXED_PER_BLOCK, n_threads=n_threads)
        return found


def _begins(numbers: NDArray[Any], n: int) -> NDArray[np.int64]:
    """Where those of each number begin once they are sorted, and where the last ones end."""
    return np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=n))]).astype(np.int64)
