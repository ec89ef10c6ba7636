"""Write samples and data sets to files, which appear whole or not at all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, cast

import numpy as np
from scipy.sparse import csr_array

from codekin._system.files import folder_for, followed, whole_file, whole_files, whole_folder
from codekin._system.messages import shortened
from codekin.classes import ClassTree
from codekin.data.blocks import Source, output_stream
from codekin.data.datasets import Data, Dataset, SparseData, Split, TextData
from codekin.data.npz import archive_members
from codekin.data.options import ReadOptions
from codekin.data.reading import FORMAT_OF_SUFFIX, ReadProgress, iter_data, plain_suffix, read_data
from codekin.progress import report

WRITABLE_FORMATS = ("svmlight", "npz", "tsv")
"""The formats that can be written."""

_ROWS_AT_ONCE = 10_000


def write_data(target: str | Path, data: Data | Iterable[Data], format: str = "auto", *, index_base: int = 1) -> int:
    r"""Write samples to a file; compressed if its name ends with ``.gz``. The same samples give the same bytes.

    Parameters
    ----------
    target : path or "-"
        The file; ``"-"`` is the standard output.
    data : SparseData, TextData, or iterable of them
        The samples, whole or in chunks. Chunks are written as they come, except to "npz".
    format : {"auto", "svmlight", "npz", "tsv"}, default="auto"
        "auto" goes by the file extension.
    index_base : {0, 1}, default=1
        The number of the first feature in an svmlight file.

    Returns
    -------
    int
        How many samples were written.

    Examples
    --------
    >>> import io, tempfile
    >>> from codekin.data import read_data
    >>> data = read_data(io.BytesIO(b"cat 1:0.5 3:1\n"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write_data(Path(folder) / "data.svm", data)
    ...     Path(folder, "data.svm").read_text()
    'cat 1:0.5 3:1.0\n'
    """
    if index_base not in (0, 1):
        raise ValueError(f"'index_base' must be 0 or 1. Got {index_base!r} instead.")
    format = _format_of(target, format)
    if format == "npz" and not isinstance(data, SparseData):
        raise ValueError("An npz archive is written from one SparseData. Got texts or chunks instead.")
    chunks = [data] if isinstance(data, (SparseData, TextData)) else data
    n_written = 0
    with output_stream(target) as stream:
        for chunk in chunks:
            n_written += chunk.n_samples
            if format == "npz":
                np.savez(stream, **archive_members(cast(SparseData, chunk)))  # type: ignore[arg-type]
            elif format == "svmlight":
                _write_svmlight(stream, chunk, index_base, str(target))
            else:
                _write_tsv(stream, chunk, str(target))
    return n_written


def convert_data(
    source: Source,
    target: str | Path,
    *,
    source_format: str = "auto",
    target_format: str = "auto",
    n_features: int | None = None,
    options: ReadOptions | None = None,
    progress: ReadProgress | None = None,
) -> int:
    """Rewrite a file in another format.

    Text formats are converted chunk by chunk and need little memory. The format "auto" goes by the ends of the names,
    and by the first lines of the source. ``n_features`` and ``options`` are for reading. Returns how many samples were
    written.
    """
    options = options or ReadOptions()
    if _format_of(target, target_format) == "npz":
        data = read_data(source, source_format, n_features=n_features, options=options, progress=progress)
        return write_data(target, data, "npz")
    chunks = iter_data(source, source_format, n_features=n_features, options=options, progress=progress)
    return write_data(target, chunks, target_format)


def _format_of(target: str | Path, format: str) -> str:
    if format == "auto":
        format = FORMAT_OF_SUFFIX.get(plain_suffix(target), "auto")
    if format not in WRITABLE_FORMATS:
        raise ValueError(
            f"The format to write {str(target)!r} in must be one of {', '.join(WRITABLE_FORMATS)}. "
            f"Got {format!r} instead."
        )
    return format


def _write_svmlight(stream: IO[bytes], data: Data, index_base: int, target: str) -> None:
    if not isinstance(data, SparseData):
        raise ValueError(f"{target}: texts cannot be written as svmlight; make features of them first.")
    if data.sample_weight is not None:
        raise ValueError(f"{target}: svmlight files have no place for the samples' weights; write npz instead.")
    labels = _writable(
        data, re.compile(r"[^\s:#,][^\s:]*(?<!,)"), "holds a blank, a colon, or a comma at its end", target
    )
    for start in range(0, data.n_samples, _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        stream.write("".join(_svmlight_lines(data.X[rows], labels[rows], index_base)).encode())


def _svmlight_lines(X: csr_array, labels: list[str], index_base: int) -> Iterator[str]:
    # str of a float32 has as many digits as are needed to restore it. It is slow, and values of rounded or counted
    # features are often equal. Bits are compared, because 0.0 == -0.0.
    bits = np.ascontiguousarray(X.data, dtype=np.float32).view(np.uint32)
    distinct, which = np.unique(bits, return_inverse=True)
    texts = [str(value) for value in distinct.view(np.float32)]
    values = [texts[k] for k in which.tolist()]
    pairs = list(map("%d:%s".__mod__, zip((X.indices + index_base).tolist(), values, strict=True)))
    ends = X.indptr.tolist()
    for label, start, stop in zip(labels, ends[:-1], ends[1:], strict=True):
        yield f"{' '.join([label, *pairs[start:stop]])}\n"


def _write_tsv(stream: IO[bytes], data: Data, target: str) -> None:
    if not isinstance(data, TextData):
        raise ValueError(f"{target}: a sparse matrix cannot be written as text; write svmlight or npz instead.")
    if data.vectors:
        raise ValueError(f"{target}: vectors cannot be written as text.")
    labels = _writable(data, re.compile(r"[^\t\r\n]*[^\s][^\t\r\n]*"), "is blank or holds a tab or a line end", target)
    for label, text in zip(labels, data.texts, strict=True):
        if re.search(r"[\r\n\0]", text):
            raise ValueError(f"{target}: the text {shortened(text)!r} holds a line end, so it is not one line.")
        stream.write(f"{label}\t{text}\n".encode())


def _writable(data: Data, allowed: re.Pattern[str], rule: str, target: str) -> list[str]:
    if data.classes is None or data.class_index is None:
        raise ValueError(f"{target}: samples without labels cannot be written.")
    names = [str(label) for label in data.classes.tolist()]
    for name in names:
        if allowed.fullmatch(name) is None or "\0" in name:
            raise ValueError(f"{target}: the label {shortened(name)!r} {rule}, so it would not be read back.")
    return [names[k] for k in data.class_index.tolist()]


UNKNOWN_LABEL = "?"
"""The label of test samples whose class has no training samples."""


def export_dataset(dataset: Dataset, folder: str | Path) -> list[Path]:
    r"""Write the splits of a data set and its taxonomy; if not all of them can be written, none is.

    Features are written in svmlight format, texts as lines of label and text. The folder is created if necessary. It
    gets ``train.svm`` (or ``train.tsv``), ``validation.svm`` and ``test.svm`` if the data set has them, and
    ``taxonomy.txt`` if it has a class tree.

    >>> import tempfile
    >>> from codekin.data import load_dataset
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = export_dataset(load_dataset("icd10cm"), folder)
    ...     [path.name for path in files], files[-1].read_text().splitlines()[0]
    (['train.tsv', 'validation.tsv', 'test.tsv', 'taxonomy.txt'], 'ICD-10-CM\tchapter 1')
    """
    target = followed(folder)
    names = []
    with folder_for(target.parent), whole_files(target) if target.is_dir() else whole_folder(target) as unfinished:
        for split_name, split in dataset.splits.items():
            names.append(f"{split_name}.{'svm' if split.X is not None else 'tsv'}")
            report(f"writing {target / names[-1]}")
            write_data(unfinished / names[-1], _data(split, dataset.class_names))
        if dataset.class_tree is not None:
            names.append("taxonomy.txt")
            with whole_file(unfinished / names[-1]) as stream:
                stream.write("".join(_edges(dataset.class_tree, dataset.class_names)).encode())
    return [Path(folder) / name for name in names]


def _data(split: Split, class_names: Sequence[str]) -> Data:
    # -1, a class without training samples, is the last one here.
    classes = np.array([*class_names, UNKNOWN_LABEL])
    if split.X is not None:
        return SparseData(csr_array(split.X, dtype=np.float32), split.y, classes)
    return TextData(split.texts or (), split.y, classes)


def _edges(tree: ClassTree, class_names: Sequence[str]) -> list[str]:
    """A line for each edge, from the root down; every node gets a unique name."""
    given = [None if label is None else str(label) for label in tree.labels or [None] * tree.n_nodes]
    name_of_class = dict(zip(tree.node_of_class.tolist(), class_names, strict=True))
    n_uses = Counter([*(given[node] for node in range(tree.n_nodes) if node not in name_of_class), *class_names])

    def name(node: int) -> str:
        label = given[node]
        return name_of_class.get(node) or (label if label and n_uses[label] == 1 else f"node {node}")

    return [
        f"{name(parent)}\t{name(node)}\n" for node in tree.preorder.tolist() if (parent := int(tree.parent[node])) >= 0
    ]
