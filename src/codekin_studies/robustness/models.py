"""Models whose bits are swept and attacked: least squares on random features, small networks; what may happen to them.

Least squares is linear in its targets. The outputs ``o`` for one-hot targets therefore give the margins of every split
of the classes, ``signs.T @ o``, and those of every assignment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from codekin.code import CodingMatrix, FloatArray, IntArray

Floats = NDArray[np.float32]
Pullback = Callable[[Floats], Floats]
"""From slopes with respect to values, a row per sample, to slopes with respect to the samples' features."""

ROWS_PER_BLOCK = 4_096
N_DISTANCES = 1_000
"""How many samples the median distance is taken from."""

Box = tuple[float, float]
"""The smallest and the largest value of a pixel."""

BATCH = 128
STEP, DECAY, SQUARE_DECAY = 2e-3, 0.9, 0.999
"""Of Adam (Kingma and Ba, 2015)."""


def _blocks(X: NDArray[Any]) -> list[NDArray[Any]]:
    return [X[start : start + ROWS_PER_BLOCK] for start in range(0, len(X), ROWS_PER_BLOCK)]


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
        return np.concatenate([self.features(block) @ self.weights + self.intercept for block in _blocks(X)])

    def with_pullback(self, X: Floats) -> tuple[Floats, Pullback]:
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
    for rows, of_rows in zip(_blocks(X), _blocks(y), strict=True):
        block, targets = features(rows), one_hot[of_rows]
        squares += block.T @ block
        products += block.T @ targets
        sums += block.sum(axis=0, dtype=np.float64)
    mean, mean_target = sums / len(X), np.bincount(y, minlength=n_classes) / len(X)
    squares -= np.outer(sums, mean)
    products -= np.outer(sums, mean_target)
    squares[np.diag_indices(n)] += ridge * np.trace(squares) / n
    weights = linalg.solve(squares, products, assume_a="pos", overwrite_a=True)
    return RidgeOutputs(features, weights.astype(np.float32), (mean_target - mean @ weights).astype(np.float32))


@dataclass(frozen=True, eq=False)
class Network:
    """Margins ``relu(X @ hidden + hidden_intercept) @ outer + outer_intercept``."""

    hidden: Floats
    hidden_intercept: Floats
    outer: Floats
    outer_intercept: Floats

    def __call__(self, X: Floats) -> Floats:
        """The margins (n_samples, n_bits), computed in blocks."""
        return np.concatenate([self.with_pullback(block)[0] for block in _blocks(X)])

    def with_pullback(self, X: Floats) -> tuple[Floats, Pullback]:
        inner = X @ self.hidden + self.hidden_intercept
        is_on = inner > 0
        margins = np.where(is_on, inner, 0) @ self.outer + self.outer_intercept
        return margins, lambda slopes: np.where(is_on, slopes @ self.outer.T, 0) @ self.hidden.T

    def with_failing_memory(self, share: float, rng: np.random.Generator) -> Network:
        """The network with weights as int8 of which each bit is flipped with a probability of ``share``."""
        hidden, outer = (_in_failing_memory(weights, share, rng) for weights in (self.hidden, self.outer))
        return Network(hidden, self.hidden_intercept, outer, self.outer_intercept)


