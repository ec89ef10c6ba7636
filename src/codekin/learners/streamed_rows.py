"""Training samples on disk: a pass loads them in shuffled blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin._system.magnitudes import check_single_precision
from codekin._system.stored_rows import StoredRows
from codekin.coding import Code, FloatArray, IntArray
from codekin.learners.independent import check_kind
from codekin.learners.training_rows import Order, TrainingRows, checked_labels, checksum
from codekin.samples import Samples


@dataclass(frozen=True, eq=False)
class StreamedRows:
    """Training samples on disk.

    Each pass draws the pieces of the file in a new order, loads as many of them together as memory allows, and shuffles
    the rows of such a block. All of this depends only on the seed, so the result does not depend on the number of
    threads, and blocks of columns see the same orders.
    """

    X: StoredRows
    class_of_sample: NDArray[np.int64]
    weight_of_sample: FloatArray
    n_classes: int
    has_bias: bool
    is_shuffled: bool

    @property
    def n_rows(self) -> int:
        """The number of samples."""
        return self.X.shape[0]

    @property
    def n_features(self) -> int:
        """The number of features, including that of the bias."""
        return self.X.shape[1] + self.has_bias

    @property
    def present_classes(self) -> IntArray:
        """The classes of the samples that have some influence."""
        return np.unique(self.class_of_sample[self.weight_of_sample > 0])

    @cached_property
    def mean_squared_norm(self) -> float:
        """The mean of ``|x|**2`` over the samples that are not empty; 1 if all are."""
        total, n_filled = 0.0, 0
        for _, block in self.X.blocks():
            total += float(np.square(block.data, dtype=np.float64).sum())
            n_filled += int(np.count_nonzero(np.diff(block.indptr)))
        if self.has_bias:
            total, n_filled = total + self.n_rows, self.n_rows
        return total / n_filled or 1.0 if n_filled else 1.0

    @property
    def checksum(self) -> str:
        """A checksum of the samples and their division into blocks."""
        rows = np.arange(0) if self.X.rows is None else self.X.rows
        limit = np.array([self.X.max_memory])
        return f"{self.X.checksum[:16]}-{checksum(rows, limit, self.class_of_sample, self.weight_of_sample)}"

    def in_turns(self, order: Order, seed: int) -> Iterator[tuple[TrainingRows, NDArray[np.int64]]]:
        """The blocks of one pass, and the order of each."""
        rng = np.random.default_rng(seed)
        blocks: Iterable[tuple[Any, Any]] = self.X.shuffled_blocks(rng) if self.is_shuffled else self.X.blocks()
        for rows, block in blocks:
            samples = TrainingRows.of(block, self.class_of_sample[rows], self.n_classes, has_bias=self.has_bias)
            samples = replace(samples, weight_of_sample=self.weight_of_sample[rows])
            yield samples, order(samples.n_rows, int(rng.integers(2**63)))


def training_rows(learner: Any, samples: Samples, code: Code) -> TrainingRows | StreamedRows:
    """Checked samples, without class -1, with a feature that is 1 if there is a bias; on disk if they are there."""
    check_kind(learner, code.codebook)
    if (samples.class_index < 0).any():
        samples = samples.at(np.flatnonzero(samples.class_index >= 0))
    X, given = samples.X, (samples.class_index, code.n_classes, samples.weights, learner.class_weight)
    if isinstance(X, StoredRows):
        classes, weights = checked_labels(X.shape[0], *given)
        return StreamedRows(X, classes, weights, code.n_classes, learner.fit_intercept, learner.shuffle)
    check_single_precision(X, is_to_learn_from=True)
    return TrainingRows.of(X, *given, has_bias=learner.fit_intercept)
