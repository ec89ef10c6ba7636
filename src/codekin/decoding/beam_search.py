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

from codekin.coding import Assignment, FloatArray, IntArray
from codekin.coding.tree import TreeGraph
from codekin.decoding.decoder import Decoder
from codekin.decoding.losses import LOSSES, Loss
from codekin.decoding.minimum_loss import as_margins, check_k

BEAM = 10
"""How many nodes of each level are followed; wider searches find next to nothing more."""
NARROW_BEAM = 4
"""The same where lists of very many samples are needed, and some mistakes do no harm."""


@dataclass(frozen=True, eq=False)
class BeamSearchDecoder(Decoder):
    """Finds the classes with the smallest loss, minus the logarithm of the probability, among the leaves of a tree.

    Margins in an array are decoded exactly, all classes of a sample at a time; those of :class:`TreeBits
    <codekin.learners.tree_bits.TreeBits>` by a beam search, which computes only the margins it needs.

    Parameters
    ----------
    tree : TreeGraph
        ``codebook.tree``.
    assignment : Assignment
        Which class has which leaf; there is a class for every leaf.
    beam : int, default=10
        How many nodes of each level are followed.

    Examples
    --------
    >>> from codekin.codebooks.label_tree import label_tree
    >>> codebook = label_tree(9, 2)
    >>> decoder = BeamSearchDecoder(codebook.tree, Assignment.identity(9))
    >>> decoder.decode(3.0 * codebook.codewords([0, 4, 8]))
    array([0, 4, 8])
    """

    tree: TreeGraph
    assignment: Assignment
    beam: int = BEAM
    loss: ClassVar[Loss] = LOSSES["logistic"]

    def __post_init__(self) -> None:
        """Check that there is a class for every leaf."""
        if self.assignment.n_classes != self.tree.n_paths:
            raise ValueError(
                f"A tree of {self.tree.n_paths} leaves needs as many classes. Got {self.assignment.n_classes}."
            )
        if self.beam < 1:
            raise ValueError(f"The 'beam' of a search must be at least 1. Got {self.beam} instead.")

    @property
    def n_classes(self) -> int:
        """The number of classes."""
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
        """The class with the smallest loss for each sample, (n_samples,)."""
        return self.top_k(margins, 1)[0][:, 0]

    def top_k(
        self, margins: Any, k: int, temperature: float = 1.0, reach: float = np.inf
    ) -> tuple[IntArray, FloatArray]:
        """The k classes with the smallest losses, and those losses, smallest first.

        Parameters
        ----------
        margins : array of shape (n_samples, n_bits), or lazy margins
        k : int
            At least 1 and at most the number of classes.
        temperature : float, default=1.0
            What margins are divided by.
        reach : float, default=inf
            A search leaves out classes whose loss is larger than the smallest by more than this.

        Returns
        -------
        classes : ndarray of shape (n_samples, k)
            -1 if a search found fewer.
        losses : ndarray of shape (n_samples, k)
        """
        check_k(k, self.n_classes)
        if hasattr(margins, "best_leaves"):
            leaves, logs = margins.best_leaves(k, self.beam_for(k), temperature, reach)
            return self.class_of_leaf[leaves], -logs
        losses = self.class_losses(margins, temperature)
        classes = np.argsort(losses, axis=1, kind="stable")[:, :k]
        return classes, np.take_along_axis(losses, classes, axis=1)

    def most_probable(self, margins: Any, k: int, temperature: float) -> IntArray:
        """The k most probable classes at a temperature, on which their order depends."""
        return self.top_k(margins, k, temperature)[0]

    def log_proba_of(self, margins: Any, classes: IntArray) -> Callable[[float], FloatArray]:
        """The logarithms of the probabilities of given classes, as a function of the temperature."""
        return lambda temperature: -self.losses_of(margins, classes, temperature)

    def with_narrow_beam(self) -> Self:
        """The same with a beam of 4: half the time."""
        return replace(self, beam=NARROW_BEAM)

    def losses_of(self, margins: Any, classes: IntArray, temperature: float = 1.0) -> FloatArray:
        """The losses of given classes.

        Parameters
        ----------
        margins : array of shape (n_samples, n_bits), or lazy margins
        classes : array of shape (n_samples, n)
            -1 if there is none.
        temperature : float, default=1.0
            What margins are divided by.

        Returns
        -------
        ndarray of shape (n_samples, n)
            Infinite for class -1.
        """
        if hasattr(margins, "log_probabilities"):
            return np.asarray(-margins.log_probabilities(self.leaf_of_class[classes], temperature))
        every = np.column_stack([self.class_losses(margins, temperature), np.full(len(margins), np.inf)])
        return np.take_along_axis(every, classes, axis=1)

    def class_losses(self, margins: Any, temperature: float = 1.0) -> FloatArray:
        """The loss of every class; slow for very many classes.

        Parameters
        ----------
        margins : array of shape (n_samples, n_bits), or lazy margins
        temperature : float, default=1.0
            What margins are divided by.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        f = as_margins(np.asarray(margins), self.tree.n_edges).astype(np.float64) / temperature
        first_bits = self.tree.first_bits
        largest = np.maximum.reduceat(f, first_bits[:-1], axis=1)
        counts = np.diff(first_bits)
        f -= np.repeat(largest, counts, axis=1)
        f -= np.repeat(np.log(np.add.reduceat(np.exp(f), first_bits[:-1], axis=1)), counts, axis=1)
        bits = self.tree.unrank(self.assignment.codeword_of_class)
        losses = np.zeros((len(f), self.n_classes))
        for own in bits.T:
            losses[:, own >= 0] -= f[:, own[own >= 0]]
        return losses
