"""What may happen to pictures, to the bits of a code, and to the weights that compute them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.coding import CodingMatrix, FloatArray
from codekin_studies.robustness.ridge import ROWS_PER_BLOCK, Floats, RidgeOutputs

Box = tuple[float, float]
"""The smallest and the largest value of a pixel."""


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
    top, left = (rng.integers(0, max(1, size - side + 1), len(pictures)) for size in (height, width))
    rows, columns = np.arange(height)[None, :, None, None], np.arange(width)[None, None, :, None]
    is_inside = [(at >= first) & (at < first + side) for at, first in _with_first((rows, columns), (top, left))]
    return np.where(is_inside[0] & is_inside[1], np.float32(box[0]), pictures)


def _with_first(axes: tuple[Any, ...], firsts: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    return [(axis, first[:, None, None, None]) for axis, first in zip(axes, firsts, strict=True)]


def contrast(pictures: Floats, strength: float, _box: Box, _rng: np.random.Generator) -> Floats:
    """Move every pixel towards the mean of its picture; the share ``strength`` of the contrast is left."""
    means = pictures.mean(axis=(1, 2, 3), keepdims=True)
    return np.asarray(means + np.float32(strength) * (pictures - means), dtype=np.float32)


PICTURE_CORRUPTIONS: dict[str, Callable[[Floats, float, Box, np.random.Generator], Floats]] = {
    "noise": noise,
    "blur": blur,
    "occlusion": occlusion,
    "contrast": contrast,
}
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
    weights = model.weights @ signs.astype(np.float32)
    scales = np.maximum(np.abs(weights).max(axis=0), np.float32(1e-30)) / np.float32(127)
    stored = with_flipped_bits(np.rint(weights / scales).astype(np.int8), share, rng)
    weights = stored.astype(np.float32) * scales
    intercept = model.intercept @ signs.astype(np.float32)
    blocks = [X[start : start + ROWS_PER_BLOCK] for start in range(0, len(X), ROWS_PER_BLOCK)]
    return np.ascontiguousarray(np.concatenate([model.features(block) @ weights + intercept for block in blocks]).T)


def with_flipped_bits(stored: NDArray[np.int8], share: float, rng: np.random.Generator) -> NDArray[np.int8]:
    """Bytes of which each bit is flipped with a probability of ``share``."""
    masks = np.zeros(stored.shape, dtype=np.uint8)
    for bit in range(8):
        masks |= (rng.random(stored.shape, dtype=np.float32) < share).astype(np.uint8) << np.uint8(bit)
    return (stored.view(np.uint8) ^ masks).view(np.int8)
