"""Read a file of samples, whole or in chunks, in any of the formats.

========  =====================================================  ===========
format    a line                                                 gives
========  =====================================================  ===========
svmlight  ``label index:value ...``                              SparseData
xmc       the same, after a line of three numbers                SparseData
vw        ``label weight 'tag|namespace name:value ...``         SparseData
npz       (an archive: scipy.sparse.save_npz, and labels)        SparseData
tsv       ``label<TAB>text``, or a table with a header           TextData
csv       the columns of a row, after a header                   TextData
jsonl     a JSON object                                          TextData
parquet   (a Parquet file)                                       TextData
fasttext  ``__label__x text``                                    TextData
folder    (a folder for each class, with a file for each text)   TextData
========  =====================================================  ===========
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np

from codekin.data.blocks import (
    COMPRESSED,
    ZIP_MAGIC,
    Source,
    byte_blocks,
    in_utf8,
    line_blocks,
    opened,
    source_name,
)
from codekin.data.datasets import Data, DataError, SparseData, TableColumns
from codekin.data.npz import npz_rows
from codekin.data.options import FORMATS as FORMATS  # noqa: PLC0414
from codekin.data.options import ReadOptions, check_options
from codekin.data.parsed_rows import FeatureNumbers, LabelColumn, Rows, TextRows, classes_of, text_rows
from codekin.data.table_formats import (
    DELIMITERS,
    LABEL_AND_TEXT,
    Table,
    csv_table,
    fasttext_cells,
    folder_cells,
    json_table,
    parquet_table,
    texts_format,
)
from codekin.data.tables import collected_texts, table_rows
from codekin.data.text_formats import sniffed_format, svmlight_rows, vowpal_rows, xmc_rows
from codekin.progress import report

FORMAT_OF_SUFFIX = {
    ".svm": "svmlight",
    ".libsvm": "svmlight",
    ".svmlight": "svmlight",
    ".xmc": "xmc",
    ".vw": "vw",
    ".npz": "npz",
    ".tsv": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".fasttext": "fasttext",
}
"""The formats of file extensions, with or without a further ``.gz``, ``.bz2``, ``.xz`` or ``.zst``."""

SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".ods")
_PARQUET_MAGIC = b"PAR1"
ReadProgress = Callable[[int, int], None]
"""Called with the bytes read so far and the bytes of the whole file."""

_SPARSE_ROWS = {"svmlight": svmlight_rows, "xmc": xmc_rows, "vw": vowpal_rows}
_DEFAULTS = ReadOptions()


def read_data(
    source: Source,
    format: str = "auto",
    *,
    n_features: int | None = None,
    options: ReadOptions = _DEFAULTS,
    progress: ReadProgress | None = None,
) -> Data:
    r"""All samples of a file.

    Parameters
    ----------
    source : path, "-" or binary stream
        The file, plain or compressed (gzip, bzip2, xz, zstd); ``"-"`` is the standard input. Also a folder of texts.
    format : str, default="auto"
        Its format, one of ``FORMATS``; "auto" goes by the end of the name, and otherwise by the first lines.
    n_features : int, optional
        The number of features. When left out, as many as the file shows.
    options : ReadOptions, optional
        What else the format leaves open.
    progress : callable, optional
        Called with the bytes read so far and the bytes of the whole file, if known, which those of a pipe are not.

    Returns
    -------
    SparseData or TextData
        A matrix from "svmlight", "xmc", "vw" and "npz", texts from the others.

    Raises
    ------
    DataError
        With the file and the line.

    Examples
    --------
    >>> import io
    >>> data = read_data(io.BytesIO(b"cat 1:0.5 3:1\ndog 2:2\n"))
    >>> data.classes, data.class_index
    (array(['cat', 'dog'], dtype='<U3'), array([0, 1]))
    >>> data.X.toarray()
    array([[0.5, 0. , 1. ],
           [0. , 2. , 0. ]], dtype=float32)
    """
    _check_format(format)
    with opened(source, folders=True) as stream:
        reader = FileReader(source, stream, format, n_features, options)
        parts = [part for part in watched(reader.parts, stream, progress) if len(part)]
        reader.report_left_out()
        if not parts:
            raise DataError(reader.name, "there are no samples in it.")
        return reader.collected(parts)


def iter_data(
    source: Source,
    format: str = "auto",
    *,
    chunk_rows: int = 10_000,
    n_features: int | None = None,
    options: ReadOptions = _DEFAULTS,
    progress: ReadProgress | None = None,
) -> Iterator[Data]:
    r"""The samples of a file in chunks, so that a file of any size needs the memory of one chunk.

    Options that are "auto" are decided by the first chunk: the kind of the labels, the index base, and whether names
    are hashed. Give ``n_features`` to get equally wide chunks.

    Parameters
    ----------
    source : path, "-" or binary stream
        The file, plain or compressed (gzip, bzip2, xz, zstd); ``"-"`` is the standard input. Also a folder of texts.
    format : str, default="auto"
        Its format, one of ``FORMATS``; "auto" goes by the end of the name, and otherwise by the first lines.
    chunk_rows : int, default=10_000
        The number of samples of a chunk; the last one has the rest.
    n_features : int, optional
        The number of features. By default each chunk is as wide as the file up to there.
    options : ReadOptions, optional
        What else the format leaves open.
    progress : callable, optional
        Called after each chunk with the bytes of the samples so far and those of the whole file, if known, which those
        of a pipe are not.

    Returns
    -------
    iterator of SparseData or TextData

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO(b"0 1:1\n1 2:1\n0 1:2\n")
    >>> [chunk.n_samples for chunk in iter_data(file, chunk_rows=2, n_features=2)]
    [2, 1]
    """
    if chunk_rows < 1:
        raise ValueError(f"'chunk_rows' must be at least 1. Got {chunk_rows} instead.")
    _check_format(format)
    return _chunks(source, format, chunk_rows, n_features, options, progress=progress)


def _chunks(
    source: Source,
    format: str,
    chunk_rows: int,
    n_features: int | None,
    options: ReadOptions,
    *,
    progress: ReadProgress | None,
) -> Iterator[Data]:
    with opened(source, folders=True) as stream:
        reader = FileReader(source, stream, format, n_features, options)
        n_bytes = None if progress is None else _known_size(stream)
        n_given = 0
        for parts, n_parsed in rechunked(reader.parts, chunk_rows):
            yield reader.collected(parts)
            n_given += sum(len(part) for part in parts)
            if progress is not None and n_bytes is not None:
                progress(stream.tell() * n_given // n_parsed, n_bytes)
        reader.report_left_out()
        if n_given == 0:
            raise DataError(reader.name, "there are no samples in it.")


def _check_format(format: str) -> None:
    if format not in ("auto", *FORMATS):
        raise ValueError(f"'format' must be 'auto' or one of {', '.join(FORMATS)}. Got {format!r} instead.")


def format_of(source: Source, format: str = "auto") -> str:
    """The format of a file from its name; "auto" if it depends on the content."""
    if format != "auto" or not isinstance(source, str | Path):
        return format
    if plain_suffix(source) in SPREADSHEETS:
        raise DataError(str(source), "Excel files are not read; save the sheet as CSV.")
    return "folder" if Path(source).is_dir() else FORMAT_OF_SUFFIX.get(plain_suffix(source), "auto")


def plain_suffix(path: str | Path) -> str:
    """The end of a file's name, without that of its compression."""
    path = Path(path)
    return Path(path.stem if path.suffix.lower() in COMPRESSED else path.name).suffix.lower()


