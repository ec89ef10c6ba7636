"""Numbers, names and arrays of a model folder, checked."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from reprlib import repr as shortened
from typing import Any

from numpy.typing import NDArray

Json = dict[str, Any]
PLAIN = str | bool | int | float | None


class ModelFolderError(ValueError):
    """A folder that is not a readable model; the message says which file and why."""


RULES: dict[str, tuple[str, Callable[[Any, int], bool]]] = {
    "whole": ("an integer, at least {n}", lambda value, n: type(value) is int and value >= n),
    "positive": ("a finite number greater than 0", lambda value, _: _is_finite(value) and value > 0),
    "finite": ("finite numbers", lambda value, _: _is_finite(value)),
    "texts": (
        "a list of {n} texts",
        lambda value, n: isinstance(value, list) and len(value) == n and all(isinstance(text, str) for text in value),
    ),
}
"""What values of JSON may be: in words, and as a test of a value and a number."""


def _is_finite(value: Any) -> bool:
    return type(value) in (int, float) and isfinite(value)


def checked(value: Any, name: str, rule: str = "whole", n: int = 0) -> Any:
    """The value, if it follows a rule of the table."""
    words, holds = RULES[rule]
    if not holds(value, n):
        raise ValueError(f"'{name}' must be {words.format(n=n)}. Got {shortened(value)} instead.")
    return value


def typed(array: NDArray[Any], name: str, dtype: str, n_dimensions: int = 1) -> NDArray[Any]:
    """The array, if it has this type and number of dimensions."""
    if array.dtype != dtype or array.ndim != n_dimensions:
        raise ValueError(
            f"the array '{name}' must have {n_dimensions} dimensions of type {dtype}. "
            f"Got shape {array.shape} of type {array.dtype} instead."
        )
    return array


def check(is_right: bool, reason: str) -> None:
    """Raise ValueError with this reason unless it is right."""
    if not is_right:
        raise ValueError(f"{reason}.")


def restored_params(description: Json) -> Json:
    """The parameters of an estimator, which must be names or numbers."""
    params = dict(description["params"])
    odd = [name for name, value in params.items() if not isinstance(value, PLAIN)]
    if odd:
        raise ValueError(f"the parameter '{odd[0]}' must be a name or a number. Got {shortened(params[odd[0]])}.")
    if not isinstance(params.get("estimator"), str | None):
        raise ValueError(f"the parameter 'estimator' must be a name. Got {params['estimator']}.")
    return params
