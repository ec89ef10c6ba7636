"""Rows of named columns: which of them are the label and the texts, and the samples that they become.

Whatever the format of a table, it is read as :class:`Cells`, some rows at a time, of the columns that are wanted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from codekin._system.messages import shortened, suggestion
from codekin.data.columns import vectors_of
from codekin.data.datasets import USES, DataError, TableColumns
from codekin.data.options import FROM_FILE, ReadOptions, is_vector_file
from codekin.data.parsed_rows import Cell, LabelColumn, TextRows

if TYPE_CHECKING:
    from codekin.data.npz import VectorFile

LABEL_NAMES = frozenset(["label", "labels", "category", "class", "target", "intent", "topic", "genre", "y"])
"""Names of columns that are taken for labels if there is one of them."""
TEXT_NAMES = frozenset(
    (
        *("text", "texts", "title", "description", "body", "content", "sentence", "question", "utterance", "query"),
        *("summary", "abstract", "subject", "message", "comment", "review", "document", "headline"),
    )
)
"""Names of columns that are taken for texts if there is one of them."""
MANY_CHARACTERS = 100
"""Names of columns are shorter."""


@dataclass(frozen=True)
class Header:
    """The columns of a table before any of them is chosen, and what its first rows look like."""

    source: str
    names: tuple[str, ...]
    rows: Sequence[Sequence[Any]] = ()
    has_header: bool = True
    may_be_data: bool = False  # the first row might be no header

    def chosen(self, options: ReadOptions) -> TableColumns:
        """The columns to read: as the options say, as those of a model, or by their names."""
        then, needs_label = options.trained_on or TableColumns(()), options.labels != "none"
        has_file = bool(options.embeddings) and is_vector_file(options.embeddings)
        without_text = options.text == ("none",) and "none" not in self.names
        chosen_by_model = options.trained_on is not None and not then.text
        left_out = {"embeddings"} if has_file else set()
        left_out |= {"text"} if without_text or (chosen_by_model and not options.text) else set()
        text, numbers, categories, embeddings = (
            ()
            if use in left_out
            else tuple(map(self._column, getattr(options, use))) or tuple(map(self._known, getattr(then, use)))
            for use in USES
        )
        label = None if options.label is None else self._column(options.label)
        if label is None and needs_label and then.label is not None:
            label = self._known(then.label)
        others = (*numbers, *categories, *embeddings)
        if label is None and needs_label:
            label = self._found(LABEL_NAMES, "label", (*others, *text))
        if not text and "text" not in left_out:
            taken = (*others, *(() if label is None else (label,)))
            usual = [name for name in self.names if TEXT_NAMES & {name.lower(), name.rpartition(".")[0].lower()}]
            if usual or not (has_file or embeddings):
                text = (self._found(TEXT_NAMES, "text", taken),)
        if not (text or has_file or embeddings):
            raise DataError(
                self.source, "samples need texts, or vectors (--embeddings). Got --text none without vectors."
            )
        kept = self.names if options.keep == ("*",) else tuple(dict.fromkeys(map(self._column, options.keep)))
        chosen = TableColumns(
            text, label if needs_label else None, numbers, categories, self.has_header, kept, embeddings
        )
        twice = [name for name, n in Counter(chosen.names).items() if n > 1]
        if twice:
            raise DataError(self.source, f"the column {twice[0]!r} is chosen twice; every column has one use.")
        given = [name for name in (*options.text, options.label) if name is not None]
        if given and not any(name in self.names for name in given) and self._looks_like_data:
            raise self._no_header()
        return chosen

    def _column(self, given: str) -> str:
        """The name of a column that is given by name or number."""
        if given in self.names:
            return given
        if given.isdecimal() and 1 <= int(given[:9]) <= len(self.names):
            return self.names[int(given) - 1]
        return self._known(given, "")

    def _known(self, name: str, which: str = " that the model was trained on") -> str:
        """The column of a name, or the only one whose name differs in nothing but capitals and blanks."""
        alike = [own for own in self.names if "".join(own.lower().split()) == "".join(name.lower().split())]
        if name in self.names or len(alike) == 1:
            return name if name in self.names else alike[0]
        if self._looks_like_data:
            raise self._no_header()
        n_twins = sum(own.rpartition(".")[0] == name for own in self.names)
        twins = f": {n_twins} columns are called so and got numbers" if n_twins > 1 else ""
        hint = "" if twins else suggestion(name, self.names)
        if name == FROM_FILE and not hint:
            hint = " --embeddings takes a file of vectors or the name of a column."
        raise DataError(
            self.source, f"there is no column {name!r}{which}{twins}. Its columns are {self._listed}.{hint}"
        )

    def _found(self, usual: frozenset[str], what: str, taken: tuple[str, ...]) -> str:
        """The only column with a usual name, or the only one that is left."""
        left = [name for name in self.names if name not in taken]
        found = [name for name in left if name.lower() in usual]
        found = found or [name for name in left if name.rpartition(".")[0].lower() in usual]
        if not found and len(self.names) <= 2 and len(left) == 1 and not self._looks_like_data:
            found = left
        if len(found) == 1:
            return found[0]
        if self._looks_like_data:
            raise self._no_header()
        why = f"{' and '.join(map(repr, found))} could be the {what}" if found else f"no column is called {what}"
        raise DataError(self.source, f"{why}. Its columns are {self._listed}. Choose with {self._example(self.names)}.")

    @property
    def _listed(self) -> str:
        names = [repr(shortened(name)) for name in self.names]
        return ", ".join(names if len(names) <= 20 else [*names[:20], f"and {len(names) - 20} others"])

    def _example(self, names: Sequence[str]) -> str:
        """Options that choose a label, a column whose values occur often, and a text, the longest one."""
        if len(names) < 2:
            return f"--text {_quoted(names[0])}" if names else "--label COLUMN --text COLUMN"
        columns = [
            [str(row[k]) for row in self.rows if k < len(row) and row[k] and not isinstance(row[k], list)]
            for k in range(len(names))
        ]
        lengths = [sum(len(cell) for cell in column if not _is_number(cell)) for column in columns]
        text = max(range(len(names)), key=lambda k: lengths[k])
        label = min(
            (k for k in range(len(names)) if k != text),
            key=lambda k: (names[k].lower() not in LABEL_NAMES, len(set(columns[k])) - len(columns[k]), -lengths[k]),
        )
        return f"--label {_quoted(names[label])} --text {_quoted(names[text])}"

    @property
    def _looks_like_data(self) -> bool:
        if not self.may_be_data or not self.has_header:
            return False
        columns = [{row[k] for row in self.rows if k < len(row)} for k in range(len(self.names))]
        return any(
            _is_number(name) or len(name) > MANY_CHARACTERS or name in column
            for name, column in zip(self.names, columns, strict=True)
        )

    def _no_header(self) -> DataError:
        first = ", ".join(repr(shortened(name, 20)) for name in self.names[:3])
        numbered = [str(k + 1) for k in range(len(self.names))]
        return DataError(
            self.source,
            f"the first row ({first}) looks like data, not like names of columns. If there is no header, use "
            f"--no-header {self._example(numbered)}; if it is one, --header.",
        )


def _quoted(name: str) -> str:
    import shlex

    return shlex.quote(name) if name.isprintable() else repr(name)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def unique_names(names: Sequence[str], source: str) -> tuple[str, ...]:
    """Names of columns: those that occur twice get a number, and those without a name their position."""
    given = [" ".join(str(name).split()) or str(k + 1) for k, name in enumerate(names)]
    counts, so_far = Counter(given), Counter[str]()
    unique = []
    for name in given:
        so_far[name] += 1
        unique.append(name if counts[name] == 1 else f"{name}.{so_far[name]}")
    if len(set(unique)) < len(unique):
        twice = next(name for name, n in Counter(unique).items() if n > 1)
        raise DataError(source, f"several columns are called {twice!r}; every column needs a name of its own.")
    return tuple(unique)


@dataclass(frozen=True)
class Cells:
    """Some rows of a table: the wanted columns, and the line or row that each is from."""

    source: str
    columns: Mapping[str, Sequence[Any]]
    places: Sequence[int]
    are_lines: bool = True

    def error(self, row: int, reason: str) -> DataError:
        """An error in a row."""
        if self.are_lines:
            return DataError(self.source, reason, line=self.places[row])
        return DataError(self.source, f"row {self.places[row]}: {reason}")

    def of_column(self, name: str) -> Callable[[int, str], DataError]:
        """The errors of a column's rows; the reason goes on from the name of the column."""
        return lambda row, reason: self.error(row, f"column {name!r} {reason}")


