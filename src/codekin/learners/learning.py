"""Linear predictors that can still learn: the weights of a feature beside whatever else a step needs to know of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from codekin.learners.linear import Float32Array, LinearBits, SparseLinearBits, SparseRows, product_with_dense


@dataclass(frozen=True, eq=False)
class LearningBits:
    """Weights, and beside them the second moments by which an online learner sizes its steps.

    - ``state`` of shape (n_features, n_rows, n_bits): the weights are row 0 of a feature. With a bias its feature is
      the last.
    - ``has_bias``: whether the last feature is always 1.
    """

    state: Float32Array = field(repr=False)
    n_steps: int
    has_bias: bool
    n_threads: int | None = None

    @property
    def n_features(self) -> int:
        """How many features a sample has."""
        return len(self.state) - self.has_bias

    @property
    def n_bits(self) -> int:
        """How many bits there are."""
        return int(self.state.shape[2])

    def copy(self) -> Self:
        """The same, in memory of its own."""
        return replace(self, state=self.state.copy())

    def going_on_from(self, bits: LinearBits | SparseLinearBits) -> Self:
        """These bits with the weights of finished ones. The state is changed in place.

        ``bits``: of the same features and bits.
        """
        self.state[: bits.n_features, 0] = bits.weights if isinstance(bits, LinearBits) else bits.weights.toarray()
        if self.has_bias:
            self.state[-1, 0] = bits.bias
        return self

    def margins(self, X: Any) -> Float32Array:
        """One column per bit, positive where the predictor says +1."""
        margins = product_with_dense(SparseRows.of(X, self.n_features), self.state, 0, self.n_threads)
        margins += self.state[-1, 0] * self.has_bias
        return margins

    def weights(self, out: Float32Array | None = None) -> Float32Array:
        """A copy of the weights, with the bias as the last feature.

        ``out`` of shape (n_features, n_bits): where to write them.
        """
        out = np.empty((len(self.state), self.n_bits), dtype=np.float32) if out is None else out
        np.copyto(out, self.state[:, 0])
        return out

    def finished(self) -> LinearBits:
        """The predictors alone, which learn no more, in memory of their own."""
        return as_linear_bits(self.weights(), self.has_bias, self.n_threads)

    def ended(self) -> LinearBits:
        """The predictors alone in the state's own memory, the rest of which is given back: these bits are no more."""
        return as_linear_bits(self.gathered(), self.has_bias, self.n_threads)

    def gathered(self) -> Float32Array:
        """The weights, with the bias as the last feature, in the state's own memory: these bits are no more."""
        from codekin.kernels.arow import gather_weights

        n_features, _, n_bits = self.state.shape
        gather_weights(self.state)
        # Nobody else has a view of the state, so it may shrink where it lies.
        self.state.resize((n_features, n_bits), refcheck=False)
        return self.state


def as_linear_bits(weights: Float32Array, has_bias: bool, n_threads: int | None) -> LinearBits:
    """Linear predictors from weights whose last feature may be that of the bias."""
    if has_bias:
        return LinearBits(weights[:-1], weights[-1].copy(), n_threads)
    return LinearBits(weights, np.zeros(weights.shape[1], dtype=np.float32), n_threads)
