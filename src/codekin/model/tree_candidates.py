"""Re-ranking of the best classes of one or more trees and of an index.

Each tree searches for its best classes; the candidates are the union of what they and the index find. Each gets its
exact sum over all trees, since the probability of a given leaf depends only on its own path from the root.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.coding import FloatArray, IntArray
from codekin.decoding.beam_search import BeamSearchDecoder
from codekin.model.candidates import Candidates, RankedCodes
from codekin.model.reranking import Reranking


@dataclass(frozen=True, eq=False)
class RankedTrees(RankedCodes):
    """Codes on trees whose best classes are ranked together; margins are a tuple with those of each tree."""

    def check(self, ranking: Reranking) -> None:
        """Raise unless all codes are trees of the same classes and the vectors match them."""
        for code, decoder in zip(self.codes, self.decoders, strict=True):
            if not isinstance(decoder, BeamSearchDecoder) or code.n_classes != self.n_classes:
                raise ValueError(
                    f"The members of a ranked model must all be trees of {self.n_classes} classes. "
                    f"Got the codebook {code.codebook.name!r} of {code.codebook.n_codewords} codewords."
                )
        self._check_vectors(ranking)

    def _parts(self, margins: Any) -> Any:
        return margins

    def _constant_losses(self, margins: Any) -> FloatArray:
        return np.zeros((len(margins[0]), 1))

    def rescored(self, X: Any, margins: Any, ranking: Reranking) -> Candidates:
        """The candidates within reach; -1 behind them."""
        n_out, n_listed = self._n_candidates(ranking), self._n_listed(ranking)
        return self._ranked(X, margins, n_out, n_listed, ranking, is_complete=False)

    def _ranked(
        self, X: Any, margins: Any, n_out: int, n_listed: int, ranking: Reranking, *, is_complete: bool = True
    ) -> Candidates:
        from codekin.kernels.tree_ranking import rank_listed

        decoders: tuple[Any, ...] = self.decoders
        # If nobody asks for classes behind the first, what cannot come first need not be found.
        reach = np.inf if is_complete and n_out > 1 else ranking.reach
        found = [decoder.top_k(part, n_listed, reach=reach) for decoder, part in zip(decoders, margins, strict=True)]
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
        decoders: tuple[Any, ...] = self.decoders
        for decoder, part, own in zip(decoders, margins, known[: len(found), :, :n], strict=True):
            is_open = np.isnan(own)
            total += np.where(is_open, decoder.losses_of(part, np.where(is_open, merged, -1)), own)
        return merged, total, is_candidate


def _widened(array: NDArray[Any], n_columns: int, empty: Any) -> NDArray[Any]:
    """The array with further columns that are empty, if it has fewer."""
    return np.pad(array, ((0, 0), (0, n_columns - array.shape[1])), constant_values=empty)
