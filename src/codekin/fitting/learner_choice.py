"""Who learns the bits, one by one or together, and the decoding loss that goes with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from codekin.coding import Codebook
from codekin.decoding import Loss
from codekin.decoding.losses import get_loss
from codekin.fitting.plan import Plan
from codekin.learners import AROW, LEARNERS, Learner, Softmax, learner_of

NARROW = 2
"""The width up to which AROW is as accurate as softmax, in half the time."""


@dataclass(frozen=True)
class AutoLearner:
    """AROW on narrow trellises, softmax on wider ones: what "auto" stands for, with settings of one's own.

    At width 2 softmax is within half a point of AROW on the same bits, for about twice the time; from width 5 on it is
    one to two points better (``benchmarks/trellis_softmax.py``). With validation samples AROW is trained there as well,
    which takes half as much time again, and the better one is kept.
    """

    arow: Learner = field(default_factory=AROW)
    softmax: Learner = field(default_factory=Softmax)

    learns_trees: ClassVar[bool] = True

    def candidates(self, width: int, *, has_validation: bool) -> Sequence[Learner]:
        """Whom to train; the first of them unless the validation samples prefer another one.

        - ``has_validation``: whether there are samples to choose by.
        """
        if width <= NARROW:
            return [self.arow]
        return [self.softmax, self.arow] if has_validation else [self.softmax]


def candidate_learners(learner: Any, width: int, *, has_validation: bool) -> Sequence[Learner]:
    """Whom the ``learner`` parameter of an estimator stands for.

    More than one where the validation samples are to choose.

    - ``has_validation``: whether there are samples to choose by.
    """
    if isinstance(learner, str) and learner == "auto":
        learner = AutoLearner()
    if hasattr(learner, "candidates"):
        candidates: Sequence[Learner] = learner.candidates(width, has_validation=has_validation)
        return candidates
    found = learner_of(learner)
    if found is None:
        raise ValueError(
            f"The 'estimator' parameter must be one of {['auto', *sorted(LEARNERS)]} or a Learner. "
            f"Got {learner!r} instead."
        )
    return [found]


def can_learn_trees(learner: Any) -> bool:
    """Whether the ``learner`` parameter of an estimator leaves a tree possible."""
    found = AutoLearner() if isinstance(learner, str) and learner == "auto" else learner_of(learner) or learner
    return bool(getattr(found, "learns_trees", False))


def tree_learner(learner: Any) -> Learner:
    """Who learns the nodes of a tree, by the ``learner`` parameter of an estimator."""
    if not can_learn_trees(learner):
        raise ValueError(f"The nodes of a tree are learned by softmax. Got estimator={learner!r} instead.")
    found: Learner = getattr(learner, "softmax", None) or learner_of(learner) or Softmax()
    return found


def memory_limit(learner: Any) -> int | None:
    """How many bytes a learner allows for weights; None where it sets no limit."""
    limit: int | None = getattr(learner, "max_memory", None)
    return limit


def decoding_loss(plan: Plan, learner: Learner, codebook: Codebook) -> Loss:
    """The decoding loss of a plan; "auto" is the learner's own, and the logistic one for margins that are log-odds."""
    if not (isinstance(plan.loss, str) and plan.loss == "auto"):
        return get_loss(plan.loss)
    is_log_odds = plan.calibrate is not None and codebook.n_symbols == 2
    return get_loss("logistic" if is_log_odds else learner.decoding_loss(codebook))
