"""Codes on one trellis whose best paths are ranked: for many samples, and for one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from codekin._system.parallel import borrowed, run_blocks
from codekin._system.rows import Row, SparseRows
from codekin.code import FloatArray, IntArray, Margins
from codekin.decoding import LOSSES, Loss
from codekin.decoding.decoder import SingleBest
from codekin.learners.compact import CompactLinearBits, CompactSparseLinearBits
from codekin.learners.linear import single_margins
from codekin.model.class_vectors import ClassVectors
from codekin.model.reranking import (
    CANDIDATES_PER_BLOCK,
    Candidates,
    RankedCodes,
    RankedLeaves,
    Reranking,
    kernel_vectors,
)

PathArrays = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]
NO_ROW = np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32)


@dataclass(frozen=True, eq=False)
class RankedPaths(RankedCodes):
    """Codes on one trellis that has a class for every path."""

    kind = "trellis"
    has_one_graph = True

    @property
    def trellis(self) -> Any:
        return self.codes[0].codebook.graph

    @property
    def _graph(self) -> tuple[Any, ...]:
        return self.trellis.width, self.trellis.digits, self.trellis.edge_offsets

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
        """The same; the last two are empty for one code without an index, whose paths already have their losses."""
        if len(self.codes) > 1 or ranking.n_indexed:
            return self.of_paths
        nothing = np.zeros((0, 0), dtype=np.int32)
        return self.class_of_path, nothing, nothing

    def constant_losses(self, margins: Any) -> FloatArray:
        """The loss of a codeword without any edge, to which the edges of a path add theirs."""
        f = _side_by_side(margins).astype(np.float64, copy=False)
        return np.asarray(self.decoders[0].loss(-f).sum(axis=1, keepdims=True), dtype=np.float64)

    def _ranked(self, X: Any, margins: Any, n_out: int, n_listed: int, ranking: Reranking) -> Candidates:
        from codekin.kernels.reranking import rank_candidates

        trellis, of_edges = self.trellis, _side_by_side(margins)
        n_samples, n_edges = len(of_edges), trellis.n_edges
        loss = self.decoders[0].loss
        (vectors, by_feature, n_features), reach = kernel_vectors(ranking.vectors), _reach(ranking.vectors)
        # Without vectors there is no need to make rows sparse.
        has_vectors = ranking.vectors is not None
        rows = SparseRows.of(X, n_features) if has_vectors else SparseRows.of(sparse.csr_array((n_samples, 1)))
        classes = np.empty((n_samples, n_out), dtype=np.intp)
        losses, scores, bounds = np.empty((n_samples, n_out)), np.empty((n_samples, n_out)), np.empty((n_samples, 2))
        graph, of_paths = self._graph, self.paths_for(ranking)
        indexed = ranking.indexed(X, n_samples, self.n_threads)

        def fill(start: int, stop: int) -> None:
            n_codes = len(self.codes)
            f = of_edges[start:stop].astype(np.float64).reshape(stop - start, n_codes, n_edges)
            costs = np.zeros((stop - start, n_codes, n_edges + 1))
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

        run_blocks(fill, n_samples, block=CANDIDATES_PER_BLOCK, n_threads=self.n_threads)
        is_certified = (bounds[:, 0] <= bounds[:, 1]) | (n_listed == self.n_classes)
        return Candidates(classes, losses, scores, is_certified)

    def single(self, bits: Sequence[Any], ranking: Reranking, otherwise: SingleBest) -> SingleBest:  # noqa: ARG002
        """A function for one row: one kernel for one code with compact weights, class vectors and a linear loss."""
        from codekin.kernels.calling import typed_once
        from codekin.kernels.reranking import rank_candidates_in, scoring_room

        loss, n_classes, n_scored = self.decoders[0].loss, self.n_classes, self._n_listed(ranking)
        margins = [single_margins(own) for own in bits]
        graph, of_paths = self._graph, self.paths_for(ranking)
        *own_vectors, n_features = kernel_vectors(ranking.vectors)
        vectors = *own_vectors, _reach(ranking.vectors)
        weight, indexed = float(ranking.weight), _single_index(ranking, n_classes)
        n_room = 0 if ranking.vectors is None else n_classes
        n_paths = n_classes if len(bits) > 1 or ranking.n_indexed else 0
        # The last cost of each code is zero, and stays so.
        costs_shape = 1, len(bits), self.trellis.n_edges + 1
        rank_row: Any = _row_kernel(bits, ranking, loss)
        n_product = 0 if rank_row is None else bits[0].n_bits
        rank = typed_once(rank_candidates_in)
        rooms: list[Any] = []  # working memory that is used again, by one thread at a time

        def room_made() -> tuple[Any, ...]:
            room = scoring_room(n_features, n_room, n_paths)
            return room, np.zeros(costs_shape), np.empty((1, 2)), np.empty((1, n_product), np.float32)

        def best(row: Row, k: int, *, has_losses: bool) -> tuple[IntArray, FloatArray]:
            every, others = [of_row(row) for of_row in margins], indexed(row)
            f = (every[0] if len(every) == 1 else np.hstack(every)).astype(np.float64)
            classes, (losses, scores) = np.empty((1, k), np.intp), np.empty((2, 1, k))
            room, costs, bounds, _ = own = borrowed(rooms, room_made)
            np.multiply(loss.agreement(f).reshape(1, len(every), -1), -2, out=costs[:, :, :-1])
            of_row = NO_ROW if ranking.vectors is None else row[:3]
            shared: Any = *vectors, weight, others, n_scored, max(k, n_scored), classes, losses, scores, bounds
            rank(room, costs, graph, of_paths, of_row, *shared)
            rooms.append(own)
            if has_losses:
                losses += loss(-f).sum(axis=1, keepdims=True)
            return classes[0], losses[0]

        if rank_row is None:
            return best
        # A copy: the kernel would be compiled again for the read-only bias of a stored model.
        weights, bias, slope = bits[0].product()[1], bits[0].bias.copy(), -2 * _slope(loss)

        def best_in_one_call(row: Row, k: int, *, has_losses: bool) -> tuple[IntArray, FloatArray]:
            others = indexed(row)
            classes, (losses, scores) = np.empty((1, k), np.intp), np.empty((2, 1, k))
            room, costs, bounds, product = own = borrowed(rooms, room_made)
            shared: Any = *vectors, weight, others, n_scored, max(k, n_scored), classes, losses, scores, bounds
            rank_row(room, row[:3], weights, bias, slope, product, costs, graph, of_paths, *shared)
            if has_losses:
                losses += loss(-(product + bias).astype(np.float64)).sum(axis=1, keepdims=True)
            rooms.append(own)
            return classes[0], losses[0]

        return best_in_one_call


RANKED: dict[str, type[RankedCodes]] = {each.kind: each for each in (RankedPaths, RankedLeaves)}
"""Maps the kinds of codebooks whose best classes can be ranked to how that is done; others are refused."""


def _side_by_side(margins: tuple[Margins, ...]) -> Margins:
    """The margins of all codes in one array."""
    return margins[0] if len(margins) == 1 else np.hstack(margins)


def _reach(vectors: ClassVectors | None) -> tuple[NDArray[np.float32], NDArray[np.float32], float]:
    """A bound on the scores of class vectors, if there are any."""
    nothing = np.zeros(0, dtype=np.float32)
    return (nothing, nothing, 0.0) if vectors is None else vectors.reach


def _single_index(ranking: Reranking, n_classes: int) -> Callable[[Row], IntArray]:
    """The classes that the index of a re-ranking adds to one row, (1, n); -1 if there are fewer."""
    from codekin.kernels.calling import typed_once
    from codekin.kernels.class_vectors import best_of_index_in, index_room

    n, search, nothing = min(ranking.n_indexed, n_classes), typed_once(best_of_index_in), np.empty((1, 0), np.intp)
    if n == 0:
        return lambda _: nothing
    arrays, n_lists = (ranking.index.by_class, ranking.index.by_list), 2 * ranking.index.n_features
    rooms: list[Any] = []

    def best(row: Row) -> IntArray:
        found, room = np.empty((1, n), np.intp), borrowed(rooms, lambda: index_room(n_lists, n_classes))
        search(room, row[:3], *arrays, found)
        rooms.append(room)
        return found

    return best


def _row_kernel(bits: Sequence[Any], ranking: Reranking, loss: Loss) -> Any:
    """What ranks one row in one call: for one code, sparse or one-byte weights, class vectors and a linear loss."""
    from codekin.kernels.calling import typed_once
    from codekin.kernels.single_row import rank_row_of_bytes, rank_row_of_gaps

    if len(bits) > 1 or ranking.vectors is None or _slope(loss) == 0:
        return None
    if isinstance(bits[0], CompactSparseLinearBits):
        return typed_once(rank_row_of_gaps)
    is_of_bytes = isinstance(bits[0], CompactLinearBits) and bits[0].scales is not None
    return typed_once(rank_row_of_bytes) if is_of_bytes else None


def _slope(loss: Loss) -> float:
    """The number ``s`` with ``g(f) = s f``; 0 unless there is one and products with it are exact (a power of two)."""
    if loss.name not in LOSSES:
        return 0.0
    at = loss.agreement(np.array([1.0, -2.5]))
    return float(at[0]) if at[1] == -2.5 * at[0] and np.frexp(at[0])[0] == 0.5 else 0.0
