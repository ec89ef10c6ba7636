"""The best classes of one sample on a trellis, ranked or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from codekin.coding import FloatArray, IntArray, Margins
from codekin.coding._graph import graph_of
from codekin.decoding import LOSSES, Loss
from codekin.learners.compact import CompactForm, CompactLinearBits, CompactSparseLinearBits
from codekin.model import Model
from codekin.model.candidates import RankedPaths, kernel_vectors
from codekin.model.reranking import Reranking
from codekin.model.single import Row, SingleRow, SingleRowOfCode, Workspaces, row_margins

NO_ROW = np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32)


def single_of_paths(model: Model) -> SingleRow:
    """The fastest way to the best classes of one row of a model on trellises."""
    margins = [row_margins(member.bits) for member in model.members]
    if model.ranking is not None:
        return (SingleRowInOneCall if _is_one_call(model) else SingleRowOfRanking)(model, margins)
    return SingleRowOfTrellis(model, margins[0]) if model.code.is_full else SingleRowOfCode(model, margins[0])


class SingleRowOfTrellis(SingleRowOfCode):
    """Shortest paths of a trellis whose paths all have a class."""

    def __init__(self, model: Model, margins: Callable[[Row], Margins]) -> None:
        super().__init__(model, margins)
        trellis = graph_of(model.code)
        self.loss, self.class_of_path = model.decoder.loss, model.assignment.class_of_codeword(trellis.n_paths)
        self.graph = trellis.width, trellis.digits, trellis.edge_offsets

    def best(self, row: Row, k: int, *, has_losses: bool) -> tuple[IntArray, FloatArray]:
        """See :meth:`SingleRow.best`."""
        from codekin.kernels.path_lists import k_cheapest_paths

        f = self.margins(row).astype(np.float64)
        paths, losses = np.empty((1, k), np.int64), np.empty((1, k))
        k_cheapest_paths(-2 * self.loss.agreement(f), *self.graph, paths, losses)
        if has_losses:
            losses += self.loss(-f).sum(axis=1, keepdims=True)
        return self.class_of_path[paths[0]], losses[0]


class SingleRowOfRanking(SingleRow):
    """Re-ranked candidates of codes on one trellis."""

    def __init__(self, model: Model, margins: list[Callable[[Row], Margins]]) -> None:
        from codekin.kernels.reranking import rank_candidates_in, scoring_room

        super().__init__(model)
        self.margins, self.ranking = margins, cast("Reranking", model.ranking)
        ranked = cast("RankedPaths", model.ranked)
        trellis = ranked.trellis
        self.loss, self.n_edges = model.decoder.loss, trellis.n_edges
        self.graph, self.of_paths = (
            (trellis.width, trellis.digits, trellis.edge_offsets),
            ranked.paths_for(self.ranking),
        )
        *self.vectors, n_features = kernel_vectors(self.ranking.vectors)
        n_paths = model.n_classes if len(margins) > 1 or self.ranking.n_indexed else 0
        n_scored = 0 if self.ranking.vectors is None else model.n_classes
        self.n_scored, self.weight = min(self.ranking.n_candidates, model.n_classes), float(self.ranking.weight)
        self.rank: Any = rank_candidates_in
        self.index = _RowIndex(self.ranking, model.n_classes)
        # The last cost of each member is zero, and stays so.
        costs = len(margins), self.n_edges + 1
        self.workspaces = Workspaces(
            lambda: (scoring_room(n_features, n_scored, n_paths), np.zeros((1, *costs)), np.empty((1, 2)))
        )

    def best(self, row: Row, k: int, *, has_losses: bool) -> tuple[IntArray, FloatArray]:
        """See :meth:`SingleRow.best`."""
        every, indexed = [margins(row) for margins in self.margins], self.index.best(row)
        f = (every[0] if len(every) == 1 else np.hstack(every)).astype(np.float64)
        classes, (losses, scores) = np.empty((1, k), np.intp), np.empty((2, 1, k))
        room, costs, bounds = own = self.workspaces.take()
        np.multiply(self.loss.agreement(f).reshape(1, len(every), -1), -2, out=costs[:, :, :-1])
        self.rank(
            room,
            costs,
            self.graph,
            self.of_paths,
            NO_ROW if self.ranking.vectors is None else row[:3],
            *self.vectors,
            self.weight,
            indexed,
            self.n_scored,
            max(k, self.n_scored),
            classes,
            losses,
            scores,
            bounds,
        )
        self.workspaces.give_back(own)
        if has_losses:
            losses += self.loss(-f).sum(axis=1, keepdims=True)
        return classes[0], losses[0]


class _RowIndex:
    """The classes that the index of a re-ranking contributes to one row; none if there is no index."""

    def __init__(self, ranking: Reranking, n_classes: int) -> None:
        from codekin.kernels.class_index import best_of_index_in, index_room

        self.n = min(ranking.n_indexed, n_classes)
        self.search: Any = best_of_index_in
        if self.n:
            self.arrays = ranking.index.by_class, ranking.index.by_list
            n_lists = 2 * ranking.index.n_features
            self.workspaces = Workspaces(lambda: index_room(n_lists, n_classes))

    def best(self, row: Row) -> IntArray:
        """The classes, (1, n); -1 if there are fewer."""
        found = np.empty((1, self.n), np.intp)
        if self.n:
            room = self.workspaces.take()
            self.search(room, row[:3], *self.arrays, found)
            self.workspaces.give_back(room)
        return found


class SingleRowInOneCall(SingleRowOfRanking):
    """Re-ranked candidates of one code with compact weights, whose costs are proportional to the margins: one call."""

    def __init__(self, model: Model, margins: list[Callable[[Row], Margins]]) -> None:
        from codekin.kernels.one_row import rank_row_of_bytes, rank_row_of_gaps

        super().__init__(model, margins)
        bits = cast("CompactForm", model.bits)
        # A copy: the kernel would be compiled again for the read-only bias of a stored model.
        self.weights, self.bias, self.slope = bits.product()[1], bits.bias.copy(), -2 * _slope(self.loss)
        self.rank_row: Any = rank_row_of_gaps if isinstance(bits, CompactSparseLinearBits) else rank_row_of_bytes
        make = self.workspaces.make
        self.workspaces = Workspaces(lambda: (*make(), np.empty((1, bits.n_bits), np.float32)))

    def best(self, row: Row, k: int, *, has_losses: bool) -> tuple[IntArray, FloatArray]:
        """See :meth:`SingleRow.best`."""
        classes, (losses, scores) = np.empty((1, k), np.intp), np.empty((2, 1, k))
        room, costs, bounds, product = own = self.workspaces.take()
        self.rank_row(
            room,
            row[:3],
            self.weights,
            self.bias,
            self.slope,
            product,
            costs,
            self.graph,
            self.of_paths,
            *self.vectors,
            self.weight,
            self.index.best(row),
            self.n_scored,
            max(k, self.n_scored),
            classes,
            losses,
            scores,
            bounds,
        )
        if has_losses:
            losses += self.loss(-(product + self.bias).astype(np.float64)).sum(axis=1, keepdims=True)
        self.workspaces.give_back(own)
        return classes[0], losses[0]


def _is_one_call(model: Model) -> bool:
    """Whether one kernel does it all: one member, sparse or one-byte weights, class vectors, a linear loss."""
    bits = model.bits
    is_one = len(model.members) == 1 and model.ranking is not None and model.ranking.vectors is not None
    is_compact = isinstance(bits, CompactSparseLinearBits) or (
        isinstance(bits, CompactLinearBits) and bits.scales is not None
    )
    return is_one and is_compact and _slope(model.decoder.loss) != 0


def _slope(loss: Loss) -> float:
    """The number ``s`` with ``g(f) = s f``; 0 if there is none, or if it is not a power of two and so not exact."""
    if loss.name not in LOSSES:
        return 0.0
    at = loss.agreement(np.array([1.0, -2.5]))
    return float(at[0]) if at[1] == -2.5 * at[0] and np.frexp(at[0])[0] == 0.5 else 0.0
