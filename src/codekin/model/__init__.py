"""The fitted model: one or more codes with their bits and decoders, and perhaps a ranking of their best classes.

Estimators, studies, the command line and storage all share it. Classes are indices here; estimators add labels.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from codekin.coding import Assignment, Code, Codebook, CodingMatrix, FloatArray, IntArray, Margins
from codekin.decoding import decoder_of
from codekin.decoding.decoder import Decoder
from codekin.decoding.losses import LossLike
from codekin.decoding.minimum_loss import check_k
from codekin.learners import FittedBits
from codekin.model.candidates import Candidates, RankedCodes, listed_in_blocks
from codekin.model.prior import ClassPrior
from codekin.model.reranking import Reranking

__all__ = ["Candidates", "Member", "Model"]


@dataclass(frozen=True, eq=False)
class Member:
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
    def of(cls, code: Code, bits: FittedBits, loss: LossLike, *, is_weighted: bool = False) -> Member:
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
        Member
        """
        return cls(code, bits, decoder_of(code, loss, is_weighted=is_weighted))

    def with_narrow_beam(self) -> Member:
        """The same in less time, for candidate lists of very many samples, if its decoder searches.

        Returns
        -------
        Member
        """
        return replace(self, decoder=self.decoder.with_narrow_beam())


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted model: from samples to margins to classes.

    Parameters
    ----------
    members : tuple of Member
        At least one; more than one need a ranking.
    ranking : Reranking, optional
        How many candidates each member contributes, and what rescores them. The members are then codes on one trellis
        or on trees, every path of which is a class.
    n_threads : int, optional
        How many threads rank candidates; by default, as many as there are processors. The result does not depend on it.
    prior : ClassPrior, optional
        How frequent the classes are: the answer to sparse rows without an entry, about which the bits know nothing.
    """

    members: tuple[Member, ...]
    ranking: Reranking | None = field(default=None, repr=False)
    n_threads: int | None = None
    prior: ClassPrior | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Check that the parts fit together."""
        if not self.members:
            raise ValueError("A model needs at least one member.")
        if self.ranking is not None:
            self.ranked.check(self.ranking)
        elif len(self.members) > 1:
            raise ValueError(f"A model without a ranking has a single member. Got {len(self.members)}.")
        if self.prior is not None and len(self.prior.sizes) != self.n_classes:
            raise ValueError(f"There are frequencies of {len(self.prior.sizes)} classes, not of {self.n_classes}.")

    @property
    def first(self) -> Member:
        """The first member; the only one of most models."""
        return self.members[0]

    @property
    def code(self) -> Code:
        """The code of the first member."""
        return self.first.code

    @property
    def codebook(self) -> Codebook:
        """The codewords of each member."""
        return self.code.codebook

    @property
    def assignment(self) -> Assignment:
        """Which class has which codeword in the first member."""
        return self.code.assignment

    @property
    def bits(self) -> FittedBits:
        """The predictors of the first member."""
        return self.first.bits

    @property
    def decoder(self) -> Decoder:
        """The decoder of the first member."""
        return self.first.decoder

    @property
    def is_single(self) -> bool:
        """Whether this is one code without a ranking, which can be trained further and get new classes."""
        return self.ranking is None

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.code.n_classes

    @property
    def n_bits(self) -> int:
        """The number of bits of all members together."""
        return sum(member.code.n_bits for member in self.members)

    @cached_property
    def coding_matrix(self) -> CodingMatrix:
        """Row ``k`` holds the codewords of class ``k`` in all members, one after the other."""
        parts = [member.code.coding_matrix for member in self.members]
        return parts[0] if len(parts) == 1 else np.hstack(parts)

    def margins(self, X: Any) -> Margins:
        """One column per bit, the members' one after the other.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_bits)
        """
        parts = [np.asarray(part) for part in self.lazy_margins(X)]
        return parts[0] if len(parts) == 1 else np.hstack(parts)

    def lazy_margins(self, X: Any) -> tuple[Any, ...]:
        """The margins of each member as its decoder takes them: those of a tree are computed on demand.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        tuple
            For each member an array, or an object that can be converted to one.
        """
        return tuple(member.bits.margins(X) for member in self.members)

    def predict(self, X: Any) -> IntArray:
        """The class index with the smallest loss.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        is_ranked = self.ranking is not None
        classes = self.candidates(X, 1).classes[:, 0] if is_ranked else self.decoder.decode(self.lazy_margins(X)[0])
        if self.prior is not None:
            classes[self.prior.rows(X)] = self.prior.order[0]
        return classes

    def top_k(self, X: Any, k: int) -> tuple[IntArray, FloatArray]:
        """The k class indices with the smallest losses, and those losses, smallest first.

        With a ranking, classes beyond the candidates come after them, in the order of their decoding losses, which are
        raised as far as necessary. Those of rows without an entry are minus the logarithms of the frequencies.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        k : int
            At least 1 and at most the number of classes.

        Returns
        -------
        classes : ndarray of shape (n_samples, k)
        losses : ndarray of shape (n_samples, k)
        """
        check_k(k, self.n_classes)
        if self.ranking is None:
            classes, losses = self.decoder.top_k(self.lazy_margins(X)[0], k)
        else:
            classes, losses = self.ranked.top_k(X, self.lazy_margins(X), k, self.ranking)
        if self.prior is not None:
            self.prior.put_best(X, classes, losses, self.prior.losses)
        return classes, losses

    def class_losses(self, X: Any) -> FloatArray:
        """The loss of every class; slow for very many classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        if self.ranking is None:
            losses = self.decoder.class_losses(self.lazy_margins(X)[0])
        else:
            losses = self.ranked.class_losses(X, self.lazy_margins(X), self.ranking)
        if self.prior is not None:
            losses[self.prior.rows(X)] = self.prior.losses
        return losses

    def candidates(self, X: Any, n: int | None = None, *, ranking: Reranking | None = None) -> Candidates:
        """The candidates of each sample, ranked.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        n : int, optional
            How many of them; by default, all.
        ranking : Reranking, optional
            Used instead of the model's own.

        Returns
        -------
        Candidates
        """
        chosen = self.ranking if ranking is None else ranking
        if chosen is None:
            raise ValueError("A model without a ranking lists no candidates; use top_k.")
        return listed_in_blocks(
            lambda some: self.ranked.candidates(some, self.lazy_margins(some), n, chosen), X, self.n_threads
        )

    def _parts_to_store(self) -> tuple[Model, None]:
        """The model alone, without a classifier around it, for :func:`codekin.storage.save_model`."""
        return self, None

    @cached_property
    def ranked(self) -> RankedCodes:
        """The codes as a ranking takes them."""
        codes, decoders = zip(*((member.code, member.decoder) for member in self.members), strict=True)
        return RankedCodes.of(codes, decoders, self.n_threads)
