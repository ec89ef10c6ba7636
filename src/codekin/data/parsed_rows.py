"""Parsed rows with their labels and features, on the way from blocks of text to one matrix or to chunks of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from codekin.code import IntArray
from codekin.data.blocks import LineBlock, not_utf8
from codekin.data.datasets import DataError, LabelArray
from codekin.data.options import LabelKind, ReadOptions

RowLabels = NDArray[np.int64] | list[str] | None
Cell = str | tuple[str, ...]
"""A cell of a column of labels: a label, or several."""

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
        return Rows(
            self.indices[features],
            self.values[features],
            self.n_in_row[rows],
            None if self.labels is None else self.labels[rows],
            None if self.weights is None else self.weights[rows],
        )

    def without(self, is_dropped: NDArray[np.bool_]) -> Rows:
        """The rows that are not dropped."""
        is_kept = np.repeat(~is_dropped, self.n_in_row)
        kept = np.flatnonzero(~is_dropped)
        labels = self.labels
        return Rows(
            self.indices[is_kept],
            self.values[is_kept],
            self.n_in_row[kept],
            [labels[i] for i in kept] if isinstance(labels, list) else None if labels is None else labels[kept],
            None if self.weights is None else self.weights[kept],
        )

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

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, rows: slice) -> TextRows:
        return TextRows(
            self.texts[rows],
            None if self.labels is None else self.labels[rows],
            {name: column[rows] for name, column in self.columns.items()},
            {name: column[rows] for name, column in self.numbers.items()},
        )

    def without(self, is_dropped: NDArray[np.bool_] | None) -> TextRows:
        """The rows that are not dropped."""
        if is_dropped is None:
            return self
        kept = np.flatnonzero(~is_dropped).tolist()
        labels = self.labels
        return TextRows(
            [self.texts[i] for i in kept],
            [labels[i] for i in kept] if isinstance(labels, list) else None if labels is None else labels[kept],
            {name: [column[i] for i in kept] for name, column in self.columns.items()},
            {name: [column[i] for i in kept] for name, column in self.numbers.items()},
        )


class LabelColumn:
    """The labels of a file, and what kind they are."""

    def __init__(self, options: ReadOptions) -> None:
        self.kind: LabelKind = options.labels
        self.n_promised: int | None = None  # from a header: labels are numbers below it, separated by commas
        self.policy = options.multilabel
        self.may_miss = options.labels == "none" or options.missing_labels == "drop"
        self.n_rows = self.n_left_out = 0
        self._is_settled = False
        self._has_text = options.labels == "str"

    def settle(self) -> None:
        """Fix the kind of labels, since some rows are handed out."""
        self._is_settled = True

    @property
    def _must_be_integers(self) -> bool:
        return self._are_numbers or (self._is_settled and not self._has_text)

    @property
    def _are_numbers(self) -> bool:
        return self.kind == "int" or self.n_promised is not None

    def of_spans(
        self, block: LineBlock, spans: IntArray, integers: NDArray[np.int64], n_odd: int
    ) -> tuple[RowLabels, NDArray[np.bool_] | None]:
        """The labels at ``spans`` of a block, and which rows to drop, if any."""
        if self.kind == "none":
            return None, None
        self.n_rows += len(spans)
        if n_odd == 0 and not self._has_text:
            if len(integers) and self.n_promised is not None:
                for row in (int(integers.argmin()), int(integers.argmax())):
                    self._check_promise(int(integers[row]), partial(block.error, int(spans[row, 0])))
            return integers, None
        known: dict[bytes, int | str | None] = {}
        labels: list[int | str | None] = []
        for start, stop in spans.tolist():
            field = block.text[start:stop]
            try:
                label = known[field]
            except KeyError:
                label = known[field] = self._read(field, block, start)
            labels.append(label)
        return self._with_dropped(labels)

    def of_cells(
        self, cells: Sequence[Cell], error: Callable[[int, str], DataError]
    ) -> tuple[RowLabels, NDArray[np.bool_] | None]:
        """The labels of some rows of a table, and which rows to drop, if any; ``error`` names a row in errors."""
        known: dict[Cell, int | str | None] = {}
        labels: list[int | str | None] = []
        self.n_rows += len(cells)
        for row, cell in enumerate(cells):
            try:
                label = known[cell]
            except KeyError:
                label = known[cell] = self._label(cell, partial(error, row))
            labels.append(label)
        return self._with_dropped(labels)

    def _with_dropped(self, labels: list[int | str | None]) -> tuple[RowLabels, NDArray[np.bool_] | None]:
        is_dropped = np.array([label is None for label in labels], dtype=bool)
        self.n_left_out += int(is_dropped.sum())
        return self._as_one_kind([0 if label is None else label for label in labels]), (
            is_dropped if is_dropped.any() else None
        )

    def _as_one_kind(self, labels: list[int | str]) -> RowLabels:
        if not self._has_text and all(isinstance(label, int) for label in labels):
            return np.array(labels, dtype=np.int64)
        self._has_text = True
        return [str(label) for label in labels]

    def _read(self, field: bytes, block: LineBlock, position: int) -> int | str | None:
        try:
            text = field.decode()
        except UnicodeDecodeError:
            raise block.error(position, f"the label {field!r} is not UTF-8.") from None
        return self._label(text, partial(block.error, position))

    def _label(self, cell: Cell, error: Callable[[str], DataError]) -> int | str | None:
        """The label of a row, None if the row is dropped."""
        if not any(cell):
            if self.policy == "error" and not self.may_miss:
                raise error("this row has no label; --missing-labels drop leaves such rows out.")
            return None
        if isinstance(cell, str):
            parts = [part for part in re.split(r"[,\s]+", cell) if part]
            are_several = self.n_promised is not None or all(_INTEGER.fullmatch(part) for part in parts)
            text = cell
        else:
            parts, are_several, text = list(cell), True, ", ".join(cell)
        if len(parts) > 1 and are_several:
            if self.policy == "error":
                raise error(
                    f"{len(parts)} labels ({shortened(text)}) where one is expected; "
                    "with the multilabel option, first takes the first, drop leaves such rows out."
                )
            if self.policy == "drop":
                return None
            text = parts[0]
        if self._are_numbers:
            return self._number(text, error)
        if self.kind == "str" or _PLAIN_INTEGER.fullmatch(text) is None:
            if self._must_be_integers:
                rule = "comes after plain integers (7, -1) only; pass labels='str'."
                raise error(f"the label {shortened(text)!r} {rule}")
            return text
        return int(text)

    def _number(self, text: str, error: Callable[[str], DataError]) -> int | str:
        integer = _INTEGER.fullmatch(text)
        if integer is None:
            raise error(f"the label {shortened(text)!r} is not an integer of up to 18 digits.")
        self._check_promise(int(integer[1]), error)
        return text if self.kind == "str" else int(integer[1])

    def _check_promise(self, label: int, error: Callable[[str], DataError]) -> None:
        if self.n_promised is not None and not 0 <= label < self.n_promised:
            raise error(f"label {label}, but the header promises {self.n_promised} labels, numbered from 0.")


def text_rows(blocks: Iterator[LineBlock], labels: LabelColumn) -> Iterator[TextRows]:
    """The texts of a file, block by block. Further tabs belong to the text.

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
        yield TextRows(texts, of_rows).without(is_dropped)


