"""Large classes are overrated: how much of the class sizes to take back from a tree, chosen on held-out samples.

A softmax that has seen many samples of one class and few of another finds the first more probable than it is. So the
probabilities are divided by a power of the class sizes and normalised again. On a tree that is a number for every bit,
which is added to its margin: it costs nothing in prediction.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from codekin.coding import FloatArray, IntArray, TreeGraph
from codekin.model import Member, Model
from codekin.model.reranking import Reranking, best_weight
from codekin.progress import tell
from codekin.samples import Samples

USUAL_POWER = 0.2
"""If nothing is held out. It gains 0.2 to 1 point on trees of 1,532, 12,582 and 102,673 classes."""
N_LISTED = 20
"""Among how many classes of each sample the power is chosen."""


def class_sizes(samples: Samples, n_classes: int) -> FloatArray:
    """The total weight of each class's samples; classes without any count as the smallest of the others."""
    weights = None if samples.weights is None else np.asarray(samples.weights, dtype=np.float64)
    sizes = np.bincount(samples.class_index, weights, minlength=n_classes).astype(np.float64)
    return np.asarray(np.maximum(sizes, sizes[sizes > 0].min(initial=np.inf)))


def size_terms(tree: TreeGraph, size_of_leaf: FloatArray, power: float) -> FloatArray:
    """What to add to the margin of each bit of a tree to divide the probabilities of its leaves by ``size**power``.

    Exact for leaves of one node; the total of a child with several leaves is estimated from their sizes.

    >>> from codekin.coding import TreeGraph
    >>> size_terms(TreeGraph(n_paths=3, width=2), np.array([1.0, 4.0, 16.0]), 0.5).round(2)
    array([ 0.  , -0.69, -1.39])
    """
    before = np.concatenate([[0.0], np.cumsum(size_of_leaf)])
    reduced = np.concatenate([[0.0], np.cumsum(size_of_leaf ** (1 - power))])
    begins = tree.bit_starts
    ends = np.append(begins[1:], 0)
    ends[tree.first_bits[1:] - 1] = tree.spans[:, 1]
    return np.asarray(np.log((reduced[ends] - reduced[begins]) / (before[ends] - before[begins])))


def size_corrected(member: Member, sizes: FloatArray, power: float) -> Member:
    """A member on a tree whose probabilities are divided by a power of the class sizes; others as they are."""
    tree = member.code.codebook.tree
    if tree is None or power == 0:
        return member
    size_of_leaf = np.empty(tree.n_paths)
    size_of_leaf[member.code.assignment.codeword_of_class] = sizes
    bits: Any = member.bits
    bias = (bits.bias + size_terms(tree, size_of_leaf, power)).astype(np.float32)
    return replace(member, bits=replace(bits, bias=bias))


def best_power(member: Member, sizes: FloatArray, held_out: Samples) -> float:
    """The power of the class sizes with which the classes of held-out samples most often come first."""
    if member.code.codebook.tree is None or len(held_out.class_index) == 0:
        return 0.0
    tell("choosing how much class sizes count")
    n_listed = min(N_LISTED, member.code.n_classes)
    found = Model((member,), Reranking(n_listed)).candidates(held_out.X)
    classes: IntArray = found.classes
    is_true = (classes == held_out.class_index[:, None]) & (classes >= 0)
    return best_weight(found.losses, -np.log(sizes)[classes], is_true)[0]
