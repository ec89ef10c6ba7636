"""The rules of the table of settings in the terms of scikit-learn's parameter validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.base import is_regressor
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from codekin.fitting.setting import Methods, Setting, Table


class RegressorConstraint(HasMethods):
    """The rule that a parameter may be a regressor."""

    def __init__(self) -> None:
        super().__init__(["fit", "predict"])

    def is_satisfied_by(self, val: Any) -> bool:
        return bool(super().is_satisfied_by(val) and not isinstance(val, type) and is_regressor(val))

    def __str__(self) -> str:
        """What an error says about it."""
        return "a regressor"


def constraints(table: Table) -> dict[str, Any]:
    """The ``_parameter_constraints`` of an estimator."""
    return {name: _constraint(setting) for name, setting in table.items()}


def _constraint(setting: Setting) -> Any:
    numbers, allowed = [], setting.numbers
    if allowed is not None:
        numbers = [Interval(allowed.type, allowed.left, allowed.right, closed=allowed.closed)]
    names = [StrOptions(set(setting.names))] if setting.names else []
    more = [_methods(each) if isinstance(each, Methods) else each for each in setting.more]
    return [*numbers, *more, *names, *([None] if setting.is_optional else [])] or "no_validation"


def _methods(needed: Methods) -> Any:
    return RegressorConstraint() if needed.of_regressor else HasMethods(list(needed.names))


ONE_COLUMN_EACH = ("auto", "one_vs_rest")
"""Codebooks with which each of several labels per sample gets a column of its own."""
ONE_LABEL_ONLY = {"n_bits": None, "class_weight": None, "calibrate": None, "weighted_decoding": False}
"""Parameters of an ECOCClassifier that several labels per sample rule out, and what they are otherwise."""


def check_columns(given: Mapping[str, Any], params: Mapping[str, Any], learner: Any) -> None:
    """Raise unless each of several labels per sample can have a column of its own with these settings."""
    codebook = given["codebook"]
    if not isinstance(codebook, str) or codebook not in ONE_COLUMN_EACH:
        raise ValueError(
            "Each of several labels per sample has a column of its own: 'codebook' must be 'auto' or 'one_vs_rest'. "
            f"Got {codebook!r}."
        )
    for name, usual in (*ONE_LABEL_ONLY.items(), ("decoding", "auto" if given["decoding"] == "auto" else "loss")):
        if given[name] != usual:
            raise ValueError(f"The {name!r} parameter needs one label per sample. Got {given[name]!r} and several.")
    if others := sorted(params.keys() - {"sample_weight"}):
        raise ValueError(f"The argument {others[0]!r} of fit needs one label per sample. Got samples of several.")
    if getattr(learner, "learns_targets", False) or hasattr(learner, "oversample"):
        name = type(getattr(learner, "estimator", learner)).__name__
        raise ValueError(f"The columns of several labels are learned by classifiers, LinearSVM or Softmax. Got {name}.")
