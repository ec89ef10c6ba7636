"""Rows of a table to features: texts beside each other, numbers and categories.

A text has length one, times the weight of its column. A number is its distance from the median of the training samples
in units of twice their interquartile range, cut off at -1 and 1. A category is 1 in a column of its own. All of it is
divided by one constant, so that no row is longer than one.

A missing number counts as the median, and a missing category or one that training has not seen as none: all of these
are zeros. A missing text is an empty one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from codekin.code import FloatArray
from codekin.data.columns import samples_of
from codekin.data.datasets import TableColumns
from codekin.data.recipes import NoFeaturesError, is_number
from codekin.data.vectorizers import FittedVectorizer, TextVectorizer
from codekin.data.vocabulary import CodedWords, decoded_words

Row = tuple[Any, ...]
"""The cells of a sample: its texts, its numbers, its categories, in the order of the columns."""


@dataclass(frozen=True, eq=False, repr=False)
class FittedRows:
    """What makes features of the rows of a table, after fitting.

    Each column of texts has a weight and a vectorizer, each column of numbers its median (``centres``) and twice its
    interquartile range (``scales``), and each column of categories those that are known, sorted.
    """

    columns: TableColumns
    weights: tuple[float, ...]
    texts: tuple[FittedVectorizer, ...]
    centres: FloatArray
    scales: FloatArray
    categories: tuple[tuple[str, ...], ...]

    @classmethod
    def fit(
        cls, vectorizer: TextVectorizer, columns: TableColumns, weights: Sequence[float], rows: Sequence[Row]
    ) -> FittedRows:
        """Learn the vocabularies, the usual range of the numbers and the categories."""
        cells = _by_column(rows, columns)
        texts = []
        for name, own in zip(columns.text, cells, strict=False):
            try:
                texts.append(vectorizer.fit(own))
            except NoFeaturesError as error:
                raise NoFeaturesError(f"Column {name!r}: {error}") from None
        n_texts, n_numbers = len(columns.text), len(columns.numbers)
        ranges = [_range(own) for own in cells[n_texts : n_texts + n_numbers]]
        known = tuple(tuple(sorted({*own} - {""})) for own in cells[n_texts + n_numbers :])
        centres, scales = np.array(ranges, np.float64).reshape(-1, 2).T
        return cls(columns, tuple(map(float, weights)), tuple(texts), centres, scales, known)

    @property
    def vectorizer(self) -> TextVectorizer:
        """The choices for texts, to fit another one like this."""
        return self.texts[0].vectorizer

    @property
    def version(self) -> int:
        """The version of the features of texts."""
        return self.texts[0].version

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self._starts[-1]

    @property
    def rerank_only(self) -> NDArray[np.bool_] | None:
        """Which features only a re-ranking learns from, if there are such."""
        found = np.zeros(self.n_features, bool)
        for start, fitted in zip(self._starts, self.texts, strict=False):
            if fitted.rerank_only is not None:
                found[start : start + fitted.n_features] = fitted.rerank_only
        return found if found.any() else None

    @property
    def described(self) -> str:
        """The name of the recipe, and the columns."""
        return f"{self.texts[0].described} of {', '.join(self.columns.text)}{self.others}"

    @property
    def others(self) -> str:
        """The columns of numbers and categories, in words."""
        uses = {"numbers": self.columns.numbers, "categories": self.columns.categories}
        return "".join(f"; {use} of {', '.join(names)}" for use, names in uses.items() if names)

    @cached_property
    def _starts(self) -> list[int]:
        """The first feature of each text, of the numbers and of each column of categories, and their number."""
        sizes = [fitted.n_features for fitted in self.texts]
        return list(accumulate([*sizes, len(self.centres), *map(len, self.categories)], initial=0))

    @cached_property
    def unit(self) -> float:
        """What a category counts."""
        further = len(self.centres) + len(self.categories)
        return 1 / sqrt(sum(weight * weight for weight in self.weights) + further)

    @cached_property
    def _column_of_category(self) -> list[dict[str, int]]:
        return [{name: k for k, name in enumerate(known)} for known in self.categories]

    def with_trial(self, tried: Mapping[str, float]) -> FittedRows:
        """The same with the recipes that were tried."""
        return replace(self, texts=tuple(fitted.with_trial(tried) for fitted in self.texts))

    def samples(self, given: Any) -> list[Row]:
        """The rows of a data frame, or of a list of objects, as this takes them."""
        return samples_of(given, self.columns)

    def transform(self, rows: Iterable[Any]) -> csr_array:
        """The features of rows: a float32 matrix with int32 indices in increasing order."""
        cells = _by_column(list(rows), self.columns)
        n_rows, n_texts, n_numbers = len(cells[0]), len(self.texts), len(self.centres)
        parts: list[csr_array] = []
        for fitted, weight, own in zip(self.texts, self.weights, cells, strict=False):
            X = fitted.transform(own)
            X.data *= np.float32(weight * self.unit)
            parts.append(X)
        numbers = np.array(cells[n_texts : n_texts + n_numbers], np.float64).reshape(n_numbers, n_rows).T
        scaled = np.clip((numbers - self.centres) / self.scales, -1, 1) * self.unit
        parts.append(csr_array(np.nan_to_num(scaled).astype(np.float32)))
        for known, own in zip(self._column_of_category, cells[n_texts + n_numbers :], strict=True):
            places = np.array([known.get(cell, -1) for cell in own], np.int64)
            indptr = np.concatenate([[0], np.cumsum(places >= 0)])
            places = places[places >= 0]
            values = np.full(len(places), self.unit, np.float32)
            parts.append(csr_array((values, places, indptr), shape=(n_rows, len(known))))
        X = csr_array(hstack(parts, format="csr", dtype=np.float32))
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        return X

    def row(self, row: Any) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The features of one row, and their values; a row of :meth:`transform`."""
        X = self.transform(self.samples([row]) if isinstance(row, Mapping) else [row])
        return X.indices, X.data

    def terms_by_column(self, row: Row) -> dict[int, list[str]]:
        """What the features of a row stand for: the terms of its texts, its numbers and its categories."""
        found: dict[int, list[str]] = {}
        n_texts, n_numbers = len(self.texts), len(self.centres)
        for name, fitted, start, text in zip(self.columns.text, self.texts, self._starts, row, strict=False):
            for column, terms in fitted.terms_by_column(text).items():
                found[start + column] = [f"{name}: {term}" for term in terms]
        start = self._starts[n_texts]
        for k, name in enumerate(self.columns.numbers):
            found[start + k] = [f"{name} = {row[n_texts + k]:g}"]
        of_categories = zip(self.columns.categories, self._column_of_category, row[n_texts + n_numbers :], strict=True)
        for start, (name, known, cell) in zip(self._starts[n_texts + 1 :], of_categories, strict=False):
            if cell in known:
                found[start + known[cell]] = [f"{name} = {cell}"]
        return found

    def within(self, n_bytes: int) -> FittedRows:
        """The same with smaller vocabularies, each by the same share, that fit into this many bytes of a model folder.

        Returns itself if it is small enough.
        """
        sizes = [sum(array.nbytes for array in fitted.to_state()[1].values()) for fitted in self.texts]
        if sum(sizes) <= n_bytes:
            return self
        shares = [n_bytes * size // sum(sizes) for size in sizes]
        smaller = tuple(fitted.within(share) for fitted, share in zip(self.texts, shares, strict=True))
        return replace(self, texts=smaller)

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The state of this object, without the names of its columns: settings for JSON, and arrays."""
        arrays: dict[str, NDArray[Any]] = {}
        settings = []
        for k, fitted in enumerate(self.texts):
            own, of_text = fitted.to_state()
            settings.append(own)
            arrays |= {f"text{k}_{name}": array for name, array in of_text.items()}
        if self.columns.numbers:
            arrays |= {"centres": self.centres, "scales": self.scales}
        for k, known in enumerate(self.categories):
            arrays |= {f"category{k}_{name}": array for name, array in CodedWords(known).arrays().items()}
        return {"weights": list(self.weights), "texts": settings}, arrays

    @classmethod
    def from_state(
        cls, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], columns: TableColumns | None
    ) -> FittedRows:
        """The object that :meth:`to_state` described; raises ValueError if it does not fit the columns."""
        if columns is None:
            raise ValueError("Features of rows need the columns of a table; there are none.")
        nothing = np.zeros(0)
        try:
            weights, of_texts = settings["weights"], settings["texts"]
            if not (isinstance(weights, list) and isinstance(of_texts, list)):
                raise TypeError("weights and texts must be lists")
            texts = tuple(
                FittedVectorizer.from_state(own, _with_prefix(arrays, f"text{k}_")) for k, own in enumerate(of_texts)
            )
            centres, scales = (np.asarray(arrays.get(name, nothing), np.float64) for name in ("centres", "scales"))
            n_categories = len(columns.categories)
            categories = tuple(decoded_words(_with_prefix(arrays, f"category{k}_")) for k in range(n_categories))
        except (KeyError, TypeError, UnicodeDecodeError) as error:
            raise ValueError(f"This is not the state of features of rows ({error!r}).") from None
        is_whole = len(weights) == len(texts) == len(columns.text) and centres.shape == scales.shape
        is_whole &= centres.shape == (len(columns.numbers),)
        is_whole &= bool(np.isfinite(centres).all() and np.isfinite(scales).all() and (scales > 0).all())
        is_whole &= all(is_weight(weight) for weight in weights)
        is_whole &= all(len(set(known)) == len(known) for known in categories)
        is_whole &= len(set(columns.names)) == len(columns.names)
        if not is_whole:
            raise ValueError("The features of these rows do not fit their columns: weights, numbers or categories.")
        return cls(columns, tuple(map(float, weights)), texts, centres, scales, categories)


Features = FittedVectorizer | FittedRows
"""What makes features of samples: of texts, or of rows."""


def fitted_features(
    vectorizer: TextVectorizer, columns: TableColumns | None, weights: Mapping[str, float], samples: Sequence[Any]
) -> Features:
    """What makes features of texts, or of rows where there is more than one column, learned from samples."""
    if columns is None or columns.is_one_text:
        return vectorizer.fit(samples)
    return FittedRows.fit(vectorizer, columns, [weights.get(name, 1.0) for name in columns.text], samples)


def is_weight(value: Any) -> bool:
    """Whether a value can be the weight of a column: positive, and neither tiny nor huge."""
    return is_number(value) and 1e-6 <= value <= 1e6


def _by_column(rows: Sequence[Row], columns: TableColumns) -> list[Sequence[Any]]:
    n_columns = len(columns.text) + len(columns.numbers) + len(columns.categories)
    return list(zip(*rows, strict=True)) if rows else [()] * n_columns


def _range(numbers: Sequence[float]) -> tuple[float, float]:
    """The median and twice the interquartile range of numbers; their range where half of them are equal."""
    known = np.array(numbers, np.float64)
    known = known[~np.isnan(known)]
    if not len(known):
        return 0.0, 1.0
    low, centre, high = np.quantile(known, (0.25, 0.5, 0.75))
    scale = 2 * (high - low) or np.abs(known - centre).max()
    is_usable = np.isfinite(scale) and scale > 0
    return float(centre), float(scale) if is_usable else 1.0


def _with_prefix(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
