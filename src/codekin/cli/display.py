"""What commands show: results on stdout, progress on stderr.

Progress is a bar in a terminal, lines in a log, nothing if quiet. Work reports it (:mod:`codekin.progress`), and a
separate thread shows a sign of life every second or two, even during long steps without reports. Kernels release the
interpreter's lock, so that it can. Standard streams may be closed; labels must not control a terminal.
"""

from __future__ import annotations

import os
import re
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from threading import Event, RLock, Thread
from typing import Any

import typer

from codekin.progress import Progress, subscribe

SECONDS_BETWEEN_LINES = 1.5
"""Between lines of a log; with the thread's own waiting time, lines are less than 2 seconds apart."""
SECONDS_BETWEEN_LOOKS = 0.25
ENOUGH_SECONDS = 1.0
"""Less time is too short to estimate a rate or the time left."""

Clock = Callable[[], float]


@dataclass
class Display:
    """Shows one stage of the work after the other, or nothing if quiet."""

    quiet: bool = False
    board: Board | None = None

    @property
    def is_live(self) -> bool:
        """Whether lines can change; a terminal that cannot go back to the beginning of a line is treated as a log."""
        return not self.quiet and sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")

    def note(self, text: str) -> None:
        """Say something once."""
        if self.board is not None:
            self.board.say(text)
        elif not self.quiet:
            _write_line(text)

    @contextmanager
    def watching(self, *, only_if_slow: bool = False) -> Iterator[None]:
        """Show the progress that is reported within the block; ``only_if_slow`` logs no stages that end soon."""
        if self.quiet:
            yield
            return
        self.board = Bar() if self.is_live else Log(_write_line, only_if_slow=only_if_slow)
        try:
            with self.board.shown(), subscribe(self.board.hear):
                yield
        finally:
            self.board = None


@contextmanager
def starting() -> Iterator[None]:
    """Show progress only if the block takes long, as imports can on a busy machine; in a terminal nothing stays."""
    is_live = Display().is_live
    log = Log((lambda text: _write_line(f"\r{text:<30}\r", end="")) if is_live else _write_line, only_if_slow=True)
    log.hear(Progress("starting"))
    log.written_at -= time.process_time()  # there was no output for at least that long
    try:
        with log.shown():
            yield
    finally:
        if is_live:
            log.write("")


def _write_line(text: str, end: str = "\n") -> None:
    print(text, end=end, file=sys.stderr, flush=True)  # noqa: T201  (stderr is where progress belongs)


@dataclass
class Stage:
    """The current stage: when it began, and its first report with a known size and its latest, which give a rate."""

    began_at: float
    first: Progress
    first_at: float
    latest: Progress
    latest_at: float

    def text(self, now: float, aside: str = "") -> str:
        """One line: what is being done, its share, the rate, the time so far and the time left."""
        done = self.latest.done - self.first.done
        facts = [fact for fact in (self.latest.stage, self.latest.detail, aside) if fact]
        if self.latest.total:
            facts.append(f"{min(self.latest.done / self.latest.total, 1.0):.0%}")
        seconds = self.latest_at - self.first_at
        if seconds >= ENOUGH_SECONDS and self.latest.unit:
            n_units = _count(self.latest) - _count(self.first)
            if n_units > 0:
                facts.append(f"{n_units / seconds:,.0f} {self.latest.unit}/s")
        facts.append(in_time(now - self.began_at))
        if seconds >= ENOUGH_SECONDS and self.latest.total and done > 0:
            left = seconds * (self.latest.total - self.latest.done) / done - (now - self.latest_at)
            facts.append(f"about {in_time(max(left, 0.0))} left")
        return ", ".join(facts)


def _count(progress: Progress) -> float:
    return progress.done if progress.count is None else progress.count


def in_time(seconds: float) -> str:
    """A time span in words: 59 s, 2 min 5 s, 1 h 3 min."""
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


