"""From margins back to classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from codekin._system.parallel import SAMPLES_PER_BLOCK, available_threads
from codekin.code import Code, IntArray, Margins
from codekin.decoding.beam_search import BeamSearchDecoder
from codekin.decoding.decoder import Decoder
from codekin.decoding.decoder_fit import fit_decoder
from codekin.decoding.learned import LearnedDecoder, NearestTargetDecoder
from codekin.decoding.losses import LOSSES, Loss, LossLike, get_loss
from codekin.decoding.minimum_loss import MinimumLossDecoder
from codekin.decoding.shortest_path import ShortestPathDecoder
from codekin.samples import Samples

__all__ = [
    "LOSSES",
    "LearnedDecoder",
    "Loss",
    "MinimumLossDecoder",
    "ShortestPathDecoder",
    "fit_decoder",
]

MOST_THREADS = 4
"""A block of margins has ``SAMPLES_PER_BLOCK`` samples for each thread, but for no more threads than these."""


def decoder_of(code: Code, loss: LossLike, *, is_weighted: bool = False) -> Decoder:
    """The fastest decoder for a code: shortest paths on a trellis, a beam search on a tree.

    The targets of real codewords are decoded by the nearest one, which is the squared loss. With ``is_weighted`` the
    loss of a class is divided by the number of its non-zero bits; in a trellis that is all bits.
    """
    return DECODERS[code.codebook.kind](code, loss, is_weighted)


def _nearest_target(code: Code, loss: LossLike, is_weighted: bool) -> NearestTargetDecoder:
    if get_loss(loss).name != "squared" or is_weighted:
        raise ValueError(
            "Real codewords are decoded by the nearest target, the squared loss without weights. "
            f"Got loss={get_loss(loss).name!r} and is_weighted={is_weighted}."
        )
    return NearestTargetDecoder(code.coding_matrix)


def _minimum_loss(code: Code, loss: LossLike, is_weighted: bool) -> MinimumLossDecoder:
    return MinimumLossDecoder(code.indicators, loss, is_weighted)


DECODERS: dict[str, Callable[[Code, LossLike, bool], Decoder]] = {
    "signs": _minimum_loss,
    "symbols": _minimum_loss,
    "targets": _nearest_target,
    "trellis": lambda code, loss, _: ShortestPathDecoder(code.codebook.graph, loss, code.assignment),
    "tree": lambda code, *_: BeamSearchDecoder(code.codebook.graph, code.assignment),
}
"""Maps the kind of a codebook to its decoder."""


def log_odds_decoder(code: Code, decoder: Decoder, learner: Any, *, is_weighted: bool) -> Decoder | None:
    """What turns margins into probabilities if they are log-odds, whatever loss decodes them; None if they are not.

    - ``decoder``: of the classes; a learned one gives probabilities itself.
    - ``learner``: one that learns all bits together, if they were.
    """
    if decoder.is_learned or not code.codebook.has_log_odds:
        return None
    loss = "linear" if learner is not None and learner.learns_probabilities else "logistic"
    return MinimumLossDecoder(code.coding_matrix, loss, is_weighted)


@dataclass(frozen=True, eq=False)
class DecodedAccuracy:
    """How often the class of a sample is decoded from its margins."""

    decoder: Decoder
    samples: Samples

    def __call__(self, margins: Margins) -> float:
        """The accuracy for the margins of all samples."""
        return self.samples._share_of_hits(self.decoder.decode(margins))

    def in_blocks(self, margins_of: Callable[[Any], Margins], X: Any) -> float:
        """The same without the margins of all samples at once."""
        n_samples, decoded = X.shape[0], list[IntArray]()
        at_once = SAMPLES_PER_BLOCK * min(available_threads(), MOST_THREADS)
        if n_samples <= at_once:
            return self(margins_of(X))
        for start in range(0, n_samples, at_once):
            decoded.append(self.decoder.decode(margins_of(X[start : start + at_once])))
        return self.samples._share_of_hits(np.concatenate(decoded))
