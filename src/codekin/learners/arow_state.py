"""The state of AROW: weights, variances and, with averaging, the sum of all weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin._system.sparse_rows import SparseRows
from codekin._system.threads import available_threads, run_blocks
from codekin.coding import CodingMatrix
from codekin.learners.learning import LearningBits
from codekin.learners.linear import Float32Array, product_with_dense
from codekin.learners.training_rows import TrainingRows

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
        """One column per bit, positive if the predictor says +1."""
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
