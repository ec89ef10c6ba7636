"""Matrices in NumPy's .npz archives: sparse ones as :func:`scipy.sparse.save_npz` lays them out, or vectors.

Labels are beside them: ``labels`` beside a sparse matrix, ``y`` beside the vectors ``X``.

Nothing in such an archive can run code: arrays of objects are refused. A header that declares more than its archive
contains is detected before memory is allocated.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from codekin._system.arrays import NOT_AN_ARRAY
from codekin._system.messages import counted
from codekin.data.blocks import ZIP_MAGIC
from codekin.data.columns import Vectors, vectors_of
from codekin.data.datasets import DataError, SparseData, TableColumns
from codekin.data.options import FROM_FILE, ReadOptions, file_and_array
from codekin.data.parsed_rows import Rows, TextRows
from codekin.data.text_formats import MAX_FEATURES, FeatureNumbers

_ROWS_AT_ONCE = 1 << 15
# What zipfile raises, depending on where an archive is damaged.
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError),
    *(NotImplementedError, RuntimeError, ValueError, OverflowError),
)


def npz_rows(stream: IO[bytes], source: str, options: ReadOptions, features: FeatureNumbers) -> Iterator[Rows]:
    """The rows of an archive, some thousand at a time; only row ends and labels are in memory as a whole.

    ``features`` is updated with the shape.
    """
    try:
        with zipfile.ZipFile(stream) as archive:
            yield from _rows(archive, source, options, features)
    except DataError:
        raise
    except _DAMAGE as error:
        raise DataError(source, f"the archive is damaged ({str(error).rstrip('.') or 'cut off'}).") from None


def has_vectors(stream: IO[bytes]) -> bool:
    """Whether an archive has a matrix ``X`` of vectors and no sparse matrix."""
    try:
        with zipfile.ZipFile(stream) as archive:
            names = archive.namelist()
    except _DAMAGE:
        return False
    return "X.npy" in names and "format.npy" not in names


def vector_table(options: ReadOptions) -> TableColumns:
    """The columns of vectors without a table."""
    return TableColumns((), None if options.labels == "none" else "y", embeddings=(FROM_FILE,))


def vector_rows(stream: IO[bytes], source: str, options: ReadOptions, *, is_archive: bool) -> Iterator[TextRows]:
    """The vectors ``X`` of an archive with their labels ``y``, or those of a .npy file, which has no labels."""
    labels = None
    if options.labels != "none" and not is_archive:
        raise DataError(source, "vectors alone have no labels. Use an .npz archive with X and y, or a table, too.")
    vectors = VectorFile(stream, source, "X")
    if is_archive:
        with zipfile.ZipFile(stream) as archive:
            if "sample_weight.npy" in archive.namelist():
                raise DataError(source, "'sample_weight' is read beside sparse matrices only.")
            labels = _labels(archive, source, options, vectors.n_left, "y")
    while vectors.n_left:
        n, here = min(_ROWS_AT_ONCE, vectors.n_left), slice(vectors.n_read, vectors.n_read + _ROWS_AT_ONCE)
        X = vectors.next(n)
        yield TextRows([""] * n, None if labels is None else labels[here], vectors={FROM_FILE: X})


class VectorFile:
    """The vectors of a .npy file or of an archive, taken from front to back; only those taken at a time are in memory.

    Of an archive, ``array`` names one; it may be left out if there is a single matrix. Raises DataError without any.
    """

    def __init__(self, stream: IO[bytes], source: str, array: str = "") -> None:
        self.source, self._stream, self.n_read = source, stream, 0
        with self._checked():
            stream.seek(0)
            if stream.read(len(ZIP_MAGIC)) == ZIP_MAGIC:
                archive = zipfile.ZipFile(stream)
                self._items = _Items.of(archive, array or self._only_matrix(archive), source)
            else:
                n_bytes = stream.seek(0, io.SEEK_END)
                stream.seek(0)
                self._items = _Items(stream, "vectors", source, n_bytes)
        shape, dtype = self._items.shape, self._items.dtype
        if len(shape) != 2 or dtype.kind not in "iuf" or min(shape) < 1:
            got = f"an array of shape {shape} and type {dtype}"
            raise DataError(source, f"vectors are a matrix of numbers with a row for each sample. Got {got}.")
        self.n_rows, self._n_dims = shape

    @classmethod
    def opened(cls, given: str) -> VectorFile:
        """The vectors of a file, ``vectors.npy``, ``vectors.npz`` or ``vectors.npz:array``."""
        path, array = file_and_array(given)
        return cls(Path(path).open("rb"), path, array)  # closed with the last row

    @property
    def n_left(self) -> int:
        """How many have not been taken yet."""
        return self.n_rows - self.n_read

    def next(self, n_rows: int) -> Vectors:
        """The vectors of the next rows."""
        start, self.n_read = self.n_read, self.n_read + n_rows
        if self.n_left < 0:
            raise DataError(self.source, f"there are {counted(self.n_rows, 'vector')}, and more samples than that.")
        with self._checked():
            X = self._items.next(n_rows * self._n_dims).reshape(n_rows, self._n_dims)
        return vectors_of(X, lambda row, reason: DataError(self.source, f"row {start + row + 1} {reason}"))

    def beside(self, rows: Iterator[TextRows]) -> Iterator[TextRows]:
        """The same rows, which take these vectors; raises at the end if there are more of these."""
        with self._stream:
            yield from rows
        if self.n_left:
            n_samples = counted(self.n_read, "sample")
            raise DataError(self.source, f"there are {counted(self.n_rows, 'vector')}, but {n_samples}.")

    def _only_matrix(self, archive: zipfile.ZipFile) -> str:
        names = [name.removesuffix(".npy") for name in archive.namelist()]
        found = []
        for name in names:
            with _Items.of(archive, name, self.source) as items:
                found += [name] if len(items.shape) == 2 else []
        if len(found) == 1:
            return found[0]
        which = f"{counted(len(found), 'array')} may be the vectors. There are {', '.join(names)}"
        raise DataError(self.source, f"{which}; say which: {self.source}:NAME.")

    @contextmanager
    def _checked(self) -> Iterator[None]:
        try:
            yield
        except DataError:
            raise
        except _DAMAGE as error:
            reason = str(error).rstrip(".") or "cut off"
            raise DataError(self.source, f"this file of vectors is damaged ({reason}).") from None


def _rows(archive: zipfile.ZipFile, source: str, options: ReadOptions, features: FeatureNumbers) -> Iterator[Rows]:
    layout = _whole(archive, "format", source).tobytes().strip(b"\0")
    if layout.replace(b"\0", b"") != b"csr":
        raise DataError(source, f"the matrix must be in csr format. Got {layout.decode(errors='replace')!r} instead.")
    shape = _whole(archive, "shape", source)
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or shape.min() < 0:
        raise DataError(source, f"'shape' must be two numbers. Got {shape.tolist()} instead.")
    n_rows, n_columns = (int(size) for size in shape)
    if n_columns > MAX_FEATURES:
        raise DataError(source, f"there may be up to {MAX_FEATURES} features. Got {n_columns} instead.")
    indptr = _whole(archive, "indptr", source)
    if indptr.shape != (n_rows + 1,) or indptr.dtype.kind not in "iu":
        raise DataError(source, f"'indptr' must be {n_rows + 1} integers, one more than there are rows.")
    row_ends = indptr.astype(np.int64)
    n_in_row = row_ends[1:] - row_ends[:-1]
    if indptr[0] != 0 or (n_in_row < 0).any():
        raise DataError(source, "'indptr' must begin with 0 and must not decrease.")
    labels = _labels(archive, source, options, n_rows)
    weights = _weights(archive, source, n_rows)
    features.index_base = 0
    if features.n_features is None and n_columns < 1:
        raise DataError(source, "the matrix has no columns.")
    features.n_features = features.n_features or n_columns
    limit = features.allowed_range()[1]
    with _Items.of(archive, "indices", source) as all_indices, _Items.of(archive, "data", source) as all_values:
        for items, kinds in ((all_indices, "iu"), (all_values, "fiu")):
            if items.dtype.kind not in kinds or items.n_items != int(indptr[-1]):
                raise DataError(source, f"'{items.name}' must be {int(indptr[-1])} numbers, as many as 'indptr' says.")
        for start in range(0, n_rows, _ROWS_AT_ONCE):
            here = slice(start, start + _ROWS_AT_ONCE)
            n_items = int(n_in_row[here].sum())
            indices, values = all_indices.next(n_items), all_values.next(n_items)
            row = start + np.repeat(np.arange(len(n_in_row[here])), n_in_row[here])
            _check_items(indices, values, row, n_columns, source)
            is_known = indices <= limit
            if not is_known.all():
                if options.unknown_features == "error":
                    first = int((~is_known).argmax())
                    raise DataError(source, f"row {row[first]}: {features.unknown_reason(int(indices[first]))}")
                indices, values, row = indices[is_known], values[is_known], row[is_known]
            yield Rows(
                indices.astype(np.int32),
                values.astype(np.float32),
                np.bincount(row - start, minlength=len(n_in_row[here])),
                None if labels is None else labels[here],
                None if weights is None else weights[here],
            )


def _labels(
    archive: zipfile.ZipFile, source: str, options: ReadOptions, n_rows: int, name: str = "labels"
) -> NDArray[np.int64] | list[str] | None:
    if options.labels == "none":
        return None
    labels = _whole(archive, name, source)
    if labels.shape != (n_rows,) or labels.dtype.kind not in "iuU":
        raise DataError(
            source,
            f"'{name}' must be {n_rows} integers or strings, one per row. "
            f"Got an array of shape {labels.shape} and type {labels.dtype} instead.",
        )
    if labels.dtype.kind == "U" or options.labels == "str":
        if options.labels == "int":
            raise DataError(source, f"the labels are strings, such as {str(labels[0])!r}, not integers.")
        return [str(label) for label in labels.tolist()]
    if labels.max(initial=0) > np.iinfo(np.int64).max:
        if options.labels == "int":
            raise DataError(source, f"the label {labels.max()} is too large; integer labels must be below 2**63.")
        return [str(label) for label in labels.tolist()]
    return labels.astype(np.int64)


def _weights(archive: zipfile.ZipFile, source: str, n_rows: int) -> NDArray[np.float32] | None:
    if "sample_weight.npy" not in archive.namelist():
        return None
    weights = _whole(archive, "sample_weight", source)
    if weights.shape == (n_rows,) and weights.dtype.kind in "fiu":
        with np.errstate(over="ignore"):
            narrow = weights.astype(np.float32)
        if bool((np.isfinite(narrow) & (narrow >= 0)).all()):
            return narrow
    raise DataError(source, f"'sample_weight' must be {n_rows} finite numbers, one per row, none of them negative.")


def _check_items(indices: NDArray[Any], values: NDArray[Any], row: NDArray[Any], n_columns: int, source: str) -> None:
    for name, is_wrong, rule in (
        ("index", (indices < 0) | (indices >= n_columns), f"must be from 0 to {n_columns - 1}"),
        ("value", ~np.isfinite(values.astype(np.float32)), "must be finite in float32"),
    ):
        if is_wrong.any():
            first = int(is_wrong.argmax())
            wrong = (indices if name == "index" else values)[first]
            raise DataError(source, f"row {row[first]}: the {name} {wrong} {rule}.")
    is_disordered = (indices[1:] <= indices[:-1]) & (row[1:] == row[:-1])
    if is_disordered.any():
        first = int(is_disordered.argmax())
        raise DataError(
            source,
            f"row {row[first]}: feature index {indices[first + 1]} after {indices[first]}; "
            "indices must increase within a row.",
        )


class _Items:
    """The items of one array, read from front to back out of as many bytes, its header included."""

    def __init__(self, stream: IO[bytes], name: str, source: str, n_bytes: int) -> None:
        self.name = name
        self._source = source
        self._stream = stream
        self.shape, self.dtype = _array_header(stream, name, source)
        self.n_items = int(np.prod(self.shape, dtype=object)) if self.shape else 1
        if self.dtype.hasobject:
            raise DataError(source, f"the array '{name}' holds Python objects, which are not read.")
        if self.n_items * self.dtype.itemsize > n_bytes:
            raise DataError(source, f"the array '{name}' is cut off: its header promises {self.n_items} items.")

    @classmethod
    def of(cls, archive: zipfile.ZipFile, name: str, source: str) -> _Items:
        """Those of an array of an archive."""
        try:
            info = archive.getinfo(f"{name}.npy")
        except KeyError:
            members = sorted(member.removesuffix(".npy") for member in archive.namelist())
            shown = ", ".join(member for member in members[:10] if member.isidentifier())
            raise DataError(source, f"the array '{name}' is missing. The archive has {shown or 'nothing'}.") from None
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or info.flag_bits & 1:
            raise DataError(source, f"the array '{name}' is encrypted or packed in a way that NumPy does not use.")
        return cls(archive.open(info), name, source, info.file_size)

    def next(self, n_items: int) -> NDArray[Any]:
        """The next items."""
        n_bytes = n_items * self.dtype.itemsize
        content = self._stream.read(n_bytes)
        if len(content) < n_bytes:
            raise DataError(self._source, f"the array '{self.name}' is cut off.")
        return np.frombuffer(content, self.dtype)

    def __enter__(self) -> _Items:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()


def _array_header(stream: IO[bytes], name: str, source: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    from numpy.lib import format as npy  # only here

    try:
        read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[npy.read_magic(stream)]
        shape, is_fortran, dtype = read_header(stream)
    # What an invalid header can raise in the parser of Python literals.
    except (*NOT_AN_ARRAY, MemoryError):
        raise DataError(source, f"the array '{name}' has a damaged header.") from None
    if is_fortran and len(shape) > 1:
        raise DataError(source, f"the array '{name}' must be in C order.")
    return shape, dtype


def _whole(archive: zipfile.ZipFile, name: str, source: str) -> NDArray[Any]:
    with _Items.of(archive, name, source) as items:
        return items.next(items.n_items).reshape(items.shape)


def archive_members(data: SparseData) -> dict[str, NDArray[Any]]:
    """The arrays of an archive that holds some samples; :func:`scipy.sparse.load_npz` reads it too."""
    members: dict[str, NDArray[Any]] = {
        "indices": data.X.indices,
        "indptr": data.X.indptr,
        "format": np.array(b"csr"),
        "shape": np.array(data.X.shape, dtype=np.int64),
        "data": data.X.data,
        "_is_array": np.array(True),
    }
    if data.has_labels:
        members["labels"] = data.labels
    if data.sample_weight is not None:
        members["sample_weight"] = data.sample_weight
    return members
