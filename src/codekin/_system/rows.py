"""Rows of sparse matrices: in the types that kernels take, one alone, or on disk.

Rows on disk are read a block at a time, in order or shuffled, so work that goes block by block needs the same memory
for any number of rows, except for a few bytes per row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from codekin._system.memory import in_units

LARGEST_INT32 = np.iinfo(np.int32).max


def n_samples_in(X: Any) -> int:
    """The number of samples of a matrix, a data frame or a list."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Compressed sparse rows in the types of the kernels: int64, int32 (where it suffices) and float32."""

    indptr: NDArray[np.int64]
    indices: NDArray[Any]
    values: NDArray[np.float32]

    @classmethod
    def of(cls, X: Any, n_features: int | None = None) -> SparseRows:
        """The rows of a sparse or dense matrix; copies only what has another type."""
        if n_features is not None and X.shape[1] != n_features:
            raise ValueError(f"X must have {n_features} features, as many as the weights. Got {X.shape[1]} instead.")
        rows = X if getattr(X, "format", None) == "csr" else sparse.csr_array(X)
        narrow = np.int32 if rows.shape[1] <= LARGEST_INT32 else np.int64
        return cls(
            np.asarray(rows.indptr, dtype=np.int64),
            np.asarray(rows.indices, dtype=narrow),
            np.asarray(rows.data, dtype=np.float32),
        )

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.indptr) - 1


IntArray = NDArray[np.intp]
FloatArray = NDArray[np.float64]

PAGES_PER_BLOCK = 64
"""How many pieces from all over the file make up a shuffled block, so that files sorted by class do no harm."""
LEAST_PAGE = 1 << 14
"""In bytes; smaller pieces take longer to find than to read."""
BYTES_PER_VALUE = 8
BYTES_PER_ROW = 24
CLASSES_PER_BLOCK = 1_024
"""While samples in memory are added up by class."""