def shortened(text: str, limit: int = 40) -> str:
    """A piece of a file, short enough for an error message."""
    return text if len(text) <= limit else f"{text[:limit]}..."


def first_field(block: LineBlock, position: int) -> str:
    """The field of a line that begins at a byte, or its first hundred bytes."""
    fields = block.text[position : position + 100].split(maxsplit=1)
    return fields[0].decode(errors="replace") if fields else ""


MAX_FEATURES = 2**31 - 1


@dataclass
class FeatureNumbers:
    """What is known so far about a file's features; ``n_features`` is what the user gave."""

    options: ReadOptions
    n_features: int | None = None
    index_base: int | None = None
    hash_bits: int = 0
    _has_zero: bool = False
    _largest: int = -1
    _line_of_largest: int = 0

    def __post_init__(self) -> None:
        if self.options.index_base != "auto":
            self.index_base = self.options.index_base
        if self.n_features is not None and not 1 <= self.n_features <= MAX_FEATURES:
            raise ValueError(f"'n_features' must be from 1 to {MAX_FEATURES}. Got {self.n_features} instead.")

    def allowed_range(self) -> tuple[int, int]:
        """The smallest and the largest index that may occur."""
        smallest = 0 if self.index_base is None else self.index_base
        if self.n_features is None:
            return smallest, MAX_FEATURES
        # While the base is unknown it may still turn out to be 1.
        return smallest, self.n_features - 1 + (1 if self.index_base is None else self.index_base)

    def note(self, indices: NDArray[np.int32], n_in_row: IntArray, block: LineBlock, row_starts: IntArray) -> None:
        """Update with the indices of a block."""
        if not len(indices):
            return
        self._has_zero = self._has_zero or int(indices.min()) == 0
        position = int(indices.argmax())
        if int(indices[position]) > self._largest:
            self._largest = int(indices[position])
            row = int(np.searchsorted(np.cumsum(n_in_row), position, side="right"))
            self._line_of_largest = block.line_at(int(row_starts[row]))

    def settled(self, source: str) -> tuple[int, int]:
        """The index base, fixed from now on, and the number of features."""
        if self.index_base is None:
            self.index_base = 0 if self._has_zero else 1
            if self.n_features is not None and self._largest - self.index_base >= self.n_features:
                raise DataError(source, self.unknown_reason(self._largest), line=self._line_of_largest)
        n_seen = max(self._largest - self.index_base + 1, 1)
        if n_seen > MAX_FEATURES:
            reason = f"feature index {self._largest} is too large; there may be up to {MAX_FEATURES} features."
            raise DataError(source, reason, line=self._line_of_largest)
        return self.index_base, n_seen if self.n_features is None else self.n_features

    def unknown_reason(self, index: int) -> str:
        """Why an index is too large."""
        base = self.index_base or 0
        return (
            f"feature index {index}, but there are {self.n_features} features, numbered from {base} "
            f"to {(self.n_features or 0) - 1 + base}."
        )

    @property
    def encoding(self) -> dict[str, int]:
        """How features are numbered, for reading another file in the same way."""
        return {"index_base": self.index_base or 0, "hash_bits": self.hash_bits}


