"""The rules of the table of settings in the terms of scikit-learn's parameter validation."""

from __future__ import annotations

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