@dataclass(frozen=True, eq=False)
class StoredRows:
    """The rows of a sparse matrix on disk, or some of its rows and columns.

    Estimators and learners accept it instead of a sparse matrix. Indexing by a slice or by increasing rows, ``X[:10]``,
    reads those rows into memory; :meth:`at` and ``X[:, columns]`` read nothing.

    The folder holds ``values.npy`` and ``features.npy``, the values and their columns, row after row; ``row_ends`` says
    where the values of each row of the file start, and where those of the last one end. ``checksum`` changes with the
    files. ``max_memory``: how many bytes the samples and what is computed from them may take in memory; a block takes
    half of it. ``rows`` and ``columns``: which rows (increasing) and columns of the file these are; all by default.
    """

    folder: Path
    row_ends: NDArray[np.int64] = field(repr=False)
    n_features: int
    checksum: str
    max_memory: int
    rows: IntArray | None = field(default=None, repr=False)
    columns: IntArray | None = field(default=None, repr=False)

    ndim = 2
    dtype = np.dtype(np.float32)

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns there are."""
        n_rows = len(self.row_ends) - 1 if self.rows is None else len(self.rows)
        return n_rows, self.n_features if self.columns is None else len(self.columns)

    @property
    def nnz(self) -> int:
        """How many values are stored in these rows, in all columns of the file."""
        if self.rows is None:
            return int(self.row_ends[-1])
        return int((self.row_ends[self.rows + 1] - self.row_ends[self.rows]).sum())

    @property
    def rows_at_once(self) -> int:
        """How many rows of average length a block has."""
        n_rows = self.shape[0]
        row_bytes = BYTES_PER_ROW + BYTES_PER_VALUE * self.nnz / max(n_rows, 1)
        return max(int(self.max_memory // 2 / row_bytes), 1)

    def __getitem__(self, key: Any) -> Any:
        """Some rows in memory, or some columns still on disk."""
        if isinstance(key, tuple):
            rows, columns = key
            if rows != slice(None):
                raise TypeError("Rows on disk are indexed by rows, X[rows], or by columns, X[:, columns].")
            columns = np.asarray(columns)
            return replace(self, columns=columns if self.columns is None else self.columns[columns])
        if isinstance(key, slice):
            start, stop, step = key.indices(self.shape[0])
            if step != 1:
                raise TypeError("Rows on disk are indexed by slices without a step.")
            return self._joined(self._pages_between(start, max(start, stop)))
        return self.at(np.asarray(key)).in_memory()

    def at(self, rows: IntArray) -> StoredRows:
        """Some of the rows, in increasing order, perhaps several times, still on disk."""
        return replace(self, rows=rows if self.rows is None else self.rows[rows])

    def in_memory(self) -> sparse.csr_array:
        """All rows as a sparse matrix, read piece by piece, so that rows far apart need no extra memory."""
        return self._joined(self._pages)

    def blocks(self) -> Iterator[tuple[slice, sparse.csr_array]]:
        """The rows in order, as many at a time as the memory allows."""
        step = self._pages_per_block
        for first in range(0, len(self._pages), step):
            start, stop = self._pages[first][0], self._pages[first : first + step][-1][1]
            yield slice(start, stop), self._joined(self._pages_between(start, stop))

    def shuffled_blocks(self, rng: np.random.Generator) -> Iterator[tuple[IntArray, sparse.csr_array]]:
        """The row numbers and rows of blocks made of random pieces of the file; rows in a piece keep their order."""
        order, step = rng.permutation(len(self._pages)).tolist(), self._pages_per_block
        for first in range(0, len(order), step):
            pages = [self._pages[number] for number in order[first : first + step]]
            yield np.concatenate([np.arange(a, b) for a, b in pages]), self._joined(pages)

    @property
    def _page_bytes(self) -> int:
        return min(max(self.max_memory // 2 // PAGES_PER_BLOCK, LEAST_PAGE), max(self.max_memory // 2, 1))

    @property
    def _pages_per_block(self) -> int:
        return max(self.max_memory // 2 // self._page_bytes, 1)

    @cached_property
    def _pages(self) -> list[tuple[int, int]]:
        """The first row of each piece of the file, and the row after its last one."""
        n_rows, n_bytes = self.shape[0], self._page_bytes
        numbers = np.arange(n_rows) if self.rows is None else self.rows
        ends = BYTES_PER_VALUE * self.row_ends[numbers + 1] + BYTES_PER_ROW * (numbers + 1)
        held = np.cumsum(BYTES_PER_VALUE * (self.row_ends[numbers + 1] - self.row_ends[numbers]) + BYTES_PER_ROW)
        starts, stop = [0], 0
        while stop < n_rows:
            row = int(numbers[stop])
            begin = BYTES_PER_VALUE * int(self.row_ends[row]) + BYTES_PER_ROW * row
            most = (held[stop - 1] if stop else 0) + n_bytes  # a row that is there several times counts as often
            limits = (ends, begin + n_bytes), (held, most)
            stop = max(min(int(np.searchsorted(of, limit, side="right")) for of, limit in limits), stop + 1)
            starts.append(stop)
        return list(pairwise(starts))

    def _pages_between(self, start: int, stop: int) -> list[tuple[int, int]]:
        """The pieces of the file that hold the rows from ``start`` to ``stop - 1``; one if all rows are used."""
        if self.rows is None or start == stop:
            return [(start, stop)]
        return [(max(a, start), min(b, stop)) for a, b in self._pages if a < stop and start < b]

    def _joined(self, pages: Sequence[tuple[int, int]]) -> sparse.csr_array:
        """Some pieces of the file in one matrix; unused rows of a piece are dropped before the next one is read."""
        if self.rows is None:
            joined = self._read(pages)
        else:
            owned = [self.rows[start:stop] for start, stop in pages if start < stop]
            wanted = [self._read([(int(own[0]), int(own[-1]) + 1)])[own - own[0]] for own in owned]
            joined = sparse.vstack(wanted, format="csr") if wanted else self._read([])
        return cast(sparse.csr_array, joined if self.columns is None else sparse.csr_array(joined[:, self.columns]))

    def _read(self, spans: Sequence[tuple[int, int]]) -> sparse.csr_array:
        """All rows of the file in some spans, each given by its first row and the row after its last one."""
        ends = [self.row_ends[first : stop + 1] for first, stop in spans if first < stop]
        lengths = np.concatenate([np.zeros(0, np.int64), *(np.diff(of_span) for of_span in ends)])
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        pieces = [(int(of_span[0]), int(of_span[-1] - of_span[0])) for of_span in ends]
        read: Any = sparse.csr_array(
            (self._items("values.npy", np.float32, pieces), self._items("features.npy", np.int32, pieces), indptr),
            shape=(len(lengths), self.n_features),
        )
        read.has_sorted_indices = read.has_canonical_format = True
        return cast(sparse.csr_array, read)

    def _items(self, name: str, dtype: type, pieces: Sequence[tuple[int, int]]) -> NDArray[Any]:
        """The items of some pieces of an array on disk, each given by its first item and its number of items."""
        path = self.folder / name
        items = np.empty(sum(count for _, count in pieces), dtype=np.dtype(dtype).newbyteorder("<"))
        content, n_done = items.view(np.uint8).data, 0
        n_header = path.stat().st_size - int(self.row_ends[-1]) * items.itemsize
        with path.open("rb", buffering=0) as file:
            for first, count in pieces:
                file.seek(n_header + first * items.itemsize)
                stop = n_done + count * items.itemsize
                while n_done < stop:
                    n_read = file.readinto(content[n_done:stop])
                    if not n_read:
                        raise OSError(f"{path} became shorter while it was read.")
                    n_done += n_read
        return items


def is_sparse(X: Any) -> bool:
    """Whether samples are sparse, in memory or on disk."""
    return isinstance(X, StoredRows) or bool(sparse.issparse(X))


def blocks_of(X: Any) -> Iterator[tuple[slice, Any]]:
    """The samples in blocks: a single one if they are in memory, several if they are on disk."""
    if isinstance(X, StoredRows):
        yield from X.blocks()
    else:
        yield slice(0, X.shape[0]), X


def class_sums(X: Any, class_index: IntArray, weights: FloatArray, n_classes: int) -> sparse.csr_array:
    """The weighted sum of the samples of each class, (n_classes, n_features), float64.

    Raises MemoryError if the samples are on disk and the sums take more than half of ``max_memory``.
    """
    if not isinstance(X, StoredRows) and n_classes <= CLASSES_PER_BLOCK:
        return _sums(X, np.asarray(class_index), weights, n_classes)
    if not isinstance(X, StoredRows):  # some classes at a time, so that only their samples are copied
        class_index, parts = np.asarray(class_index), []
        order = np.argsort(class_index, kind="stable")
        ends = np.searchsorted(class_index[order], np.arange(n_classes + 1))
        for start in range(0, n_classes, CLASSES_PER_BLOCK):
            stop = min(start + CLASSES_PER_BLOCK, n_classes)
            own = order[ends[start] : ends[stop]]
            parts.append(_sums(X[own], class_index[own] - start, weights[own], stop - start))
        return sparse.csr_array(sparse.vstack(parts, format="csr"))
    total: sparse.csr_array | None = None
    for rows, block in X.blocks():
        sums = _sums(block, class_index[rows], weights[rows], n_classes)
        total = sums if total is None else sparse.csr_array(total + sums)
        if 12 * total.nnz > X.max_memory // 2:
            raise MemoryError(
                f"The means of {n_classes:,} classes have more than {total.nnz:,} entries, {in_units(12 * total.nnz)}, "
                f"which is too much if the samples may take {in_units(X.max_memory)}. Allow more memory, or avoid the "
                "means: use the preserving assignment of a taxonomy and no re-ranking."
            )
    return sparse.csr_array((n_classes, X.shape[1])) if total is None else total


def _sums(X: Any, class_index: IntArray, weights: FloatArray, n_classes: int) -> sparse.csr_array:
    n_rows = X.shape[0]
    # Products of narrow indices have narrow ones.
    narrow = np.int32 if max(n_rows, *X.shape) <= np.iinfo(np.int32).max else np.int64
    places: Any = class_index.astype(narrow), np.arange(n_rows, dtype=narrow)
    members = sparse.csr_array((weights, places), shape=(n_classes, n_rows))
    sums: Any = members @ X.astype(np.float64)
    return sparse.csr_array(sums)


class Row(NamedTuple):
    """One sample: compressed as the kernels take it, and as a matrix of one row if it was given as one.

    - ``indptr``, ``indices``, ``values``: int64, int32 and float32, writeable.
    - ``given``: a dense array of shape (1, n_features), or a sparse matrix that predictors of other libraries get.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float32]
    n_features: int
    given: Any = None

    def matrix(self) -> Any:
        """The sample as a matrix of one row."""
        if self.given is not None:
            return self.given
        return sparse.csr_array((self.values, self.indices, self.indptr), shape=(1, self.n_features))


SAME_LENGTH = 1e-3
"""Rows have one length if it differs by less than this share."""


def with_features(X: Any, is_kept: NDArray[np.bool_]) -> Any:
    """Sparse rows without entries of other features; rows of one length keep it.

    >>> rows = sparse.csr_array([[0.6, 0.8, 0.0], [0.0, 1.0, 0.0]])
    >>> with_features(rows, np.array([False, True, True])).toarray().tolist()
    [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
    """
    kept = sparse.csr_array(X, copy=True)
    lengths = np.sqrt(kept.multiply(kept).sum(axis=1))
    kept.data[~is_kept[kept.indices]] = 0
    kept.eliminate_zeros()
    longest = lengths.max(initial=0)
    if longest - lengths[lengths > 0].min(initial=longest) < SAME_LENGTH * longest:
        rest = np.sqrt(kept.multiply(kept).sum(axis=1))
        kept.data *= np.repeat(lengths / np.where(rest > 0, rest, 1), np.diff(kept.indptr)).astype(kept.dtype)
    return kept
