"""Which class is at which leaf of a tree: an order of the classes, matched to the leaves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from codekin.assignments.seriation import codeword_order
from codekin.class_distances.samples import class_samples
from codekin.class_distances.splitting import halving_order
from codekin.coding import Assignment, Codebook, IntArray
from codekin.fitting.checked_choices import check_assignment_choice
from codekin.fitting.choices import Classes

HALVED = ("halving", "learnability")
"""Those that halve the set of classes, by a ``share`` of the features."""


def leaf_assignment(
    policy: str, codebook: Codebook, classes: Classes, rng: np.random.Generator, *, share: float = 1.0
) -> Assignment:
    """The leaves of the classes.

    "halving" sorts the classes so that halves, halves of halves and so on hold classes with similar means, which makes
    the nodes of the tree clusters of classes; "learnability" does so with the factors of learnability instead of means.
    "preserving" takes the depth-first order of the known class tree, "breaking" the same with neighbours as far apart
    as the tree allows.
    """
    check_assignment_choice(policy, codes=("tree",))
    leaves = np.arange(classes.n_classes)
    if policy in ("random", "identity"):
        return Assignment(rng.permutation(leaves) if policy == "random" else leaves, method=policy)
    order = _class_order(policy, classes, rng, share)
    leaf_of_class = np.empty(classes.n_classes, dtype=np.intp)
    leaf_of_class[order] = codeword_order(codebook, classes.n_classes, "breaking") if policy == "breaking" else leaves
    return Assignment(leaf_of_class, method=policy)


def _class_order(policy: str, classes: Classes, rng: np.random.Generator, share: float) -> IntArray:
    if policy not in HALVED:
        return classes.tree.class_order()
    found = _class_means(classes) if policy == "halving" else classes.learnability_factors()
    vectors: Any = getattr(found, "factors", found)
    if share < 1:
        vectors = vectors[:, rng.permutation(vectors.shape[1])[: math.ceil(share * vectors.shape[1])]]
    return halving_order(vectors, rng)


def _class_means(classes: Classes) -> Any:
    numbers = classes.numbers
    if numbers is None:
        raise ValueError(
            "The leaves of a tree are found by halving the set of class means. Got samples that are not numeric."
        )
    known = class_samples(
        numbers, classes.class_index, n_classes=classes.n_classes, sample_weight=classes.sample_weight
    )
    return known.class_means
