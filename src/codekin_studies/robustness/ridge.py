"""Least squares on random features: how strong the bits are is one number, and all splits follow from one solve.

Least squares is linear in its targets. The outputs ``o`` for one-hot targets therefore give the margins of every split
of the classes, ``signs.T @ o``, and those of every assignment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from codekin.coding import IntArray

Floats = NDArray[np.float32]
Pullback = Callable[[Floats], Floats]
"""From slopes with respect to values, a row per sample, to slopes with respect to the samples' features."""

ROWS_PER_BLOCK = 4_096
N_DISTANCES = 1_000
"""How many samples the median distance is taken from."""


@dataclass(frozen=True, eq=False)
class RandomFeatures:
    """Random Fourier features of a Gaussian kernel (Rahimi and Recht, 2007), or the features as they are.

    ``directions`` (n_inputs, n_features) and ``phases`` (n_features,): the features are
    ``sqrt(2 / n_features) * cos(X @ directions + phases)``. Without directions (n_features = 0), they are ``X``.
    """

    directions: Floats
    phases: Floats

    @classmethod
    def drawn(cls, X: Floats, n_features: int, *, width: float, rng: np.random.Generator) -> RandomFeatures:
        """Features of a kernel whose width is ``width`` median distances between samples."""
        some = X[rng.permutation(len(X))[:N_DISTANCES]].astype(np.float64)
        squares = np.square(some).sum(axis=1)
        distances = np.maximum(squares[:, None] + squares - 2 * some @ some.T, 0)
        scale = width * np.sqrt(np.median(distances[np.triu_indices(len(some), k=1)]))
        directions = rng.standard_normal((X.shape[1], n_features)) / scale
        phases = rng.uniform(0, 2 * np.pi, n_features)
        return cls(directions.astype(np.float32), phases.astype(np.float32))

    @property
    def is_plain(self) -> bool:
        """Whether the features are left as they are."""
        return not self.directions.shape[1]

    def __call__(self, X: Floats) -> Floats:
        """The features of samples."""
        return X if self.is_plain else self._scale * np.cos(X @ self.directions + self.phases)

    def with_pullback(self, X: Floats) -> tuple[Floats, Pullback]:
        """The features of samples, and the way back for gradients."""
        if self.is_plain:
            return X, lambda slopes: slopes
        angles = X @ self.directions + self.phases
        return self._scale * np.cos(
            angles
        ), lambda slopes: (slopes * (-self._scale * np.sin(angles))) @ self.directions.T

    @property
    def _scale(self) -> np.float32:
        return np.float32(np.sqrt(2 / self.directions.shape[1]))


@dataclass(frozen=True, eq=False)
class RidgeOutputs:
    """The outputs of least squares for one-hot targets.

    ``weights`` (n_features, n_classes) and ``intercept`` (n_classes,). Outputs of a sample add up to 1.
    """

    features: RandomFeatures
    weights: Floats
    intercept: Floats

    def __call__(self, X: Floats) -> Floats:
        """The outputs (n_samples, n_classes), computed in blocks."""
        blocks = [X[start : start + ROWS_PER_BLOCK] for start in range(0, len(X), ROWS_PER_BLOCK)]
        return np.concatenate([self.features(block) @ self.weights + self.intercept for block in blocks])

    def with_pullback(self, X: Floats) -> tuple[Floats, Pullback]:
        """The outputs, and the way back for gradients."""
        features, pull = self.features.with_pullback(X)
        return features @ self.weights + self.intercept, lambda slopes: pull(slopes @ self.weights.T)


def fit_ridge(features: RandomFeatures, X: Floats, y: IntArray, n_classes: int, *, ridge: float) -> RidgeOutputs:
    """Least squares with an intercept for one-hot targets.

    ``ridge`` is the penalty on squared weights, in units of the mean variance of a feature. Sums are accumulated in
    double precision over blocks of rows, so that the features of all samples are never in memory together.
    """
    one_hot = np.eye(n_classes, dtype=np.float32)
    n = features(X[:1]).shape[1]
    squares, products = np.zeros((n, n)), np.zeros((n, n_classes))
    sums = np.zeros(n)
    for start in range(0, len(X), ROWS_PER_BLOCK):
        block, targets = features(X[start : start + ROWS_PER_BLOCK]), one_hot[y[start : start + ROWS_PER_BLOCK]]
        squares += block.T @ block
        products += block.T @ targets
        sums += block.sum(axis=0, dtype=np.float64)
    mean, mean_target = sums / len(X), np.bincount(y, minlength=n_classes) / len(X)
    squares -= np.outer(sums, mean)
    products -= np.outer(sums, mean_target)
    squares[np.diag_indices(n)] += ridge * np.trace(squares) / n
    weights = linalg.solve(squares, products, assume_a="pos", overwrite_a=True)
    return RidgeOutputs(features, weights.astype(np.float32), (mean_target - mean @ weights).astype(np.float32))
