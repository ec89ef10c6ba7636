"""A ``fit`` that lists ``sample_weight`` among its parameters only where weights can be given.

scikit-learn asks the signature of a bound ``fit`` whether an estimator takes weights (``has_fit_parameter``): boosting,
bagging and its own checks rely on the answer. That of a meta-estimator depends on the estimator inside.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from types import MethodType
from typing import Any


def lists_weights_if(takes_weights: Callable[[Any], bool]) -> Callable[[Any], Any]:
    """Leave ``sample_weight`` out of the signature of a bound method unless the instance takes weights.

    The method itself stays what it is: weights that are given in spite of it get the method's own error.

    """
    return lambda method: _WeightSignature(method, takes_weights)


class _WeightSignature:
    """The method as a descriptor: its signature is the instance's."""

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
