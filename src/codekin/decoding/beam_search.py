"""Decoding on a tree of classes: the most probable leaf, by a beam search over the best few nodes of each level.

The loss of a class is minus the logarithm of its probability, which is the product of the probabilities of the children
on the path to its leaf. These are, in every node, the softmax of the margins of its children.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from codekin._system.rows import Row
from codekin.code import Assignment, FloatArray, IntArray
from codekin.code.tree import TreeGraph
from codekin.decoding.decoder import Decoder, SingleBest, SingleMargins, check_k
from codekin.decoding.losses import LOSSES, Loss
from codekin.decoding.minimum_loss import as_margins

BEAM = 10
"""How many nodes of each level are followed; wider searches find next to nothing more."""
NARROW_BEAM = 4
"""The same where lists of very many samples are needed, and some mistakes do no harm."""


@dataclass(frozen=True, eq=False)
class BeamSearchDecoder(Decoder):
    """Finds the classes with the smallest loss, minus the logarithm of the probability, among the leaves of a tree.

    Margins in an array are decoded exactly, all classes of a sample at a time; those of :class:`TreeBits
    <codekin.learners.tree_bits.TreeBits>` by a beam search, which computes only the margins it needs. There is a class
    for every leaf; ``beam`` nodes of each level are followed. ``link``: whether the probabilities of the children of a
    node are the "softmax" of their margins, or each is "logistic".

    >>> from codekin.code.tree import label_tree
    >>> codebook = label_tree(9, 2)
    >>> decoder = BeamSearchDecoder(codebook.tree, Assignment.identity(9))
    >>> decoder.decode(3.0 * codebook.codewords([0, 4, 8]))
    array([0, 4, 8])
    """

    tree: TreeGraph
    assignment: Assignment
    beam: int = BEAM
    link: str = "softmax"
    loss: ClassVar[Loss] = LOSSES["logistic"]

    def __post_init__(self) -> None:
        if self.assignment.n_classes != self.tree.n_paths:
            raise ValueError(
                f"A tree of {self.tree.n_paths} leaves needs as many classes. Got {self.assignment.n_classes}."
            )
        if self.beam < 1:
            raise ValueError(f"The 'beam' of a search must be at least 1. Got {self.beam} instead.")

    @property
    def n_classes(self) -> int:
        return self.assignment.n_classes

    @cached_property
    def class_of_leaf(self) -> IntArray:
        """The class at each leaf, and -1 after the last one."""
        return np.append(self.assignment.class_of_codeword(self.tree.n_paths), -1)

    @cached_property
    def leaf_of_class(self) -> IntArray:
        """The leaf of each class, and -1 after the last one."""
        return np.append(self.assignment.codeword_of_class, -1)

    @cached_property
    def _fewest_leaves(self) -> int:
        """The smallest number of leaves of a node whose children are leaves."""
        sizes, counts = np.diff(self.tree.spans, axis=1)[:, 0], np.diff(self.tree.first_bits)
        return int(counts[counts == sizes].min())

    def beam_for(self, k: int) -> int:
        """How many nodes of each level are followed for k classes: that many above leaves have k leaves together."""
        return min(max(self.beam, -(-k // self._fewest_leaves)), self.tree.n_nodes)

    def decode(self, margins: Any) -> IntArray:
        if hasattr(margins, "best_leaf"):
            return np.asarray(self.class_of_leaf[margins.best_leaf()])
        return self._best(margins, 1)[0][:, 0]

    def top_k(
        self, margins: Any, k: int, temperature: float = 1.0, max_loss_gap: float = np.inf
    ) -> tuple[IntArray, FloatArray]:
        """The k classes with the smallest losses, and those losses, smallest first, at a temperature.

        Classes whose loss is larger than the smallest by more than ``max_loss_gap`` are left out; class -1 fills up.
        """
        check_k(k, self.n_classes)
        return self._best(margins, k, temperature, max_loss_gap)

    def _best(
        self, margins: Any, k: int, temperature: float = 1.0, max_loss_gap: float = np.inf
    ) -> tuple[IntArray, FloatArray]:
        if hasattr(margins, "best_leaves"):
            leaves, logs = margins.best_leaves(k, self.beam_for(k), temperature, max_loss_gap)
            return self.class_of_leaf[leaves], -logs
        losses = self.class_losses(margins, temperature)
        classes = np.argsort(losses, axis=1, kind="stable")[:, :k]
        return classes, np.take_along_axis(losses, classes, axis=1)

    def single(self, bits: Any, margins_of: SingleMargins) -> SingleBest:
        """A function that finds the best leaves of one row by one kernel; their losses cost nothing."""
        if not hasattr(bits, "kernel_tree"):
            return super().single(bits, margins_of)
        from codekin.kernels import label_tree
        from codekin.kernels.calling import typed_once

        search_leaves = typed_once(label_tree.search_leaves)
        # Writeable: the kernel would be compiled again for the arrays of a stored model.
        class_of_leaf, tree = np.array(self.class_of_leaf, np.int64), (bits.kernel_tree, bits.kernel_arrays)

        def best(row: Row, k: int, *, has_losses: bool) -> tuple[IntArray, FloatArray]:  # noqa: ARG001
            leaves, logs = np.empty((1, k), np.int64), np.empty((1, k))
            search_leaves(row[:3], *tree, self.beam_for(k), np.float32(1), np.inf, leaves, logs)
            return class_of_leaf[leaves[0]], -logs[0]

        return best

    def n_listed(self, k: int) -> int:
        """As many as are asked for."""
        return k

    def most_probable(self, margins: Any, k: int, temperature: float) -> tuple[IntArray, FloatArray]:
        """The k most probable classes at a temperature, on which their order depends, and their log-probabilities."""
        classes = self._best(margins, k, temperature)[0]
        return classes, np.where(classes >= 0, self.log_proba_of(margins, classes)(temperature), -np.inf)

    def log_proba_of(self, margins: Any, classes: IntArray) -> Callable[[float], FloatArray]:
        return lambda temperature: -self.losses_of(margins, classes, temperature)

    def with_narrow_beam(self) -> Self:
        """The same with a beam of 4: half the time."""
        return replace(self, beam=NARROW_BEAM)

    def losses_of(self, margins: Any, classes: IntArray, temperature: float = 1.0) -> FloatArray:
        """The losses of given classes, infinite for class -1; margins are divided by the temperature."""
        if hasattr(margins, "log_probabilities"):
            return np.asarray(-margins.log_probabilities(self.leaf_of_class[classes], temperature))
        every = np.column_stack([self.class_losses(margins, temperature), np.full(len(margins), np.inf)])
        return np.take_along_axis(every, classes, axis=1)

    def class_losses(self, margins: Any, temperature: float = 1.0) -> FloatArray:
        """The loss of every class, slow for very many classes; margins are divided by the temperature."""
        f = as_margins(np.asarray(margins), self.tree.n_edges).astype(np.float64) / temperature
        bits, losses = self.tree.unrank(self.assignment.codeword_of_class), np.zeros((len(f), self.n_classes))
        f = -np.logaddexp(0.0, -f) if self.link == "logistic" else self._log_softmax(f)
        for own in bits.T:
            losses[:, own >= 0] -= f[:, own[own >= 0]]
        return losses

    def _log_softmax(self, f: FloatArray) -> FloatArray:
        """The logarithms of the probabilities of the children of every node; changes the margins in place."""
        first_bits = self.tree.first_bits
        largest = np.maximum.reduceat(f, first_bits[:-1], axis=1)
        counts = np.diff(first_bits)
        f -= np.repeat(largest, counts, axis=1)
        f -= np.repeat(np.log(np.add.reduceat(np.exp(f), first_bits[:-1], axis=1)), counts, axis=1)
        return f
