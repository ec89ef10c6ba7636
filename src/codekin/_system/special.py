"""Functions of ``scipy.special``, whose import takes 0.1 seconds, at their first call."""

from __future__ import annotations

from typing import Any


def expit(x: Any) -> Any:
    """The logistic function."""
    from scipy import special

    return special.expit(x)


def logsumexp(x: Any, **options: Any) -> Any:
    """The logarithm of a sum of exponentials."""
    from scipy import special

    return special.logsumexp(x, **options)


def softmax(x: Any, **options: Any) -> Any:
    """Exponentials, divided by their sum."""
    from scipy import special

    return special.softmax(x, **options)


def log_softmax(x: Any, **options: Any) -> Any:
    """The logarithms of :func:`softmax`."""
    from scipy import special

    return special.log_softmax(x, **options)
