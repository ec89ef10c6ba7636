"""Columns brought to mean 0 and variance 1, and weights of them turned into weights of the columns as they were."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from codekin.coding import FloatArray
from codekin.decoding.learned import LearnedDecoder, Products
from codekin.decoding.losses import LossLike


class Standard(NamedTuple):
    """Where the columns lie and how wide they are."""

    mean: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, values: FloatArray, sample_weight: FloatArray) -> Standard:
        mean = sample_weight @ values
        scale = np.sqrt(sample_weight @ (values - mean) ** 2)
        # A column that does not vary says nothing, whatever its weights.
        return cls(mean, np.where(scale > 1e-9 * np.abs(mean), scale, np.inf))

    def features(self, values: FloatArray) -> FloatArray:
        """Columns of mean 0 and variance 1, and a column of ones."""
        return np.column_stack([(values - self.mean) / self.scale, np.ones(len(values))])

    def weights(self, weights: FloatArray) -> FloatArray:
        """Weights of the features that stand for weights of the columns as they were."""
        scale = np.where(np.isinf(self.scale), 0.0, self.scale)
        return np.column_stack([weights * scale, weights @ self.mean])

    def decoder(self, weights: FloatArray, loss: LossLike) -> LearnedDecoder:
        """The decoder that weights of the features, and perhaps of their products, stand for."""
        n_bits = len(self.mean)
        plain = weights[:, :n_bits] / self.scale
        of_products = weights[:, n_bits + 1 :]
        products = Products(of_products, self.mean, self.scale) if of_products.size else None
        return LearnedDecoder(plain, weights[:, n_bits] - plain @ self.mean, loss, products)
