"""Rows of a table to features: texts beside each other, numbers, categories and vectors such as embeddings.

A text has length one, times the weight of its column, and so has a vector; vectors alone stay as they are. A number is
its distance from the median of the training samples in units of twice their interquartile range, cut off at -1 and 1.
A category is 1 in a column of its own. All of it is divided by one constant, so that no row is longer than one.

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
from codekin.data.recipes import AUTO, CodedWords, NoFeaturesError, decoded_words, is_count, is_number
from codekin.data.vectorizers import FittedVectorizer, TextVectorizer

VECTOR_WEIGHT = 1.0
"""The length of a vector beside that of a text."""
Row = tuple[Any, ...]
"""The cells of a sample: its texts, its numbers, its categories, its vectors, in the order of the columns."""


@dataclass(frozen=True, eq=False, repr=False)
class FittedRows:
    """What makes features of the rows of a table, after fitting.

    Each column of texts has a weight and a vectorizer, each column of numbers its median (``centres``) and twice its
    interquartile range (``scales``), and each column of categories those that are known, sorted. Each column of vectors
    has a weight and the length of its vectors (``n_dims``); beside texts only the re-ranking learns from them, unless
    there is none (``do_vectors_rerank``).
    """

    columns: TableColumns
    weights: tuple[float, ...]
    texts: tuple[FittedVectorizer, ...]
    centres: FloatArray
    scales: FloatArray
    categories: tuple[tuple[str, ...], ...]
    n_dims: tuple[int, ...] = ()
    vector_weights: tuple[float, ...] = ()
    do_vectors_rerank: bool = True

    @classmethod
    def fit(
        cls, vectorizer: TextVectorizer, columns: TableColumns, weights: Mapping[str, float], rows: Sequence[Row]
    ) -> FittedRows:
        """Learn the vocabularies, the usual range of the numbers and the categories."""
        cells = _by_column(rows, columns)
        texts = []
        for name, own in zip(columns.text, cells, strict=False):
            try:
                texts.append(vectorizer.fit(own))
            except NoFeaturesError as error:
                raise NoFeaturesError(f"Column {name!r}: {error}") from None
        ranges = [_range(own) for own in cells[columns.places("numbers")]]
        known = tuple(tuple(sorted({*own} - {""})) for own in cells[columns.places("categories")])
        centres, scales = np.array(ranges, np.float64).reshape(-1, 2).T
        n_dims = tuple(len(own[0]) for own in cells[columns.places("embeddings")])
        of_texts, of_vectors = (
            tuple(float(weights.get(name, usual)) for name in names)
            for names, usual in ((columns.text, 1.0), (columns.embeddings, VECTOR_WEIGHT))
        )
        return cls(columns, of_texts, tuple(texts), centres, scales, known, n_dims, of_vectors)

    @property
    def vectorizer(self) -> TextVectorizer:
        """The choices for texts, to fit another one like this."""
        return self.texts[0].vectorizer if self.texts else TextVectorizer(AUTO)

    @property
    def is_dense(self) -> bool:
        """Whether samples are vectors and nothing else, whose features are a dense matrix."""
        return self.columns.used == self.columns.embeddings

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self._starts[-1]

    @property
    def rerank_only(self) -> NDArray[np.bool_] | None:
        """Which features only a re-ranking learns from, if there are such, as vectors beside texts may be."""
        found = np.zeros(self.n_features, bool)
        for start, fitted in zip(self._starts, self.texts, strict=False):
            if fitted.rerank_only is not None:
                found[start : start + fitted.n_features] = fitted.rerank_only
        if self.texts and self.do_vectors_rerank:
            found[self.n_features - sum(self.n_dims) :] = True
        return found if found.any() else None

    @property
    def described(self) -> str:
        """The name of the recipe, and the columns."""
        of_texts = [f"{self.texts[0].described} of {', '.join(self.columns.text)}"] if self.texts else []
        return "; ".join([*of_texts, *self.others])

    @property
    def others(self) -> list[str]:
        """The columns of numbers, categories and vectors, in words."""
        uses = {"numbers": self.columns.numbers, "categories": self.columns.categories}
        found = [f"{use} of {', '.join(names)}" for use, names in uses.items() if names]
        for name, n, weight in zip(self.columns.embeddings, self.n_dims, self.vector_weights, strict=True):
            found.append(f"vectors of {name}, {n} numbers" + ("" if self.is_dense else f", times {weight:g}"))
        return found

    @cached_property
    def _starts(self) -> list[int]:
        """The first feature of each text, of the numbers and of each column of categories, and their number."""
        sizes = [fitted.n_features for fitted in self.texts]
        return list(accumulate([*sizes, len(self.centres), *map(len, self.categories), *self.n_dims], initial=0))

    @cached_property
    def unit(self) -> float:
        """What a category counts."""
        further = len(self.centres) + len(self.categories)
        return 1 / sqrt(sum(weight * weight for weight in (*self.weights, *self.vector_weights)) + further)

    @cached_property
    def _column_of_category(self) -> list[dict[str, int]]:
        return [{name: k for k, name in enumerate(known)} for known in self.categories]

    def with_trial(self, tried: Mapping[str, float]) -> FittedRows:
        """The same with the recipes that were tried."""
        return replace(self, texts=tuple(fitted.with_trial(tried) for fitted in self.texts))

    def samples(self, given: Any) -> list[Row]:
        """The rows of a data frame, or of a list of objects, as this takes them."""
        return samples_of(given, self.columns)

    def transform(self, rows: Iterable[Any]) -> Any:
        """The features of rows: a float32 matrix, dense for vectors alone, else sparse with int32 indices in order.

        Raises ValueError if vectors are longer or shorter than those of training.
        """
        cells = _by_column(list(rows), self.columns)
        n_rows, n_texts, n_numbers = len(cells[0]), len(self.texts), len(self.centres)
        every = zip(self.columns.embeddings, self.n_dims, cells[self.columns.places("embeddings")], strict=True)
        vectors = [_matrix(name, own, n) for name, n, own in every]
        if self.is_dense:
            return vectors[0] if len(vectors) == 1 else np.hstack(vectors)
        parts: list[csr_array] = []
        for fitted, weight, own in zip(self.texts, self.weights, cells, strict=False):
            X = fitted.transform(own)
            X.data *= np.float32(weight * self.unit)
            parts.append(X)
        numbers = np.array(cells[n_texts : n_texts + n_numbers], np.float64).reshape(n_numbers, n_rows).T
        scaled = np.clip((numbers - self.centres) / self.scales, -1, 1) * self.unit
        parts.append(csr_array(np.nan_to_num(scaled).astype(np.float32)))
        for known, own in zip(self._column_of_category, cells[self.columns.places("categories")], strict=True):
            places = np.array([known.get(cell, -1) for cell in own], np.int64)
            indptr = np.concatenate([[0], np.cumsum(places >= 0)])
            places = places[places >= 0]
            values = np.full(len(places), self.unit, np.float32)
            parts.append(csr_array((values, places, indptr), shape=(n_rows, len(known))))
        for E, weight in zip(vectors, self.vector_weights, strict=True):
            lengths = np.sqrt(np.einsum("ij,ij->i", E, E, dtype=np.float64))
            of_length_one = E * (weight * self.unit / np.where(lengths > 0, lengths, 1)).astype(np.float32)[:, None]
            n_dims = E.shape[1]
            in_row = np.tile(np.arange(n_dims), n_rows)
            parts.append(csr_array((of_length_one.ravel(), in_row, np.arange(n_rows + 1) * n_dims), shape=E.shape))
        X = csr_array(hstack(parts, format="csr", dtype=np.float32))
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        return X

    def row(self, row: Any) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The features of one row, and their values; a row of :meth:`transform`."""
        X = self.transform(self.samples([row]) if isinstance(row, Mapping) else [row])
        return (np.arange(X.shape[1], dtype=np.int32), X[0]) if self.is_dense else (X.indices, X.data)

    def terms_by_column(self, row: Row) -> dict[int, list[str]]:
        """What the features of a row stand for: the terms of its texts, its numbers and its categories."""
        found: dict[int, list[str]] = {}
        n_texts = len(self.texts)
        for name, fitted, start, text in zip(self.columns.text, self.texts, self._starts, row, strict=False):
            for column, terms in fitted.terms_by_column(text).items():
                found[start + column] = [f"{name}: {term}" for term in terms]
        start = self._starts[n_texts]
        for k, name in enumerate(self.columns.numbers):
            found[start + k] = [f"{name} = {row[n_texts + k]:g}"]
        cells = row[self.columns.places("categories")]
        of_categories = zip(self.columns.categories, self._column_of_category, cells, strict=True)
        for start, (name, known, cell) in zip(self._starts[n_texts + 1 :], of_categories, strict=False):
            if cell in known:
                found[start + known[cell]] = [f"{name} = {cell}"]
        of_vectors = zip(self.columns.embeddings, self._starts[n_texts + 1 + len(self.categories) :], strict=False)
        for (name, start), vector in zip(of_vectors, row[self.columns.places("embeddings")], strict=True):
            found |= {start + k: [f"{name}[{k}]"] for k in range(len(vector))}
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
        of_vectors = {"n_dims": list(self.n_dims), "vector_weights": list(self.vector_weights)} if self.n_dims else {}
        return {"weights": list(self.weights), "texts": settings, **of_vectors}, arrays

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
            n_dims, of_vectors = (tuple(settings.get(name, ())) for name in ("n_dims", "vector_weights"))
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
        is_whole &= len(n_dims) == len(of_vectors) == len(columns.embeddings)
        is_whole &= all(map(is_count, n_dims)) and all(map(is_weight, of_vectors))
        if not is_whole:
            raise ValueError("The features of these rows do not fit their columns: weights, numbers or categories.")
        of_vectors = tuple(map(float, of_vectors))
        return cls(columns, tuple(map(float, weights)), texts, centres, scales, categories, n_dims, of_vectors)


Features = FittedVectorizer | FittedRows
"""What makes features of samples: of texts, or of rows."""


def takes_vectors(fitted: Features | None) -> bool:
    """Whether samples are vectors and nothing else, whose features are dense."""
    return isinstance(fitted, FittedRows) and fitted.is_dense


def is_weight(value: Any) -> bool:
    """Whether a value can be the weight of a column: positive, and neither tiny nor huge."""
    return is_number(value) and 1e-6 <= value <= 1e6


def _by_column(rows: Sequence[Row], columns: TableColumns) -> list[Sequence[Any]]:
    return list(zip(*rows, strict=True)) if rows else [()] * len(columns.used)


def _matrix(name: str, vectors: Sequence[Any], n_dims: int) -> NDArray[np.float32]:
    """The vectors of a column, in single precision."""
    if vectors and len(vectors[0]) != n_dims:
        raise ValueError(f"Vectors of {name!r} must have {n_dims} numbers, as in training. Got {len(vectors[0])}.")
    return np.array(vectors, np.float32).reshape(-1, n_dims)


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
