"""Which learners learn which bits: regressors real ones, classifiers signs and symbols."""

from __future__ import annotations

from typing import Any

from codekin.coding import Codebook


def check_kind(learner: Any, codebook: Codebook) -> None:
    """Raise unless a learner learns the kind of bits that a codebook has.

    Learners say by an attribute ``learns_targets`` that they learn real bits; those without one do not.
    """
    if bool(getattr(learner, "learns_targets", False)) == codebook.is_real:
        return
    got = type(getattr(learner, "estimator", learner)).__name__
    if codebook.is_real:
        raise ValueError(
            f"The bits of the {codebook.name} codebook are real numbers, which regressors learn. Got {got}; use a "
            "regressor, such as Ridge(), or another codebook."
        )
    raise ValueError(
        f"The bits of the {codebook.name} codebook are signs or symbols, which classifiers learn. Got {got}, a "
        "regressor; use a classifier, or a codebook of real numbers, such as 'eigen_targets'."
    )