def table_rows(
    parts: Iterator[Cells], table: TableColumns, labels: LabelColumn, file: VectorFile | None = None
) -> Iterator[TextRows]:
    """The samples of a table, with the vectors of a file. The texts of several columns are joined by blanks."""
    n_dims: dict[str, int] = {}
    for cells in parts:
        columns = {name: _texts(cells, name) for name in (*table.text, *table.categories, *table.kept)}
        numbers = {name: _numbers(cells, name) for name in table.numbers}
        vectors = {} if file is None else {FROM_FILE: file.next(len(cells.places))}
        for name in table.embeddings:
            vectors[name] = vectors_of(cells.columns[name], cells.of_column(name), n_dims.get(name))
            n_dims[name] = vectors[name].shape[1]
        texts = columns[table.text[0]] if table.text else [""] * len(cells.places)
        if len(table.text) > 1:
            of_rows = zip(*(columns[name] for name in table.text), strict=True)
            texts = [" ".join(filter(None, row)) for row in of_rows]
        of_rows_labels, is_dropped = None, None
        if table.label is not None:
            of_rows_labels, is_dropped = labels.of_cells(_labels(cells, table.label), cells.error)
        yield TextRows(texts, of_rows_labels, columns, numbers, vectors).without(is_dropped)


def _labels(cells: Cells, name: str) -> list[Cell]:
    return [
        tuple(_text(part, cells, row, name).strip() for part in cell)
        if isinstance(cell, list)
        else cell.strip()
        if isinstance(cell, str)
        else _text(cell, cells, row, name)
        for row, cell in enumerate(cells.columns[name])
    ]


