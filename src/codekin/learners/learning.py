"""Linear predictors that can still learn: weights, and what else a training step needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from codekin._system.sparse_rows import SparseRows
from codekin.learners.linear import Float32Array, LinearBits, SparseLinearBits, product_with_dense

FEATURES_PER_BLOCK = 256


@dataclass(frozen=True, eq=False)
class LearningBits:
    """Weights, and the second moments that determine the steps of an online learner.

    In ``state`` of shape (n_features, n_rows, n_bits) the weights are row 0 of a feature; with a bias, its feature is
    the last.
    """

    state: Float32Array = field(repr=False)
    n_steps: int
    has_bias: bool
    n_threads: int | None = None

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.state) - self.has_bias

    @property
    def n_bits(self) -> int:
        """The number of bits."""
        return int(self.state.shape[2])

    def copy(self) -> Self:
        """A copy."""
        return replace(self, state=self.state.copy())

    def going_on_from(self, bits: LinearBits | SparseLinearBits) -> Self:
        """These bits with the weights of finished ones of the same shape; changes the state in place."""
        self.state[: bits.n_features, 0] = bits.weights if isinstance(bits, LinearBits) else bits.weights.toarray()
        if self.has_bias:
            self.state[-1, 0] = bits.bias
        return self

    def margins(self, X: Any) -> Float32Array:
        """One column per bit, positive if the predictor says +1."""
        margins = product_with_dense(SparseRows.of(X, self.n_features), self.state, 0, self.n_threads)
        margins += self.state[-1, 0] * self.has_bias
        return margins

    def blocks_of_weights(self) -> Iterator[tuple[slice, Float32Array]]:
        """The weights of some features at a time; the last feature is that of the bias."""
        for start in range(0, len(self.state), FEATURES_PER_BLOCK):
            block = slice(start, start + FEATURES_PER_BLOCK)
            yield block, self._weights_of(block)

    def _weights_of(self, block: slice) -> Float32Array:
        return self.state[block, 0]

    def weights(self, out: Float32Array | None = None) -> Float32Array:
        """A copy of the weights, with the bias as the last feature."""
        out = np.empty((len(self.state), self.n_bits), dtype=np.float32) if out is None else out
        for block, weights in self.blocks_of_weights():
            out[block] = weights
        return out

    def finished(self) -> LinearBits:
        """A copy of the predictors alone, which cannot learn further."""
        return as_linear_bits(self.weights(), self.has_bias, self.n_threads)

    def ended(self) -> LinearBits:
        """The predictors alone in the state's own memory, the rest of which is freed; invalidates these bits."""
        return as_linear_bits(self.gathered(), self.has_bias, self.n_threads)

    def gathered(self) -> Float32Array:
        """The weights, with the bias as the last feature, in the state's own memory; invalidates these bits."""
        from codekin.kernels.arow import gather_weights

        n_features, _, n_bits = self.state.shape
        gather_weights(self.state)
        # There are no other views of the state, so it can shrink in place.
        self.state.resize((n_features, n_bits), refcheck=False)
        return self.state


def as_linear_bits(weights: Float32Array, has_bias: bool, n_threads: int | None) -> LinearBits:
    """Linear predictors from weights whose last feature may be that of the bias."""
    if has_bias:
        return LinearBits(weights[:-1], weights[-1].copy(), n_threads)
    return LinearBits(weights, np.zeros(weights.shape[1], dtype=np.float32), n_threads)
