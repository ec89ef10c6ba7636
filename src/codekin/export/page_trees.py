"""Trees of classes as the arrays that a page's script needs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin._system.arrays import Arrays, as_narrow
from codekin.learners.tree_bits import TreeBits, sizes_of_steps
from codekin.model import Member


def tree_arrays(members: tuple[Member, ...], classes: NDArray[Any]) -> Arrays:
    """The trees and their weights; classes are numbered in the order of the first tree's leaves, which is ``classes``.

    Of each node there are the number of children and the first of them: a node, or minus one minus a leaf. The others
    follow it.
    """
    number_of_class = np.empty(len(classes), np.intp)
    number_of_class[classes] = np.arange(len(classes))
    arrays: Arrays = {}
    for t, member in enumerate(members):
        bits: Any = member.bits
        tree = bits.tree
        own = {
            "n_children": as_narrow(np.diff(tree.first_bits)),
            "below": tree.children[tree.first_bits[:-1]].astype(np.int32),
            "bias": bits.bias,
            **_weights(bits),
        }
        if t > 0:
            own["classes"] = as_narrow(number_of_class[member.code.assignment.class_of_codeword(tree.n_paths)])
        arrays |= {f"tree{t}_{name}": array for name, array in own.items()}
    return arrays


def _weights(bits: TreeBits) -> Arrays:
    own = {name: getattr(bits, name) for name in ("counts", "nodes", "lengths", "children")}
    if bits.scale is None:
        return {**own, "weights": bits.values}
    return {**own, "weights": bits.weights, "sizes": sizes_of_steps(bits.scale)}
