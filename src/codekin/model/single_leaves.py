"""The best classes of one sample on trees, ranked or not."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from codekin.coding import FloatArray, IntArray
from codekin.decoding.beam_search import BeamSearchDecoder
from codekin.model import Member, Model
from codekin.model.candidates import kernel_vectors
from codekin.model.reranking import Reranking
from codekin.model.single import Row, SingleRow, Workspaces


class _Tree(NamedTuple):
    """A tree as the kernels take it: the graph, the weights and the classes of the leaves."""

    graph: tuple[Any, ...]
    weights: tuple[Any, ...]
    class_of_leaf: NDArray[np.int64]
    decoder: BeamSearchDecoder
    bits: Any

    @classmethod
    def of(cls, member: Member) -> _Tree:
        bits, decoder = cast("Any", member.bits), cast("BeamSearchDecoder", member.decoder)
        # All arrays are writeable: the kernels would be compiled again for those of a stored model.
        return cls(bits.kernel_tree, bits.kernel_arrays, np.array(decoder.class_of_leaf, np.int64), decoder, bits)


class SingleRowOfTree(SingleRow):
    """The leaves that a beam search finds on a single tree."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.tree = _Tree.of(model.first)

    def best(self, row: Row, k: int, *, has_losses: bool) -> tuple[IntArray, FloatArray]:  # noqa: ARG002
        """See :meth:`SingleRow.best`; losses cost nothing."""
        from codekin.kernels.label_tree import search_leaves

        graph, weights, class_of_leaf, decoder, _ = self.tree
        leaves, logs = np.empty((1, k), np.int64), np.empty((1, k))
        search_leaves(row[:3], graph, weights, decoder.beam_for(k), np.float32(1), np.inf, leaves, logs)
        return class_of_leaf[leaves[0]], -logs[0]


class SingleRowOfRankedTree(SingleRow):
    """The re-ranked candidates of a single tree, by one kernel."""

    def __init__(self, model: Model) -> None:
        from codekin.kernels.one_row_of_trees import rank_row_of_tree
        from codekin.kernels.reranking import scoring_room

        super().__init__(model)
        self.trees = [_Tree.of(member) for member in model.members]
        self.ranking, self.rank_row_of_tree = cast("Reranking", model.ranking), cast("Any", rank_row_of_tree)
        self.weight, self.reach = float(self.ranking.weight), float(self.ranking.reach)
        self.n_candidates = min(self.ranking.n_candidates, model.n_classes)
        self.vectors, self.by_feature, _, n_features = kernel_vectors(self.ranking.vectors)
        n_scored = 0 if self.ranking.vectors is None else model.n_classes
        self.workspaces = Workspaces(lambda: scoring_room(n_features, n_scored, 0))

    def search(self, tree: _Tree, k: int) -> tuple[int, float]:
        """The beam and the reach of the search for k ranked classes: what cannot come first need not be found."""
        return tree.decoder.beam_for(max(k, self.n_candidates)), self.reach if k == 1 else np.inf

    def best(self, row: Row, k: int, *, has_losses: bool) -> tuple[IntArray, FloatArray]:  # noqa: ARG002
        """See :meth:`SingleRow.best`; losses cost nothing."""
        classes, (losses, scores) = np.empty((1, k), np.intp), np.empty((2, 1, k))
        tree, room = self.trees[0], self.workspaces.take()
        self.rank_row_of_tree(
            room,
            row[:3],
            tree.graph,
            tree.weights,
            tree.class_of_leaf,
            self.search(tree, k),
            self.vectors,
            self.by_feature,
            self.weight,
            self.reach,
            self.n_candidates,
            max(k, self.n_candidates),
            classes,
            losses,
            scores,
        )
        self.workspaces.give_back(room)
        return classes[0], losses[0]


class SingleRowOfRankedTrees(SingleRowOfRankedTree):
    """The candidates of several trees, whose losses are added, by a few kernels."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.leaves = [np.array(tree.decoder.leaf_of_class, np.int64) for tree in self.trees]

    def best(self, row: Row, k: int, *, has_losses: bool) -> tuple[IntArray, FloatArray]:  # noqa: ARG002
        """See :meth:`SingleRow.best`; losses cost nothing."""
        from codekin.kernels.one_row_of_trees import add_losses, list_row, rank_row
        from codekin.kernels.tree_ranking import merge_lists

        sample, n_each, n_trees = row[:3], max(k, self.n_candidates), len(self.trees)
        shape = 1, n_trees * n_each
        listed, losses, is_candidate = np.empty(shape, np.int64), np.empty(shape), np.empty(shape, np.bool_)
        for t, tree in enumerate(self.trees):
            own = slice(t * n_each, (t + 1) * n_each)
            arrays = listed[:, own], losses[:, own], is_candidate[:, own]
            search = self.search(tree, k)
            list_row(sample, *tree[:3], search, self.reach, self.n_candidates, *arrays)
        merged, known, is_merged = np.empty(shape, np.int64), np.empty((n_trees, *shape)), np.empty(shape, np.bool_)
        n = merge_lists(listed, losses, is_candidate, n_each, merged, known, is_merged)
        merged, is_merged, total = merged[:, :n].copy(), is_merged[:, :n].copy(), np.zeros((1, n))
        for t, (tree, leaf_of_class) in enumerate(zip(self.trees, self.leaves, strict=True)):
            add_losses(sample, tree.graph, tree.weights, tree.bits.paths, leaf_of_class, merged, known[t, :, :n], total)
        classes, (final, scores) = np.empty((1, k), np.intp), np.empty((2, 1, k))
        room = self.workspaces.take()
        arrays = merged, total, is_merged
        rank_row(room, sample, self.vectors, self.by_feature, self.weight, *arrays, classes, final, scores)
        self.workspaces.give_back(room)
        return classes[0], final[0]


def single_of_leaves(model: Model) -> SingleRow:
    """The fastest way to the best classes of one row of a model on trees."""
    if model.ranking is None:
        return SingleRowOfTree(model)
    if model.ranking.n_indexed:
        return SingleRow(model)
    return SingleRowOfRankedTree(model) if len(model.members) == 1 else SingleRowOfRankedTrees(model)
