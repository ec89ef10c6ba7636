"""Which leaves suit the classes of a tree: a pilot with some of the classes decides.

A taxonomy may be worth two points or cost as many, and nothing that can be computed from it says which. Trees of a part
of the classes do. What they cannot tell is whether a second tree pays: that gains up to half a point of every part, and
of the whole only beyond 50,000 classes.
"""

from __future__ import annotations

import numpy as np

from codekin.classes import ClassTree
from codekin.codebooks.label_tree import label_tree
from codekin.coding import Code
from codekin.decoding import DecodedAccuracy, decoder_of
from codekin.fitting.choices import Classes
from codekin.fitting.leaves import leaf_assignment
from codekin.fitting.part import Part, part_of_classes
from codekin.learners import Learner
from codekin.progress import within
from codekin.samples import Samples

ENOUGH_JUDGES = 1_000
"""With fewer held-out samples, differences of a point are chance."""


def better_leaves(policies: tuple[str, ...], samples: Samples, tree: ClassTree, *, width: int, learner: Learner) -> str:
    """The policy for the leaves that a pilot finds the most accurate.

    The first one where there are too few samples, or where class means do not fit into memory, which others need.

    - ``tree``: the known class tree, for the policies that need one.
    - ``width``: the most children of a node.
    """
    try:
        part = part_of_classes(samples, tree.n_classes)
    except MemoryError:
        return policies[0]
    if len(part.judges) < ENOUGH_JUDGES:
        return policies[0]
    known = tree.restricted_to(part.classes)
    accuracy = {policy: _accuracy(policy, part, known, width=width, learner=learner) for policy in policies}
    return max(policies, key=lambda policy: accuracy[policy])


def _accuracy(policy: str, part: Part, tree: ClassTree, *, width: int, learner: Learner) -> float:
    """How many of the held-out samples a tree with these leaves gets right."""
    n_classes, rng, samples = tree.n_classes, np.random.default_rng(0), part.taught
    codebook = label_tree(n_classes, min(width, n_classes))
    with within(f"trying {policy} leaves"):
        classes = Classes(lambda: samples.X, samples.class_index, n_classes, samples.weights, tree, rng)
        code = Code(codebook, leaf_assignment(policy, codebook, classes, rng))
        bits = learner.fit(samples, code, rng=rng)
        decoder = decoder_of(code, learner.decoding_loss(codebook))
        return DecodedAccuracy(decoder, part.judges.class_index)(bits.margins(part.judges.X))