def train_network(
    X: Floats, y: IntArray, coding_matrix: CodingMatrix, *, n_hidden: int, n_epochs: int, rng: np.random.Generator
) -> Network:
    """A network whose outputs are the bits of a code, by the hinge loss and Adam; the step falls to 0 linearly."""
    n_bits = coding_matrix.shape[1]
    sizes = ((X.shape[1], n_hidden), (n_hidden, n_bits))
    first, second = ((rng.standard_normal(size) * np.sqrt(2 / size[0])).astype(np.float32) for size in sizes)
    parameters = [first, np.zeros(n_hidden, dtype=np.float32), second, np.zeros(n_bits, dtype=np.float32)]
    moments = [[np.zeros_like(one), np.zeros_like(one)] for one in parameters]
    targets = coding_matrix.astype(np.float32)[y]
    n_batches = -(-len(X) // BATCH)
    for number in range(n_epochs * n_batches):
        if number % n_batches == 0:
            order = rng.permutation(len(X))
        rows = order[number % n_batches * BATCH : (number % n_batches + 1) * BATCH]
        rate = STEP * (1 - number / (n_epochs * n_batches))
        _step(parameters, moments, _gradients(parameters, X[rows], targets[rows]), rate, number + 1)
    return Network(*parameters)


def _gradients(parameters: list[Floats], X: Floats, targets: Floats) -> list[Floats]:
    """The gradients of the mean hinge loss of all bits."""
    hidden, hidden_intercept, outer, outer_intercept = parameters
    inner = np.maximum(X @ hidden + hidden_intercept, 0)
    z = targets * (inner @ outer + outer_intercept)
    slopes = np.where(z < 1, -targets, 0) / np.float32(targets.size)
    back = np.where(inner > 0, slopes @ outer.T, 0)
    return [X.T @ back, back.sum(axis=0), inner.T @ slopes, slopes.sum(axis=0)]


def _step(
    parameters: list[Floats], moments: list[list[Floats]], gradients: list[Floats], rate: float, number: int
) -> None:
    """One step of Adam, in place."""
    scale = rate * np.sqrt(1 - SQUARE_DECAY**number) / (1 - DECAY**number)
    for place, gradient in enumerate(gradients):
        first, second = moments[place]
        first += np.float32(1 - DECAY) * (gradient - first)
        second += np.float32(1 - SQUARE_DECAY) * (gradient * gradient - second)
        parameters[place] -= np.float32(scale) * first / (np.sqrt(second) + np.float32(1e-8))


def noise(pictures: Floats, strength: float, box: Box, rng: np.random.Generator) -> Floats:
    """Add Gaussian noise with a standard deviation of ``strength`` to every pixel."""
    return np.clip(pictures + np.float32(strength) * rng.standard_normal(pictures.shape, dtype=np.float32), *box)


def blur(pictures: Floats, strength: float, _box: Box, _rng: np.random.Generator) -> Floats:
    """Blur with a Gaussian whose standard deviation is a share of the width."""
    from scipy.ndimage import gaussian_filter

    sigma = strength * pictures.shape[2]
    return np.asarray(gaussian_filter(pictures, (0, sigma, sigma, 0)), dtype=np.float32)


def occlusion(pictures: Floats, strength: float, box: Box, rng: np.random.Generator) -> Floats:
    """Blacken a square at a random place; its side is a share of the width."""
    _, height, width, _ = pictures.shape
    side = max(1, round(strength * width))
    corners = [rng.integers(0, max(1, size - side + 1), len(pictures))[:, None, None, None] for size in (height, width)]
    places = np.arange(height)[None, :, None, None], np.arange(width)[None, None, :, None]
    rows, columns = ((at >= first) & (at < first + side) for at, first in zip(places, corners, strict=True))
    return np.where(rows & columns, np.float32(box[0]), pictures)


def contrast(pictures: Floats, strength: float, _box: Box, _rng: np.random.Generator) -> Floats:
    """Move every pixel towards the mean of its picture; the share ``strength`` of the contrast is left."""
    means = pictures.mean(axis=(1, 2, 3), keepdims=True)
    return np.asarray(means + np.float32(strength) * (pictures - means), dtype=np.float32)


PICTURE_CORRUPTIONS = {"noise": noise, "blur": blur, "occlusion": occlusion, "contrast": contrast}
"""Functions of pictures (n_samples, height, width, n_channels), how much, the box, and a random generator."""

CORRUPTIONS = (*PICTURE_CORRUPTIONS, "code_bits", "weight_bits")
"""All of them: those of pictures, flipped bits of the code, flipped bits of the weights."""


def flipped_code_bits(margins: FloatArray, share: float, rng: np.random.Generator) -> FloatArray:
    """Margins (n_splits, n_samples) of which each changes its sign with a probability of ``share``."""
    return np.where(rng.random(margins.shape, dtype=np.float32) < share, -margins, margins)


def margins_of_flipped_weights(
    model: RidgeOutputs, signs: CodingMatrix, X: Floats, share: float, rng: np.random.Generator
) -> Floats:
    """The margins (n_splits, n_samples) of splits whose weights are stored as int8 in memory that fails.

    The weights of a split are rounded to 127 steps either side of zero, the largest of them to 127; each of the eight
    bits of each weight is then flipped with a probability of ``share``. Intercepts are kept as they are. ``signs``
    (n_classes, n_splits) are the columns of the splits.
    """
    weights = _in_failing_memory(model.weights @ signs.astype(np.float32), share, rng)
    intercept = model.intercept @ signs.astype(np.float32)
    margins = np.concatenate([model.features(block) @ weights + intercept for block in _blocks(X)])
    return np.ascontiguousarray(margins.T)


def _in_failing_memory(weights: Floats, share: float, rng: np.random.Generator) -> Floats:
    """Weights as they are read back from int8, a scale per column, after bits were flipped."""
    scales = np.maximum(np.abs(weights).max(axis=0), np.float32(1e-30)) / np.float32(127)
    stored = with_flipped_bits(np.rint(weights / scales).astype(np.int8), share, rng)
    return np.asarray(stored.astype(np.float32) * scales)


def with_flipped_bits(stored: NDArray[np.int8], share: float, rng: np.random.Generator) -> NDArray[np.int8]:
    """Bytes of which each bit is flipped with a probability of ``share``."""
    masks = np.zeros(stored.shape, dtype=np.uint8)
    for bit in range(8):
        masks |= (rng.random(stored.shape, dtype=np.float32) < share).astype(np.uint8) << np.uint8(bit)
    return (stored.view(np.uint8) ^ masks).view(np.int8)