class FileReader:
    """A file that is being read: its parsed parts, and what is known about labels and features."""

    def __init__(
        self, source: Source, stream: IO[bytes], format: str, n_features: int | None, options: ReadOptions
    ) -> None:
        self.name = source_name(source)
        self._labels = LabelColumn(options)
        self._features = FeatureNumbers(options, n_features)
        self._table: TableColumns | None = None
        self._reading = ""
        self.parts: Iterator[Rows | TextRows]
        format, needs_label = format_of(source, format), options.labels != "none"
        if format == "folder":
            check_options(options, format)
            if not isinstance(source, str | Path) or not Path(source).is_dir():
                raise DataError(self.name, "this is not a folder.")
            cells, self._reading = folder_cells(Path(source), options.encoding, needs_label=needs_label)
            self.parts = table_rows(cells, _label_and_text(needs_label), self._labels)
            return
        blocks = byte_blocks(stream, self.name)
        head = next(blocks, b"")
        blocks = chain([head], blocks)
        if format == "auto":
            format = "npz" if head.startswith(ZIP_MAGIC) else "parquet" if head.startswith(_PARQUET_MAGIC) else "auto"
        if format in ("npz", "parquet"):
            check_options(options, format)
            is_file = isinstance(source, str | Path) and stream.seekable() and Path(source).suffix not in COMPRESSED
            archive = stream if is_file else io.BytesIO(b"".join(blocks))
            if format == "npz":
                self.parts = npz_rows(archive, self.name, options, self._features)
            else:
                self._read_table(parquet_table(archive, self.name, options, needs_label=needs_label))
            return
        lines = line_blocks(in_utf8(blocks, options.encoding, self.name), self.name)
        if format in ("auto", "tsv"):
            first = next(lines, None)
            if first is None:
                raise DataError(self.name, "the file is empty.")
            format = sniffed_format(first, options) if format == "auto" else format
            lines = chain([first], lines)
            if format == "tsv" and texts_format(first, options) != "tsv":
                format = texts_format(first, options)
        check_options(options, format)
        if format in _SPARSE_ROWS:
            self.parts = _SPARSE_ROWS[format](lines, self._labels, self._features)
        elif format == "tsv":
            self._reading = "a label, a tab and a text in every line"
            self.parts = text_rows(lines, self._labels)
        elif format == "fasttext":
            self._reading = "fastText's lines of __label__ and text"
            cells = fasttext_cells(lines, needs_label=needs_label, may_miss=self._labels.may_miss)
            self.parts = table_rows(cells, _label_and_text(needs_label), self._labels)
        elif format == "jsonl":
            self._read_table(json_table(lines, self.name, options, needs_label=needs_label))
        else:
            delimiters = [options.delimiter] if options.delimiter else list(DELIMITERS)
            self._read_table(csv_table(lines, self.name, options, delimiters, needs_label=needs_label))

    def _read_table(self, table: Table) -> None:
        self._table, self._reading = table.columns, table.reading
        self.parts = table_rows(table.parts, table.columns, self._labels)

    def report_left_out(self) -> None:
        """Say how many rows were left out for their labels, if any."""
        labels = self._labels
        if labels.n_left_out:
            what = "without a label" if labels.policy != "drop" else "without a label or with several"
            report("", detail=f"{self.name}: left out {labels.n_left_out:,} of {labels.n_rows:,} rows {what}")
            report("")

    def settled_features(self) -> tuple[int, int]:
        """The index of the first feature and the number of features, fixed from now on."""
        return self._features.settled(self.name)

    @property
    def encoding(self) -> Mapping[str, int]:
        """How features are numbered."""
        return self._features.encoding

    def collected(self, parts: Sequence[Rows | TextRows]) -> Data:
        """Some parts as one value; what they show about labels and features is fixed from now on."""
        self._labels.settle()
        class_index, classes = classes_of([part.labels for part in parts], self.name)
        if isinstance(parts[0], TextRows):
            of_texts = [part for part in parts if isinstance(part, TextRows)]
            return collected_texts(of_texts, class_index, classes, self._table, self._reading)
        index_base, n_features = self.settled_features()
        rows = joined([part for part in parts if isinstance(part, Rows)])
        X = rows.matrix(n_features, index_base)
        return SparseData(X, class_index, classes, rows.weights, self.encoding)


