"""Parsed rows with their labels and features, on the way from blocks of text to one matrix or to chunks of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from codekin._system.messages import shortened
from codekin.code import IntArray
from codekin.data.blocks import LineBlock, not_utf8
from codekin.data.columns import Vectors
from codekin.data.datasets import Data, DataError, LabelArray, SparseData, TableColumns, TextData
from codekin.data.options import FROM_FILE, LabelKind, MultilabelPolicy
from codekin.progress import report
from codekin.samples import as_indicator

if TYPE_CHECKING:
    from codekin.data.npz import VectorFile
    from codekin.data.text_formats import FeatureNumbers

Cell = str | tuple[str, ...]
"""A cell of a column of labels: a label, or several."""
RowLabels = NDArray[np.int64] | list[str] | list[tuple[int | str, ...]] | None
"""One label per row, or a tuple of any number of them."""
# A single long label would otherwise set the width of all.
_MAX_LABEL_CHARACTERS = 1 << 27

# As in the kernel: the canonical spelling of an integer, so that it can be restored from the integer.
_PLAIN_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
# If labels are declared to be integers: also +1 and 3.0, but 007 is a code.
_INTEGER = re.compile(r"([+-]?(?:0|[1-9][0-9]{0,17}))(?:\.0*)?")


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a sparse matrix, with indices as the file has them."""

    indices: NDArray[np.int32]
    values: NDArray[np.float32]
    n_in_row: IntArray
    labels: RowLabels
    weights: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.n_in_row)

    @cached_property
    def _ends(self) -> IntArray:
        return np.concatenate([[0], np.cumsum(self.n_in_row)])

    def __getitem__(self, rows: slice) -> Rows:
        start, stop, _ = rows.indices(len(self))
        features = slice(int(self._ends[start]), int(self._ends[stop]))
        return self._picked(features, rows)

    def without(self, is_dropped: NDArray[np.bool_] | None) -> Rows:
        """The rows that are not dropped."""
        if is_dropped is None:
            return self
        kept = np.flatnonzero(~is_dropped)
        return self._picked(np.repeat(~is_dropped, self.n_in_row), kept)

    def _picked(self, features: Any, rows: Any) -> Rows:
        weights = None if self.weights is None else self.weights[rows]
        labels = _labels_at(self.labels, rows)
        return Rows(self.indices[features], self.values[features], self.n_in_row[rows], labels, weights)

    def matrix(self, n_features: int, index_base: int) -> csr_array:
        """The rows as a matrix."""
        n_values = len(self.indices)
        # One type for both, as SciPy requires.
        index_type = np.dtype(np.int32 if n_values <= np.iinfo(np.int32).max else np.int64)
        indptr = self._ends.astype(index_type)
        indices = (self.indices - np.int32(index_base)).astype(index_type, copy=False)
        X = csr_array((self.values, indices, indptr), shape=(len(self), n_features))
        X.has_sorted_indices = True
        X.has_canonical_format = True
        return X


@dataclass(frozen=True, eq=False)
class TextRows:
    """Some texts and their labels, and the columns of a table that they are from."""

    texts: list[str]
    labels: RowLabels
    columns: Mapping[str, list[str]] = field(default_factory=dict)
    numbers: Mapping[str, list[float]] = field(default_factory=dict)
    vectors: Mapping[str, Vectors] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, rows: slice) -> TextRows:
        return self._picked(itemgetter(rows), rows)

    def without(self, is_dropped: NDArray[np.bool_] | None) -> TextRows:
        """The rows that are not dropped."""
        if is_dropped is None:
            return self
        kept = np.flatnonzero(~is_dropped)
        return self._picked(lambda column: [column[i] for i in kept], kept)

    def _picked(self, pick: Callable[[list[Any]], list[Any]], rows: Any) -> TextRows:
        columns, numbers = (
            {name: pick(column) for name, column in own.items()} for own in (self.columns, self.numbers)
        )
        vectors = {name: own[rows] for name, own in self.vectors.items()}
        return TextRows(pick(self.texts), _labels_at(self.labels, rows), columns, numbers, vectors)


def _labels_at(labels: RowLabels, rows: Any) -> RowLabels:
    is_picked = isinstance(labels, list) and not isinstance(rows, slice)
    return None if labels is None else [labels[i] for i in rows] if is_picked else labels[rows]


