"""The candidates of a re-ranking: the best classes of one or more codes and of an index, with their final losses.

Codes are on one trellis with different orders of the classes, or on trees; their losses are added. The candidates are
the union of the codes' best classes and those of an index of the class vectors, if there is one. Each gets its exact
sum over the codes, plus the dot product with its class vector if there are any.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from codekin._system.sparse_rows import SparseRows
from codekin._system.threads import available_threads, run_blocks
from codekin.coding import Code, FloatArray, IntArray, Margins
from codekin.coding._graph import graph_of
from codekin.decoding.decoder import Decoder
from codekin.decoding.minimum_loss import set_apart
from codekin.model.class_vectors import ClassVectors
from codekin.model.reranking import Reranking

SAMPLES_PER_BLOCK = 512
BLOCKS_AT_ONCE = 4
"""How many blocks of samples are ranked before the next margins are computed, or two for each thread."""

PathArrays = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]


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

    @classmethod
    def of(cls, codes: tuple[Code, ...], decoders: tuple[Decoder, ...], n_threads: int | None) -> RankedCodes:
        """The codes as their kind is ranked; an error if it is not."""
        kind = RANKED.get(codes[0].codebook.kind)
        if kind is None:
            raise ValueError(
                "The codes of a ranked model must be paths of a trellis or leaves of a tree. "
                f"Got the codebook {codes[0].codebook.name!r} of {codes[0].codebook.n_codewords} codewords."
            )
        return kind(codes, decoders, n_threads)

    def check(self, ranking: Reranking) -> None:
        """Raise unless all codes are of one kind and the same classes, and the vectors are for these."""
        for code in self.codes:
            self._check_code(code)
        vectors = ranking.vectors
        if vectors is not None and vectors.n_classes != self.n_classes:
            raise ValueError(f"{self.n_classes} classes need as many class vectors. Got {vectors.n_classes}.")

    @abstractmethod
    def _check_code(self, code: Code) -> None:
        """Raise unless a code can be ranked with the first one."""

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.codes[0].n_classes

    def top_k(self, X: Any, margins: Any, k: int, ranking: Reranking) -> tuple[IntArray, FloatArray]:
        """The k class indices with the smallest final losses, and those losses, smallest first."""
        best = self._ranked(X, margins, k, max(k, self._n_listed(ranking)), ranking)
        return best.classes, best.losses + self.constant_losses(margins)

    def class_losses(self, X: Any, margins: Any, ranking: Reranking) -> FloatArray:
        """The final loss of every class; only for few classes."""
        losses = sum(decoder.class_losses(part) for decoder, part in zip(self.decoders, margins, strict=True))
        best = self.candidates(X, margins, None, ranking)
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

    def constant_losses(self, margins: Any) -> FloatArray:
        """The part of the loss that is the same for all classes of a sample, (n_samples, 1)."""
        return np.zeros((len(margins[0]), 1))

    def _n_listed(self, ranking: Reranking) -> int:
        """How many of its best classes each code contributes."""
        return min(ranking.n_candidates, self.n_classes)

    def _n_candidates(self, ranking: Reranking) -> int:
        """How many candidates there are at most."""
        return min(self._n_listed(ranking) * len(self.codes) + ranking.n_indexed, self.n_classes)

    @abstractmethod
    def _ranked(self, X: Any, margins: Any, n_out: int, n_listed: int, ranking: Reranking) -> Candidates:
        """The best ``n_out`` of the candidates, of which each code lists ``n_listed``."""


@dataclass(frozen=True, eq=False)
class RankedPaths(RankedCodes):
    """Codes on one trellis, every path of which is a class."""

    def _check_code(self, code: Code) -> None:
        if code.codebook.kind != self.codes[0].codebook.kind or not code.is_full:
            raise ValueError(
                "The members of a ranked model must be codes on a trellis with a class for every path. "
                f"Got the codebook {code.codebook.name!r} of {code.codebook.n_codewords} codewords."
            )
        if graph_of(code) != self.trellis:
            raise ValueError(
                f"The members of a ranked model must have the same trellis. Got {graph_of(code)} beside {self.trellis}."
            )

    @property
    def trellis(self) -> Any:
        """The graph of all codes."""
        return graph_of(self.codes[0])

    @cached_property
    def class_of_path(self) -> NDArray[np.int32]:
        """The class of each path, for each code."""
        return np.array([code.assignment.class_of_codeword(self.n_classes) for code in self.codes], dtype=np.int32)

    @cached_property
    def of_paths(self) -> PathArrays:
        """The maps from paths to classes and back for each code, and the edges of each path."""
        path_of_class = np.array([code.assignment.codeword_of_class for code in self.codes], dtype=np.int32)
        edges = self.trellis.unrank(np.arange(self.n_classes))
        return self.class_of_path, path_of_class, np.where(edges < 0, self.trellis.n_edges, edges).astype(np.int32)

    def paths_for(self, ranking: Reranking) -> PathArrays:
        """The same; the last two stay empty for one code without an index, which gives its classes' losses itself."""
        if len(self.codes) > 1 or ranking.n_indexed:
            return self.of_paths
        nothing = np.zeros((0, 0), dtype=np.int32)
        return self.class_of_path, nothing, nothing

    def constant_losses(self, margins: Any) -> FloatArray:
        """What the edges cost that are on no path."""
        f = _side_by_side(margins).astype(np.float64, copy=False)
        return np.asarray(self.decoders[0].loss(-f).sum(axis=1, keepdims=True), dtype=np.float64)

    def _ranked(self, X: Any, margins: Any, n_out: int, n_listed: int, ranking: Reranking) -> Candidates:
        from codekin.kernels.reranking import rank_candidates

        trellis, of_edges = self.trellis, _side_by_side(margins)
        n_samples, n_edges = len(of_edges), trellis.n_edges
        loss = self.decoders[0].loss
        vectors, by_feature, reach, n_features = kernel_vectors(ranking.vectors)
        # Without vectors there is no need to make rows sparse.
        has_vectors = ranking.vectors is not None
        rows = SparseRows.of(X, n_features) if has_vectors else SparseRows.of(sparse.csr_array((n_samples, 1)))
        classes = np.empty((n_samples, n_out), dtype=np.intp)
        losses, scores, bounds = np.empty((n_samples, n_out)), np.empty((n_samples, n_out)), np.empty((n_samples, 2))
        graph, of_paths = (trellis.width, trellis.digits, trellis.edge_offsets), self.paths_for(ranking)
        indexed = ranking.indexed(X, n_samples, self.n_threads)

        def fill(start: int, stop: int) -> None:
            n_members = len(self.codes)
            f = of_edges[start:stop].astype(np.float64).reshape(stop - start, n_members, n_edges)
            costs = np.zeros((stop - start, n_members, n_edges + 1))
            np.multiply(loss.agreement(f), -2, out=costs[:, :, :-1])
            rank_candidates(
                costs,
                graph,
                of_paths,
                (rows.indptr[start : stop + 1], rows.indices, rows.values),
                vectors,
                by_feature,
                reach,
                n_features,
                float(ranking.weight),
                indexed[start:stop],
                min(ranking.n_candidates, n_listed),
                n_listed,
                classes[start:stop],
                losses[start:stop],
                scores[start:stop],
                bounds[start:stop],
            )

        run_blocks(fill, n_samples, block=SAMPLES_PER_BLOCK, n_threads=self.n_threads)
        is_certified = (bounds[:, 0] <= bounds[:, 1]) | (n_listed == self.n_classes)
        return Candidates(classes, losses, scores, is_certified)


