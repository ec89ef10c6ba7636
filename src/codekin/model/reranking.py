"""The last step of a prediction: the best classes of one or several codes and of an index, rescored.

Codes are on one trellis with different orders of the classes, or on trees; their losses are added. The candidates are
the union of the codes' best classes and those of an index of the class vectors, if there is one. Each gets its exact
sum over the codes, plus the dot product with its class vector if there are any. What is the same for all codes is here,
and how trees rank them; :mod:`codekin.model.paths` does so on a trellis.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from codekin._system.parallel import borrowed
from codekin._system.rows import Row
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
        from scipy.special import log_softmax, logsumexp

        whole = logsumexp(of_code, axis=1, keepdims=True)
        return np.asarray(whole + log_softmax(-losses / self.temperature, axis=1))

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


@dataclass(frozen=True, eq=False)
class RankedLeaves(RankedCodes):
    """Codes on trees. The loss of a given leaf depends only on its own path from the root."""

    kind = "tree"

    def rescored(self, X: Any, margins: Any, ranking: Reranking) -> Candidates:
        """The candidates whose loss is near enough to the smallest; -1 behind them."""
        n_out, n_listed = self._n_candidates(ranking), self._n_listed(ranking)
        return self._ranked(X, margins, n_out, n_listed, ranking, is_complete=False)

    def _ranked(
        self, X: Any, margins: Any, n_out: int, n_listed: int, ranking: Reranking, *, is_complete: bool = True
    ) -> Candidates:
        from codekin.kernels.ranking import rank_listed

        # If only the best class is wanted, classes that cannot come first need not be found.
        max_loss_gap = np.inf if is_complete and n_out > 1 else ranking.max_loss_gap
        found = [
            decoder.top_k(part, n_listed, max_loss_gap=max_loss_gap)
            for decoder, part in zip(self.decoders, margins, strict=True)
        ]
        n_rescored = min(ranking.n_candidates, n_listed)
        is_near = [own <= own[:, :1] + ranking.max_loss_gap for _, own in found]
        for near in is_near:
            near[:, n_rescored:] = False
        indexed = ranking.indexed(X, len(is_near[0]), self.n_threads)
        if any(decoder.beam_for(n_listed) > decoder.beam_for(n_rescored) for decoder in self.decoders):
            # The wider search for more classes may find what the usual one overlooks, and must not make it a candidate.
            parts = zip(self.decoders, margins, strict=True)
            usual = [decoder.top_k(part, n_rescored, max_loss_gap=ranking.max_loss_gap)[0] for decoder, part in parts]
            indexed, is_near = np.hstack([indexed, *usual]), [np.zeros_like(near) for near in is_near]
        if len(found) == 1 and not indexed.shape[1]:
            classes, losses = found[0]
            is_candidate = is_near[0] & (classes >= 0)
        else:
            classes, losses, is_candidate = self._merged(margins, found, is_near, indexed)
        # A class that a tree has not listed is at most as probable as the total that the tree has not listed.
        least = sum(-np.log(np.clip(1 - np.exp(-own).sum(axis=1), 1e-300, 1)) for _, own in found)
        is_certified = (losses.min(axis=1) <= least) | (n_listed == self.n_classes)
        scores = np.zeros(classes.shape)
        if ranking.vectors is not None:
            scores = ranking.vectors.scores(X, np.where(is_candidate, classes, -1))
        shape = len(classes), n_out
        best = np.empty(shape, dtype=np.intp), np.empty(shape), np.empty(shape)
        rank_listed(classes, losses, is_candidate, float(ranking.weight), scores, *best)
        return Candidates(*best, is_certified)

    def _merged(
        self, margins: Any, found: Any, is_near: Any, indexed: IntArray
    ) -> tuple[IntArray, FloatArray, NDArray[np.bool_]]:
        """The classes that a tree or the index lists, their losses over all trees, and whether they are candidates."""
        from codekin.kernels.ranking import merge_lists

        lists = [(*own, near) for own, near in zip(found, is_near, strict=True)]
        if indexed.shape[1]:
            # The index is merged like one more tree; it knows no losses, so those of its classes are still missing.
            lists.append((indexed, np.full(indexed.shape, np.nan), np.ones(indexed.shape, dtype=bool)))
        n_each = max(own.shape[1] for own, _, _ in lists)
        listed, losses, near = (
            np.hstack([_widened(own[i], n_each, empty) for own in lists]) for i, empty in enumerate((-1, np.nan, False))
        )
        merged, known = np.empty_like(listed), np.empty((len(lists), *listed.shape))
        is_candidate = np.empty(listed.shape, dtype=bool)
        n = merge_lists(listed, losses, near, n_each, merged, known, is_candidate)
        merged, is_candidate = merged[:, :n].copy(), is_candidate[:, :n].copy()
        total = np.zeros(merged.shape)
        for decoder, part, own in zip(self.decoders, margins, known[: len(found), :, :n], strict=True):
            is_open = np.isnan(own)
            total += np.where(is_open, decoder.losses_of(part, np.where(is_open, merged, -1)), own)
        return merged, total, is_candidate

    def single(self, bits: Sequence[Any], ranking: Reranking, otherwise: SingleBest) -> SingleBest:
        """One kernel ranks the leaves of one tree, a few those of several, whose losses are added."""
        from codekin.kernels import single_row as kernels
        from codekin.kernels.calling import typed_once
        from codekin.kernels.ranking import merge_lists
        from codekin.kernels.reranking import scoring_room

        if ranking.n_indexed:
            return otherwise
        n_candidates, max_loss_gap, weight = self._n_listed(ranking), float(ranking.max_loss_gap), float(ranking.weight)
        vectors, by_feature, n_features = kernel_vectors(ranking.vectors)
        n_scored = len(vectors[-1])  # none without vectors
        rooms: list[Any] = []  # working memory that is used again, by one thread at a time
        room_made, rank = partial(scoring_room, n_features, n_scored, 0), typed_once(kernels.rank_row_of_tree)
        # All arrays are writeable: the kernels would be compiled again for those of a stored model.
        trees = [
            (own.kernel_tree, own.kernel_arrays, np.array(decoder.class_of_leaf, np.int64))
            for own, decoder in zip(bits, self.decoders, strict=True)
        ]

        def search(decoder: Any, k: int) -> tuple[int, float]:
            """The beam and the loss gap of a search for k ranked classes: what cannot be first need not be found."""
            return decoder.beam_for(max(k, n_candidates)), max_loss_gap if k == 1 else np.inf

        def is_wider(k: int) -> bool:
            """Whether a search for k classes follows more nodes than the one that lists the candidates."""
            return k > n_candidates and any(search(own, k)[0] > search(own, 1)[0] for own in self.decoders)

        def best(row: Row, k: int, *, has_losses: bool) -> tuple[IntArray, FloatArray]:
            if is_wider(k):
                return otherwise(row, k, has_losses=has_losses)
            classes, (losses, scores) = np.empty((1, k), np.intp), np.empty((2, 1, k))
            room, n_each, (decoder,) = borrowed(rooms, room_made), max(k, n_candidates), self.decoders
            by: Any = vectors, by_feature, weight, max_loss_gap, n_candidates, n_each, classes, losses, scores
            rank(room, row[:3], *trees[0], search(decoder, k), *by)
            rooms.append(room)
            return classes[0], losses[0]

        if len(trees) == 1:
            return best
        merge, rank_row = typed_once(merge_lists), typed_once(kernels.rank_row)
        of_trees = [(typed_once(kernels.list_row), typed_once(kernels.add_losses)) for _ in trees]

        leaves = [np.array(decoder.leaf_of_class, np.int64) for decoder in self.decoders]

        def best_of_several(row: Row, k: int, *, has_losses: bool) -> tuple[IntArray, FloatArray]:
            if is_wider(k):
                return otherwise(row, k, has_losses=has_losses)
            sample, n_each, n_trees = row[:3], max(k, n_candidates), len(trees)
            shape = 1, n_trees * n_each
            listed, losses, is_candidate = np.empty(shape, np.int64), np.empty(shape), np.empty(shape, np.bool_)
            for t, (tree, decoder) in enumerate(zip(trees, self.decoders, strict=True)):
                own = slice(t * n_each, (t + 1) * n_each)
                arrays = listed[:, own], losses[:, own], is_candidate[:, own]
                of_trees[t][0](sample, *tree, search(decoder, k), max_loss_gap, n_candidates, *arrays)
            merged, known, is_merged = np.empty(shape, np.int64), np.empty((n_trees, *shape)), np.empty(shape, np.bool_)
            n = merge(listed, losses, is_candidate, n_each, merged, known, is_merged)
            merged, is_merged, total = merged[:, :n].copy(), is_merged[:, :n].copy(), np.zeros((1, n))
            for t, ((graph, weights, _), leaf_of_class) in enumerate(zip(trees, leaves, strict=True)):
                of_trees[t][1](sample, graph, weights, bits[t].paths, leaf_of_class, merged, known[t, :, :n], total)
            classes, (final, scores) = np.empty((1, k), np.intp), np.empty((2, 1, k))
            room, arrays = borrowed(rooms, room_made), (merged, total, is_merged)
            rank_row(room, sample, vectors, by_feature, weight, *arrays, classes, final, scores)
            rooms.append(room)
            return classes[0], final[0]

        return best_of_several


def _widened(array: NDArray[Any], n_columns: int, empty: Any) -> NDArray[Any]:
    """The array with further columns that are empty, if it has fewer."""
    return np.pad(array, ((0, 0), (0, n_columns - array.shape[1])), constant_values=empty)
