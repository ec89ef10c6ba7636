"""What people pass as samples: texts in lists, arrays and series; rows of data frames and lists of objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isinf, isnan, nan
from typing import Any

from codekin._system.messages import suggestion
from codekin.data.datasets import TableColumns, TextData


def samples_of(given: Any, columns: TableColumns | None, what: str = "text") -> list[Any]:
    """The texts of a sequence, or the rows of a table as tuples: texts, numbers (NaN if missing) and categories.

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
        used = ", ".join(map(repr, columns.text + columns.numbers + columns.categories))
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
    lengths = [len(own) for own in cells]
    if len(set(lengths)) > 1:
        raise ValueError(f"All columns must have as many values. Got {', '.join(map(str, lengths))}.")
    return cells[0] if columns.is_one_text else list(zip(*cells, strict=True))


def _rows_of(data: TextData, columns: TableColumns | None) -> list[Any]:
    if data.table is None and columns is None:
        return list(data.texts)
    table = data.table or TableColumns(("text",))
    wanted = columns or table
    for use in ("text", "numbers", "categories"):
        needed, there = getattr(wanted, use), getattr(table, use)
        if len(needed) != len(there) or (data.table is not None and needed != there):
            got = "without columns" if data.table is None else f"that was read with {', '.join(there) or 'none'}"
            raise ValueError(
                f"Samples have columns; those of {use} are {', '.join(needed) or 'none'}. Got a file {got}."
            )
    if wanted.is_one_text:
        return list(data.texts)
    used: list[Any] = [data.columns[name] for name in table.text]
    used += [data.numbers[name].tolist() for name in table.numbers]
    used += [[cell.strip() for cell in data.columns[name]] for name in table.categories]
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
