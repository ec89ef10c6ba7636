"""The final ranking of a code's candidates, and how its weight is chosen on held-out samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from codekin.coding import FloatArray
from codekin.model.class_vectors import ClassVectors

CANDIDATE_NUMBERS = (10, 20, 50, 100)
"""The numbers of candidates per code to try."""
TOLERANCE = 0.002
"""Fewer candidates are preferred at this loss of accuracy, a fifth of a point: they determine the time."""
N_WEIGHTS = 60
SAMPLES_PER_BLOCK = 1_024


@dataclass(frozen=True, eq=False)
class Reranking:
    """The last step of a prediction: the best classes of one or several codes, rescored.

    The loss of a candidate is the sum of its decoding losses, minus ``weight`` times the dot product of the sample and
    the class's vector.

    Parameters
    ----------
    n_candidates : int
        How many of its best classes each code contributes.
    vectors : ClassVectors, optional
        The vectors that rescore them; None if only the losses of several codes are added.
    weight : float, default=0.0
        The weight of the dot products relative to the decoding losses.
    temperature : float, default=1.0
        Divides the losses before the candidates' total probability is redistributed.
    reach : float, default=inf
        On trees, classes whose loss is larger than the smallest of their code by more than this are no candidates: they
        would not become the best, and need not be looked for.
    """

    n_candidates: int
    vectors: ClassVectors | None = None
    weight: float = 0.0
    temperature: float = 1.0
    reach: float = np.inf

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not self.reach > 0:
            raise ValueError(f"The 'reach' of a re-ranking must be greater than 0. Got {self.reach} instead.")
        if self.n_candidates < 1:
            raise ValueError(f"The 'n_candidates' of a re-ranking must be at least 1. Got {self.n_candidates} instead.")
        if not (np.isfinite(self.weight) and self.weight >= 0):
            raise ValueError(f"The 'weight' of a re-ranking must not be negative. Got {self.weight} instead.")
        if not (np.isfinite(self.temperature) and self.temperature > 0):
            raise ValueError(
                f"The 'temperature' of a re-ranking must be greater than 0. Got {self.temperature} instead."
            )


def best_weight(losses: FloatArray, scores: FloatArray, is_true: NDArray[np.bool_]) -> tuple[float, float]:
    """The weight with which the true class most often has the smallest ``loss - weight * score``, and how often.

    For each sample the weights with which its class comes first are an interval, so that all weights are tried at once:
    60 in a geometric series, compared by the mean over their neighbours to reduce noise. Arrays have the shape
    (n_samples, n_candidates); infinite losses mean missing candidates.

    >>> losses = np.array([[1.0, 1.5], [2.0, 2.1]])
    >>> scores = np.array([[0.0, 1.0], [0.3, 0.1]])
    >>> weight, accuracy = best_weight(losses, scores, np.array([[False, True], [True, False]]))
    >>> weight > 0.5, accuracy
    (True, 1.0)
    """
    n_samples = len(losses)
    has_true = np.flatnonzero(is_true.any(axis=1))
    if len(has_true) == 0:
        return 0.0, 0.0
    blocks = [has_true[start : start + SAMPLES_PER_BLOCK] for start in range(0, len(has_true), SAMPLES_PER_BLOCK)]
    found = [_winning_weights(losses[block], scores[block], is_true[block]) for block in blocks]
    low, high, is_first = (np.concatenate(parts) for parts in zip(*found, strict=True))
    is_winnable = low < high
    low, high = np.sort(low[is_winnable]), np.sort(high[is_winnable])
    without = float(is_first.sum() / n_samples)
    if not (low > 0).any():
        return 0.0, without
    smallest, largest = np.quantile(low[low > 0], [0.01, 0.99])
    weights = np.geomspace(max(smallest, largest * 1e-6), 2 * largest, N_WEIGHTS)
    shares = (np.searchsorted(low, weights, side="left") - np.searchsorted(high, weights, side="right")) / n_samples
    around = np.convolve(np.pad(shares, 1, mode="edge"), np.ones(3) / 3, mode="valid")
    best = int(around.argmax())
    return (float(weights[best]), float(shares[best])) if shares[best] > without else (0.0, without)


def _winning_weights(
    losses: FloatArray, scores: FloatArray, is_true: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """Between which weights the true class of each sample comes first, and whether it does without any."""
    behind = losses[is_true][:, None] - losses
    gain = scores[is_true][:, None] - scores
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = behind / gain
    low = np.where(gain > 0, crossing, -np.inf).max(axis=1)
    high = np.where(gain < 0, crossing, np.inf).min(axis=1)
    # If the scores are equal no weight helps; the class itself and missing candidates never come first.
    high[((gain == 0) & (behind > 0)).any(axis=1)] = -np.inf
    return low, high, losses.argmin(axis=1) == is_true.argmax(axis=1)
