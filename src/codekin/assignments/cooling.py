"""How a temperature falls: by a constant factor per proposal, or with the time that has passed."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import NamedTuple


class CoolingStep(NamedTuple):
    """A number of proposals from a temperature on, and the factor of the temperature after each of them."""

    temperature: float
    factor: float
    n_proposals: int


def cooling_steps(
    first: float, ratio: float, *, n_at_once: int, n_proposals: int | None, deadline: float
) -> Iterator[CoolingStep]:
    """Steps from the temperature ``first`` to ``ratio`` times it, for a number of proposals or until a deadline.

    If a number of proposals is given, the steps depend only on that unless the deadline ends them; otherwise the
    temperature follows the clock.
    """
    began, done = perf_counter(), 0
    while n_proposals is None or done < n_proposals:
        now = perf_counter()
        if now >= deadline:
            return
        if n_proposals is None:
            yield CoolingStep(first * ratio ** ((now - began) / (deadline - began)), 1.0, n_at_once)
        else:
            chunk = min(n_at_once, n_proposals - done)
            yield CoolingStep(first * ratio ** (done / n_proposals), ratio ** (1 / n_proposals), chunk)
            done += chunk