@dataclass
class LabelColumn:
    """The labels of a file, and what kind they are; the kind is settled when some rows are handed out.

    ``n_promised`` is from a header: labels are numbers below it, separated by commas. With the policy "all", rows have
    tuples of labels, and those without labels are kept if ``keeps_missing``.
    """

    kind: LabelKind
    policy: MultilabelPolicy
    has_text: bool
    may_miss: bool
    keeps_missing: bool = False
    separator: str | None = None
    n_promised: int | None = None
    is_settled: bool = False
    n_rows: int = 0
    n_left_out: int = 0

    def of_spans(
        self, block: LineBlock, spans: IntArray, integers: NDArray[np.int64], n_odd: int
    ) -> tuple[RowLabels, NDArray[np.bool_] | None]:
        """The labels at ``spans`` of a block, and which rows to drop, if any."""
        if self.kind == "none":
            return None, None
        if n_odd == 0 and not self.has_text and self.policy != "all":
            self.n_rows += len(spans)
            if len(integers) and self.n_promised is not None:
                for row in (int(integers.argmin()), int(integers.argmax())):
                    self._check_promise(int(integers[row]), partial(block.error, int(spans[row, 0])))
            return integers, None
        starts, fields = spans[:, 0].tolist(), [block.text[start:stop] for start, stop in spans.tolist()]

        def read(row: int, field: bytes) -> Any:
            error = partial(block.error, starts[row])
            try:
                return self._label(field.decode(), error)
            except UnicodeDecodeError:
                raise error(f"the label {field!r} is not UTF-8.") from None

        return self._labels(fields, read)

    def of_cells(
        self, cells: Sequence[Cell], error: Callable[[int, str], DataError]
    ) -> tuple[RowLabels, NDArray[np.bool_] | None]:
        """The labels of some rows of a table, and which rows to drop, if any; ``error`` names a row in errors."""
        return self._labels(cells, lambda row, cell: self._label(cell, partial(error, row)))

    def _labels(
        self, cells: Sequence[Any], read: Callable[[int, Any], Any]
    ) -> tuple[RowLabels, NDArray[np.bool_] | None]:
        """The labels as one kind; each cell is read once."""
        known: dict[Any, Any] = {}
        for row, cell in enumerate(cells):
            if cell not in known:
                known[cell] = read(row, cell)
        has_sets = self.policy == "all"
        every = [label for own in known.values() for label in own or ()] if has_sets else known.values()
        self.has_text = self.has_text or any(isinstance(label, str) for label in every)
        labels = [known[cell] for cell in cells]
        is_dropped = np.array([label is None for label in labels]) if None in known.values() else None
        self.n_rows += len(cells)
        self.n_left_out += labels.count(None)
        if has_sets:
            return labels, is_dropped
        return [str(label) for label in labels] if self.has_text else np.array(
            [label or 0 for label in labels], np.int64
        ), is_dropped

    def _label(self, cell: Cell, error: Callable[[str], DataError]) -> Any:
        """The label of a row, or all its labels as a tuple; None if the row is dropped."""
        if not any(cell):
            if self.policy == "error" and not self.may_miss:
                raise error("this row has no label; --missing-labels drop leaves such rows out.")
            return () if self.policy == "all" and self.keeps_missing else None
        text, are_several = cell if isinstance(cell, str) else ", ".join(cell), True
        if not isinstance(cell, str):
            parts = [part for part in cell if part]
        elif self.separator is not None:
            parts = [part for each in cell.split(self.separator) if (part := each.strip())]
        else:
            parts = [part for part in re.split(r"[,\s]+", cell) if part]
            are_several = self.n_promised is not None or all(_INTEGER.fullmatch(part) for part in parts)
        if self.policy == "all":
            return tuple(self._one(part, error) for part in (dict.fromkeys(parts) if are_several else (text,)))
        if len(parts) > 1 and are_several:
            if self.policy == "error":
                raise error(
                    f"{len(parts)} labels ({shortened(text)}) where one is expected; "
                    "with the multilabel option, all reads them all, first takes the first, drop leaves such rows out."
                )
            if self.policy == "drop":
                return None
            text = parts[0]
        return self._one(text, error)

    def _one(self, text: str, error: Callable[[str], DataError]) -> int | str:
        """A label from its spelling."""
        if self.kind == "int" or self.n_promised is not None:
            integer = _INTEGER.fullmatch(text)
            if integer is None:
                raise error(f"the label {shortened(text)!r} is not an integer of up to 18 digits.")
            self._check_promise(int(integer[1]), error)
            return text if self.kind == "str" else int(integer[1])
        if self.kind == "str" or _PLAIN_INTEGER.fullmatch(text) is None:
            if self.is_settled and not self.has_text:
                rule = "comes after plain integers (7, -1) only; pass labels='str'."
                raise error(f"the label {shortened(text)!r} {rule}")
            return text
        return int(text)

    def _check_promise(self, label: int, error: Callable[[str], DataError]) -> None:
        if self.n_promised is not None and not 0 <= label < self.n_promised:
            raise error(f"label {label}, but the header promises {self.n_promised} labels, numbered from 0.")


