"""Codes with their bits and decoders, and several of them ranked together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from codekin.code import Code, FloatArray, IntArray
from codekin.decoding import decoder_of
from codekin.decoding.decoder import Decoder
from codekin.decoding.losses import LossLike
from codekin.learners import FittedBits
from codekin.model.leaves import RankedLeaves
from codekin.model.paths import RankedPaths
from codekin.model.reranking import RankedCodes

RANKED: dict[str, type[RankedCodes]] = {"trellis": RankedPaths, "tree": RankedLeaves}
"""Maps the kinds of codebooks whose best classes can be ranked to how that is done; others are refused."""


@dataclass(frozen=True, eq=False)
class FittedCode:
    """A code with the predictors of its bits and a decoder.

    Parameters
    ----------
    code : Code
        The codeword of every class.
    bits : FittedBits
        The predictors of the bits.
    decoder : Decoder
        From margins to classes.
    """

    code: Code
    bits: FittedBits = field(repr=False)
    decoder: Decoder

    @classmethod
    def of(cls, code: Code, bits: FittedBits, loss: LossLike, *, is_weighted: bool = False) -> FittedCode:
        """A code and its bits with the fastest decoder for this code.

        Parameters
        ----------
        code : Code
        bits : FittedBits
        loss : str or callable
            The decoding loss.
        is_weighted : bool, default=False
            Divide the loss of a class by the number of its non-zero bits.

        Returns
        -------
        FittedCode
        """
        return cls(code, bits, decoder_of(code, loss, is_weighted=is_weighted))

    def with_narrow_beam(self) -> FittedCode:
        """The same in less time, for candidate lists of very many samples, if its decoder searches.

        Returns
        -------
        FittedCode
        """
        return replace(self, decoder=self.decoder.with_narrow_beam())


def ranked_codes(members: tuple[FittedCode, ...], n_threads: int | None) -> RankedCodes:
    """The codes as their kind is ranked; an error if it is not, or if they cannot be ranked together."""
    codes, decoders = tuple(member.code for member in members), tuple(member.decoder for member in members)
    first, kind = codes[0], RANKED.get(codes[0].codebook.kind)
    for code in codes:
        codebook = code.codebook
        if kind is None or codebook.kind != first.codebook.kind or not code.is_full:
            raise ValueError(
                "The codes of a ranked model must be paths of a trellis or leaves of a tree, with a class for each. "
                f"Got the codebook {codebook.name!r} of {codebook.n_codewords} codewords."
            )
        if kind.has_one_graph and codebook.graph != first.codebook.graph:
            raise ValueError(
                "The codes of a ranked model must have the same trellis. "
                f"Got {codebook.graph} and {first.codebook.graph}."
            )
        if code.n_classes != first.n_classes:
            raise ValueError(f"The codes of a ranked model must have {first.n_classes} classes. Got {code.n_classes}.")
    assert kind is not None
    return kind(codes, decoders, n_threads)


def code_log_proba(decoders: Sequence[Decoder], margins: Any, classes: IntArray) -> Callable[[float], FloatArray]:
    """The log-probabilities of some classes before any re-ranking, as a function of the temperature.

    ``margins`` are those of each code, ``classes`` of shape (n_samples, n); -1 for none, whose probability is 0.
    """
    of_codes = [decoder.log_proba_of(part, classes) for decoder, part in zip(decoders, margins, strict=True)]

    def at(temperature: float) -> FloatArray:
        logs = [own(temperature) for own in of_codes]
        mean = logs[0] if len(logs) == 1 else logsumexp(logs, axis=0) - np.log(len(logs))
        return np.where(classes >= 0, mean, -np.inf)

    return at
