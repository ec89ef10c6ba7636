"""Parsed rows on their way from blocks of text to one matrix, or to chunks of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from codekin.coding import IntArray
from codekin.datasets.blocks import LineBlock
from codekin.datasets.options import LabelKind, ReadOptions
from codekin.datasets.samples import DataError, LabelArray

RowLabels = NDArray[np.int64] | list[str] | None

# As in the kernel: the canonical spelling of an integer, so that it can be restored from the integer.
_PLAIN_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
# If labels are declared to be integers: also +1 and 3.0, but 007 is a code.
_INTEGER = re.compile(r"([+-]?(?:0|[1-9][0-9]{0,17}))(?:\.0*)?")
# A single long label would otherwise set the width of all.
_MAX_LABEL_CHARACTERS = 1 << 27


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
    """Some texts and their labels."""

    texts: list[str]
    labels: RowLabels

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, rows: slice) -> TextRows:
        return TextRows(self.texts[rows], None if self.labels is None else self.labels[rows])


class LabelColumn:
    """The labels of a file, and what kind they are."""

    def __init__(self, options: ReadOptions) -> None:
        self.kind: LabelKind = options.labels
        self.n_promised: int | None = None  # from a header: labels are numbers below it, separated by commas
        self._policy = options.multilabel
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
        if n_odd == 0 and not self._has_text:
            if len(integers) and self.n_promised is not None:
                for row in (int(integers.argmin()), int(integers.argmax())):
                    self._check_promise(int(integers[row]), block, int(spans[row, 0]))
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
        is_dropped = np.array([label is None for label in labels], dtype=bool)
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
        if not text:
            if self._policy == "error":
                raise block.error(position, "this row has no label.")
            return None
        parts = [part for part in re.split(r"[,\s]+", text) if part]
        if len(parts) > 1 and (self.n_promised is not None or all(_INTEGER.fullmatch(part) for part in parts)):
            if self._policy == "error":
                raise block.error(
                    position,
                    f"{len(parts)} labels ({shortened(text)}) where one is expected; "
                    "with the multilabel option, first takes the first, drop leaves such rows out.",
                )
            if self._policy == "drop":
                return None
            text = parts[0]
        if self._are_numbers:
            return self._number(text, block, position)
        if self.kind == "str" or _PLAIN_INTEGER.fullmatch(text) is None:
            if self._must_be_integers:
                rule = "comes after plain integers (7, -1) only; pass labels='str'."
                raise block.error(position, f"the label {shortened(text)!r} {rule}")
            return text
        return int(text)

    def _number(self, text: str, block: LineBlock, position: int) -> int | str:
        integer = _INTEGER.fullmatch(text)
        if integer is None:
            raise block.error(position, f"the label {shortened(text)!r} is not an integer of up to 18 digits.")
        self._check_promise(int(integer[1]), block, position)
        return text if self.kind == "str" else int(integer[1])

    def _check_promise(self, label: int, block: LineBlock, position: int) -> None:
        if self.n_promised is not None and not 0 <= label < self.n_promised:
            reason = f"label {label}, but the header promises {self.n_promised} labels, numbered from 0."
            raise block.error(position, reason)


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


def shortened(text: str, limit: int = 40) -> str:
    """A piece of a file, short enough for an error message."""
    return text if len(text) <= limit else f"{text[:limit]}..."


def first_field(block: LineBlock, position: int) -> str:
    """The field of a line that begins at a byte, or its first hundred bytes."""
    fields = block.text[position : position + 100].split(maxsplit=1)
    return fields[0].decode(errors="replace") if fields else ""
