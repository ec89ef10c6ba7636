"""How far the work has come, on stderr: bars in a terminal, a line now and then in a log, nothing when asked for."""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SECONDS_BETWEEN_LINES = 10.0


class Display:
    """Shows one task after the other.

    Parameters
    ----------
    quiet : bool, default=False
        Show nothing at all.
    """

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self.is_live = not quiet and sys.stderr.isatty()

    def note(self, text: str) -> None:
        """Say something once."""
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)  # noqa: T201  (stderr is where progress belongs)

    @contextmanager
    def task(self, name: str, unit: str = "") -> Iterator[Task]:
        """Show a task while the block runs.

        Parameters
        ----------
        name : str
            What is being done.
        unit : str, default=""
            What is counted; its rate is shown.
        """
        if not self.is_live:
            yield LineTask(self, name, unit)
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        columns = [TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[rate]}")]
        with Progress(
            *columns, TimeRemainingColumn(), TimeElapsedColumn(), console=Console(stderr=True), transient=True
        ) as bars:
            yield BarTask(bars, name, unit)


class Task(ABC):
    """Something that takes a while and can say how far it is."""

    def __init__(self, name: str, unit: str) -> None:
        self.name = name
        self.unit = unit
        self.started = time.perf_counter()

    @abstractmethod
    def update(self, done: float, total: float | None = None, *, count: float | None = None, name: str = "") -> None:
        """Tell how far it is.

        Parameters
        ----------
        done : float
            How much is done.
        total : float, optional
            How much there is.
        count : float, optional
            How many units that is, for the rate; ``done`` itself when left out.
        name : str, optional
            What is being done now.
        """

    def rate(self, count: float) -> str:
        """Units per second."""
        seconds = max(time.perf_counter() - self.started, 1e-9)
        return f"{count / seconds:,.0f} {self.unit}/s" if self.unit else ""


class BarTask(Task):
    """A bar in a terminal."""

    def __init__(self, bars: Any, name: str, unit: str) -> None:
        super().__init__(name, unit)
        self.bars = bars
        self.bar = bars.add_task(name, total=None, rate="")

    def update(self, done: float, total: float | None = None, *, count: float | None = None, name: str = "") -> None:
        rate = self.rate(done if count is None else count)
        self.bars.update(self.bar, completed=done, total=total, rate=rate, description=name or self.name)


class LineTask(Task):
    """A line in a log at the beginning, and further ones when it takes long."""

    def __init__(self, display: Display, name: str, unit: str) -> None:
        super().__init__(name, unit)
        self.display = display
        self.next_line = self.started + SECONDS_BETWEEN_LINES
        display.note(name)

    def update(self, done: float, total: float | None = None, *, count: float | None = None, name: str = "") -> None:
        now = time.perf_counter()
        if now < self.next_line:
            return
        self.next_line = now + SECONDS_BETWEEN_LINES
        facts = [name or self.name]
        if total:
            facts.append(f"{done / total:.0%}")
        if rate := self.rate(done if count is None else count):
            facts.append(rate)
        if total and done:
            facts.append(f"{(now - self.started) * (total - done) / done:,.0f} s left")
        self.display.note(", ".join(facts))
