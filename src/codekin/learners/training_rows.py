"""Training samples for online learners: checked, compressed, weighted, and in the order of a pass; held-out ones."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from codekin._system.arrays import check_single_precision, check_weights
from codekin._system.rows import SparseRows, StoredRows
from codekin.code import Code, FloatArray, IntArray, Margins
from codekin.samples import Samples

Order = Callable[[int, int], NDArray[np.int64]]
"""Makes the order of a pass from a number of samples and a seed."""


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Training samples in the types of the kernels; with a bias, each has an additional feature that is 1."""

    rows: SparseRows
    n_features: int
    class_of_sample: NDArray[np.int64]
    weight_of_sample: FloatArray

    @classmethod
    def of(
        cls,
        X: Any,
        class_index: IntArray,
        n_classes: int,
        sample_weight: FloatArray | None = None,
        class_weight: Any = None,
        *,
        has_bias: bool = False,
    ) -> TrainingRows:
        """Check and compress the samples, and multiply their weights by those of their classes."""
        classes, weights = checked_labels(X.shape[0], class_index, n_classes, sample_weight, class_weight)
        rows, n_features = compressed_rows(X, has_bias)
        return cls(rows, n_features, classes, weights)

    @property
    def n_rows(self) -> int:
        return self.rows.n_rows

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[np.float32], NDArray[np.int64]]:
        """The compressed rows and the class of each, as the kernels take them."""
        return self.rows.indptr, self.rows.indices, self.rows.values, self.class_of_sample

    @property
    def checksum(self) -> str:
        return checksum(*self.arrays, self.weight_of_sample)

    def in_turns(self, order: Order, seed: int) -> Iterator[tuple[TrainingRows, NDArray[np.int64]]]:
        """The samples of one pass and their order: all at once."""
        yield self, order(self.n_rows, seed)

    @property
    def present_classes(self) -> IntArray:
        return np.unique(self.class_of_sample[self.weight_of_sample > 0])

    @property
    def mean_squared_norm(self) -> float:
        """The mean of ``|x|**2`` over the samples that are not empty; 1 if all are."""
        n_filled = int(np.count_nonzero(np.diff(self.rows.indptr)))
        return float(np.square(self.rows.values, dtype=np.float64).sum()) / n_filled or 1.0 if n_filled else 1.0


def checked_labels(
    n_samples: int, class_index: IntArray, n_classes: int, sample_weight: FloatArray | None, class_weight: Any
) -> tuple[NDArray[np.int64], FloatArray]:
    """The classes of the samples, and their weights multiplied by those of the classes."""
    classes = np.asarray(class_index)
    if classes.shape != (n_samples,):
        raise ValueError(f"class_index must have one entry for each of the {n_samples} samples in X.")
    if classes.size and not 0 <= classes.min() <= classes.max() < n_classes:
        raise ValueError(
            f"class_index must be between 0 and {n_classes - 1}, the rows of the coding matrix. "
            f"Got values from {classes.min()} to {classes.max()}."
        )
    weights = np.ones(n_samples) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_samples,) or (weights < 0).any():
        raise ValueError(f"sample_weight must have {n_samples} entries, one per sample, none of them negative.")
    if class_weight is not None:
        weights = weights * _class_weights(class_weight, classes, n_classes)[classes]
    if sample_weight is not None or class_weight is not None:
        check_weights(weights)
    return np.asarray(classes, dtype=np.int64), weights


def pass_order(n_samples: int, seed: int, *, oversample: float = 1.0, is_shuffled: bool) -> NDArray[np.int64]:
    """The order of one pass; numbers from ``n_samples`` on are samples shown only to their positive bits."""
    rng = np.random.default_rng(seed)
    n_whole = int(oversample)
    n_more = round((oversample - n_whole) * n_samples)
    once_more = n_samples + np.concatenate(
        [np.tile(np.arange(n_samples), n_whole - 1), rng.choice(n_samples, size=n_more, replace=False)]
    )
    order = np.concatenate([np.arange(n_samples), once_more]).astype(np.int64, copy=False)
    if not is_shuffled:
        return order[np.argsort(order % n_samples, kind="stable")]
    rng.shuffle(order)
    return order