@dataclass(frozen=True, eq=False)
class RankedLeaves(RankedCodes):
    """Codes on trees. The loss of a given leaf depends only on its own path from the root."""

    def _check_code(self, code: Code) -> None:
        if code.codebook.kind != self.codes[0].codebook.kind or code.n_classes != self.n_classes:
            raise ValueError(
                f"The members of a ranked model must all be trees of {self.n_classes} classes. "
                f"Got the codebook {code.codebook.name!r} of {code.codebook.n_codewords} codewords."
            )

    def rescored(self, X: Any, margins: Any, ranking: Reranking) -> Candidates:
        """The candidates within reach; -1 behind them."""
        n_out, n_listed = self._n_candidates(ranking), self._n_listed(ranking)
        return self._ranked(X, margins, n_out, n_listed, ranking, is_complete=False)

    def _ranked(
        self, X: Any, margins: Any, n_out: int, n_listed: int, ranking: Reranking, *, is_complete: bool = True
    ) -> Candidates:
        from codekin.kernels.tree_ranking import rank_listed

        # If nobody asks for classes behind the first, what cannot come first need not be found.
        reach = np.inf if is_complete and n_out > 1 else ranking.reach
        found = [
            decoder.top_k(part, n_listed, reach=reach) for decoder, part in zip(self.decoders, margins, strict=True)
        ]
        n_rescored = min(ranking.n_candidates, n_listed)
        is_near = [own <= own[:, :1] + ranking.reach for _, own in found]
        for near in is_near:
            near[:, n_rescored:] = False
        indexed = ranking.indexed(X, len(is_near[0]), self.n_threads)
        if len(found) == 1 and not ranking.n_indexed:
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
        from codekin.kernels.tree_ranking import merge_lists

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


RANKED: dict[str, type[RankedCodes]] = {"trellis": RankedPaths, "tree": RankedLeaves}
"""Maps the kinds of codebooks whose best classes can be ranked to how that is done; others are refused."""


def listed_in_blocks(listed: Callable[[Any], Candidates], X: Any, n_threads: int | None) -> Candidates:
    """The candidates of all samples, listed for some at a time: their margins on all bits take far more memory."""
    n_samples = X.shape[0]
    at_once = SAMPLES_PER_BLOCK * max(BLOCKS_AT_ONCE, 2 * (n_threads or available_threads()))
    if n_samples <= at_once:
        return listed(X)
    every: list[NDArray[Any]] = []
    for start in range(0, n_samples, at_once):
        found = listed(X[start : start + at_once])
        arrays = (found.classes, found.losses, found.scores, found.is_certified)
        every = every or [np.empty((n_samples, *array.shape[1:]), dtype=array.dtype) for array in arrays]
        for whole, array in zip(every, arrays, strict=True):
            whole[start : start + len(array)] = array
    return Candidates(*every)


def _side_by_side(margins: tuple[Margins, ...]) -> Margins:
    """The margins of all codes in one array."""
    return margins[0] if len(margins) == 1 else np.hstack(margins)


def kernel_vectors(vectors: ClassVectors | None) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...], int]:
    """The vectors as the kernel takes them, by class and by feature, a bound on their scores, and their length."""
    if vectors is None:
        empty, nothing = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        steps = empty.astype(np.int8)
        by_feature = empty, empty.astype(np.int32), steps, steps
        return (empty, empty.astype(np.uint16), steps, nothing), by_feature, (nothing, nothing, 0.0), 0
    own = vectors.indptr, vectors.features, vectors.steps, vectors.scales
    return own, vectors.by_feature, vectors.reach, vectors.n_features


def _widened(array: NDArray[Any], n_columns: int, empty: Any) -> NDArray[Any]:
    """The array with further columns that are empty, if it has fewer."""
    return np.pad(array, ((0, 0), (0, n_columns - array.shape[1])), constant_values=empty)
