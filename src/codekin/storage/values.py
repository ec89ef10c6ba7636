"""Checked numbers and names of a description."""

from __future__ import annotations

from math import isfinite
from reprlib import repr as shortened
from typing import Any

from numpy.typing import NDArray

__all__ = ["finite_number", "positive_number", "shortened", "texts", "typed", "whole_number"]


def whole_number(value: Any, name: str, *, smallest: int = 0) -> int:
    """The value, if it is an integer that is large enough."""
    if not isinstance(value, int) or isinstance(value, bool) or value < smallest:
        raise ValueError(f"'{name}' must be an integer, at least {smallest}. Got {shortened(value)} instead.")
    return value


def finite_number(value: Any, name: str) -> float:
    """The value, if it is a finite number."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value):
        raise ValueError(f"'{name}' must be finite numbers. Got {shortened(value)} instead.")
    return float(value)


def positive_number(value: Any, name: str) -> float:
    """The value, if it is a finite number greater than 0."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not (isfinite(value) and value > 0):
        raise ValueError(f"'{name}' must be a finite number greater than 0. Got {shortened(value)} instead.")
    return float(value)


def texts(value: Any, name: str, n: int) -> list[str]:
    """The value, if it is a list of ``n`` texts."""
    if not isinstance(value, list) or len(value) != n or not all(isinstance(text, str) for text in value):
        raise ValueError(f"'{name}' must be a list of {n} texts. Got {shortened(value)} instead.")
    return value


def typed(array: NDArray[Any], name: str, dtype: str, n_dimensions: int = 1) -> NDArray[Any]:
    """The array, if it has this type and number of dimensions."""
    if array.dtype != dtype or array.ndim != n_dimensions:
        raise ValueError(
            f"the array '{name}' must have {n_dimensions} dimensions of type {dtype}. "
            f"Got shape {array.shape} of type {array.dtype} instead."
        )
    return array