def compressed_rows(X: Any, has_bias: bool) -> tuple[SparseRows, int]:
    """Checked rows in the types of the kernels, with a feature that is 1 if there is a bias, and how many features."""
    matrix = sparse.csr_array(X)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    check_single_precision(matrix, is_to_learn_from=False)
    rows = SparseRows.of(matrix)
    n_features = int(matrix.shape[1])
    if not has_bias:
        return rows, n_features
    ends = rows.indptr[1:]
    with_bias = SparseRows(
        rows.indptr + np.arange(rows.n_rows + 1),
        np.insert(rows.indices, ends, n_features),
        np.insert(rows.values, ends, 1),
    )
    return with_bias, n_features + 1


def _class_weights(class_weight: Any, classes: IntArray, n_classes: int) -> FloatArray:
    if isinstance(class_weight, str):
        counts = np.bincount(classes, minlength=n_classes)
        return np.asarray(len(classes) / ((counts > 0).sum() * np.maximum(counts, 1)), dtype=np.float64)
    weights = np.asarray(class_weight, dtype=np.float64)
    if weights.shape != (n_classes,) or (weights < 0).any():
        raise ValueError(
            f"class_weight must have {n_classes} entries, one per class, none of them negative. "
            f"Got shape {weights.shape}."
        )
    return weights


def checksum(*arrays: NDArray[Any]) -> str:
    """A checksum of arrays."""
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    return digest.hexdigest()


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
        return self.X.shape[0]

    @property
    def n_features(self) -> int:
        """The number of features, including that of the bias."""
        return self.X.shape[1] + self.has_bias

    @property
    def present_classes(self) -> IntArray:
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


def training_rows(
    learner: Any, samples: Samples, code: Code, *, has_targets: bool = False
) -> TrainingRows | StreamedRows:
    """Checked samples, without class -1, with a feature that is 1 if there is a bias; on disk if they are there.

    A sample with several labels is one for each, unless the learner has its own ``targets``, as :class:`LabelSets`.
    """
    code.codebook.check_learner(type(learner).__name__, False)
    if not has_targets:
        samples = samples.of_each_label()
    elif learner.class_weight is not None:
        raise ValueError(
            f"The 'class_weight' parameter of {type(learner).__name__} needs one label per sample: the weight of a "
            f"sample counts for all of its labels. Got class_weight={learner.class_weight!r} and several labels."
        )
    else:
        samples = replace(samples, class_index=np.zeros(len(samples), dtype=np.intp))
    if (samples.class_index < 0).any():
        samples = samples.at(np.flatnonzero(samples.class_index >= 0))
    X, given = samples.X, (samples.class_index, code.n_classes, samples.weights, learner.class_weight)
    has_bias = learner.fit_intercept or has_targets
    if isinstance(X, StoredRows):
        if learner.bytes_per_sample:
            name = type(learner).__name__
            raise ValueError(f"{name} learns from samples in memory. Got rows on disk; use Softmax or AROW instead.")
        classes, weights = checked_labels(X.shape[0], *given)
        return StreamedRows(X, classes, weights, code.n_classes, has_bias, learner.shuffle)
    check_single_precision(X, is_to_learn_from=True)
    return TrainingRows.of(X, *given, has_bias=has_bias)


@dataclass(frozen=True, eq=False)
class Validation:
    """Held-out samples for scoring predictors.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    score : callable
        Takes the margins of these samples, (n_samples, n_bits), and returns a number, higher is better: for example the
        accuracy of the decoded classes.
    """

    X: Any = field(repr=False)
    score: Callable[[Margins], float]


def score_of(bits: Any, validation: Validation) -> float:
    """The score of predictors on validation samples.

    A score with a method ``in_blocks`` takes the function that makes margins of samples, and the samples: it can do
    without the margins of all samples at once.
    """
    in_blocks: Callable[[Any, Any], float] | None = getattr(validation.score, "in_blocks", None)
    return validation.score(bits.margins(validation.X)) if in_blocks is None else in_blocks(bits.margins, validation.X)
