"""Re-ranking of the best classes of one or more trees.

Each tree searches for its best classes; the candidates are the union of what they find. Each gets its exact sum over
all trees, since the probability of a given leaf depends only on its own path from the root.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from codekin.coding import FloatArray
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

    def _ranked(self, X: Any, margins: Any, n_out: int, n_listed: int, ranking: Reranking) -> Candidates:
        decoders: tuple[Any, ...] = self.decoders
        found = [decoder.top_k(part, n_listed) for decoder, part in zip(decoders, margins, strict=True)]
        classes = np.hstack([own for own, _ in found])
        n_rescored = min(ranking.n_candidates, n_listed)
        is_candidate = np.tile(np.arange(n_listed) < n_rescored, (len(classes), len(found)))
        if len(found) == 1:
            losses = found[0][1].copy()
        else:
            # If several trees list a class, keep its place among the candidates and drop the others.
            order = np.argsort(2 * classes + ~is_candidate, axis=1, kind="stable")
            classes = np.take_along_axis(classes, order, axis=1)
            is_candidate = np.take_along_axis(is_candidate, order, axis=1)
            classes[:, 1:][classes[:, 1:] == classes[:, :-1]] = -1
            losses = sum(d.losses_of(part, classes) for d, part in zip(decoders, margins, strict=True))
            is_candidate &= classes >= 0
        # A class that a tree has not listed is at most as probable as the total that the tree has not listed.
        least = sum(-np.log(np.clip(1 - np.exp(-own).sum(axis=1), 1e-300, 1)) for _, own in found)
        is_certified = (losses.min(axis=1) <= least) | (n_listed == self.n_classes)
        scores = np.zeros(classes.shape) if ranking.vectors is None else ranking.vectors.scores(X, classes)
        losses[is_candidate] -= ranking.weight * scores[is_candidate]
        worst = np.where(is_candidate, losses, -np.inf).max(axis=1)
        others = np.where(is_candidate, np.inf, losses).min(axis=1)
        raised = np.where(np.isfinite(others), np.maximum(worst - others, 0), 0)
        losses += np.where(is_candidate, 0, raised[:, None])
        order = np.lexsort((~is_candidate, losses), axis=1)[:, :n_out]
        listed = [np.take_along_axis(array, order, axis=1) for array in (classes, losses, scores)]
        missing = n_out - order.shape[1]
        if missing:
            fills = zip(listed, (-1, np.inf, 0.0), strict=True)
            listed = [np.pad(array, ((0, 0), (0, missing)), constant_values=fill) for array, fill in fills]
        return Candidates(listed[0], listed[1], listed[2], is_certified)
