"""AROW: online learning of all bits in one pass, each weight with a variance that says how far it may still move.

Adaptive regularisation of weight vectors (Crammer, Kulesza and Dredze 2009) with a diagonal covariance, as in the
extreme experiments of the paper. A bit's label is the entry of the sample's class in the coding matrix. The bits do
not influence each other, so the result is the same for any number of threads and for training in blocks of columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin._system.memory import in_units
from codekin._system.parallel import available_threads, run_blocks
from codekin._system.rows import SparseRows
from codekin.code import Code, Codebook, CodingMatrix
from codekin.learners.linear import CONSTANT_MARGIN, Float32Array, LinearBits, product_with_dense
from codekin.learners.online import ENGINES, Engine, OnlineLearner
from codekin.learners.training import Block, LearningBits, Lesson
from codekin.learners.training_rows import StreamedRows, TrainingRows, Validation, checksum, pass_order

BITS_PER_THREAD = 160
"""With fewer bits a thread would spend more time on reading the samples than on learning."""
BITS_PER_CACHE_LINE = 16
LEAST_R = 1e-30
"""A smaller regularisation would be zero in single precision, and a divisor."""
UPDATES_AT_ONCE = 10**8
"""How many weights a thread updates before it returns to Python: about a tenth of a second."""


@dataclass(frozen=True, eq=False)
class AROWBits(LearningBits):
    """Predictors that can still learn by AROW.

    ``state`` of shape (n_features, 2 or 3, n_bits) has weights, variances and, with averaging, what the average needs.
    """

    @classmethod
    def begun(
        cls, n_features: int, n_bits: int, *, is_averaged: bool, has_bias: bool, n_threads: int | None
    ) -> AROWBits:
        """Weights 0 and variances 1, before the first step; ``n_features`` includes that of the bias."""
        state = np.zeros((n_features, 3 if is_averaged else 2, n_bits), dtype=np.float32)
        state[:, 1] = 1
        return cls(state, 0, has_bias, n_threads)

    @property
    def is_averaged(self) -> bool:
        """Whether the margins are those of the average weights."""
        return bool(self.state.shape[1] == 3)

    @property
    def settings(self) -> str:
        return f"{super().settings} and average={self.is_averaged}"

    def learning(
        self, samples: TrainingRows, codewords: CodingMatrix, order: NDArray[np.int64], *, r: float
    ) -> Iterator[AROWBits]:
        """Yields the bits during one pass, several times a second, so that Python can report or be interrupted.

        The regularisation ``r`` is divided by a sample's weight, so that weight 0 means no influence.
        """
        from codekin.kernels.arow import arow_pass

        rows = samples.rows
        with np.errstate(divide="ignore"):
            r_of_sample = np.maximum(r / samples.weight_of_sample, LEAST_R).astype(np.float32)
        codewords = np.ascontiguousarray(codewords, dtype=np.int8)
        n_threads = min(self.n_threads or available_threads(), max(self.n_bits // BITS_PER_THREAD, 1))
        n_lines = -(-self.n_bits // (BITS_PER_CACHE_LINE * n_threads))
        updates_per_step = max(len(rows.values) // max(rows.n_rows, 1), 1) * max(self.n_bits, 1)
        n_steps_at_once = max(UPDATES_AT_ONCE * n_threads // updates_per_step, 1)
        for start in range(0, len(order), n_steps_at_once):
            some = order[start : start + n_steps_at_once]
            n_steps = self.n_steps + start

            def learn(first: int, last: int, some: NDArray[np.int64] = some, n_steps: int = n_steps) -> None:
                arow_pass(*samples.arrays, codewords, r_of_sample, some, n_steps, self.state, first, last)

            run_blocks(learn, self.n_bits, block=n_lines * BITS_PER_CACHE_LINE, n_threads=n_threads)
            yield replace(self, n_steps=n_steps + len(some))

    def margins(self, X: Any) -> Float32Array:
        margins = super().margins(X)
        if self.is_averaged and self.n_steps:
            late = product_with_dense(SparseRows.of(X, self.n_features), self.state, 2, self.n_threads)
            late += self.state[-1, 2] * self.has_bias
            margins -= late / np.float32(self.n_steps)
        return margins

    def _weights_of(self, block: slice) -> Float32Array:
        if not (self.is_averaged and self.n_steps):
            return super()._weights_of(block)
        return self.state[block, 0] - self.state[block, 2] / np.float32(self.n_steps)

    def gathered(self) -> Float32Array:
        """The weights, with the bias as the last feature, in the state's own memory; invalidates these bits."""
        if self.is_averaged:
            self.weights(out=self.state[:, 0])
        return super().gathered()


