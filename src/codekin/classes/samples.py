"""Samples for class distances and designs of codebooks: checked once, with weights and class means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from codekin._system.arrays import MAX_DOUBLE, MAX_SINGLE, largest_magnitude
from codekin._system.rows import StoredRows, class_sums, is_sparse
from codekin.code import CodingMatrix, FloatArray, IntArray, Margins

_MAX_EXPONENT = 100
"""Weights beyond 2**100, or below its inverse, are scaled first."""
_BLOCK_ENTRIES = 8_000_000
"""How many entries of a dense X are converted to float64 at once."""


@dataclass(frozen=True, eq=False)
class ClassSamples:
    """Samples, their classes and their weights, ones if none are given."""

    X: Any
    class_index: IntArray
    n_classes: int
    sample_weight: FloatArray

    @property
    def is_sparse(self) -> bool:
        """Whether X is sparse."""
        return is_sparse(self.X)

    def of(self, rows: IntArray) -> ClassSamples:
        """Some of the samples, all classes."""
        return ClassSamples(self.X[rows], self.class_index[rows], self.n_classes, self.sample_weight[rows])

    @cached_property
    def class_weight(self) -> FloatArray:
        """The total weight of each class, (n_classes,)."""
        return np.bincount(self.class_index, weights=self.sample_weight, minlength=self.n_classes).astype(np.float64)

    @property
    def has_samples(self) -> np.ndarray:
        """Which classes have any weight."""
        return self.class_weight > 0

    @cached_property
    def class_means(self) -> Any:
        """The weighted mean of each class, (n_classes, n_features), sparse if X is; zeros if there are no samples."""
        scale = np.zeros(self.n_classes)
        scale[self.has_samples] = 1 / self.class_weight[self.has_samples]
        shares: Any = self.sample_weight * scale[self.class_index]
        if self.is_sparse:
            means: Any = class_sums(self.X, self.class_index, shares, self.n_classes)
        else:
            n_samples, n_features = self.X.shape
            places: Any = self.class_index, np.arange(n_samples)
            by_sample = sparse.csr_array((shares, places), shape=(self.n_classes, n_samples)).tocsc()
            means = np.zeros((self.n_classes, n_features))
            n_rows = max(1, _BLOCK_ENTRIES // max(1, n_features))
            for start in range(0, n_samples, n_rows):
                rows = slice(start, start + n_rows)
                means += by_sample[:, rows] @ self.X[rows].astype(np.float64)
        if not np.isfinite(means.data if self.is_sparse else means).all():
            raise ValueError("X must be finite. Got a class mean that is not.")
        return means


def class_samples(
    X: Any,
    class_index: ArrayLike,
    *,
    n_classes: int | None = None,
    sample_weight: ArrayLike | None = None,
    of_any_kind: bool = False,
) -> ClassSamples:
    """Check samples and their classes; with ``of_any_kind`` X may be anything, such as text or a data frame."""
    samples: Any = X
    if not of_any_kind:
        if not isinstance(X, StoredRows):
            samples = sparse.csr_array(cast(Any, X)) if sparse.issparse(X) else np.asarray(X)
        if samples.ndim != 2 or 0 in samples.shape:
            raise ValueError(f"X must have two dimensions and must not be empty. Got shape {samples.shape}.")
        if samples.dtype.kind not in "fiub":
            raise ValueError(f"X must hold numbers. Got type {samples.dtype}.")
        single = samples.dtype in (np.float16, np.float32)
        # Squares must not overflow. Rows on disk are checked when they are learned from.
        largest = 0.0 if isinstance(X, StoredRows) else largest_magnitude(samples)
        if (most := MAX_SINGLE if single else MAX_DOUBLE) < largest < np.inf:
            raise ValueError(
                f"The values of X must be at most {most:g} in {samples.dtype}, so that class distances are finite. "
                f"Got {largest:g}; scale the features."
            )
    index = np.asarray(class_index)
    n_samples = samples.shape[0] if hasattr(samples, "shape") else len(samples)
    if index.shape != (n_samples,) or index.dtype.kind not in "iu":
        raise ValueError(
            f"class_index must hold one integer per sample, {n_samples}. "
            f"Got an array of shape {index.shape} and type {index.dtype}."
        )
    index = index.astype(np.intp)
    n_seen = int(index.max()) + 1
    if index.min() < 0 or (n_classes is not None and n_seen > n_classes):
        allowed = "from 0" if n_classes is None else f"0 to {n_classes - 1}"
        wrong = int(index.min()) if index.min() < 0 else n_seen - 1
        raise ValueError(f"Classes are numbered {allowed}. Got {wrong} in class_index.")
    weight = np.ones(n_samples) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_samples,):
        raise ValueError(f"sample_weight must hold one number per sample, {n_samples}. Got shape {weight.shape}.")
    if not np.isfinite(weight).all() or weight.min() < 0 or weight.sum() == 0:
        raise ValueError(
            f"Sample weights must be finite, not negative, and not all zero. Got values from {weight.min()} to "
            f"{weight.max()}."
        )
    exponent = int(np.frexp(weight.max())[1])
    if abs(exponent) > _MAX_EXPONENT:
        # Only their ratios count.
        weight = np.ldexp(weight, -exponent)
    return ClassSamples(samples, index, n_seen if n_classes is None else int(n_classes), weight)


@dataclass(frozen=True, eq=False)
class ColumnTrials:
    """Margins of samples from predictors that did not learn from them, for any columns.

    ``margins`` is a function of columns (n_classes, n_columns) that learns them and returns (n_samples, n_columns).
    """

    class_index: IntArray
    weights: FloatArray = field(repr=False)
    margins: Callable[[CodingMatrix], Margins] = field(repr=False)

    def errors(self, columns: CodingMatrix, margins: Margins | None = None) -> FloatArray:
        """The share of samples on the wrong side of each column, among those of its classes; never quite 0 or 1.

        ``margins``: those of the columns, if they are known.
        """
        margins = self.margins(columns) if margins is None else margins
        bits = columns[self.class_index]
        counts = np.abs(bits) * self.weights[:, None]
        wrong = (counts * (bits * margins <= 0)).sum(axis=0)
        # As if one of two further samples were wrong: no errors among some samples prove no perfect bit.
        unit = self.weights.mean()
        return np.asarray((wrong + unit) / (counts.sum(axis=0) + 2 * unit))