def text_rows(
    blocks: Iterator[LineBlock], labels: LabelColumn, vectors: VectorFile | None = None
) -> Iterator[TextRows]:
    """The texts of a file, block by block, perhaps with vectors beside them. Further tabs belong to the text.

    Blank lines are skipped if labels are read. Otherwise they are texts without words, so that predictions match lines,
    and the text of a line is what follows the first tab, or the whole line.
    """
    for block in blocks:
        texts: list[str] = []
        spans: list[tuple[int, int]] = []
        start = 0
        for line in block.text.removesuffix(b"\n").split(b"\n"):
            content = line.rstrip(b"\r")
            if content.strip() or labels.kind == "none":
                tab = content.find(b"\t")
                if tab < 0 and labels.kind != "none":
                    raise block.error(start, "there is no tab between the label and the text.")
                if tab == 0 and not labels.may_miss:
                    reason = "there is no label before the tab; --missing-labels drop leaves such lines out."
                    raise block.error(start, reason)
                try:
                    texts.append(content[tab + 1 :].decode())
                except UnicodeDecodeError as error:
                    position = start + tab + 1 + error.start
                    raise not_utf8(block, position) from None
                spans.append((start, start + max(tab, 0)))
            start += len(line) + 1
        positions = np.array(spans, dtype=np.intp).reshape(-1, 2)
        # Mark all labels as unusual, so that they are parsed one by one.
        of_rows, is_dropped = labels.of_spans(block, positions, np.zeros(0, np.int64), len(texts))
        own = {} if vectors is None else {FROM_FILE: vectors.next(len(texts))}
        yield TextRows(texts, of_rows, vectors=own).without(is_dropped)


@dataclass
class FileContent:
    """What is known of a file that is being read: its name, labels, features and columns; how it is read, in words."""

    name: str
    labels: LabelColumn
    features: FeatureNumbers
    table: TableColumns | None = None
    reading: str = ""

    def report_left_out(self) -> None:
        """Say how many rows were left out for their labels, if any."""
        labels = self.labels
        if labels.n_left_out:
            what = "without a label" if labels.policy != "drop" else "without a label or with several"
            report("", detail=f"{self.name}: left out {labels.n_left_out:,} of {labels.n_rows:,} rows {what}")
            report("")

    def collected(self, some: Sequence[Rows | TextRows]) -> Data:
        """Some parts as one value; what they show about labels and features is fixed from now on."""
        parts: list[Any] = [part for part in some if len(part)]
        if not parts:
            raise DataError(self.name, "there are no samples in it.")
        self.labels.is_settled = True
        labels = classes_of([part.labels for part in parts], self.name)
        if isinstance(parts[0], TextRows):
            return replace(self._texts(parts), **labels)
        index_base, n_features = self.features.settled(self.name)
        indices, values, n_in_row = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("indices", "values", "n_in_row")
        )
        weights = None
        if any(part.weights is not None for part in parts):
            ones = [np.ones(len(part), np.float32) if part.weights is None else part.weights for part in parts]
            weights = np.concatenate(ones)
        X = Rows(indices, values, n_in_row, None).matrix(n_features, index_base)
        return SparseData(X, sample_weight=weights, encoding=self.features.encoding, **labels)

    def _texts(self, parts: Sequence[TextRows]) -> TextData:
        texts, table = tuple(text for part in parts for text in part.texts), self.table
        if table is None:
            return TextData(texts, reading=self.reading)
        # A single column of texts is the texts.
        columns = {
            name: texts if table.text == (name,) else tuple(cell for part in parts for cell in part.columns[name])
            for name in (*table.text, *table.categories, *table.kept)
        }
        numbers = {name: np.array([cell for part in parts for cell in part.numbers[name]]) for name in table.numbers}
        vectors = {name: np.concatenate([part.vectors[name] for part in parts]) for name in table.embeddings}
        return TextData(texts, None, None, table, columns, numbers, self.reading, vectors)


