"""Matrices in text files: class distances with or without the labels of the classes, and codebooks."""

from __future__ import annotations

import re

import numpy as np

from codekin.classes import DenseDistances
from codekin.coding import FloatArray
from codekin.datasets.blocks import Source, source_name, text_lines
from codekin.datasets.rows import shortened
from codekin.datasets.samples import DataError


def read_matrix(source: Source) -> tuple[FloatArray, tuple[str, ...] | None]:
    r"""A matrix of numbers, and the labels of its rows if the file has them.

    The file is in UTF-8, plain or compressed with gzip. The entries of a row are separated by commas, tabs or spaces,
    whichever the first row has. If the first entry of the first row is not a number, the row holds the labels of the
    columns, after an arbitrary first entry, and every further row begins with its label, as pandas writes it. Blank
    rows, and rows that begin with ``#``, are skipped.

    >>> import io
    >>> read_matrix(io.BytesIO(b",cat,dog\ncat,0,1.5\ndog,1.5,0\n"))
    (array([[0. , 1.5],
           [1.5, 0. ]]), ('cat', 'dog'))
    """
    matrix, labels, _ = _table(source, source_name(source))
    return matrix, labels


def read_distances(source: Source) -> tuple[DenseDistances, tuple[str, ...]]:
    r"""A matrix of class distances, and the labels of the classes.

    The file has the format of :func:`read_matrix`. If it has labels, those of rows and columns must be the same in the
    same order; if it has none, the classes are called 0, 1, ...

    >>> import io
    >>> read_distances(io.BytesIO(b"0 2\n2 0\n"))[1]
    ('0', '1')
    """
    name = source_name(source)
    matrix, labels, columns = _table(source, name)
    try:
        distances = DenseDistances(matrix)
    except ValueError as error:
        raise DataError(name, str(error)) from error
    if labels is None:
        return distances, tuple(str(k) for k in range(len(matrix)))
    if labels != columns:
        k = next(k for k, pair in enumerate(zip(labels, columns or (), strict=True)) if pair[0] != pair[1])
        raise DataError(
            name,
            f"rows and columns must be the same classes in the same order. Row {k + 1} is {shortened(labels[k])!r}, "
            f"column {k + 1} is {shortened((columns or ())[k])!r}.",
        )
    return distances, labels


def _table(source: Source, name: str) -> tuple[FloatArray, tuple[str, ...] | None, tuple[str, ...] | None]:
    """The numbers, the labels of the rows and those of the columns."""
    rows: list[list[float]] = []
    labels: list[str] = []
    columns: list[str] | None = None
    separator: str | None = None
    n_entries = 0
    for line, text in text_lines(source, name):
        if not text.strip() or text.startswith("#"):
            continue
        if not n_entries:
            separator = next((mark for mark in (",", "\t") if mark in text), None)
        fields = [field.strip() for field in text.strip("\r\n ").split(separator)]
        if not n_entries:
            n_entries = len(fields)
            if not _is_number(fields[0]):
                columns = fields[1:]
                continue
        if len(fields) != n_entries:
            raise DataError(name, f"{len(fields)} entries, but the rows before have {n_entries}.", line=line)
        if columns is not None:
            labels.append(fields.pop(0))
        wrong = next((field for field in fields if not _is_number(field)), None)
        if wrong is not None:
            raise DataError(name, f"{shortened(wrong)!r} is not a number.", line=line)
        rows.append([float(field) for field in fields])
    if not rows:
        raise DataError(name, "there are no rows in it.")
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise DataError(name, f"the label {shortened(twice)!r} is given to two rows.")
    if columns is None:
        return np.array(rows), None, None
    return np.array(rows), tuple(labels), tuple(columns)


def _is_number(field: str) -> bool:
    return re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", field) is not None
