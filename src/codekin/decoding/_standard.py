"""Standardise columns to mean 0 and variance 1, and convert weights back to the original columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from codekin.coding import FloatArray
from codekin.decoding.learned import LearnedDecoder, Products
from codekin.decoding.losses import LossLike


class Standard(NamedTuple):
    """The means and scales of the columns."""

    mean: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, values: FloatArray, sample_weight: FloatArray) -> Standard:
        mean = sample_weight @ values
        scale = np.sqrt(sample_weight @ (values - mean) ** 2)
        # A constant column carries no information, whatever its weights.
        return cls(mean, np.where(scale > 1e-9 * np.abs(mean), scale, np.inf))

    def features(self, values: FloatArray) -> FloatArray:
        """Columns of mean 0 and variance 1, and a column of ones."""
        return np.column_stack([(values - self.mean) / self.scale, np.ones(len(values))])

    def weights(self, weights: FloatArray, biases: FloatArray) -> FloatArray:
        """Weights of the standardised features from weights of the original columns and a constant."""
        scale = np.where(np.isinf(self.scale), 0.0, self.scale)
        return np.column_stack([weights * scale, weights @ self.mean + biases])

    def decoder(self, weights: FloatArray, loss: LossLike) -> LearnedDecoder:
        """The decoder from weights of the standardised features, and perhaps of their products."""
        n_bits = len(self.mean)
        plain = weights[:, :n_bits] / self.scale
        of_products = weights[:, n_bits + 1 :]
        products = Products(of_products, self.mean, self.scale) if of_products.size else None
        return LearnedDecoder(plain, weights[:, n_bits] - plain @ self.mean, loss, products)
