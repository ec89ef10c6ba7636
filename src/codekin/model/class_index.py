"""An inverted index of class vectors: from the features of a sample to the classes that have most of them.

It lists candidates without a code. Each class has only the largest entries of its vector in it, so that searching stays
cheap, and since they are entries of the vectors that rescore candidates, an index takes no space on disk.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from codekin._system.sparse_rows import SparseRows
from codekin._system.threads import run_blocks
from codekin.coding import IntArray
from codekin.model.class_vectors import ClassVectors

SAMPLES_PER_BLOCK = 512
ENTRIES_OF_ALL = 2**17
FEWEST_ENTRIES, MOST_ENTRIES = 8, 32
"""How many entries of each class an index has. With 16 instead of 8, the right one of 12,582 classes is among the best
twenty for 79.5 instead of 77.9 % of the samples, and a sample meets 3.4 times as many entries."""


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
        """The number of classes."""
        return len(self.by_class[0]) - 1

    def best(self, X: Any, k: int, n_threads: int | None = None) -> IntArray:
        """The k classes with the largest scores, largest first, -1 if fewer have one above zero: (n_samples, k)."""
        from codekin.kernels.class_index import best_of_index

        rows = SparseRows.of(X, self.n_features)
        found = np.empty((len(rows.indptr) - 1, k), dtype=np.intp)

        def fill(start: int, stop: int) -> None:
            own = rows.indptr[start : stop + 1], rows.indices, rows.values
            best_of_index(own, self.by_class, self.by_list, found[start:stop])

        run_blocks(fill, len(found), block=SAMPLES_PER_BLOCK, n_threads=n_threads)
        return found


def _begins(numbers: NDArray[Any], n: int) -> NDArray[np.int64]:
    """Where those of each number begin once they are sorted, and where the last ones end."""
    return np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=n))]).astype(np.int64)
