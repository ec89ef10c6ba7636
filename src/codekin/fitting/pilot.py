"""Which leaves suit the classes of a tree: a pilot with some of the classes decides.

A taxonomy may be worth two points or cost as many, and nothing that can be computed from it says which. Trees of a few
thousand samples do: with 20,000 samples of 102,673 classes, they prefer the leaves that are better on all of them in
three of three draws. What the pilot cannot tell is whether a second tree pays: that gains up to half a point of every
part, and of the whole only beyond 50,000 classes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from codekin.classes import ClassTree
from codekin.codebooks.label_tree import label_tree
from codekin.coding import Code, IntArray
from codekin.fitting.choices import Classes
from codekin.fitting.leaves import leaf_assignment
from codekin.learners import Learner
from codekin.model import make_decoder
from codekin.progress import within
from codekin.samples import Samples

N_STRETCHES = 16
"""The classes of the pilot are neighbours in the taxonomy, from so many places: distant ones are too easy to separate,
and hide what the order is worth."""
LEAST_SAMPLES, MOST_SAMPLES = 15_000, 50_000
"""A quarter of all samples, but no fewer and no more than these, where there are as many."""
HELD_OUT_SHARE = 0.25
ENOUGH_JUDGES = 1_000
"""With fewer held-out samples, differences of a point are chance."""
PILOT_SEED = 0
"""The pilot is the same for all seeds of a fit, so that they get the same kind of leaves."""


def better_leaves(policies: tuple[str, ...], samples: Samples, tree: ClassTree, *, width: int, learner: Learner) -> str:
    """The policy for the leaves that a pilot finds the most accurate; the first one unless another is clearly better.

    - ``tree``: the known class tree, for the policies that need one.
    - ``width``: the most children of a node.
    """
    rng = np.random.default_rng(PILOT_SEED)
    some = some_classes(samples.class_index, tree, rng)
    # Rows on disk may be fewer in memory, so classes are numbered afterwards.
    part = samples.at(np.flatnonzero(np.isin(samples.class_index, some))).in_memory()
    labels, class_index = np.unique(part.class_index, return_inverse=True)
    part = Samples(part.X, class_index, part.weights)
    is_held = held_out(class_index, rng)
    if is_held.sum() < ENOUGH_JUDGES:
        return policies[0]
    taught, judges = part.at(np.flatnonzero(~is_held)), part.at(np.flatnonzero(is_held))
    known = tree.restricted_to(labels)
    first, *others = (
        (policy, _is_right(policy, taught, judges, known, width=width, learner=learner)) for policy in policies
    )
    best, is_right = first
    for policy, is_right_too in others:
        gain = is_right_too.astype(float) - is_right
        if gain.mean() > gain.std() / np.sqrt(len(gain)):
            best, is_right = policy, is_right_too
    return best


def some_classes(class_index: IntArray, tree: ClassTree, rng: np.random.Generator) -> IntArray:
    """The classes of a pilot: stretches of the taxonomy's order that hold about as many samples as it takes."""
    n_samples = len(class_index)
    n_wanted = min(max(n_samples // 4, LEAST_SAMPLES), MOST_SAMPLES, n_samples)
    n_stretches = min(max(N_STRETCHES * n_samples // max(n_wanted, 1), 1), tree.n_classes)
    stretches = np.array_split(tree.class_order(), n_stretches)
    return np.concatenate([stretches[i] for i in rng.permutation(n_stretches)[:N_STRETCHES]])


def held_out(class_index: IntArray, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which samples judge: about a quarter; every class keeps one."""
    is_held: NDArray[np.bool_] = rng.random(len(class_index)) < HELD_OUT_SHARE
    is_held[np.unique(class_index, return_index=True)[1]] = False
    return is_held


def _is_right(
    policy: str, samples: Samples, judges: Samples, tree: ClassTree, *, width: int, learner: Learner
) -> NDArray[np.bool_]:
    """Which of the held-out samples a tree with these leaves gets right."""
    n_classes, rng = tree.n_classes, np.random.default_rng(PILOT_SEED)
    codebook = label_tree(n_classes, min(width, n_classes))
    with within(f"trying {policy} leaves"):
        classes = Classes(lambda: samples.X, samples.class_index, n_classes, samples.weights, tree, rng)
        code = Code(codebook, leaf_assignment(policy, codebook, classes, rng))
        bits = learner.fit(samples, code, rng=rng)
        decoder = make_decoder(code, learner.decoding_loss(codebook))
        return np.asarray(decoder.decode(bits.margins(judges.X)) == judges.class_index)