def _texts(cells: Cells, name: str) -> list[str]:
    column = cells.columns[name]
    return [cell if isinstance(cell, str) else _text(cell, cells, row, name) for row, cell in enumerate(column)]


def _text(cell: Any, cells: Cells, row: int, name: str) -> str:
    """A cell as text: nothing for null and NaN, and as JSON spells numbers and truth values."""
    if isinstance(cell, str):
        return cell
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, list | dict | tuple | bytes):
        kind = "bytes" if isinstance(cell, bytes) else "several values"
        raise cells.error(row, f"column {name!r} has {kind} ({shortened(repr(cell))}) where a text is expected.")
    return str(cell)


def _numbers(cells: Cells, name: str) -> list[float]:
    numbers = []
    for row, cell in enumerate(cells.columns[name]):
        text = _text(cell, cells, row, name).strip()
        try:
            number = float(text) if text else math.nan
        except ValueError:
            number = math.inf
        if math.isinf(number):
            raise cells.error(row, f"column {name!r} has {shortened(text)!r} where a number is expected.")
        numbers.append(number)
    return numbers


def columns_to_json(table: TableColumns) -> dict[str, Any]:
    """The columns, as a model's description has them."""
    described = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(table).items()}
    del described["kept"]
    if not table.embeddings:
        del described["embeddings"]
    return described


def columns_from_json(description: Any) -> TableColumns:
    """What :func:`columns_to_json` described; raises ValueError on anything else."""
    lists = USES if isinstance(description, dict) and "embeddings" in description else USES[:3]
    is_right = (
        isinstance(description, dict)
        and set(description) == {"label", "has_header", *lists}
        and all(isinstance(description[name], list) for name in lists)
        and all(isinstance(each, str) for name in lists for each in description[name])
        and isinstance(description["label"], str | None)
        and isinstance(description["has_header"], bool)
        and bool(description["text"] or description.get("embeddings"))
    )
    if not is_right:
        raise ValueError(f"the columns of a table have a label, texts, numbers and categories. Got {description!r}.")
    known: dict[str, Any] = {name: tuple(value) if name in lists else value for name, value in description.items()}
    return TableColumns(**known)
