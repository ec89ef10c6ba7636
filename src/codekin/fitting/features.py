"""The samples for class distances: the features of the learner, as numbers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.utils import get_tags

from codekin.class_distances import learned_confusion_distances
from codekin.classes import ClassDistances, DenseDistances
from codekin.coding import FloatArray, IntArray
from codekin.fitting.choices import Classes
from codekin.learners.independent import seeded
from codekin.learners.symbols import declared_limit

MAX_CATEGORIES = 100
"""How many values of a non-numeric column become features; rarer ones do not."""

N_FOLDS = 3
"""How many times the learner is trained if its own confusion is needed."""


def classes_as_learned(
    learner: Any,
    X: Any,
    class_index: IntArray,
    *,
    n_classes: int,
    sample_weight: FloatArray | None,
    distances_choice: Any,
    rng: np.random.Generator,
    n_symbols: int = 2,
) -> Classes:
    """The samples of the classes and their distances, from the features that the learner sees.

    - ``learner``: None if bits are learned jointly, from X itself.
    - ``n_symbols``: how many symbols a column may have; two say nothing about what the learner can do.
    """
    classes = Classes(lambda: X, class_index, n_classes, sample_weight, distances_choice, rng)
    if learner is None:
        return classes
    return replace(
        classes,
        features=lambda: as_numbers(last_step_features(learner, X, class_index, rng)),
        samples=X,
        confusion=lambda: learner_confusion(learner, X, classes, n_symbols),
    )


def last_step_features(learner: Any, X: Any, class_index: IntArray, rng: np.random.Generator) -> Any:
    """The input of the last step of a pipeline; X itself without a pipeline."""
    if is_search(learner):
        return last_step_features(learner.estimator, X, class_index, rng)
    if not hasattr(learner, "steps") or len(learner.steps) < 2:
        return X
    return seeded(learner[:-1], int(rng.integers(2**31 - 1))).fit_transform(X, class_index)


def as_numbers(X: Any) -> Any:
    """Samples as finite numbers, (n_samples, n_features), for class distances; None if they are not a table.

    Missing and infinite entries count as the mean of their feature. Non-numeric columns of a table become one feature
    for each of their most frequent values; numeric columns next to them are then standardized.
    """
    if sparse.issparse(X):
        return _filled(X)
    if isinstance(X, np.ndarray) and X.ndim >= 2 and X.dtype.kind in "biuf":
        return _filled(X.reshape(len(X), -1))
    columns = list(_columns(X))
    if not columns:
        return None
    numbers = [column for column in columns if column.dtype.kind == "f"]
    values = [_indicators(column) for column in columns if column.dtype.kind != "f"]
    filled = _filled(np.column_stack(numbers)) if numbers else None
    if not values:
        return filled
    if filled is not None:
        spread = filled.std(axis=0)
        values.insert(0, sparse.csr_array((filled - filled.mean(axis=0)) / np.where(spread > 0, spread, 1)))
    return sparse.csr_array(sparse.hstack(values))


def _columns(X: Any) -> Iterator[NDArray[Any]]:
    """The columns of a table: float64 if they are numeric, objects otherwise; none if X is not a table."""
    if isinstance(X, np.ndarray) and X.ndim == 2:
        yield from (_as_float(column) for column in X.T)
        return
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return
    for column in frame.iter_columns():
        if column.dtype.is_numeric() or column.dtype == nw.Boolean:
            yield column.cast(nw.Float64).to_numpy().astype(np.float64)
        else:
            yield _as_float(column.to_numpy())


def _as_float(values: NDArray[Any]) -> NDArray[Any]:
    """The values as numbers if all of them are; dates count from 1970."""
    if values.dtype.kind in "mM":
        return np.where(np.isnat(values), np.nan, values.astype(np.int64))
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        return values.astype(object)


def _filled(X: Any) -> Any:
    """X with missing and infinite entries replaced by the mean of the feature."""
    is_sparse = sparse.issparse(X)
    entries = X.data if is_sparse else X
    with np.errstate(over="ignore", invalid="ignore"):
        if entries.dtype.kind != "f" or np.isfinite(entries.sum()) or np.isfinite(entries).all():
            return X
    from sklearn.impute import SimpleImputer

    X = X.tocsc(copy=True) if is_sparse else X.copy()
    entries = X.data if is_sparse else X
    entries[~np.isfinite(entries)] = np.nan
    return SimpleImputer(keep_empty_features=True).fit_transform(X)


def _indicators(column: NDArray[Any]) -> sparse.csr_array:
    """One feature for each of the most frequent values, 1 where the sample has it."""
    names, value_of_sample, counts = np.unique(
        np.array([str(value) for value in column]), return_inverse=True, return_counts=True
    )
    frequent = np.argsort(-counts, kind="stable")[:MAX_CATEGORIES]
    n_samples = len(column)
    all_values: FloatArray = np.ones(n_samples)
    one_hot = sparse.csr_array((all_values, (np.arange(n_samples), value_of_sample)), shape=(n_samples, len(names)))
    return sparse.csr_array(one_hot[:, np.sort(frequent)])


def learner_confusion(learner: Any, X: Any, classes: Classes, n_symbols: int) -> ClassDistances:
    """Distances if X is not a table of numbers, from the confusion of the learner itself.

    All equal, after a warning, if the learner is a regressor or supports only two classes, or fewer than there are.
    """
    remedy = "Pass class_distances, or put the steps that turn X into numbers into a pipeline as the estimator."
    tags = get_tags(learner).classifier_tags
    most = n_symbols if n_symbols > 2 else declared_limit(learner) or classes.n_classes
    is_binary = tags is not None and not tags.multi_class
    if is_binary or most < classes.n_classes or is_regressor(learner):
        limit = "only two classes" if is_binary else f"at most {most} classes at once"
        limit = "numbers" if is_regressor(learner) else limit
        warnings.warn(
            f"X is not a table of numbers and {type(learner).__name__} learns {limit}, so all classes count as equally "
            f"far apart. {remedy}",
            stacklevel=2,
        )
        return DenseDistances(1 - np.eye(classes.n_classes))
    warnings.warn(
        f"X is not a table of numbers, so class distances come from the confusion of {type(learner).__name__} itself, "
        f"which is trained {N_FOLDS} times for it. {remedy}",
        stacklevel=2,
    )
    return learned_confusion_distances(
        X,
        classes.class_index,
        n_classes=classes.n_classes,
        sample_weight=classes.sample_weight,
        rng=classes.rng,
        estimator=seeded(learner, int(classes.rng.integers(2**31 - 1))),
        counted="out_of_fold",
        n_folds=min(N_FOLDS, len(classes.class_index)),
    )


def is_search(learner: Any) -> bool:
    """Whether the learner tries settings of an estimator, as a grid search does."""
    return hasattr(learner, "estimator") and hasattr(learner, "cv")
