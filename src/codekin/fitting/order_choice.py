"""The orders of the classes on a trellis; by default chosen by the number of classes and a short trial."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from codekin.assignments import AssignmentResult
from codekin.coding import Assignment, Code, Codebook
from codekin.decoding import decoder_of
from codekin.fitting.choices import Classes, choose_assignment
from codekin.fitting.leaves import HALVED, leaf_assignment
from codekin.fitting.pilot import better_leaves
from codekin.fitting.plan import Plan
from codekin.learners import AROW
from codekin.progress import within
from codekin.samples import Samples

PILOT_SEED = 0
"""Trials see the samples in the same order, regardless of the seed of the fit."""


class RepeatedOrderError(ValueError):
    """A further member would get the order of the first one."""


@dataclass
class Orders:
    """The orders of the members of an ensemble, each searched when it is first needed.

    ``policy`` is how all orders are found; ``result`` is the result of the search for the first one.
    """

    policy: Any
    first: Assignment
    result: AssignmentResult | None
    codebook: Codebook
    classes: Classes
    rng: np.random.Generator
    _others: list[Assignment] = field(default_factory=list)

    def of(self, n_members: int) -> list[Assignment]:
        """The orders of the first members; a larger ``n_members`` only appends to them."""
        while len(self._others) < n_members - 1:
            (rng,) = self.rng.spawn(1)
            policy = self._policy_of(len(self._others) + 1)
            self._others.append(other_assignment(self.first, policy, self.codebook, self.classes, rng=rng))
        return [self.first, *self._others[: n_members - 1]]

    def _policy_of(self, number: int) -> Any:
        """How the order of a further member is found.

        On trees, a taxonomy and halving complement each other as well as two halvings, in less time; a taxonomy has one
        order.
        """
        if self.codebook.tree is None or self.policy not in ("halving", "preserving"):
            return self.policy
        is_taxonomy = number == 1 and self.policy == "halving" and self.classes.given_tree is not None
        return "preserving" if is_taxonomy else "halving"


def choose_orders(
    plan: Plan,
    codebook: Codebook,
    classes: Classes,
    rng: np.random.Generator,
    *,
    samples: Samples,
    held_out: Samples | None = None,
    max_memory: int | None = None,
) -> Orders:
    """The orders for the assignment of a plan.

    Free paths of a trellis are spread among those of a depth-first order. The best of several policies is chosen for a
    trellis by a trial on training and validation samples, whose weights and variances take at most ``max_memory``
    bytes, for a tree by a pilot with some of the classes.
    """
    policy, found = plan.assignment, None
    if isinstance(policy, tuple) and policy and all(isinstance(name, str) for name in policy):
        if codebook.tree is not None:
            known, width = classes.tree, codebook.tree.width
            policy = better_leaves(policy, samples, known, width=width, learner=plan.learner)
        else:
            assert held_out is not None
            trial = samples, held_out
            policy, found = better_policy(policy, codebook, classes, trial, rng=rng, max_memory=max_memory)
    first, result = _chosen(policy, codebook, classes, rng) if found is None else found
    if codebook.trellis is not None and isinstance(policy, str) and policy == "ordered":
        first = _spread(first, codebook.n_codewords)
    if plan.policy:
        first = replace(first, policy=plan.policy)
    return Orders(policy, first, result, codebook, classes, rng)


def _chosen(
    policy: Any, codebook: Codebook, classes: Classes, rng: np.random.Generator, *, share: float = 1.0
) -> tuple[Assignment, AssignmentResult | None]:
    if codebook.tree is not None and isinstance(policy, str):
        return leaf_assignment(policy, codebook, classes, rng, share=share), None
    return choose_assignment(policy, codebook, classes, rng)


def other_assignment(
    first: Assignment, policy: Any, codebook: Codebook, classes: Classes, *, rng: np.random.Generator
) -> Assignment:
    """An assignment for a further member of an ensemble: found like the first one, and different from it.

    The depth-first order is that of the same class tree with the children of every node shuffled. Halving depends on
    the seed only where several classes are equally far apart; if it repeats the first order, it sees half the features.
    """
    if policy == "ordered":
        codeword_of_class = np.empty(classes.n_classes, dtype=np.intp)
        codeword_of_class[classes.tree.class_order(rng)] = np.arange(classes.n_classes)
        return Assignment(codeword_of_class, method="ordered")
    for share in (1.0, 0.5) if codebook.tree is not None and policy in HALVED else (1.0,):
        other, _ = _chosen(policy, codebook, classes, rng, share=share)
        # Few classes have few orders, so the same one may be found twice by chance.
        if classes.n_classes < 8 or not np.array_equal(other.codeword_of_class, first.codeword_of_class):
            return other
    others = " or ".join(repr(name) for name in ("learnability", "preserving", "random") if name != policy)
    raise RepeatedOrderError(
        f"assignment={policy!r} finds the same order every time: more members would only repeat the first. "
        f"Use {others} with n_members greater than 1."
    )


def _spread(assignment: Assignment, n_paths: int) -> Assignment:
    """The classes in the same order, with the free paths, if any, spread among them."""
    if n_paths == assignment.n_classes:
        return assignment
    rank = np.argsort(np.argsort(assignment.codeword_of_class))
    return replace(assignment, codeword_of_class=rank * n_paths // assignment.n_classes)


def better_policy(
    policies: tuple[str, ...],
    codebook: Codebook,
    classes: Classes,
    trial: tuple[Samples, Samples],
    *,
    rng: np.random.Generator,
    max_memory: int | None = None,
) -> tuple[str, tuple[Assignment, AssignmentResult | None]]:
    """The policy with the best held-out accuracy after one pass of AROW, and its result."""
    found = {policy: choose_assignment(policy, codebook, classes, rng) for policy in policies}
    learner = AROW(n_epochs=1, max_memory=max_memory)
    accuracy = {}
    for policy, (order, _) in found.items():
        with within(f"trying the {policy} order"):
            accuracy[policy] = _pilot(learner, codebook, order, *trial)
    best = max(accuracy, key=lambda policy: accuracy[policy])
    return best, found[best]


def _pilot(learner: AROW, codebook: Codebook, assignment: Assignment, samples: Samples, held_out: Samples) -> float:
    """The validation accuracy after one pass."""
    code = Code(codebook, assignment)
    bits = learner.fit(samples, code, rng=np.random.default_rng(PILOT_SEED))
    decoder = decoder_of(code, "exponential")
    return float((decoder.decode(bits.margins(held_out.X)) == held_out.class_index).mean())
