"""A ``fit`` that lists ``sample_weight`` among its parameters only if weights are accepted.

scikit-learn inspects the signature of a bound ``fit`` to see whether an estimator accepts weights
(``has_fit_parameter``), in boosting, bagging and its own checks. For a meta-estimator that depends on the inner one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from types import MethodType
from typing import Any


def lists_weights_if(takes_weights: Callable[[Any], bool]) -> Callable[[Any], Any]:
    """Remove ``sample_weight`` from the signature of a bound method unless the instance accepts weights.

    The method itself does not change: weights passed anyway cause its own error.
    """
    return lambda method: _WeightSignature(method, takes_weights)


class _WeightSignature:
    """A descriptor for a method whose signature depends on the instance."""

    def __init__(self, method: Callable[..., Any], takes_weights: Callable[[Any], bool]) -> None:
        self.method, self.takes_weights = method, takes_weights
        self.__doc__ = method.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self.method
        bound = MethodType(self.method, instance)
        if self.takes_weights(instance):
            return bound

        @wraps(self.method)
        def method(*arguments: Any, **options: Any) -> Any:
            return bound(*arguments, **options)

        full = inspect.signature(bound)
        kept = [parameter for name, parameter in full.parameters.items() if name != "sample_weight"]
        method.__signature__ = full.replace(parameters=kept)  # type: ignore[attr-defined]
        return method
