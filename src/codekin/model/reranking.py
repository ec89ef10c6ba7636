"""The final ranking of a code's candidates, and how its weight is chosen on held-out samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from codekin.coding import FloatArray, IntArray
from codekin.model.class_index import ClassIndex, index_entries
from codekin.model.class_vectors import ClassVectors

CANDIDATE_SOURCES = ("code", "index", "both")
"""What lists candidates: the best paths of the codes, an index of the class vectors, or both."""
CandidateSource = Literal["code", "index", "both"]
TOLERANCE = 0.002
"""Fewer candidates are preferred at this loss of accuracy, a fifth of a point: they determine the time."""
N_WEIGHTS = 60
SAMPLES_PER_BLOCK = 1_024


@dataclass(frozen=True, eq=False)
class Reranking:
    """The last step of a prediction: the best classes of one or several codes and of an index, rescored.

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
    n_indexed : int, default=0
        How many classes an index of the vectors contributes, whatever their losses.
    n_entries : int, default=0
        How many entries of each vector the index has.
    """

    n_candidates: int
    vectors: ClassVectors | None = None
    weight: float = 0.0
    temperature: float = 1.0
    reach: float = np.inf
    n_indexed: int = 0
    n_entries: int = 0

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
        if self.n_indexed < 0 or (self.n_indexed > 0 and (self.vectors is None or self.n_entries < 1)):
            raise ValueError(
                "A re-ranking with an index needs class vectors and at least one entry of each. "
                f"Got n_indexed={self.n_indexed} and n_entries={self.n_entries}."
            )

    @classmethod
    def of_index(cls, source: CandidateSource, n: int, vectors: ClassVectors) -> Self:
        """The n best classes of an index, and the best one or the n best of each code, not yet rescored."""
        n_entries = index_entries(vectors.n_classes)
        return cls(n if source == "both" else 1, vectors, n_indexed=n, n_entries=n_entries)

    def with_vectors(self, vectors: ClassVectors | None) -> Self:
        """The same ranking by other vectors, perhaps of more classes: an index has as many entries as suit these."""
        n_entries = index_entries(vectors.n_classes) if vectors is not None and self.n_indexed else 0
        return replace(self, vectors=vectors, n_entries=n_entries)

    @property
    def source(self) -> CandidateSource:
        """What lists the candidates."""
        return "code" if self.n_indexed == 0 else "index" if self.n_candidates == 1 else "both"

    @cached_property
    def index(self) -> ClassIndex:
        """The index of the class vectors."""
        assert self.vectors is not None
        return ClassIndex.of(self.vectors, self.n_entries)

    def indexed(self, X: Any, n_samples: int, n_threads: int | None = None) -> IntArray:
        """The classes that the index contributes to each sample, -1 if there are fewer."""
        if self.n_indexed == 0:
            return np.empty((n_samples, 0), dtype=np.intp)
        return self.index.best(X, min(self.n_indexed, self.index.n_classes), n_threads)


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
