"""What people pass as samples: texts in lists, arrays and series; rows of data frames and lists of objects.

Vectors, such as embeddings of texts, keep half precision and become single precision otherwise; a column of them is
never copied to double precision. Every number is finite, and all vectors of a column have the same length.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isinf, isnan, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin._system.messages import suggestion
from codekin.data.datasets import USES, TableColumns, TextData

ROWS_AT_ONCE = 10_000
Vectors = NDArray[np.float16] | NDArray[np.float32]
RowError = Callable[[int, str], Exception]
"""The error of a row of a column, counted from 0, with the reason."""


def samples_of(given: Any, columns: TableColumns | None, what: str = "text") -> list[Any]:
    """The texts of a sequence, or the rows of a table as tuples: texts, numbers (NaN if missing), categories, vectors.

    A table is a data frame, a mapping of names to columns, or a list of mappings, one per row. If there is one column
    of texts and nothing else, samples are texts. A file that was read is a table, too, with its own columns. Raises
    ValueError, with the place, on anything else.

    >>> samples_of([{"title": "a cat", "price": 3}, {"title": None}], TableColumns(("title",), None, ("price",)))
    [('a cat', 3.0), ('', nan)]
    """
    if isinstance(given, TextData):
        return _rows_of(given, columns)
    if columns is None:
        return texts_of(given, what)
    names = _names(given)
    if names is None and columns.is_one_text:
        return texts_of(given, what)
    if names is None:
        if columns.used == columns.embeddings and len(columns.used) == 1 and _is_matrix(given):
            return list(zip(_vectors(given, columns.used[0]), strict=True))
        used = ", ".join(map(repr, columns.used))
        got = f"{given[:40]!r}" if isinstance(given, str | bytes) else f"an object of type {type(given).__name__}"
        raise ValueError(
            f"Samples have several columns ({used}): a data frame or a list of objects is needed. Got {got}."
        )
    cells: list[list[Any]] = [
        texts_of(_column(given, names, name, is_needed=True), f"{name!r}, {what}") for name in columns.text
    ]
    is_frame = not isinstance(given, Sequence)
    for use, of_use in ((_number, columns.numbers), (_category, columns.categories)):
        for name in of_use:
            column = _listed(_column(given, names, name, is_needed=is_frame), name)
            cells.append([use(value, name, i) for i, value in enumerate(column)])
    cells += [list(_vectors(_column(given, names, name, is_needed=True), name)) for name in columns.embeddings]
    lengths = [len(own) for own in cells]
    if len(set(lengths)) > 1:
        raise ValueError(f"All columns must have as many values. Got {', '.join(map(str, lengths))}.")
    return cells[0] if columns.is_one_text else list(zip(*cells, strict=True))


def _rows_of(data: TextData, columns: TableColumns | None) -> list[Any]:
    if data.table is None and columns is None:
        return list(data.texts)
    table = data.table or TableColumns(("text",))
    wanted = columns or table
    for use in USES:
        needed, there = getattr(wanted, use), getattr(table, use)
        if len(needed) != len(there) or (data.table is not None and needed != there):
            got = "without columns" if data.table is None else f"that was read with {', '.join(there) or 'none'}"
            got += "; --embeddings takes a file of vectors" if use == "embeddings" and needed else ""
            raise ValueError(
                f"Samples have columns; those of {use} are {', '.join(needed) or 'none'}. Got a file {got}."
            )
    if wanted.is_one_text:
        return list(data.texts)
    used: list[Any] = [data.columns[name] for name in table.text]
    used += [data.numbers[name].tolist() for name in table.numbers]
    used += [[cell.strip() for cell in data.columns[name]] for name in table.categories]
    used += [list(data.vectors[name]) for name in table.embeddings]
    return list(zip(*used, strict=True))


def texts_of(given: Any, what: str = "text") -> list[str]:
    """The texts of a sequence, an array, a series or a data frame with one column; missing values are empty texts.

    Raises ValueError, with the place, if something else is in it.

    >>> texts_of(["a cat", None, float("nan")])
    ['a cat', '', '']
    """
    is_table = hasattr(given, "columns")  # Arrow's cannot be iterated
    if isinstance(given, str | bytes) or not (is_table or isinstance(given, Iterable)):
        shown = f"a single one, {given[:40]!r}; put it into a list" if isinstance(given, str | bytes) else repr(given)
        raise ValueError(f"Several {what}s are needed: a list, an array or a column of a data frame. Got {shown}.")
    listed = _listed(given, what)
    for i, value in enumerate(listed):
        if isinstance(value, str):
            continue
        if not is_missing(value):
            kind = type(value).__name__
            raise ValueError(f"{what[:1].upper()}{what[1:]} {i} must be a str. Got {value!r} of type {kind}.")
        listed[i] = ""
    return listed


def vectors_of(column: Any, error: RowError, n_dims: int | None = None) -> Vectors:
    """The vectors of a column as a matrix: a matrix already, a column of Arrow or polars, or rows of any kind.

    ``n_dims`` is their length, if it is known. Raises what ``error`` makes if a row is no vector, or one of another
    length.

    >>> vectors_of([[1, 2], "[0.5, 3]"], lambda row, reason: ValueError(f"row {row} {reason}")).tolist()
    [[1.0, 2.0], [0.5, 3.0]]
    """
    given = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    X = _flat(given) if hasattr(given, "null_count") and hasattr(given, "to_pylist") else None
    if X is None and getattr(given, "ndim", 1) == 2:
        X = np.asarray(given)
    if X is None:
        rows = given.to_pylist() if hasattr(given, "to_pylist") else list(given)
        vectors: list[NDArray[Any]] = []
        for i, row in enumerate(rows):
            vectors.append(_vector(row, i, error))
            _check_length(len(vectors[i]), len(vectors[0]), i, error)
        X = np.array(vectors) if vectors else np.zeros((0, n_dims or 1), np.float32)
    if X.dtype.kind not in "iuf" or X.shape[1] == 0:
        raise error(0, f"has {str(X[:1].tolist())[:40]} where a vector, a list of numbers, is needed.")
    _check_length(X.shape[1], n_dims, 0, error)
    return _finite(X, error)


def _check_length(n: int, n_dims: int | None, row: int, error: RowError) -> None:
    if n_dims not in (None, n):
        raise error(row, f"has a vector of {n} numbers, where others have {n_dims}.")


def _flat(column: Any) -> NDArray[Any] | None:
    """The matrix of a column of Arrow whose lists are equally long; None if they are not."""
    n_rows = len(column)
    if column.null_count or not n_rows or not hasattr(column, "flatten"):
        return None
    ends = None if hasattr(column.type, "list_size") else np.diff(column.offsets.to_numpy(zero_copy_only=False))
    flat = column.flatten()
    is_even = (ends is None or bool((ends == ends[0]).all())) and len(flat) % n_rows == 0 and not flat.null_count
    return flat.to_numpy(zero_copy_only=False).reshape(n_rows, -1) if is_even else None


def _vector(row: Any, place: int, error: RowError) -> NDArray[Any]:
    """One vector in half or single precision; it may be written as JSON."""
    try:
        vector = np.asarray(json.loads(row) if isinstance(row, str) else row)
    except (ValueError, RecursionError):
        vector = np.asarray(None)
    if vector.ndim != 1 or vector.dtype.kind not in "iuf" or not len(vector):
        raise error(place, f"has {str(row)[:40]!r} where a vector, a list of numbers, is needed.")
    with np.errstate(over="ignore"):
        return vector if vector.dtype == np.float16 else vector.astype(np.float32)


def _finite(X: NDArray[Any], error: RowError) -> Vectors:
    """The matrix in half or single precision; raises at the first number that is not finite."""
    kept = X if X.dtype == np.float16 else np.empty(X.shape, np.float32) if X.dtype != np.float32 else X
    for start in range(0, len(X), ROWS_AT_ONCE):
        here = slice(start, start + ROWS_AT_ONCE)
        with np.errstate(over="ignore"):
            block = X[here].astype(kept.dtype, copy=False)
        if kept is not X:
            kept[here] = block
        if not np.isfinite(block).all():
            row, place = np.argwhere(~np.isfinite(block))[0].tolist()
            number = X[start + row, place]
            raise error(start + row, f"has {number} at place {place + 1} of its vector; numbers must be finite.")
    return kept


def is_missing(value: Any) -> bool:
    """Whether a value of a table is missing: None, NaN or pandas' NA and NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and isnan(value)


