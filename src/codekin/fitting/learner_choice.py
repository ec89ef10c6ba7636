"""The learner of the bits, and its decoding loss."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from codekin.coding import Codebook
from codekin.decoding.losses import LossLike
from codekin.fitting.plan import Plan
from codekin.learners import AROW, LEARNERS, Learner, Softmax, learner_of

NARROW = 2
"""The width up to which AROW is as accurate as softmax, in half the time."""


@dataclass(frozen=True)
class AutoLearner:
    """AROW on narrow trellises, softmax on wider ones: what "auto" means, with custom settings.

    At width 2 softmax is within half a point of AROW on the same bits, for about twice the time; from width 5 on it is
    one to two points better (``benchmarks/trellis_softmax.py``).
    """

    arow: Learner = field(default_factory=AROW)
    softmax: Learner = field(default_factory=Softmax)

    learns_trees: ClassVar[bool] = True

    @property
    def max_memory(self) -> int | None:
        """How many bytes weights may take while they are learned."""
        return memory_limit(self.softmax)

    def at_width(self, width: int) -> Learner:
        """The learner for a trellis of this width."""
        return self.arow if width <= NARROW else self.softmax


def chosen_learner(learner: Any, width: int) -> Learner:
    """The learner for the ``learner`` parameter of an estimator."""
    if isinstance(learner, str) and learner == "auto":
        learner = AutoLearner()
    if hasattr(learner, "at_width"):
        return cast("Learner", learner.at_width(width))
    found = learner_of(learner)
    if found is None:
        raise ValueError(
            f"The 'estimator' parameter must be one of {['auto', *sorted(LEARNERS)]} or a Learner. "
            f"Got {learner!r} instead."
        )
    return found


def can_learn_trees(learner: Any) -> bool:
    """Whether the ``learner`` parameter of an estimator allows a tree."""
    found = AutoLearner() if isinstance(learner, str) and learner == "auto" else learner_of(learner) or learner
    return bool(getattr(found, "learns_trees", False))


def tree_learner(learner: Any) -> Learner:
    """The learner of the nodes of a tree, from the ``learner`` parameter of an estimator."""
    if not can_learn_trees(learner):
        raise ValueError(f"The nodes of a tree are learned by softmax. Got estimator={learner!r} instead.")
    found: Learner = getattr(learner, "softmax", None) or learner_of(learner) or Softmax()
    return found


def memory_limit(learner: Any) -> int | None:
    """How many bytes a learner allows for weights; None if it sets no limit."""
    limit: int | None = getattr(learner, "max_memory", None)
    return limit


def decoding_loss(plan: Plan, codebook: Codebook) -> LossLike:
    """The decoding loss of a plan; "auto" is the learner's own, or logistic if margins are log-odds."""
    if not (isinstance(plan.loss, str) and plan.loss == "auto"):
        return cast("LossLike", plan.loss)
    is_log_odds = plan.calibrate is not None and codebook.n_symbols == 2
    return "logistic" if is_log_odds else plan.learner.decoding_loss(codebook)
