"""From margins back to classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from codekin._system.threads import available_threads
from codekin.coding import FloatArray, IntArray, Margins
from codekin.decoding.decoder_fit import fit_decoder
from codekin.decoding.learned import LearnedDecoder
from codekin.decoding.losses import LOSSES, Loss
from codekin.decoding.minimum_loss import MinimumLossDecoder
from codekin.decoding.shortest_path import ShortestPathDecoder

__all__ = [
    "LOSSES",
    "LearnedDecoder",
    "Loss",
    "MinimumLossDecoder",
    "ShortestPathDecoder",
    "fit_decoder",
]

SAMPLES_PER_BLOCK = 256
"""A block has this many samples times the number of threads, at most ``MOST_THREADS``."""
MOST_THREADS = 4


class Decoder(Protocol):
    """Turns margins, one per bit, into classes. Among equal losses the lowest class index wins."""

    @property
    def loss(self) -> Loss:
        """The decoding loss."""

    @property
    def is_learned(self) -> bool:
        """Whether it has weights of its own, besides those of the bits."""

    @property
    def n_classes(self) -> int:
        """The number of classes."""

    def decode(self, margins: Margins) -> IntArray:
        """The class with the smallest loss for each sample."""

    def top_k(self, margins: Margins, k: int) -> tuple[IntArray, FloatArray]:
        """The k classes with the smallest losses, and those losses, smallest first."""

    def class_losses(self, margins: Margins) -> FloatArray:
        """The loss of every class."""


@dataclass(frozen=True, eq=False)
class DecodedAccuracy:
    """How often the class of a sample is decoded from its margins."""

    decoder: Decoder
    class_index: IntArray

    def __call__(self, margins: Margins) -> float:
        """The accuracy for the margins of all samples."""
        return float((self.decoder.decode(margins) == self.class_index).mean())

    def in_blocks(self, margins_of: Callable[[Any], Margins], X: Any) -> float:
        """The same without the margins of all samples at once."""
        n_samples, n_right = len(self.class_index), 0
        at_once = SAMPLES_PER_BLOCK * min(available_threads(), MOST_THREADS)
        if n_samples <= at_once:
            return self(margins_of(X))
        for start in range(0, n_samples, at_once):
            block = slice(start, start + at_once)
            n_right += int((self.decoder.decode(margins_of(X[block])) == self.class_index[block]).sum())
        return n_right / n_samples
