"""How frequent classes are: all that is known about a sample without features, such as a text without known words."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin._system.arrays import as_narrow
from codekin._system.rows import Row, StoredRows
from codekin.code import FloatArray, IntArray
from codekin.decoding.decoder import SingleBest
from codekin.samples import Samples


@dataclass(frozen=True, eq=False)
class ClassPrior:
    """How frequent classes are, up to a factor, among sparse rows without an entry: integers or single precision.

    ``total``: of what the sizes are shares, by default of their sum; with several labels per sample they may add up to
    more.
    """

    sizes: NDArray[Any] = field(repr=False)
    total: float | None = None

    def __post_init__(self) -> None:
        if self.sizes.ndim != 1 or not (self.sizes >= 0).all() or not 0 < self.sizes.sum(dtype=np.float64) < np.inf:
            raise ValueError("The frequencies of the classes must be numbers, at least 0, and not all of them 0.")

    @classmethod
    def of(cls, samples: Samples, n_classes: int) -> ClassPrior:
        """The frequencies of the classes in sparse samples.

        Samples without features get extra weight: each counts as much as all samples together, divided by
        ``n_classes``.
        """
        n_empty, n_all = ((_row_lengths(samples.X) == 0).sum(), len(samples)) if samples.labels is not None else (0, 0)
        samples = samples.of_each_label(is_shared=False)
        lengths, classes, weights = _row_lengths(samples.X), samples.class_index, samples.weights
        is_known = classes >= 0
        sizes, own = (
            np.bincount(classes[rows], None if weights is None else np.asarray(weights, np.float64)[rows], n_classes)
            for rows in (is_known, (lengths == 0) & is_known)
        )
        total = sizes.sum() * n_all / len(samples) if samples else 0.0
        if ((lengths == 0) & is_known).any():
            factor = n_classes / sizes.sum()
            sizes, total = own + sizes * factor, n_empty + total * factor
        is_whole = (sizes == np.rint(sizes)).all()
        narrow = as_narrow(sizes.astype(np.int64)) if is_whole else sizes.astype(np.float32)
        return cls(narrow, float(total) if n_all else None)

    @cached_property
    def order(self) -> IntArray:
        """The classes, most frequent first."""
        return np.argsort(-self.probabilities, kind="stable")

    @cached_property
    def probabilities(self) -> FloatArray:
        if self.total is not None:
            return np.minimum(np.asarray(self.sizes, dtype=np.float64) / self.total, 1.0)
        return np.asarray(self.sizes / self.sizes.sum(dtype=np.float64))

    @cached_property
    def log_probabilities(self) -> FloatArray:
        """Finite for a class without samples, too."""
        return np.log(np.maximum(self.probabilities, np.finfo(np.float64).tiny))

    @cached_property
    def losses(self) -> FloatArray:
        return -self.log_probabilities

    def rows(self, X: Any) -> IntArray:
        return np.flatnonzero(_row_lengths(X) == 0) if hasattr(X, "nnz") else np.zeros(0, np.intp)

    def single(self, best: SingleBest) -> SingleBest:
        """What lists the best classes of one row, with the most frequent ones for a row without features."""

        @wraps(best)
        def best_or_frequent(row: Row, k: int, *, has_losses: bool) -> tuple[IntArray, FloatArray]:
            if len(row.indices) or isinstance(row.given, np.ndarray):
                return best(row, k, has_losses=has_losses)
            return self.order[:k], self.losses[self.order[:k]]

        return best_or_frequent

    def put_best(self, X: Any, classes: IntArray, numbers: FloatArray | None = None, name: str = "losses") -> None:
        """Replace the best classes of samples without features, and their losses or what else the numbers are."""
        rows, best = self.rows(X), self.order[: classes.shape[1]]
        classes[rows] = best
        if numbers is not None:
            numbers[rows] = getattr(self, name)[best]


def _row_lengths(X: Any) -> NDArray[Any]:
    """The number of entries of each sparse row."""
    if isinstance(X, StoredRows):
        return np.diff(X.row_ends) if X.rows is None else np.diff(X.row_ends)[X.rows]
    return np.diff(X.tocsr().indptr)
