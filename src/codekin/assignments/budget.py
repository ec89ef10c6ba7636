"""The limits of a search and its progress: time, restarts, threads, temperatures. All solvers share it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import inf, isfinite
from threading import Lock
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

import numpy as np

from codekin._system.parallel import available_threads, n_workers, on_threads, share_work
from codekin.assignments.result import ProgressCallback, SearchProgress
from codekin.progress import has_subscriber, report

STAGE = "searching for an assignment"


Found = TypeVar("Found", bound=Any)
"""The result of one start of a search, with an ``objective`` and ``n_evaluations``."""


class _Tally:
    """What all parts of one search have done so far."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.n_evaluations = 0
        self.best = inf


@dataclass(eq=False)
class Budget:
    """The limits of one search, and a clock that starts with it.

    Without a ``time_limit`` (seconds) a search depends only on its seed. ``n_threads`` starts run at once, by default
    one per processor. ``progress`` gets the ``score_of_objective``; ``n_expected`` evaluations are made by a start, if
    known.
    """

    method: str
    time_limit: float | None = None
    n_restarts: int = 1
    progress: ProgressCallback | None = None
    n_threads: int | None = None
    score_of_objective: Callable[[float], float] = field(default=lambda objective: objective)
    started: float = field(default_factory=perf_counter)
    n_expected: int | None = None
    _tally: _Tally = field(default_factory=_Tally, repr=False)

    def __post_init__(self) -> None:
        """Check the limits."""
        if self.time_limit is not None and not (isfinite(self.time_limit) and self.time_limit > 0):
            raise ValueError(f"The 'time_limit' parameter must be a number greater than 0. Got {self.time_limit}.")
        check_at_least_1(n_restarts=self.n_restarts, n_threads=self.n_threads)

    def __getstate__(self) -> dict[str, Any]:
        """For a worker, which has its own clock and reports no progress."""
        kept = ("method", "time_limit", "n_restarts", "n_threads")
        return {**{name: getattr(self, name) for name in kept}, "progress": None, "seconds": self.seconds}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the clock back by the elapsed time."""
        seconds = state.pop("seconds")
        self.__dict__.update(state, started=perf_counter() - seconds, _tally=_Tally())

    @property
    def seconds(self) -> float:
        """The time since the start."""
        return perf_counter() - self.started

    @property
    def deadline(self) -> float:
        """When to stop, on the clock of :func:`time.perf_counter`."""
        return inf if self.time_limit is None else self.started + self.time_limit

    @property
    def is_spent(self) -> bool:
        """Whether time is up."""
        return perf_counter() >= self.deadline

    def report(self, n_evaluations: int, objective: float) -> None:
        """Report more evaluations and the best objective that they found."""
        if self.progress is None and not has_subscriber():
            return
        tally = self._tally
        with tally.lock:
            tally.n_evaluations += n_evaluations
            tally.best = min(tally.best, objective)
            n, score = tally.n_evaluations, self.score_of_objective(tally.best)
            by_time = self.n_expected is None and self.time_limit is not None
            total = self.time_limit if self.n_expected is None else self.n_expected * self.n_restarts
            done = self.seconds if by_time else n
            report(STAGE, done, total, detail=f"score {score:.4f}", count=n, unit="assignments")
            if self.progress is not None:
                self.progress(SearchProgress(self.method, self.seconds, n, score))

    def run_restarts(
        self, start: Callable[[int, int, float], Found], seed: int, *, until: float | None = None
    ) -> list[Found]:
        """Run ``start(index, seed, deadline)`` for every restart, several at a time; returns their results in order.

        Threads, or joblib's workers if there are any, share the starts, and the time until the deadline evenly; if no
        time is left, later starts are skipped, but never the first.
        """
        deadline = self.deadline if until is None else until
        seeds = derived_seeds(seed, self.n_restarts)
        report(STAGE, unit="assignments")
        if self.n_restarts > 1 and n_workers() > 1:
            # Clocks differ between machines, durations do not.
            seconds = max(deadline - perf_counter(), 0.0) / -(-self.n_restarts // n_workers())
            elsewhere: list[Any] = []
            for one in share_work(_started, (start, seconds), list(enumerate(seeds))):
                self.report(one.n_evaluations, one.objective)
                elsewhere.append(one)
            return elsewhere
        n_threads = min(self.n_threads or available_threads(), self.n_restarts)
        n_rounds = -(-self.n_restarts // n_threads)
        began = perf_counter()

        def run(index: int) -> Found | None:
            if index > 0 and perf_counter() >= deadline:
                return None
            share = deadline if deadline == inf else began + (deadline - began) * (index // n_threads + 1) / n_rounds
            return start(index, seeds[index], share)

        if n_threads == 1:
            found = [run(index) for index in range(self.n_restarts)]
        else:
            found = on_threads(run, range(self.n_restarts), n_threads=n_threads)
        return [one for one in found if one is not None]


def _started(how: tuple[Callable[[int, int, float], Found], float], which: tuple[int, int]) -> Found:
    (start, seconds), (index, seed) = how, which
    return start(index, seed, perf_counter() + seconds)


def check_at_least_1(**values: int | None) -> None:
    """Raise if an option that counts steps is below 1."""
    for name, value in values.items():
        if value is not None and value < 1:
            raise ValueError(f"The '{name}' parameter must be at least 1. Got {value}.")


def seed_of(rng: np.random.Generator | int | None) -> int:
    """The seed of a search: ``rng`` itself if it is a number, otherwise one drawn from it."""
    if isinstance(rng, int | np.integer):
        return int(rng)
    return int(np.random.default_rng(rng).integers(2**63))


def derived_seeds(seed: int, n: int) -> list[int]:
    """``n`` independent seeds, all determined by one."""
    return [int(word) for word in np.random.SeedSequence(seed).generate_state(n, np.uint64)]


def generator_state(seed: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """The state of a kernel's random number generator."""
    return np.array([seed], dtype=np.uint64)


class CoolingStep(NamedTuple):
    """A number of proposals from a temperature on, and the factor of the temperature after each of them."""

    temperature: float
    factor: float
    n_proposals: int


def cooling_steps(
    first: float, ratio: float, *, n_at_once: int, n_proposals: int | None, deadline: float
) -> Iterator[CoolingStep]:
    """Steps from the temperature ``first`` to ``ratio`` times it, by the number of proposals or else by the clock."""
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
