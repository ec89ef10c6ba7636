"""Read a file of samples, whole or in chunks, in any of the formats.

========  =====================================================  ===========
format    a line                                                 gives
========  =====================================================  ===========
svmlight  ``label index:value ...``                              SparseData
xmc       the same, after a line of three numbers                SparseData
vw        ``label weight 'tag|namespace name:value ...``         SparseData
npz       (an archive: scipy.sparse.save_npz, and labels)        SparseData
npz, npy  (vectors ``X``, and labels ``y``; vectors alone)       TextData
tsv       ``label<TAB>text``, or a table with a header           TextData
csv       the columns of a row, after a header                   TextData
jsonl     a JSON object                                          TextData
parquet   (a Parquet file)                                       TextData
fasttext  ``__label__x text``                                    TextData
annif     ``text<TAB><uri> <uri>``                               TextData
folder    (a folder for each class, with a file for each text)   TextData
========  =====================================================  ===========
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import IO, Any

from codekin._system.messages import shortened
from codekin.data.blocks import (
    COMPRESSED,
    ZIP_MAGIC,
    LineBlock,
    Source,
    byte_blocks,
    in_utf8,
    line_blocks,
    opened,
)
from codekin.data.datasets import Data, DataError
from codekin.data.npz import VectorFile, has_vectors, npz_rows, vector_rows, vector_table
from codekin.data.options import FORMATS as FORMATS  # noqa: PLC0414
from codekin.data.options import (
    FROM_FILE,
    LABEL_PREFIX,
    ReadOptions,
    check_options,
    is_vector_file,
)
from codekin.data.parsed_rows import FileContent, LabelColumn, Rows, TextRows, rechunked, text_rows
from codekin.data.table_formats import (
    DELIMITERS,
    annif_table,
    csv_table,
    dialect_of,
    fasttext_table,
    folder_table,
    json_table,
    label_and_text,
    parquet_table,
)
from codekin.data.tables import LABEL_NAMES, TEXT_NAMES, table_rows
from codekin.data.text_formats import MAX_FEATURES, FeatureNumbers, svmlight_rows, vowpal_rows, xmc_rows

FORMAT_OF_SUFFIX = {
    ".svm": "svmlight",
    ".libsvm": "svmlight",
    ".svmlight": "svmlight",
    ".xmc": "xmc",
    ".vw": "vw",
    ".npz": "npz",
    ".npy": "npy",
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

TEXTS = "texts"
"""The format for models of texts: that of the file's name, otherwise "tsv"."""
_SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".ods")
_MAGIC = {ZIP_MAGIC: "npz", b"\x93NUMPY": "npy", b"PAR1": "parquet"}
ReadProgress = Callable[[int, int], None]
"""Called with the bytes read so far and the bytes of the whole file."""

_SPARSE_ROWS = {"svmlight": svmlight_rows, "xmc": xmc_rows, "vw": vowpal_rows}
_LINE_TABLES = {"csv": csv_table, "jsonl": json_table, "fasttext": fasttext_table, "annif": annif_table}
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
    with opened(source, folders=True) as (stream, name):
        content, every = file_parts(source, stream, name, format, n_features, options)
        parts = list(watched(every, stream, progress))
        content.report_left_out()
        return content.collected(parts)


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

    Yields
    ------
    SparseData or TextData

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
    with opened(source, folders=True) as (stream, name):
        content, every = file_parts(source, stream, name, format, n_features, options)
        n_bytes, share = None if progress is None else _known_size(stream), 0.0
        for parts, share in rechunked(every, chunk_rows):
            yield content.collected(parts)
            if progress is not None and n_bytes is not None:
                progress(int(stream.tell() * share), n_bytes)
        content.report_left_out()
        if not share:
            raise DataError(name, "there are no samples in it.")


def _check_format(format: str) -> None:
    if format not in ("auto", TEXTS, *FORMATS):
        raise ValueError(f"'format' must be 'auto' or one of {', '.join(FORMATS)}. Got {format!r} instead.")


