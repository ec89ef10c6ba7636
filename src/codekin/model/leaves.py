"""Codes on trees whose best leaves are ranked: for many samples, and for one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin._system.parallel import borrowed
from codekin._system.rows import Row
from codekin.code import FloatArray, IntArray
from codekin.decoding.decoder import SingleBest
from codekin.model.reranking import Candidates, RankedCodes, Reranking, kernel_vectors


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
        from codekin.kernels.reranking import scoring_room

        if ranking.n_indexed:
            return otherwise
        n_candidates, max_loss_gap, weight = self._n_listed(ranking), float(ranking.max_loss_gap), float(ranking.weight)
        vectors, by_feature, n_features = kernel_vectors(ranking.vectors)
        n_scored = len(vectors[-1])  # none without vectors
        rooms: list[Any] = []  # working memory that is used again, by one thread at a time
        room_made = partial(scoring_room, n_features, n_scored, 0)
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
            rank_row_of_tree(room, row[:3], *trees[0], search(decoder, k), *by)
            rooms.append(room)
            return classes[0], losses[0]

        if len(trees) == 1:
            from codekin.kernels.single_row import rank_row_of_tree

            return best
        from codekin.kernels.ranking import merge_lists
        from codekin.kernels.single_row import add_losses, list_row, rank_row

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
                list_row(sample, *tree, search(decoder, k), max_loss_gap, n_candidates, *arrays)
            merged, known, is_merged = np.empty(shape, np.int64), np.empty((n_trees, *shape)), np.empty(shape, np.bool_)
            n = merge_lists(listed, losses, is_candidate, n_each, merged, known, is_merged)
            merged, is_merged, total = merged[:, :n].copy(), is_merged[:, :n].copy(), np.zeros((1, n))
            for t, ((graph, weights, _), leaf_of_class) in enumerate(zip(trees, leaves, strict=True)):
                add_losses(sample, graph, weights, bits[t].paths, leaf_of_class, merged, known[t, :, :n], total)
            classes, (final, scores) = np.empty((1, k), np.intp), np.empty((2, 1, k))
            room, arrays = borrowed(rooms, room_made), (merged, total, is_merged)
            rank_row(room, sample, vectors, by_feature, weight, *arrays, classes, final, scores)
            rooms.append(room)
            return classes[0], final[0]

        return best_of_several


def _widened(array: NDArray[Any], n_columns: int, empty: Any) -> NDArray[Any]:
    """The array with further columns that are empty, if it has fewer."""
    return np.pad(array, ((0, 0), (0, n_columns - array.shape[1])), constant_values=empty)
