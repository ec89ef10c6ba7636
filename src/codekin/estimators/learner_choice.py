"""Who learns the bits, one by one or together, and the decoding loss that goes with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from codekin.decoding import Loss, get_loss
from codekin.learners import AROW, BitLearner, JointLearner, Softmax

LEARNERS: dict[str, Any] = {"arow": AROW, "softmax": Softmax}
"""Name -> learner with its default settings."""
NARROW = 2
"""The width up to which AROW is as accurate as softmax, in half the time."""


@dataclass(frozen=True)
class AutoLearner:
    """AROW on narrow trellises, softmax on wider ones: what "auto" stands for, with settings of one's own.

    At width 2 softmax is within half a point of AROW on the same bits, for about twice the time; from width 5 on it is
    one to two points better (``benchmarks/trellis_softmax.py``). With validation samples AROW is trained there as well,
    which takes half as much time again, and the better one is kept.

    Parameters
    ----------
    arow : BitLearner, default=AROW()
    softmax : JointLearner, default=Softmax()
    """

    arow: BitLearner = field(default_factory=AROW)
    softmax: JointLearner = field(default_factory=Softmax)

    def candidates(self, width: int, *, has_validation: bool) -> Sequence[BitLearner | JointLearner]:
        """Whom to train; the first of them unless the validation samples prefer another one.

        Parameters
        ----------
        width : int
            The width of the trellis.
        has_validation : bool
            Whether there are samples to choose by.

        Returns
        -------
        sequence of BitLearner or JointLearner
        """
        if width <= NARROW:
            return [self.arow]
        return [self.softmax, self.arow] if has_validation else [self.softmax]


_LEARNER_KINDS = (AutoLearner, BitLearner, JointLearner)


def candidate_learners(learner: Any, width: int, *, has_validation: bool) -> Sequence[BitLearner | JointLearner]:
    """Whom the ``learner`` parameter of an estimator stands for.

    Parameters
    ----------
    learner : "auto", a name from ``LEARNERS``, AutoLearner, BitLearner or JointLearner
    width : int
        The width of the trellis.
    has_validation : bool
        Whether there are samples to choose by.

    Returns
    -------
    sequence of BitLearner or JointLearner
        More than one where the validation samples are to choose.
    """
    is_known = learner in ("auto", *LEARNERS) if isinstance(learner, str) else isinstance(learner, _LEARNER_KINDS)
    if not is_known:
        raise ValueError(
            f"The 'learner' parameter must be one of {['auto', *sorted(LEARNERS)]}, a BitLearner or a "
            f"JointLearner. Got {learner!r} instead."
        )
    if isinstance(learner, str):
        learner = AutoLearner() if learner == "auto" else LEARNERS[learner]()
    return learner.candidates(width, has_validation=has_validation) if isinstance(learner, AutoLearner) else [learner]


def memory_limit(learner: Any) -> int | None:
    """How many bytes the ``learner`` parameter of an estimator allows for weights; None where it sets no limit.

    Parameters
    ----------
    learner : "auto", a name from ``LEARNERS``, AutoLearner, BitLearner or JointLearner

    Returns
    -------
    int or None
    """
    limit: int | None = getattr(learner.arow if isinstance(learner, AutoLearner) else learner, "max_memory", None)
    return limit


def joint_learner(estimator: Any) -> JointLearner | None:
    """The learner of all bits together that the ``estimator`` parameter stands for; None for classifiers of bits.

    Parameters
    ----------
    estimator : "softmax", JointLearner, classifier or None

    Returns
    -------
    JointLearner or None
    """
    if isinstance(estimator, str) and estimator == "softmax":
        return Softmax()
    return estimator if isinstance(estimator, JointLearner) else None


def learner_name(learner: BitLearner | JointLearner) -> str:
    """The name of a learner for people: that of the table, or of its type."""
    names = [name for name, kind in LEARNERS.items() if type(learner) is kind]
    return names[0] if names else type(learner).__name__


def decoding_loss(loss: Any, learner: BitLearner | JointLearner) -> Loss:
    """The decoding loss that the ``loss`` parameter stands for.

    Parameters
    ----------
    loss : str or callable
        "auto" is logistic for learners whose classes compete, exponential for the others.
    learner : BitLearner or JointLearner

    Returns
    -------
    Loss
    """
    if isinstance(loss, str) and loss == "auto":
        loss = "logistic" if isinstance(learner, JointLearner) else "exponential"
    return get_loss(loss)
