"""Linear predictors that can still learn: the weights of a feature beside whatever else a step needs to know of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from codekin.learners.linear import Float32Array, LinearBits, SparseLinearBits, SparseRows, product_with_dense


@dataclass(frozen=True, eq=False)
class LearningBits:
    """Weights, and beside them the second moments by which an online learner sizes its steps.

    Parameters
    ----------
    state : float32 array of shape (n_features, n_rows, n_bits)
        The weights are row 0 of a feature. With a bias its feature is the last.
    n_steps : int
        How many steps were made.
    has_bias : bool
        Whether the last feature is always 1.
    n_threads : int, optional
        How many threads to use; by default, as many as there are processors. The result does not depend on it.
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
        """The same, in memory of its own.

        Returns
        -------
        LearningBits
        """
        return replace(self, state=self.state.copy())

    def going_on_from(self, bits: LinearBits | SparseLinearBits) -> Self:
        """These bits with the weights of finished ones. The state is changed in place.

        Parameters
        ----------
        bits : LinearBits or SparseLinearBits
            Of the same features and bits.

        Returns
        -------
        LearningBits
        """
        self.state[: bits.n_features, 0] = bits.weights if isinstance(bits, LinearBits) else bits.weights.toarray()
        if self.has_bias:
            self.state[-1, 0] = bits.bias
        return self

    def margins(self, X: Any) -> Float32Array:
        """One column per bit, positive where the predictor says +1.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_bits), float32
        """
        margins = product_with_dense(SparseRows.of(X, self.n_features), self.state, 0, self.n_threads)
        margins += self.state[-1, 0] * self.has_bias
        return margins

    def weights(self, out: Float32Array | None = None) -> Float32Array:
        """A copy of the weights, with the bias as the last feature.

        Parameters
        ----------
        out : float32 array of shape (n_features, n_bits), optional
            Where to write them.

        Returns
        -------
        ndarray of shape (n_features, n_bits), float32
        """
        out = np.empty((len(self.state), self.n_bits), dtype=np.float32) if out is None else out
        np.copyto(out, self.state[:, 0])
        return out

    def finished(self) -> LinearBits:
        """The predictors alone, which learn no more, in memory of their own.

        Returns
        -------
        LinearBits
        """
        return as_linear_bits(self.weights(), self.has_bias, self.n_threads)

    def ended(self) -> LinearBits:
        """The predictors alone in the state's own memory, the rest of which is given back: these bits are no more.

        Returns
        -------
        LinearBits
        """
        return as_linear_bits(self.gathered(), self.has_bias, self.n_threads)

    def gathered(self) -> Float32Array:
        """The weights, with the bias as the last feature, in the state's own memory: these bits are no more.

        Returns
        -------
        ndarray of shape (n_features, n_bits), float32
        """
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