def rechunked(blocks: Iterator[Any], n_rows: int) -> Iterator[tuple[list[Any], float]]:
    """Blocks of any size, cut and collected into lists of ``n_rows`` rows, each with the share of the rows so far."""
    pending: list[Any] = []
    n_pending = n_so_far = n_given = 0
    for block in blocks:
        start, n_so_far = 0, n_so_far + len(block)
        while n_pending + len(block) - start >= n_rows:
            stop, n_given = start + n_rows - n_pending, n_given + n_rows
            yield [*pending, block[start:stop]], n_given / n_so_far
            start, pending, n_pending = stop, [], 0
        if start < len(block):
            pending.append(block[start:])
            n_pending += len(block) - start
    if pending:
        yield pending, 1.0


def classes_of(labels: Sequence[RowLabels], source: str) -> dict[str, Any]:
    """The distinct labels of all blocks in sorted order, and the index or the indicator of each row's."""
    if any(part is None for part in labels):
        return {}
    if all(isinstance(part, np.ndarray) for part in labels):
        return _integer_classes(np.concatenate([np.asarray(part) for part in labels]))
    if any(isinstance(label, tuple) for part in labels for label in part[:1]):  # type: ignore[index]
        return _label_sets([own for part in labels for own in part], source)  # type: ignore[union-attr]
    # If the first labels only look like integers: each has one canonical spelling, the one it had.
    spelled: list[Any] = [map(str, part.tolist()) if isinstance(part, np.ndarray) else part or [] for part in labels]
    number: dict[str, int] = {}
    first_seen = np.array([number.setdefault(label, len(number)) for part in spelled for label in part], dtype=np.intp)
    rank, names = sorted_classes(number, source)
    return {"class_index": rank[first_seen], "classes": names}


def _label_sets(rows: Sequence[Any], source: str) -> dict[str, Any]:
    """The distinct labels of rows with any number of them, and an indicator of those of each row."""
    every = [label for own in rows for label in own]
    if any(isinstance(label, str) for label in every):
        every = list(map(str, every))
    number: dict[Any, int] = {}
    columns = np.array([number.setdefault(label, len(number)) for label in every], dtype=np.intp)
    rank, names = sorted_classes(number, source)
    ends = np.cumsum([0, *map(len, rows)])
    indicator = as_indicator((np.ones(len(every)), rank[columns], ends), (len(rows), len(names)))
    return {"indicator": indicator, "classes": names}


def sorted_classes(number: Mapping[Any, int], source: str) -> tuple[IntArray, LabelArray]:
    """The position of each numbered label in sorted order, and the labels in that order."""
    names = sorted(number)
    rank = np.empty(len(names), dtype=np.intp)
    rank[[number[name] for name in names]] = np.arange(len(names))
    if not names or isinstance(names[0], int):
        return rank, np.array(names, dtype=np.int64)
    width = max(map(len, names))
    if width * len(names) > _MAX_LABEL_CHARACTERS:
        raise DataError(
            source,
            f"{len(names)} distinct labels, one of them {width} characters long, are too much for one array; "
            "give short labels.",
        )
    return rank, np.array(names, dtype=np.str_)


def _integer_classes(labels: NDArray[np.int64]) -> dict[str, Any]:
    smallest, largest = int(labels.min()), int(labels.max())
    if largest - smallest > 10 * len(labels):
        classes, class_index = np.unique(labels, return_inverse=True)
        return {"class_index": class_index.astype(np.intp), "classes": classes}
    # Labels that are close together need no sorting.
    is_there = np.zeros(largest - smallest + 1, dtype=bool)
    is_there[labels - smallest] = True
    rank = np.cumsum(is_there) - 1
    return {"class_index": rank[labels - smallest], "classes": np.flatnonzero(is_there) + smallest}
