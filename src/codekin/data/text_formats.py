"""Features in text, one sample per line: svmlight, the extreme classification repository's format, Vowpal Wabbit's.

========  ======================================================
svmlight  ``label index:value index:value ... # comment``
xmc       the same, after a header
vw        ``label weight 'tag|namespace:scale name:value name ...``
========  ======================================================

Names of Vowpal Wabbit's features are hashed as there: MurmurHash3 seeded with the hash of the namespace, numbers as
they are, truncated to ``hash_bits`` bits. If all names are numbers in one namespace, they can be indices instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from codekin._system.messages import shortened
from codekin.code import IntArray
from codekin.data.blocks import LineBlock
from codekin.data.datasets import DataError
from codekin.data.options import ReadOptions
from codekin.data.parsed_rows import LabelColumn, Rows

_FIELD = re.compile(rb"[^\s#]+")
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


def first_field(block: LineBlock, position: int) -> str:
    """The field of a line that begins at a byte, or its first hundred bytes."""
    fields = block.text[position : position + 100].split(maxsplit=1)
    return fields[0].decode(errors="replace") if fields else ""


def svmlight_rows(blocks: Iterator[LineBlock], labels: LabelColumn, features: FeatureNumbers) -> Iterator[Rows]:
    """The rows of an svmlight file, block by block; updates ``features``."""
    for block in blocks:
        yield _labelled(_parsed_svmlight(block, labels, features, is_xmc=False), block, labels)


def xmc_rows(blocks: Iterator[LineBlock], labels: LabelColumn, features: FeatureNumbers) -> Iterator[Rows]:
    """The rows of a file in the extreme classification repository's format, block by block.

    The first line holds the numbers of rows, features and labels. Indices count from 0, and so do labels. A row may
    have any number of labels, even none: it then begins with a space. The header updates ``features``.
    """
    first = next(blocks, None)
    if first is None:
        return
    header, _, rest = first.text.partition(b"\n")
    n_rows, n_features, n_labels = _header(header, first)
    labels.n_promised = n_labels
    features.index_base = 0
    if features.n_features is None:
        features.n_features = n_features
    body = [LineBlock(rest, first.first_line + 1, first.n_lines - 1, first.source)] if rest else []
    n_read = 0
    for block in chain(body, blocks):
        parsed = _parsed_svmlight(block, labels, features, is_xmc=True)
        n_here = min(len(parsed), n_rows - n_read)
        is_filled = (parsed.spans[:, 1] > parsed.spans[:, 0]) | (parsed.n_in_row > 0)
        if is_filled[n_here:].any():
            extra = n_here + int(is_filled[n_here:].argmax())
            raise block.error(int(parsed.spans[extra, 0]), f"the header promises {n_rows} rows, but here is one more.")
        # Blank lines at the end are left out.
        parsed = parsed.first(n_here)
        n_read += n_here
        yield _labelled(parsed, block, labels)
    if n_read < n_rows:
        raise DataError(first.source, f"the header promises {n_rows} rows, but the file has {n_read}.")


def _header(header: bytes, block: LineBlock) -> tuple[int, int, int]:
    numbers = [int(field) for field in header.split() if re.fullmatch(rb"[0-9]{1,18}", field)]
    if len(numbers) != 3 or len(header.split()) != 3:
        shown = shortened(header.decode(errors="replace").strip())
        raise block.error(0, f"the header must be three numbers, of rows, features and labels. Got {shown!r} instead.")
    n_rows, n_features, n_labels = numbers
    if not 1 <= n_features <= MAX_FEATURES:
        raise block.error(0, f"the number of features must be from 1 to {MAX_FEATURES}. Got {n_features} instead.")
    return n_rows, n_features, n_labels


@dataclass(frozen=True, eq=False)
class _Parsed:
    """What the kernel found in one block."""

    indices: NDArray[np.int32]
    values: NDArray[np.float32]
    n_in_row: IntArray
    spans: IntArray
    integers: NDArray[np.int64]
    n_odd_labels: int

    def __len__(self) -> int:
        return len(self.n_in_row)

    def first(self, n_rows: int) -> _Parsed:
        """The first rows, where those after them are blank."""
        n_odd_labels = self.n_odd_labels - (len(self) - n_rows)
        parts = self.n_in_row[:n_rows], self.spans[:n_rows], self.integers[:n_rows]
        return replace(self, n_in_row=parts[0], spans=parts[1], integers=parts[2], n_odd_labels=n_odd_labels)


def _parsed_svmlight(block: LineBlock, labels: LabelColumn, features: FeatureNumbers, *, is_xmc: bool) -> _Parsed:
    from codekin.kernels import parse  # Numba is imported only when it is needed

    n_lines, n_pairs = block.n_lines, block.text.count(b":")
    options = features.options
    indices, values = np.empty(n_pairs, np.int32), np.empty(n_pairs, np.float32)
    row_end, integers = np.empty(n_lines, np.int64), np.empty(n_lines, np.int64)
    spans, doubtful = np.empty((n_lines, 2), np.int64), np.empty((n_pairs, 2), np.int64)
    drops_unknown, must_increase = options.unknown_features == "drop", options.feature_order == "increasing"
    rules = *features.allowed_range(), drops_unknown, must_increase, is_xmc or labels.may_miss, is_xmc
    filled = indices, values, row_end, spans, integers, doubtful
    text = np.frombuffer(block.text, np.uint8)
    n_rows, n_values, n_doubtful, n_odd_labels, error, position = parse.parse_svmlight(text, *rules, *filled)
    if error:
        raise block.error(position, _svmlight_reason(error, block, position, features))
    for number, start in doubtful[:n_doubtful].tolist():
        field = _FIELD.match(block.text, start)
        assert field is not None
        values[number] = float(field[0])
    n_in_row = np.diff(row_end[:n_rows], prepend=0)
    parsed = _Parsed(indices[:n_values], values[:n_values], n_in_row, spans[:n_rows], integers[:n_rows], n_odd_labels)
    if options.feature_order == "any":
        parsed = _sorted(parsed, block)
    features.note(parsed.indices, parsed.n_in_row, block, parsed.spans[:, 0])
    return parsed


def _sorted(parsed: _Parsed, block: LineBlock) -> _Parsed:
    row = np.repeat(np.arange(len(parsed)), parsed.n_in_row)
    order = np.lexsort((parsed.indices, row))
    indices = parsed.indices[order]
    is_twice = (indices[1:] == indices[:-1]) & (row[1:] == row[:-1])
    if is_twice.any():
        twin = int(is_twice.argmax())
        raise block.error(int(parsed.spans[row[twin], 0]), f"feature index {indices[twin]} occurs twice in this line.")
    return replace(parsed, indices=indices, values=parsed.values[order])


def _labelled(parsed: _Parsed, block: LineBlock, labels: LabelColumn) -> Rows:
    of_rows, is_dropped = labels.of_spans(block, parsed.spans, parsed.integers, parsed.n_odd_labels)
    return Rows(parsed.indices, parsed.values, parsed.n_in_row, of_rows).without(is_dropped)


def _svmlight_reason(error: int, block: LineBlock, position: int, features: FeatureNumbers) -> str:
    from codekin.kernels import parse  # Numba is imported only when it is needed

    field = first_field(block, position)
    index, colon, value = field.partition(":")
    if error == parse.INDEX_NOT_AN_INTEGER and not colon:
        error = parse.COLON_MISSING
    if error == parse.INDEX_NOT_INCREASING:
        line_start = block.text.rfind(b"\n", 0, position) + 1
        before = block.text[line_start:position].split()[-1].partition(b":")[0].decode()
        return f"feature index {index} after {before}; indices must increase within a line."
    if error == parse.INDEX_TOO_SMALL:
        return f"feature index {index}, but the first feature has index {features.index_base}; index base 0 allows it."
    if error == parse.INDEX_UNKNOWN:
        return features.unknown_reason(int(index))
    return {
        parse.LABEL_MISSING: f"the line begins with the feature {shortened(field)!r}; a label must come first.",
        parse.LABEL_HAS_COLON: f"the label {shortened(field)!r} has a colon in it, so it looks like a feature.",
        parse.INDEX_NOT_AN_INTEGER: f"feature index {shortened(index)!r} is not an integer from 0 to {MAX_FEATURES}.",
        parse.INDEX_TOO_LARGE: f"feature index {shortened(index)} is too large; indices must be below 2**31.",
        parse.COLON_MISSING: f"{shortened(field)!r} is not of the form index:value.",
        parse.VALUE_NOT_A_NUMBER: f"feature {index} has the value {shortened(value)!r}; values must be finite numbers.",
        parse.VALUE_TOO_LARGE: f"feature {index} has the value {shortened(value)}, which is too large for float32.",
        parse.QUERY_ID: f"a query id ({shortened(field)}); they are for ranking and mean nothing to a classifier.",
    }[error]


DEFAULT_HASH_BITS = 20


def vowpal_rows(blocks: Iterator[LineBlock], labels: LabelColumn, features: FeatureNumbers) -> Iterator[Rows]:
    """The rows of a Vowpal Wabbit file, block by block. A feature that occurs twice in a row counts twice.

    The first block decides whether names are indices unless that is given.
    """
    features.index_base = 0
    given_bits = features.options.hash_bits
    if given_bits:
        _use_hashing(features, given_bits)
    namespace = -1
    for number, block in enumerate(blocks):
        may_hash = number == 0 and given_bits is None
        rows, namespace = _parsed_vowpal(block, labels, features, namespace, may_hash=may_hash)
        yield rows


def _use_hashing(features: FeatureNumbers, n_bits: int | None) -> None:
    n_features = features.n_features
    if n_features is None:
        features.hash_bits = n_bits or DEFAULT_HASH_BITS
        features.n_features = 2**features.hash_bits
        return
    features.hash_bits = n_bits or n_features.bit_length() - 1
    if 2**features.hash_bits != n_features:
        raise ValueError(
            f"Hashed names need n_features = 2**hash_bits. Got n_features={n_features} and hash_bits={n_bits}."
        )


def _parsed_vowpal(
    block: LineBlock, labels: LabelColumn, features: FeatureNumbers, namespace: int, *, may_hash: bool
) -> tuple[Rows, int]:
    """The rows of a block, and the namespace of its features; ``may_hash`` names that are no indices."""
    from codekin.kernels import parse  # Numba is imported only when it is needed

    text, n_lines = block.text, block.n_lines
    # Every feature begins after a space or a bar.
    n_fields = n_lines + sum(text.count(separator) for separator in (b" ", b"\t", b"\r", b"|"))
    indices, values = np.empty(n_fields, np.int32), np.empty(n_fields, np.float32)
    row_end, integers = np.empty(n_lines, np.int64), np.empty(n_lines, np.int64)
    spans, weights = np.empty((n_lines, 2), np.int64), np.empty(n_lines, np.float32)
    drops_unknown, largest = features.options.unknown_features == "drop", features.allowed_range()[1]
    rules = 2**features.hash_bits - 1, largest, drops_unknown, labels.may_miss, namespace
    filled = indices, values, row_end, spans, integers, weights
    n_rows, n_values, n_odd_labels, namespace, error, position = parse.parse_vowpal(
        np.frombuffer(text, np.uint8), *rules, *filled
    )
    if error == parse.NAME_NOT_AN_INDEX and may_hash:
        _use_hashing(features, None)
        return _parsed_vowpal(block, labels, features, -1, may_hash=False)
    if error:
        raise block.error(position, _vowpal_reason(error, block, position, features))
    indptr = np.concatenate([[0], row_end[:n_rows]])
    width = int(indices[:n_values].max(initial=0)) + 1
    X = csr_array((values[:n_values], indices[:n_values], indptr), shape=(n_rows, width))
    with np.errstate(over="ignore", invalid="ignore"):
        X.sum_duplicates()
    is_finite = np.isfinite(X.data)
    if not is_finite.all():
        first = int(is_finite.argmin())
        row = int(np.searchsorted(X.indptr, first, side="right")) - 1
        reason = f"the values of feature {X.indices[first]}, scaled and added up, are too large for float32."
        raise block.error(int(spans[row, 0]), reason)
    of_rows, is_dropped = labels.of_spans(block, spans[:n_rows], integers[:n_rows], n_odd_labels)
    n_in_row = np.diff(X.indptr).astype(np.intp)
    features.note(X.indices, n_in_row, block, spans[:, 0])
    has_weights = bool((weights[:n_rows] != 1).any())
    rows = Rows(X.indices.astype(np.int32), X.data, n_in_row, of_rows, weights[:n_rows] if has_weights else None)
    return rows.without(is_dropped), namespace


def _vowpal_reason(error: int, block: LineBlock, position: int, features: FeatureNumbers) -> str:
    from codekin.kernels import parse  # Numba is imported only when it is needed

    field = first_field(block, position)
    name, _, value = field.partition("|")[0].partition(":")
    what = f"the {'namespace' if field.startswith('|') else 'feature'} {shortened(field)!r}"
    if error == parse.INDEX_UNKNOWN:
        return features.unknown_reason(int(name))
    return {
        parse.LABEL_MISSING: "there is no label before the bar (a word that touches the bar is a tag).",
        parse.LABEL_HAS_COLON: f"the label {shortened(field)!r} has a colon in it; one label per line is expected.",
        parse.BAR_MISSING: "there is no bar '|' between the label and the features.",
        parse.WEIGHT_NOT_A_NUMBER: f"{shortened(field)!r} is neither a weight (a number, not negative) nor a tag.",
        parse.VALUE_NOT_A_NUMBER: f"feature {shortened(name)!r} has the value {shortened(value)!r}; "
        "values must be finite numbers.",
        parse.VALUE_TOO_LARGE: f"feature {shortened(name)!r} has the value {shortened(value)}, "
        "which is too large for float32.",
        parse.INDEX_TOO_LARGE: f"feature index {shortened(name)} is too large; indices must be below 2**31.",
        parse.NAME_EMPTY: f"{shortened(field)!r} is a feature without a name.",
        parse.NAME_NOT_AN_INDEX: f"{what} where features are numbers in one namespace; pass hash_bits=20 to hash their "
        "names.",
    }[error]