# A single long label would otherwise set the width of all.
_MAX_LABEL_CHARACTERS = 1 << 27


def classes_of(labels: Sequence[RowLabels], source: str) -> tuple[IntArray | None, LabelArray | None]:
    """The distinct labels of all blocks in sorted order, and each row's index among them."""
    if any(part is None for part in labels):
        return None, None
    if all(isinstance(part, np.ndarray) for part in labels):
        return _integer_classes(np.concatenate([np.asarray(part) for part in labels]))
    # If the first labels only look like integers: each has one canonical spelling, the one it had.
    spelled = [map(str, part.tolist()) if isinstance(part, np.ndarray) else part or [] for part in labels]
    number: dict[str, int] = {}
    first_seen = np.array([number.setdefault(label, len(number)) for part in spelled for label in part], dtype=np.intp)
    rank, names = sorted_classes(number, source)
    return rank[first_seen], names


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


def _integer_classes(labels: NDArray[np.int64]) -> tuple[IntArray, NDArray[np.int64]]:
    smallest, largest = int(labels.min()), int(labels.max())
    if largest - smallest > 10 * len(labels):
        classes, class_index = np.unique(labels, return_inverse=True)
        return class_index.astype(np.intp), classes
    # Labels that are close together need no sorting.
    is_there = np.zeros(largest - smallest + 1, dtype=bool)
    is_there[labels - smallest] = True
    rank = np.cumsum(is_there) - 1
    return rank[labels - smallest], np.flatnonzero(is_there) + smallest