class Board(ABC):
    """Keeps track of the current stage."""

    def __init__(self, clock: Clock = time.perf_counter) -> None:
        self.clock = clock
        self.stage: Stage | None = None
        self.aside = ""
        self.said: set[str] = set()
        self.lock = RLock()

    def hear(self, progress: Progress) -> None:
        """Note a report, from any thread."""
        with self.lock:
            now = self.clock()
            if not progress.stage:
                self.aside = progress.detail
                if progress.detail and progress.detail not in self.said:
                    self.said.add(progress.detail)
                    self.say(progress.detail)
            elif self.stage is None or self.stage.latest.stage != progress.stage:
                self.stage = Stage(now, progress, now, progress, now)
                self.begin(progress.stage)
            elif self.stage.first.total is None and progress.total is not None:
                self.stage = Stage(self.stage.began_at, progress, now, progress, now)
            else:
                self.stage = replace(self.stage, latest=progress, latest_at=now)

    @property
    def text(self) -> str:
        """The current stage in one line."""
        with self.lock:
            return "" if self.stage is None else self.stage.text(self.clock(), self.aside)

    @abstractmethod
    def say(self, sentence: str) -> None:
        """Show a sentence that stays."""

    @abstractmethod
    def begin(self, name: str) -> None:
        """Show that a stage begins."""

    @abstractmethod
    def shown(self) -> AbstractContextManager[Any]:
        """Show progress while the block runs."""


class Bar(Board):
    """A line with a bar that changes in place."""

    def __init__(self, clock: Clock = time.perf_counter) -> None:
        super().__init__(clock)
        from rich.console import Console
        from rich.progress import BarColumn, ProgressColumn, Task
        from rich.progress import Progress as Bars
        from rich.text import Text

        class Line(ProgressColumn):
            """What the board says now."""

            def render(_, task: Task) -> Text:  # noqa: N805  (self is the board)
                if self.stage is not None:
                    task.completed, task.total = self.stage.latest.done, self.stage.latest.total
                return Text(self.text, overflow="ellipsis", no_wrap=True)

        self.bars = Bars(
            Line(),
            BarColumn(20),
            console=Console(stderr=True),
            transient=True,
            refresh_per_second=4,
        )

    def say(self, sentence: str) -> None:
        self.bars.console.print(sentence, highlight=False, markup=False)

    def begin(self, name: str) -> None:
        if not self.bars.tasks:
            self.bars.add_task(name, total=None)

    def shown(self) -> AbstractContextManager[Any]:
        return self.bars


class Log(Board):
    """A line when a stage begins (unless ``only_if_slow``), and more while it lasts."""

    def __init__(
        self, write: Callable[[str], None], clock: Clock = time.perf_counter, *, only_if_slow: bool = False
    ) -> None:
        super().__init__(clock)
        self.write = write
        self.only_if_slow = only_if_slow
        self.written_at = clock()

    def say(self, sentence: str) -> None:
        self.written_at = self.clock()
        self.write(sentence)

    def begin(self, name: str) -> None:
        if not self.only_if_slow:
            self.say(name)

    def look(self) -> None:
        """Write a line if the last one was long ago."""
        with self.lock:
            if self.stage is not None and self.clock() - self.written_at >= SECONDS_BETWEEN_LINES:
                text = self.text
                # If the reader is gone, the work continues; its own output will fail if it matters.
                with suppress(OSError, ValueError):
                    self.say(text)

    @contextmanager
    def shown(self) -> Iterator[None]:
        is_over = Event()

        def look_again_and_again() -> None:
            while not is_over.wait(SECONDS_BETWEEN_LOOKS):
                self.look()

        thread = Thread(target=look_again_and_again, daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()


# All control characters except tabs and line ends, which are ours. A label with an escape sequence could move the
# cursor, set the title of the window or type text.
CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def escaped(text: str) -> str:
    r"""Text with control characters written as ``\u001b``, which is valid in JSON, too."""
    return CONTROL_CHARACTERS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def for_stdout(text: str) -> str:
    """Text as it goes to stdout: as it is to files and pipes, :func:`escaped` to a terminal."""
    return escaped(text) if sys.stdout is not None and sys.stdout.isatty() else text


def show(text: object) -> None:
    """Print a result, :func:`escaped` on a terminal."""
    typer.echo(for_stdout(str(text)))