def _label_and_text(needs_label: bool) -> TableColumns:
    return LABEL_AND_TEXT if needs_label else TableColumns(LABEL_AND_TEXT.text)


def watched(
    parts: Iterator[Rows | TextRows], stream: IO[bytes], progress: ReadProgress | None
) -> Iterator[Rows | TextRows]:
    """The parts, reporting the position of the stream to ``progress`` after each."""
    n_bytes = None if progress is None else _known_size(stream)
    for part in parts:
        if progress is not None and n_bytes is not None:
            progress(stream.tell(), n_bytes)
        yield part


def _known_size(stream: IO[bytes]) -> int | None:
    """The bytes of a file; None for anything else, such as a pipe."""
    if not isinstance(stream, io.FileIO | io.BufferedReader) or not stream.seekable():
        return None
    return os.fstat(stream.fileno()).st_size


def joined(parts: Sequence[Rows]) -> Rows:
    """All rows in one, without the labels, which may be of several kinds."""
    weights = [part.weights for part in parts]
    has_weights = any(weight is not None for weight in weights)
    return Rows(
        np.concatenate([part.indices for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.n_in_row for part in parts]),
        None,
        np.concatenate([np.ones(len(p), np.float32) if p.weights is None else p.weights for p in parts])
        if has_weights
        else None,
    )


def rechunked(blocks: Iterator[Any], n_rows: int) -> Iterator[tuple[list[Any], int]]:
    """Blocks of any size, cut and collected into lists of ``n_rows`` rows, each with the rows of all blocks so far."""
    pending: list[Any] = []
    n_pending = n_so_far = 0
    for block in blocks:
        start, n_so_far = 0, n_so_far + len(block)
        while n_pending + len(block) - start >= n_rows:
            stop = start + n_rows - n_pending
            yield [*pending, block[start:stop]], n_so_far
            start, pending, n_pending = stop, [], 0
        if start < len(block):
            pending.append(block[start:])
            n_pending += len(block) - start
    if pending:
        yield pending, n_so_far