def format_of(source: Source, format: str = "auto") -> str:
    """The format of a file from its name; "auto" if it depends on the content."""
    if format != "auto" or not isinstance(source, str | Path):
        return format
    if plain_suffix(source) in _SPREADSHEETS:
        raise DataError(str(source), "Excel files are not read; save the sheet as CSV.")
    return "folder" if Path(source).is_dir() else FORMAT_OF_SUFFIX.get(plain_suffix(source), "auto")


def plain_suffix(path: str | Path) -> str:
    """The end of a file's name, without that of its compression."""
    path = Path(path)
    return Path(path.stem if path.suffix.lower() in COMPRESSED else path.name).suffix.lower()


def file_parts(  # noqa: PLR0917
    source: Source, stream: IO[bytes], name: str, format: str, n_features: int | None, options: ReadOptions
) -> tuple[FileContent, Iterator[Rows | TextRows]]:
    """A file that is being read: what is known of it, more with each of its parts, and these parts."""
    if n_features is not None and not 1 <= n_features <= MAX_FEATURES:
        raise ValueError(f"'n_features' must be from 1 to {MAX_FEATURES}. Got {n_features} instead.")
    base = None if options.index_base == "auto" else options.index_base
    is_kept = options.missing_labels == "error"
    labels = LabelColumn(
        options.labels, options.multilabel, options.labels == "str", options.may_miss, is_kept, options.label_separator
    )
    content = FileContent(name, labels, FeatureNumbers(options, n_features, base))
    format, blocks = _found_format(source, stream, name, format, options)
    check_options(options, format)
    if options.multilabel == "all" and format in ("npz", "npy", "folder"):
        raise DataError(name, f"samples of the format {format} have one label each. Got the option multilabel='all'.")
    if format in ("npz", "npy"):
        archive = _archive(source, stream, blocks)
        if format == "npz" and not has_vectors(archive):
            return content, npz_rows(archive, name, options, content.features)
        content.table, content.reading = vector_table(options), f"vectors in an {format} file"
        return content, vector_rows(archive, name, options, is_archive=format == "npz")
    if format in _SPARSE_ROWS:
        return content, _SPARSE_ROWS[format](blocks, labels, content.features)
    if format == "tsv":
        table = None
    elif format == "folder":
        table = folder_table(source, options)
    elif format == "parquet":
        table = parquet_table(_archive(source, stream, blocks), name, options)
    else:
        table = _LINE_TABLES[format](blocks, name, options)
    has_file = bool(options.embeddings) and is_vector_file(options.embeddings)
    file = VectorFile.opened(options.embeddings[0]) if has_file else None
    rows = text_rows(blocks, labels, file) if table is None else table_rows(table.parts, table.columns, labels, file)
    content.reading = "a label, a tab and a text in every line" if table is None else table.reading
    content.table = table.columns if table is not None and table.is_named else None
    if file is None:
        return content, rows
    columns = label_and_text(options) if table is None else table.columns
    content.table, content.reading = replace(columns, embeddings=(FROM_FILE,)), f"{content.reading}; with {file.source}"
    return content, file.beside(rows)


def _found_format(
    source: Source, stream: IO[bytes], name: str, format: str, options: ReadOptions
) -> tuple[str, Iterator[Any]]:
    """The format of a file, and its content: blocks of lines, or of bytes where it has none."""
    format = format_of(source).replace("auto", "tsv") if format == TEXTS else format_of(source, format)
    blocks = byte_blocks(stream, name)
    if format == "folder":
        return format, blocks
    head = next(blocks, b"")
    blocks = chain([head], blocks)
    if format == "auto":
        format = next((found for magic, found in _MAGIC.items() if head.startswith(magic)), "auto")
    if format in ("npz", "npy", "parquet"):
        return format, blocks
    lines = line_blocks(in_utf8(blocks, options.encoding, name), name)
    if format in ("auto", "tsv"):
        first = next(lines, None)
        if first is None:
            raise DataError(name, "the file is empty.")
        format = _sniffed_format(first, options) if format == "auto" else format
        format = _texts_format(first, options) if format == "tsv" else format
        lines = chain([first], lines)
    return format, lines


