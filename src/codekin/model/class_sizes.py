"""Large classes are overrated: how much of the class sizes to take back from a tree, chosen on held-out samples.

A softmax that has seen many samples of one class and few of another finds the first more probable than it is. So the
probabilities are divided by a power of the class sizes and normalised again. On a tree that is a number for every bit,
which is added to its margin: it costs nothing in prediction.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np

from codekin.coding import FloatArray, IntArray
from codekin.model import Member, Model
from codekin.model.reranking import Reranking, best_weight
from codekin.progress import tell
from codekin.samples import Samples

N_LISTED = 20
"""Among how many classes of each sample the power is chosen."""


def class_sizes(samples: Samples, n_classes: int) -> FloatArray:
    """The total weight of each class's samples; classes without any count as the smallest of the others."""
    known = samples.class_index >= 0
    weights = None if samples.weights is None else np.asarray(samples.weights, dtype=np.float64)[known]
    sizes = np.bincount(samples.class_index[known], weights, minlength=n_classes).astype(np.float64)
    return np.asarray(np.maximum(sizes, sizes[sizes > 0].min(initial=np.inf)))


def size_corrected(member: Member, sizes: FloatArray, power: float) -> Member:
    """The member with probabilities divided by a power of the class sizes, if that is done for its kind."""
    if power == 0 or member.code.codebook.usual_size_power == 0:
        return member
    codebook, bits = member.code.codebook, cast("Any", member.bits)
    size_of_codeword = np.ones(codebook.n_codewords)
    size_of_codeword[member.code.assignment.codeword_of_class] = sizes
    bias = (bits.bias + codebook.size_terms(size_of_codeword, power)).astype(np.float32)
    return replace(member, bits=replace(bits, bias=bias))


def best_power(member: Member, sizes: FloatArray, held_out: Samples) -> float:
    """The power of the class sizes with which the classes of held-out samples most often come first."""
    if member.code.codebook.usual_size_power == 0 or len(held_out.class_index) == 0:
        return 0.0
    tell("choosing how much class sizes count")
    n_listed = min(N_LISTED, member.code.n_classes)
    found = Model((member,), Reranking(n_listed)).candidates(held_out.X)
    classes: IntArray = found.classes
    is_true = (classes == held_out.class_index[:, None]) & (classes >= 0)
    return best_weight(found.losses, -np.log(sizes)[classes], is_true)[0]
