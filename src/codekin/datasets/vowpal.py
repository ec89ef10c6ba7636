"""Vowpal Wabbit's multiclass lines: ``label weight 'tag|namespace:scale name:value name ...``.

Names are hashed as in Vowpal Wabbit: MurmurHash3 seeded with the hash of the namespace, numbers as they are, truncated
to ``hash_bits`` bits. If all names are numbers in one namespace, they can be used as indices instead.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array

from codekin.datasets.blocks import LineBlock
from codekin.datasets.features import FeatureNumbers
from codekin.datasets.rows import LabelColumn, Rows, first_field, shortened
from codekin.datasets.samples import DataError

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
        try:
            rows, namespace = _parsed(block, labels, features, namespace)
        except _NamesAreNoIndicesError as error:
            if number or given_bits is not None:
                raise error.as_data_error() from None
            _use_hashing(features, None)
            rows, namespace = _parsed(block, labels, features, -1)
        yield rows


class _NamesAreNoIndicesError(Exception):
    def __init__(self, block: LineBlock, position: int) -> None:
        self._block, self._position = block, position

    def as_data_error(self) -> DataError:
        field = first_field(self._block, self._position)
        what = f"the namespace {shortened(field)!r}" if field.startswith("|") else f"the feature {shortened(field)!r}"
        rule = "where features are numbers in one namespace; pass hash_bits=20 to hash their names."
        return self._block.error(self._position, f"{what} {rule}")


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


def _parsed(block: LineBlock, labels: LabelColumn, features: FeatureNumbers, namespace: int) -> tuple[Rows, int]:
    from codekin.kernels import parse, parse_vowpal  # Numba is imported only when it is needed

    text, n_lines = block.text, block.n_lines
    # Every feature begins after a space or a bar.
    n_fields = n_lines + sum(text.count(separator) for separator in (b" ", b"\t", b"\r", b"|"))
    indices, values = np.empty(n_fields, np.int32), np.empty(n_fields, np.float32)
    row_end, integers = np.empty(n_lines, np.int64), np.empty(n_lines, np.int64)
    spans, weights = np.empty((n_lines, 2), np.int64), np.empty(n_lines, np.float32)
    drops_unknown, largest = features.options.unknown_features == "drop", features.allowed_range()[1]
    rules = 2**features.hash_bits - 1, largest, drops_unknown, labels.kind == "none", namespace
    filled = indices, values, row_end, spans, integers, weights
    n_rows, n_values, n_odd_labels, namespace, error, position = parse_vowpal.parse_vowpal(
        np.frombuffer(text, np.uint8), *rules, *filled
    )
    if error == parse.NAME_NOT_AN_INDEX:
        raise _NamesAreNoIndicesError(block, position)
    if error:
        raise block.error(position, _reason(error, block, position, features))
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
    return rows if is_dropped is None else rows.without(is_dropped), namespace


def _reason(error: int, block: LineBlock, position: int, features: FeatureNumbers) -> str:
    from codekin.kernels import parse  # Numba is imported only when it is needed

    field = first_field(block, position)
    name, _, value = field.partition("|")[0].partition(":")
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
    }[error]