BYTES = np.dtype(np.float32).itemsize


@dataclass(frozen=True, eq=False)
class AROW(OnlineLearner):
    """Learns every bit of a code by AROW, all bits in one pass over the samples.

    For a sample ``x`` and a bit with label ``y``, ``s = w.x`` and ``v = sum_f sigma_f x_f**2``, if ``y s < 1``::

        beta = 1 / (v + r)        w_f     += (1 - y s) beta y sigma_f x_f
                                  sigma_f -= beta (sigma_f x_f)**2

    starting from ``w = 0`` and ``sigma = 1``. Training takes 8 bytes for each feature and bit (4 more with
    averaging), the result 4.

    Parameters
    ----------
    r : float, default=1.0
        Regularisation: larger values mean smaller steps. It is divided by the weight of a sample.
    n_epochs : int, default=5
        How many passes over the samples.
    shuffle : bool, default=True
        Whether each pass has a new random order, the same for all bits.
    fit_intercept : bool, default=False
        Whether to learn a bias, as the weight of an additional feature that is always 1.
    average : bool, default=False
        Whether to return the average of the weights over all steps instead of the last weights.
    class_weight : "balanced" or array-like of shape (n_classes,), optional
        Multiplies the weights of a class's samples. ``"balanced"`` makes every class count the same.
    oversample : float, default=1.0
        How often a pass shows a sample to the bits for which it is positive; others see it once. One-vs-rest codes,
        whose bits have few positives, gain from values above 1: choose it by validation.
    patience : int, default=2
        With validation, stop after this many passes in a row whose score is below the best.
    max_memory : int, optional
        The most bytes that weights and variances may take, and whatever else a fit needs besides the samples. If they
        do not fit at once, blocks of columns are trained one after the other, with the same result. By default, the
        memory that is available.
    n_threads : int, optional
        How many threads to use; by default, as many as there are processors, and one for each worker. The result does
        not depend on it.
    n_jobs : int, optional
        How many of joblib's workers share the bits, -1 for one per processor; by default those of the enclosing
        ``joblib.parallel_config``, or none without one, so that this process learns all bits. The result does not
        depend on it. With validation samples, workers make all passes and do not stop early.

    References
    ----------
    K. Crammer, A. Kulesza and M. Dredze, "Adaptive Regularization of Weight Vectors", NIPS 2009.

    Examples
    --------
    >>> from scipy import sparse
    >>> from codekin.samples import Samples
    >>> X = sparse.csr_array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]])
    >>> code = Code.of([[1, 1], [1, -1], [-1, 1]])
    >>> bits = AROW().fit(Samples(X, np.array([0, 1, 2])), code, rng=0)
    >>> np.sign(bits.margins(X))
    array([[ 1.,  1.],
           [ 1., -1.],
           [-1.,  1.]], dtype=float32)
    """

    r: float = 1.0
    n_epochs: int = 5
    shuffle: bool = True
    fit_intercept: bool = False
    average: bool = False
    class_weight: Literal["balanced"] | ArrayLike | None = None
    oversample: float = 1.0
    patience: int = 2
    max_memory: int | None = None
    n_threads: int | None = None
    n_jobs: int | None = None

    _engines: ClassVar[Mapping[str, Engine]] = dict.fromkeys(ENGINES, ENGINES["blocks"])
    """Blocks of columns, on any codebook."""
    _from_one: ClassVar[tuple[str, ...]] = ("n_epochs", "patience", "oversample")
    _positive: ClassVar[tuple[str, ...]] = ("max_memory", "r")
    learns_probabilities: ClassVar[bool] = False
    """False: bits can be calibrated one by one."""

    @property
    def bytes_at_once(self) -> int:
        """What a weight takes while all bits are learned together: itself, its variance and, for averages, its sum."""
        return BYTES * (3 if self.average else 2)

    def decoding_loss(self, codebook: Codebook) -> str:  # noqa: ARG002 -- the same for all codebooks
        """The default decoding loss: exponential."""
        return "exponential"

    def _lesson(self, rows: TrainingRows | StreamedRows, code: Code, *, learns_on: bool = False) -> Lesson[AROWBits]:
        """How it learns the columns of a code from some samples, perhaps to learn on later.

        A bit does not learn from samples whose codeword is zero there. A bit with one sign in all samples is not
        learned at all, unless it may learn on: its margin is that sign.
        """
        codewords, n_bits = code.coding_matrix, code.n_bits
        # The sign of each bit if it is the same in all codewords that do not ignore it; otherwise 0.
        present = codewords[:0] if learns_on else codewords[rows.present_classes]
        signs: Any = (present > 0).any(axis=0).astype(np.int8) - (present < 0).any(axis=0).astype(np.int8)
        if signs.any():
            codewords = np.where(signs == 0, codewords, 0).astype(np.int8)
        has: Any = {"is_averaged": self.average, "has_bias": self.fit_intercept, "n_threads": self.n_threads}

        def learning(bits: AROWBits, block: Block, some: TrainingRows, order: NDArray[np.int64]) -> Iterator[AROWBits]:
            return bits.learning(some, codewords[:, slice(*block)], order, r=self.r)

        def completed(bits: LinearBits) -> LinearBits:
            bits.bias[signs != 0] = CONSTANT_MARGIN * signs[signs != 0]
            return bits

        return Lesson(
            n_bits,
            partial(AROWBits.begun, rows.n_features, **has),
            learning,
            partial(pass_order, oversample=self.oversample, is_shuffled=self.shuffle),
            partial(self._column_blocks, rows.n_features, n_bits, may_split=not learns_on),
            lambda: {**self._settings, "codewords_checksum": checksum(codewords)},
            completed,
        )

    @property
    def _settings(self) -> dict[str, Any]:
        """What the result depends on, besides the number of passes and the samples with their weights."""
        names = ("r", "shuffle", "fit_intercept", "average", "oversample", "patience")
        return {"learner": "arow", **{name: getattr(self, name) for name in names}}

    def _column_blocks(
        self, n_features: int, n_bits: int, validation: Validation | None, n_parts: int, *, may_split: bool
    ) -> Sequence[tuple[int, int]]:
        """The columns to train together, so that everything fits into memory; raises if not even one column does.

        ``n_parts`` are trained at a time, unless they would be narrower than a cache line.
        """
        n_parts = max(min(n_parts, n_bits // BITS_PER_CACHE_LINE), 1)
        limit = self._memory_limit
        column = n_features * BYTES
        n_rows = 3 if self.average else 2
        at_once = column * n_bits * n_rows
        if n_parts == 1 and at_once <= limit:
            return [(0, n_bits)]
        # Memory for finished weights, the state of the columns in training and the validation margins of every pass.
        kept = column * n_bits
        if validation is not None:
            kept += self.n_epochs * validation.X.shape[0] * n_bits * BYTES
        n_columns = n_bits if limit == np.inf else int((limit - kept) // (column * n_rows))
        if n_columns < 1 or not may_split:
            least = f", or {in_units(kept + column * n_rows)} for one bit after the other" if may_split else ""
            self._refuse_memory(at_once, n_features, n_bits, least=least)
        if n_columns >= n_bits:
            n_columns = -(-n_bits // n_parts)
        else:
            n_columns = max(n_columns // n_parts, 1)
            if n_columns > BITS_PER_CACHE_LINE:
                n_columns -= n_columns % BITS_PER_CACHE_LINE
        return [(first, min(first + n_columns, n_bits)) for first in range(0, n_bits, n_columns)]
