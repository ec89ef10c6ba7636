"""Samples from a file of one's own: columns to numbers, a split or folds, scaling.

Tables are read by the readers of :mod:`codekin.data`, as texts; a column whose cells are all numbers is one feature,
any other one has a feature per value. Gaps in numbers become the median of the training samples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from codekin._system.files import sha256
from codekin.code import FloatArray, IntArray
from codekin.data import DataError, ReadOptions, SparseData, TextData, read_data
from codekin.data.reading import format_of
from codekin.data.tables import LABEL_NAMES
from codekin_studies.splits.dichotomies import Features, Problem, by_largest, to_unit_norm

MOST_VALUES = 50
"""A column of texts with more different values is an error: it names samples, or is prose."""
GAPS = frozenset(("", "?", "NA", "N/A", "nan", "NaN", "null", "<null>"))
_TABLES = ("csv", "tsv", "jsonl", "parquet")


@dataclass(frozen=True, eq=False)
class OwnSamples:
    """The samples of a file: features with NaN for gaps, the class of each sample, and what they are called.

    The last ``n_given`` samples are from a file of test samples; None without one.
    """

    X: FloatArray
    y: IntArray
    class_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    n_given: int | None = None

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.class_names)

    def followed_by(self, test: OwnSamples, source: str) -> OwnSamples:
        """These samples with test samples behind them; features that only one of the two has are zeros in the other."""
        unknown = [name for name in test.class_names if name not in self.class_names]
        if unknown:
            raise DataError(source, f"its class {unknown[0]!r} is not among those to learn from.")
        column = {name: test.X[:, place] for place, name in enumerate(test.feature_names)}
        missing = np.zeros(len(test.y))
        X_test = np.column_stack([column.get(name, missing) for name in self.feature_names])
        places = np.array([self.class_names.index(name) for name in test.class_names])
        both = np.concatenate([self.X, X_test]), np.concatenate([self.y, places[test.y]])
        return OwnSamples(*both, self.class_names, self.feature_names, len(test.y))


def read_samples(
    path: Path, *, label: str | None = None, ignore: Sequence[str] = (), categories: Sequence[str] = ()
) -> OwnSamples:
    """The samples of a file; ``label``, ``ignore`` and ``categories`` name columns of a table.

    Raises DataError if there are no numbers to learn from, or a column is not what it should be.
    """
    return _read(str(path), path.stat().st_mtime_ns, label, tuple(ignore), tuple(categories))


def content_of(path: Path) -> str:
    """The checksum of a file, by which results know it."""
    return _checksum(str(path), path.stat().st_mtime_ns, path.stat().st_size)


@lru_cache(maxsize=8)
def _checksum(path: str, _changed: int, _size: int) -> str:
    return sha256(Path(path))


@lru_cache(maxsize=4)
def _read(
    path: str, _changed: int, label: str | None, ignore: tuple[str, ...], categories: tuple[str, ...]
) -> OwnSamples:
    if format_of(path) in _TABLES:
        return _from_columns(path, columns_of(path), label, ignore, categories)
    if label is not None or ignore or categories:
        raise DataError(path, "only tables have columns. Leave out 'label', 'ignore' and 'categories'.")
    data = read_data(path)
    classes, y = np.unique(np.asarray(data.labels), return_inverse=True)
    if isinstance(data, SparseData):
        X = data.X.toarray()
    elif isinstance(data, TextData) and data.vectors:
        X = next(iter(data.vectors.values()))
    else:
        raise DataError(path, "its samples are texts; studies need tables, matrices or vectors.")
    names = tuple(str(k) for k in range(X.shape[1]))
    return OwnSamples(X.astype(np.float64), y, tuple(map(str, classes.tolist())), names)


def columns_of(path: str) -> dict[str, tuple[str, ...]]:
    """All columns of a table, by name, as texts."""
    data = read_data(path, options=ReadOptions(labels="none", text=("1",), keep=("*",)))
    return {name: tuple(cell.strip() for cell in data.columns[name]) for name in data.table.kept}  # type: ignore[union-attr]


def label_column(path: str, columns: Mapping[str, Sequence[str]], label: str | None) -> str:
    """The column with the classes: the one that is named, or the only one with a usual name."""
    usual = [name for name in columns if name.lower() in LABEL_NAMES]
    if label is None and len(usual) == 1:
        return usual[0]
    if label not in columns:
        listed = ", ".join(map(repr, list(columns)[:20]))
        raise DataError(path, f"'label' must name the column of the classes: {listed}. Got {label!r} instead.")
    return str(label)


def numbers_in(cells: Sequence[str]) -> FloatArray | None:
    """A column as numbers, NaN for gaps; None if a cell is neither."""
    try:
        values = np.array([np.nan if cell in GAPS else float(cell) for cell in cells])
    except ValueError:
        return None
    return None if np.isinf(values).any() else values


def _from_columns(
    path: str,
    columns: Mapping[str, Sequence[str]],
    label: str | None,
    ignore: tuple[str, ...],
    categories: tuple[str, ...],
) -> OwnSamples:
    label = label_column(path, columns, label)
    for name in (*ignore, *categories):
        if name not in columns or name == label:
            raise DataError(
                path, f"{name!r} is no column of features. Those are {', '.join(_without(columns, label))}."
            )
    if any(cell in GAPS for cell in columns[label]):
        row = next(row for row, cell in enumerate(columns[label], start=1) if cell in GAPS)
        raise DataError(path, f"row {row} has no class in the column {label!r}.")
    features: dict[str, FloatArray] = {}
    for name in _without(columns, label):
        if name in ignore:
            continue
        numbers = None if name in categories else numbers_in(columns[name])
        if numbers is not None:
            features[name] = numbers
            continue
        values = sorted({*columns[name]} - GAPS)
        if len(values) > MOST_VALUES:
            why = f"column {name!r} has {len(values)} different texts, such as {values[0]!r}; at most {MOST_VALUES} are"
            raise DataError(path, f"{why} taken for categories. Leave it out: ignore = [{name!r}].")
        for value in values:
            features[f"{name}={value}"] = np.array([float(cell == value) for cell in columns[name]])
    if not features:
        raise DataError(path, "there is no column of features.")
    classes, y = np.unique(np.array(columns[label]), return_inverse=True)
    return OwnSamples(np.column_stack(list(features.values())), y, tuple(map(str, classes)), tuple(features))


def _without(columns: Mapping[str, Any], label: str) -> list[str]:
    return [name for name in columns if name != label]


def standard(X_train: Features, X_test: Features) -> tuple[Features, Features]:
    """Every feature less its mean and divided by its standard deviation, those of the training samples.

    >>> standard(np.array([[1.0, 5.0], [3.0, 5.0]]), np.array([[5.0, 6.0]]))[1].tolist()
    [[3.0, 1.0]]
    """
    mean, deviation = X_train.mean(axis=0), X_train.std(axis=0)
    deviation = np.where(deviation > 0, deviation, 1)
    return (X_train - mean) / deviation, (X_test - mean) / deviation


def as_given(X_train: Features, X_test: Features) -> tuple[Features, Features]:
    """Features as they are in the file."""
    return X_train, X_test


SCALINGS: dict[str, Callable[[Features, Features], tuple[Features, Features]]] = {
    "standard": standard,
    "largest": by_largest,
    "unit_norm": to_unit_norm,
    "none": as_given,
}
"""How the features of a file may be scaled, by name: always by the training samples alone."""


def folds_of(
    y: IntArray, *, n_test: int | None, n_folds: int | None, n_given: int | None, seed: int
) -> list[tuple[IntArray, IntArray]]:
    """The training and the test samples of each fold; a single one if samples are put aside or given for testing.

    ``n_given``: so many samples at the end are from a file of test samples.
    """
    from sklearn.model_selection import StratifiedKFold, train_test_split

    everyone = np.arange(len(y))
    if n_given is not None:
        return [(everyone[:-n_given], everyone[-n_given:])]
    if n_folds is not None:
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(everyone, y)
        return [(learned, judged) for learned, judged in folds]
    return [tuple(train_test_split(everyone, test_size=n_test, stratify=y, random_state=seed))]


def problem_of_fold(samples: OwnSamples, fold: tuple[IntArray, IntArray], scaling: str) -> Problem:
    """The samples of a fold, without gaps, scaled."""
    train, test = samples.X[fold[0]], samples.X[fold[1]]
    if np.isnan(samples.X).any():
        is_known = ~np.isnan(train)
        known = [column[kept] for column, kept in zip(train.T, is_known.T, strict=True)]
        medians = np.array([np.median(column) if len(column) else 0.0 for column in known])
        train, test = (np.where(np.isnan(part), medians, part) for part in (train, test))
    scaled = (np.asarray(part, dtype=np.float32) for part in SCALINGS[scaling](train, test))
    X_train, X_test = scaled
    return Problem(X_train, samples.y[fold[0]], X_test, samples.y[fold[1]], samples.class_names)
