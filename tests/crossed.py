"""Classes that no line separates, though a line separates each of their two halves from all others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

TREES = np.array(["ash", "beech", "cedar", "elm"])


def make_crossed_blobs(
    n_classes: int = 2, n_samples: int = 400, *, labels: NDArray[Any] = TREES, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Samples and labels: each class is two far-apart blobs on opposite sides of a circle."""
    rng = np.random.default_rng(seed)
    blob = rng.integers(0, 2 * n_classes, size=n_samples)
    angle = np.pi * blob / n_classes
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(scale=0.05, size=(n_samples, 2))
    return X, labels[blob % n_classes]