def _sniffed_format(block: LineBlock, options: ReadOptions) -> str:  # noqa: PLR0911
    """The format of a file, as its first lines suggest."""
    head = block.text[:10_000].decode(errors="replace")
    numbered = [(block.first_line + number, line.strip("\r ")) for number, line in enumerate(head.split("\n"))]
    number, first = next(((n, line) for n, line in numbered if line and not line.startswith("#")), (0, ""))
    if not first:
        raise DataError(block.source, "there are no samples in it.")
    if first.startswith("{"):
        return "jsonl"
    if options.names_columns:
        return "csv"
    if first.startswith(LABEL_PREFIX):
        return "fasttext"
    if re.fullmatch(r"[0-9]+ +[0-9]+ +[0-9]+", first):
        return "xmc"
    if "|" in first and "\t" not in first.partition("|")[0]:
        return "vw"
    fields = [field for field in first.partition(" #")[0].split() if not field.endswith(",")]
    if len(fields) > 1 and all(re.match(r"[0-9]+:[^:]+$", field) for field in fields[1:]):
        return "svmlight"
    if "\t" in first:
        return "tsv"
    # Several labels of an svmlight file are separated by commas as well, but features follow, here or in later lines.
    if "," in first and "\n" in head and ":" not in (head if re.fullmatch(r"[0-9, ]+", first) else first):
        return "csv"
    if all(":" in field for field in fields[1:]):
        return "svmlight"
    known = ", ".join(FORMATS)
    reason = f"the format cannot be recognized from {shortened(first)!r}; pass one of {known}."
    raise DataError(block.source, reason, line=number)


def _texts_format(first: LineBlock, options: ReadOptions) -> str:
    """What lines of text are: "csv", "jsonl" or "fasttext" if the first one says so, else "tsv"."""
    line = first.text.split(b"\n", 1)[0].strip()
    if line.startswith(LABEL_PREFIX.encode()):
        return "fasttext"
    then, is_chosen = options.trained_on, options.names_columns
    if line.startswith(b"{") and (is_chosen or then is not None):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict) and (is_chosen or set(then.text if then else ()) <= set(row)):
            return "jsonl"
    # Without columns to look for, only tabs make a table: a comma may be part of the text.
    if b"\t" not in line and not (then or is_chosen or options.header):
        return "tsv"
    delimiters = list(DELIMITERS) if then is not None or is_chosen else ["\t"]
    head = first.text.split(b"\n", 1)[0].decode(errors="replace") + "\n"
    _, rows = dialect_of(head, False, [options.delimiter] if options.delimiter else delimiters)
    return "csv" if _is_table(rows[0] if rows else [], options, is_chosen) else "tsv"


def _is_table(names: Sequence[str], options: ReadOptions, is_chosen: bool) -> bool:
    """Whether the first line of texts, split into fields, is the header of a table, or a row of one without a header.

    It is if columns are chosen, if it has those that a model was trained on, or the usual names of a label and a text.
    """
    if options.header or is_chosen:
        return True
    if options.trained_on is not None:
        has_header = options.trained_on.has_header if options.header is None else options.header
        known = [" ".join(name.split()) for name in names] if has_header else list(map(str, range(1, len(names) + 1)))
        return set(options.trained_on.text) <= set(known)
    usual = {name.strip().lower() for name in names}
    return bool(usual & LABEL_NAMES and usual & TEXT_NAMES) and options.header is None


def _archive(source: Source, stream: IO[bytes], blocks: Iterator[bytes]) -> IO[bytes]:
    """A stream that can be read at any place."""
    is_file = isinstance(source, str | Path) and stream.seekable() and Path(source).suffix not in COMPRESSED
    return stream if is_file else io.BytesIO(b"".join(blocks))


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
