"""The last step of a prediction: the best classes of one or several codes and of an index, rescored.

Codes are on one trellis with different orders of the classes, or on trees; their losses are added. The candidates are
the union of the codes' best classes and those of an index of the class vectors, if there is one. Each gets its exact
sum over the codes, plus the dot product with its class vector if there are any. What is the same for all codes is here;
:mod:`codekin.model.paths` and :mod:`codekin.model.leaves` rank them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp

from codekin.code import Code, FloatArray, IntArray
from codekin.decoding.decoder import SingleBest
from codekin.decoding.minimum_loss import set_apart
from codekin.model.class_vectors import ClassIndex, ClassVectors, index_entries

CANDIDATE_SOURCES = ("code", "index", "both")
"""What lists candidates: the best paths of the codes, an index of the class vectors, or both."""
CandidateSource = Literal["code", "index", "both"]
CANDIDATES_PER_BLOCK = 512
NUMBERS_OF_INDEX = (20, 50)
"""The numbers of candidates of an index that a fit tries."""


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
    max_loss_gap : float, default=inf
        On trees, classes whose loss exceeds the smallest one of their code by more than this are not candidates: they
        would not become the best, and the search can skip them.
    n_indexed : int, default=0
        How many classes an index of the vectors contributes, regardless of their losses.
    n_entries : int, default=0
        How many entries of each vector the index has.
    """

    n_candidates: int
    vectors: ClassVectors | None = None
    weight: float = 0.0
    temperature: float = 1.0
    max_loss_gap: float = np.inf
    n_indexed: int = 0
    n_entries: int = 0

    def __post_init__(self) -> None:
        if not self.max_loss_gap > 0:
            raise ValueError(
                f"The 'max_loss_gap' of a re-ranking must be greater than 0. Got {self.max_loss_gap} instead."
            )
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

    def shared_out(self, of_code: FloatArray, losses: FloatArray) -> FloatArray:
        """Redistribute the total probability of the candidates by their final losses; all numbers are logarithms."""
        whole = logsumexp(of_code, axis=1, keepdims=True)
        return np.asarray(whole + log_softmax(-losses / self.temperature, axis=1))

    @property
    def source(self) -> CandidateSource:
        return "code" if self.n_indexed == 0 else "index" if self.n_candidates == 1 else "both"

    @cached_property
    def index(self) -> ClassIndex:
        assert self.vectors is not None
        return ClassIndex.of(self.vectors, self.n_entries)

    def indexed(self, X: Any, n_samples: int, n_threads: int | None = None) -> IntArray:
        """The classes that the index contributes to each sample, -1 if there are fewer."""
        if self.n_indexed == 0:
            return np.empty((n_samples, 0), dtype=np.intp)
        return self.index.best(X, min(self.n_indexed, self.index.n_classes), n_threads)


