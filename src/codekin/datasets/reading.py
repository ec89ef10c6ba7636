"""Read a file of samples, whole or in chunks, in any of the formats.

========  ==================================================  ===========
format    a line                                              gives
========  ==================================================  ===========
svmlight  ``label index:value ...``                           SparseData
xmc       the same, after a line of three numbers             SparseData
vw        ``label weight 'tag|namespace name:value ...``      SparseData
npz       (an archive: scipy.sparse.save_npz, and labels)     SparseData
tsv       ``label<TAB>text``                                  TextData
========  ==================================================  ===========
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import IO

from codekin.datasets.blocks import ZIP_MAGIC, LineBlock, Source, byte_blocks, line_blocks, opened, source_name
from codekin.datasets.features import FeatureNumbers
from codekin.datasets.npz import npz_rows
from codekin.datasets.options import ReadOptions
from codekin.datasets.rows import LabelColumn, Rows, TextRows, classes_of, joined, rechunked, shortened
from codekin.datasets.samples import Data, DataError, SparseData, TextData
from codekin.datasets.svmlight import svmlight_rows, xmc_rows
from codekin.datasets.tsv import text_rows
from codekin.datasets.vowpal import vowpal_rows

FORMATS = ("svmlight", "xmc", "vw", "npz", "tsv")
"""The formats that can be read."""

FORMAT_OF_SUFFIX = {
    ".svm": "svmlight",
    ".libsvm": "svmlight",
    ".svmlight": "svmlight",
    ".xmc": "xmc",
    ".vw": "vw",
    ".npz": "npz",
    ".tsv": "tsv",
}
"""The formats of file extensions, with or without a further ``.gz``."""

NOT_CSV = (
    "comma-separated values (CSV) are not read; write one sample per line, either its label, a tab and its text, or "
    "its features as svmlight, XMC or VW."
)

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
        The file, plain or zipped with gzip; ``"-"`` is the standard input.
    format : {"auto", "svmlight", "xmc", "vw", "npz", "tsv"}, default="auto"
        Its format; "auto" goes by the end of the name, and otherwise by the first lines.
    n_features : int, optional
        The number of features. When left out, as many as the file shows.
    options : ReadOptions, optional
        What else the format leaves open.
    progress : callable, optional
        Called with the bytes read so far and the bytes of the whole file, if known, which those of a pipe are not.

    Returns
    -------
    SparseData or TextData
        Texts from "tsv", a matrix from the others.

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
    with opened(source) as stream:
        reader = FileReader(source, stream, format, n_features, options)
        parts = [part for part in watched(reader.parts, stream, progress) if len(part)]
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
        The file, plain or zipped with gzip; ``"-"`` is the standard input.
    format : {"auto", "svmlight", "xmc", "vw", "npz", "tsv"}, default="auto"
        Its format; "auto" goes by the end of the name, and otherwise by the first lines.
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
    with opened(source) as stream:
        reader = FileReader(source, stream, format, n_features, options)
        n_bytes = None if progress is None else _known_size(stream)
        n_given = 0
        for parts, n_parsed in rechunked(reader.parts, chunk_rows):
            yield reader.collected(parts)
            n_given += sum(len(part) for part in parts)
            if progress is not None and n_bytes is not None:
                progress(stream.tell() * n_given // n_parsed, n_bytes)
        if n_given == 0:
            raise DataError(reader.name, "there are no samples in it.")


def _check_format(format: str) -> None:
    if format not in ("auto", *FORMATS):
        raise ValueError(f"'format' must be 'auto' or one of {', '.join(FORMATS)}. Got {format!r} instead.")


def format_of(source: Source, format: str = "auto") -> str:
    """The format of a file from its name; "auto" if it depends on the content."""
    if format != "auto" or not isinstance(source, str | Path):
        return format
    suffix = Path(str(source).removesuffix(".gz")).suffix.lower()
    if suffix == ".csv":
        raise DataError(str(source), NOT_CSV)
    return FORMAT_OF_SUFFIX.get(suffix, "auto")


def sniffed_format(block: LineBlock) -> str:
    """The format of a file, judged by its first lines."""
    head = block.text[:10_000].decode(errors="replace")
    numbered = [(block.first_line + number, line.strip("\r ")) for number, line in enumerate(head.split("\n"))]
    number, first = next(((n, line) for n, line in numbered if line and not line.startswith("#")), (0, ""))
    if not first:
        raise DataError(block.source, "there are no samples in it.")
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
        raise DataError(block.source, NOT_CSV, line=number)
    if all(":" in field for field in fields[1:]):
        return "svmlight"
    known = ", ".join(FORMATS)
    reason = f"the format cannot be told from {shortened(first)!r}; pass one of {known}."
    raise DataError(block.source, reason, line=number)


class FileReader:
    """A file that is being read: its parsed parts, and what is known about labels and features."""

    def __init__(
        self, source: Source, stream: IO[bytes], format: str, n_features: int | None, options: ReadOptions
    ) -> None:
        self.name = source_name(source)
        self._labels = LabelColumn(options)
        self._features = FeatureNumbers(options, n_features)
        format = format_of(source, format)
        blocks = byte_blocks(stream, self.name)
        head = next(blocks, b"")
        blocks = chain([head], blocks)
        if head.startswith(ZIP_MAGIC) and format == "auto":
            format = "npz"
        self.parts: Iterator[Rows | TextRows]
        if format == "npz":
            archive = stream if isinstance(source, (str, Path)) and stream.seekable() else io.BytesIO(b"".join(blocks))
            self.parts = npz_rows(archive, self.name, options, self._features)
            return
        lines = line_blocks(blocks, self.name)
        if format == "auto":
            first = next(lines, None)
            if first is None:
                raise DataError(self.name, "the file is empty.")
            format = sniffed_format(first)
            lines = chain([first], lines)
        if format == "tsv":
            self.parts = text_rows(lines, self._labels)
        else:
            self.parts = _SPARSE_ROWS[format](lines, self._labels, self._features)

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
            texts = tuple(text for part in parts if isinstance(part, TextRows) for text in part.texts)
            return TextData(texts, class_index, classes)
        index_base, n_features = self.settled_features()
        rows = joined([part for part in parts if isinstance(part, Rows)])
        X = rows.matrix(n_features, index_base)
        return SparseData(X, class_index, classes, rows.weights, self.encoding)


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
