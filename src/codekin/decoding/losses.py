"""Losses of one argument, ``z = bit * margin``: the cost of a margin on the wrong side of its bit.

Decoding under any such loss ``L`` needs only two arrays, since for a bit in {-1, +1}

    L(bit * f) = h(f) - bit * g(f),   h = (L(f) + L(-f)) / 2,   g = (L(-f) - L(f)) / 2.

A built-in loss knows ``g`` in closed form; for any other callable it is computed from two calls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from codekin._system.messages import suggestion
from codekin.code import Margins

EXPONENT_LIMIT = 20.0
"""Margins beyond this are clipped before the exponential, so that they don't outweigh all other bits."""


STABLE_UNITS = 64
"""How many units in the last place a stable loss may lose in single precision (exp turns an error of eps * f into
one of ``f`` units, and ``f`` is at most 20)."""


@dataclass(frozen=True)
class Loss:
    """A named loss with the closed form of its odd part.

    Parameters
    ----------
    name : str
        The name in the table of losses.
    formula : str
        The formula, for information.
    function : callable
        Takes an array of ``z = bit * margin``, returns the losses.
    closed_form : callable, optional
        Takes margins ``f``, returns ``g``; without it, ``g`` is computed from two calls of the loss.
    is_stable : bool, default=False
        Whether ``g`` computed in single precision is off by at most ``STABLE_UNITS * eps * (1 + |g|)``, and ``h``
        likewise. True for the built-in losses, unknown for any other callable.
    """

    name: str
    formula: str
    function: Callable[[Margins], Margins]
    closed_form: Callable[[Margins], Margins] | None = None
    is_stable: bool = False

    def __call__(self, z: Margins) -> Margins:
        """The loss of every ``z``."""
        return self.function(z)

    def agreement(self, f: Margins) -> Margins:
        """The odd part ``g = (L(-f) - L(f)) / 2``: positive if a margin is evidence for +1."""
        return (self.function(-f) - self.function(f)) / 2 if self.closed_form is None else self.closed_form(f)

    def __reduce__(self) -> Any:
        """Built-in losses are pickled by name, others by their function."""
        return (get_loss, (self.name if LOSSES.get(self.name) is self else self.function,))

    def __repr__(self) -> str:
        """The name and the formula."""
        return f"<Loss {self.name}: {self.formula}>"


def _hinge(z: Margins) -> Margins:
    return np.maximum(0, 1 - z)


def _hinge_agreement(f: Margins) -> Margins:
    # (max(0, 1 + f) - max(0, 1 - f)) / 2 is f inside [-1, 1] and has slope 1/2 outside.
    return (f + np.clip(f, -1, 1)) / 2


def _squared_hinge(z: Margins) -> Margins:
    return np.square(np.maximum(0, 1 - z))


def _squared_hinge_agreement(f: Margins) -> Margins:
    # 2 f inside [-1, 1]; outside, (1 + |f|)^2 / 2 with the sign of f, written as a sum of terms of that sign.
    beyond = f - np.clip(f, -1, 1)
    return 2 * f + beyond * np.abs(beyond) / 2


def _exponential(z: Margins) -> Margins:
    return np.exp(-np.clip(z, -EXPONENT_LIMIT, EXPONENT_LIMIT))


def _exponential_agreement(f: Margins) -> Margins:
    growth = np.exp(np.clip(f, -EXPONENT_LIMIT, EXPONENT_LIMIT))
    return (growth - 1 / growth) / 2  # a quarter of the cost of np.sinh


def _logistic(z: Margins) -> Margins:
    # log(1 + exp(-z)) without overflow
    return np.maximum(0, -z) + np.log1p(np.exp(-np.abs(z)))


def _squared(z: Margins) -> Margins:
    return np.square(1 - z)


def _linear(z: Margins) -> Margins:
    return (1 - z) / 2


def _hamming(z: Margins) -> Margins:
    return (1 - np.sign(z)) / 2


def _half(f: Margins) -> Margins:
    return f / 2


def _double(f: Margins) -> Margins:
    return 2 * f


def _half_sign(f: Margins) -> Margins:
    return np.sign(f) / 2


# Functions with names, which skops can find again.


LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (
        Loss("hinge", "max(0, 1 - z)", _hinge, _hinge_agreement, is_stable=True),
        Loss("squared_hinge", "max(0, 1 - z)^2", _squared_hinge, _squared_hinge_agreement, is_stable=True),
        Loss("exponential", "exp(-z)", _exponential, _exponential_agreement, is_stable=True),
        # log(1 + e^f) - log(1 + e^-f) = f: logistic decoding is exactly linear.
        Loss("logistic", "log(1 + exp(-z))", _logistic, _half, is_stable=True),
        Loss("squared", "(1 - z)^2", _squared, _double, is_stable=True),
        Loss("linear", "(1 - z) / 2", _linear, _half, is_stable=True),
        # For margins that are logarithms of probabilities, as those of more than two symbols are.
        Loss("log_likelihood", "-z", np.negative, np.positive, is_stable=True),
        Loss("hamming", "(1 - sign z) / 2", _hamming, _half_sign, is_stable=True),
    )
}
"""Maps names to losses; any callable of one array may be used instead of a name."""

LossLike = str | Callable[[Margins], Margins]


def get_loss(loss: LossLike) -> Loss:
    """The loss with this name, or a function of one array ``z = bit * margin`` as a loss.

    >>> get_loss("hinge")
    <Loss hinge: max(0, 1 - z)>
    >>> get_loss(lambda z: np.maximum(0, -z)).name
    '<lambda>'
    """
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str):
        if loss not in LOSSES:
            raise ValueError(
                f"The 'loss' parameter must be one of {sorted(LOSSES)} or a callable. Got {loss!r} instead."
                f"{suggestion(loss, LOSSES)}"
            )
        return LOSSES[loss]
    if not callable(loss):
        raise TypeError(f"The 'loss' parameter must be a name or a callable. Got {loss!r} instead.")
    name = getattr(loss, "__name__", type(loss).__name__)
    z = np.array([[-1.0, -0.5], [0.0, 2.0]])
    try:
        values = np.asarray(loss(z), dtype=np.float64)
        fault = "" if np.isfinite(values).all() else f"returns {values[~np.isfinite(values)][0]}"
        fault = fault if values.shape == z.shape else f"returns shape {values.shape} for {z.shape}"
    except Exception as error:  # whatever a function of the user raises
        fault = f"raises {type(error).__name__}: {error}"
    if fault:
        raise ValueError(
            "A function given as 'loss' takes one array, z = bit * margin, and returns as many finite numbers. "
            f"Got {name}, which {fault}."
        )
    return Loss(name, f"{name}(z)", loss)