@dataclass(frozen=True, eq=False)
class Candidates:
    """The ranked candidates of some samples.

    Parameters
    ----------
    classes : array of shape (n_samples, n)
        Best first; -1 if there are fewer.
    losses : array of shape (n_samples, n)
        Their final losses, up to a constant per sample; infinite if there are fewer.
    scores : array of shape (n_samples, n)
        Their dot products with the sample.
    is_certified : array of shape (n_samples,), bool
        Whether no class outside the candidates can have a smaller sum of decoding losses than the best of them.
    """

    classes: IntArray
    losses: FloatArray
    scores: FloatArray
    is_certified: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class RankedCodes(ABC):
    """Codes whose best classes are ranked together. Margins are a tuple with those of each code."""

    codes: tuple[Code, ...]
    decoders: tuple[Any, ...]
    n_threads: int | None = None
    kind: ClassVar[str]
    """That of the codebooks."""
    has_one_graph: ClassVar[bool] = False
    """Whether all codes must have the same graph."""

    def __post_init__(self) -> None:
        first = self.codes[0]
        for code in self.codes:
            codebook = code.codebook
            if codebook.kind != self.kind or codebook.n_codewords != code.n_classes:
                raise ValueError(
                    "The codes of a ranked model must be paths of a trellis or leaves of a tree, with a class for each."
                    f" Got the codebook {codebook.name!r} of {codebook.n_codewords} codewords."
                )
            if self.has_one_graph and codebook.graph != first.codebook.graph:
                raise ValueError(
                    "The codes of a ranked model must have the same trellis. "
                    f"Got {codebook.graph} and {first.codebook.graph}."
                )
            if code.n_classes != first.n_classes:
                raise ValueError(
                    f"The codes of a ranked model must have {first.n_classes} classes. Got {code.n_classes}."
                )

    @abstractmethod
    def single(self, bits: Sequence[Any], ranking: Reranking, otherwise: SingleBest) -> SingleBest:
        """What lists the best classes of one row by kernels, or ``otherwise`` where that is as fast."""

    @property
    def n_classes(self) -> int:
        return self.codes[0].n_classes

    def top_k(self, X: Any, margins: Any, k: int, ranking: Reranking) -> tuple[IntArray, FloatArray]:
        """The k class indices with the smallest final losses, and those losses, smallest first."""
        best = self._ranked(X, margins, k, max(k, self._n_listed(ranking)), ranking)
        return best.classes, best.losses + self.constant_losses(margins)

    def class_losses(self, X: Any, margins: Any, ranking: Reranking) -> FloatArray:
        """The final loss of every class; only for few classes."""
        losses = sum(decoder.class_losses(part) for decoder, part in zip(self.decoders, margins, strict=True))
        best = self.rescored(X, margins, ranking)
        rows, places = np.nonzero(best.classes >= 0)
        found = rows, best.classes[rows, places]
        of_others: FloatArray = np.array(losses)
        of_others[found] = np.inf
        final = best.losses + self.constant_losses(margins)
        worst = np.where(best.classes >= 0, final, -np.inf).max(axis=1)
        following = of_others.min(axis=1)
        raised = np.where(np.isfinite(following), np.maximum(worst - following, 0), 0)
        of_others = np.maximum(of_others + raised[:, None], worst[:, None])
        of_others[found] = final[rows, places]
        set_apart(of_others, best.classes[:, 0])
        return of_others

    def candidates(self, X: Any, margins: Any, n: int | None, ranking: Reranking) -> Candidates:
        """The best ``n`` candidates of each sample, or all."""
        return self._ranked(
            X, margins, self._n_candidates(ranking) if n is None else n, self._n_listed(ranking), ranking
        )

    def rescored(self, X: Any, margins: Any, ranking: Reranking) -> Candidates:
        """The candidates that were rescored, ranked; -1 behind them."""
        return self.candidates(X, margins, None, ranking)

    def final_losses(self, X: Any, margins: Any, class_index: IntArray, ranking: Reranking) -> FloatArray:
        """The losses of classes that were rescored, one per sample, and NaN for others."""
        best, losses = self.rescored(X, margins, ranking), np.full(len(class_index), np.nan)
        found, place = np.nonzero(best.classes == class_index[:, None])
        losses[found] = (best.losses + self.constant_losses(margins))[found, place]
        return losses

    def constant_losses(self, margins: Any) -> FloatArray:  # noqa: ARG002
        """The part of the loss that is the same for all classes of a sample, (n_samples, 1); here (1, 1)."""
        return np.zeros((1, 1))

    def _n_listed(self, ranking: Reranking) -> int:
        """How many of its best classes each code contributes."""
        return min(ranking.n_candidates, self.n_classes)

    def _n_candidates(self, ranking: Reranking) -> int:
        """How many candidates there are at most."""
        return min(self._n_listed(ranking) * len(self.codes) + ranking.n_indexed, self.n_classes)

    @abstractmethod
    def _ranked(self, X: Any, margins: Any, n_out: int, n_listed: int, ranking: Reranking) -> Candidates:
        """The best ``n_out`` of the candidates; each code lists ``n_listed`` of them."""


def with_candidates(
    logs: FloatArray, classes: IntArray | None, candidates: IntArray, own_logs: FloatArray, n_classes: int
) -> FloatArray:
    """The numbers of some classes of each sample, replaced by those of candidates wherever these are among them.

    ``classes`` is None for all classes in their order; the numbers are then replaced in place.
    """
    if classes is None:
        rows, places = np.nonzero(candidates >= 0)
        logs[rows, candidates[rows, places]] = own_logs[rows, places]
        return logs
    first = np.arange(len(classes))[:, None] * n_classes
    is_listed = candidates >= 0
    keys, own = (first + candidates)[is_listed], own_logs[is_listed]
    order = np.argsort(keys)
    keys, own, asked = keys[order], own[order], first + classes
    place = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
    return np.where((keys[place] == asked) & (classes >= 0), own[place], logs)


def kernel_vectors(vectors: ClassVectors | None) -> tuple[tuple[Any, ...], tuple[Any, ...], int]:
    """The vectors as kernels take them, by class and by feature, and their length."""
    if vectors is None:
        empty, nothing = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        steps = empty.astype(np.int8)
        by_feature = empty, empty.astype(np.int32), steps, steps
        return (empty, empty.astype(np.uint16), steps, nothing), by_feature, 0
    own = vectors.indptr, vectors.features, vectors.steps, vectors.scales
    return own, vectors.by_feature, vectors.n_features
