"""From margins back to classes."""

from __future__ import annotations

from typing import Protocol

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


def decoded_accuracy(decoder: Decoder, class_index: IntArray, margins: Margins) -> float:
    """How often the class of a sample is decoded from its margins."""
    return float((decoder.decode(margins) == class_index).mean())