def _names(given: Any) -> list[Any] | None:
    """The names of the columns of a table; None if it is none."""
    if isinstance(given, Mapping):
        return list(given)
    if hasattr(given, "columns"):
        return list(getattr(given, "column_names", given.columns))
    if isinstance(given, Sequence) and given and all(isinstance(row, Mapping) for row in given):
        return list(dict.fromkeys(name for row in given for name in row))
    return None


def _column(given: Any, names: list[Any], name: str, *, is_needed: bool) -> Any:
    if isinstance(given, Sequence):
        for i, row in enumerate(given):
            if is_needed and name not in row:
                shown = ", ".join(map(repr, row)) or "nothing"
                which, hint = "A sample" if len(given) == 1 else f"Sample {i}", suggestion(name, list(map(str, row)))
                raise ValueError(f"{which} must have {name!r}. Got {shown}.{hint}")
        return [row.get(name) for row in given]
    if name not in names:
        shown = ", ".join(map(repr, names))
        raise ValueError(f"There is no column {name!r}. There are {shown}.{suggestion(name, list(map(str, names)))}")
    return given.column(name) if hasattr(given, "column_names") else given[name]


def _number(value: Any, name: str, row: int) -> float:
    if is_missing(value):
        return nan
    try:
        number = nan if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = nan
    if isnan(number) or isinf(number):
        raise ValueError(f"Column {name!r}, row {row}: a finite number is needed. Got {value!r}.")
    return number


def _category(value: Any, name: str, row: int) -> str:
    """The name of a category: whole numbers without a point, as those of a column with missing values have one."""
    if isinstance(value, str):
        return value.strip()
    if is_missing(value):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict | tuple | set | bytes):
        raise ValueError(f"Column {name!r}, row {row}: a category is a text or a number. Got {value!r}.")
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _vectors(given: Any, name: str) -> Vectors:
    return vectors_of(given, lambda row, reason: ValueError(f"Column {name!r}, row {row}: it {reason}"))


def _is_matrix(given: Any) -> bool:
    return getattr(given, "ndim", 0) == 2 and not hasattr(given, "columns")


def _listed(given: Any, what: str) -> list[Any]:
    """A new list of the values of one column."""
    if getattr(given, "ndim", 1) == 2 or hasattr(given, "columns"):
        n_columns = given.shape[1]
        if n_columns != 1:
            raise ValueError(
                f"One column of {what}s is needed. Got a table with {n_columns} columns; name those to use: "
                "TextClassifier(text=..., numbers=..., categories=...)."
            )
        if hasattr(given, "column_names"):  # Arrow
            given = given.column(0)
        else:
            given = given[given.columns[0]] if hasattr(given, "columns") else given.ravel()
    for method in ("to_list", "tolist", "to_pylist"):
        if hasattr(given, method):
            return list(getattr(given, method)())
    return list(given)
