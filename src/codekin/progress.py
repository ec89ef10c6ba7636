"""Progress of long work: its stage, how much is done and how much there is.

Work reports its progress, and any function can listen. ::

    with subscribe(print):
        classifier.fit(X, y)

In a notebook, ``fit(X, y, progress=NotebookBar())`` shows a bar below the cell.
"""

from __future__ import annotations

import html
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import Any, TypeVar

__all__ = ["NotebookBar", "Progress", "subscribe"]


@dataclass(frozen=True)
class Progress:
    """How far a stage has come.

    Parameters
    ----------
    stage : str
        What is being done. Empty for something outside the stages, such as compiling: ``detail`` then says what it is,
        and is empty when it is over.
    done : float, default=0.0
        How much of it is done.
    total : float, optional
        How much there is, if known.
    detail : str, default=""
        Anything else: the pass, the score so far.
    count : float, optional
        How many units that is, if ``done`` counts something else.
    unit : str, default=""
        What is counted, for a rate; empty if a rate is meaningless.
    """

    stage: str
    done: float = 0.0
    total: float | None = None
    detail: str = ""
    count: float | None = None
    unit: str = ""


_Item = TypeVar("_Item")
Subscriber = Callable[[Progress], None]

_SUBSCRIBER: ContextVar[Subscriber | None] = ContextVar("progress_subscriber", default=None)

if hasattr(os, "register_at_fork"):
    # Forked workers do not report: a lock of the subscriber may be held by a thread that no longer exists.
    os.register_at_fork(after_in_child=lambda: _SUBSCRIBER.set(None))


@contextmanager
def subscribe(subscriber: Subscriber | None) -> Iterator[None]:
    """Call a function with all progress that is reported within the block.

    Parameters
    ----------
    subscriber : callable or None
        Called with a :class:`Progress`, from any thread. None keeps the current subscriber, if any.

    Examples
    --------
    >>> with subscribe(lambda heard: print(heard.stage, heard.done, heard.total)):
    ...     report("counting sheep", 2, 10)
    counting sheep 2.0 10.0
    >>> report("counting sheep", 3, 10)
    """
    if subscriber is None:
        yield
        return
    token = _SUBSCRIBER.set(subscriber)
    try:
        yield
    finally:
        _SUBSCRIBER.reset(token)


SECONDS_BETWEEN_BARS = 0.2


class NotebookBar:
    """A bar below the cell of a notebook, for the ``progress`` parameter of ``fit`` and for :func:`subscribe`.

    Examples
    --------
    >>> bar = NotebookBar()
    >>> bar.heard = Progress("learning bits", 1, 4)
    >>> bar._repr_html_()
    '<progress value="0.250" aria-label="progress"></progress> learning bits, 25%, 0 s'
    """

    def __init__(self) -> None:
        self._handle: Any = None
        self.heard, self._lock = Progress(""), Lock()
        self._began_at = self._shown_at = time.monotonic()

    def __call__(self, heard: Progress) -> None:
        """Show a report, but not more than five times in a second."""
        from IPython.display import display  # type: ignore[import-not-found]  # notebooks have it

        with self._lock:
            now, is_new = time.monotonic(), heard.stage != self.heard.stage
            if not heard.stage or not (is_new or now - self._shown_at >= SECONDS_BETWEEN_BARS):
                return
            self._began_at = now if is_new else self._began_at
            self.heard, self._shown_at = heard, now
            if self._handle is None:
                self._handle = display(self, display_id=True)
            else:
                self._handle.update(self)

    def _repr_html_(self) -> str:
        """The bar and, in words, the stage, its share and the time that it has taken."""
        heard, share = self.heard, ""
        bar = '<progress aria-label="progress"></progress>'
        if heard.total:
            own = min(heard.done / heard.total, 1.0)
            bar, share = f'<progress value="{own:.3f}" aria-label="progress"></progress>', f", {own:.0%}"
        words = html.escape(", ".join(each for each in (heard.stage, heard.detail) if each))
        return f"{bar} {words}{share}, {time.monotonic() - self._began_at:.0f} s"


@contextmanager
def stage(whole: str) -> Iterator[None]:
    """Prefix every stage within the block with the larger piece of work it belongs to.

    Examples
    --------
    >>> with subscribe(lambda heard: print(heard.stage)), stage("trial 2 of 5"):
    ...     report("learning bits")
    trial 2 of 5: learning bits
    """
    subscriber = _SUBSCRIBER.get()
    if subscriber is None:
        yield
        return
    with subscribe(lambda heard: subscriber(replace(heard, stage=f"{whole}: {heard.stage}") if heard.stage else heard)):
        yield


class Stopped(BaseException):
    """Ends a piece of work that reports to a :class:`JointProgress`."""


class JointProgress:
    """One report for several pieces of the same work that run at the same time: the sum of theirs.

    Examples
    --------
    >>> with subscribe(lambda heard: print(heard.stage, heard.done, heard.total)):
    ...     joint = JointProgress(2)
    >>> for done, subscriber in ((3, joint.subscriber()), (4, joint.subscriber())):
    ...     with subscribe(subscriber):
    ...         report("counting sheep", done, 10)
    counting sheep 3.0 None
    counting sheep 7.0 20.0
    """

    def __init__(self, n_parts: int) -> None:
        """Report to the current subscriber, if any."""
        self._subscriber, self._n_parts = _SUBSCRIBER.get(), n_parts
        self._latest: dict[int, Progress] = {}
        self._lock, self._is_stopped = Lock(), False

    def subscriber(self) -> Subscriber:
        """The subscriber of the next piece of work."""
        with self._lock:
            part = len(self._latest)
            self._latest[part] = Progress("")
        return partial(self._forward, part)

    def stop(self) -> None:
        """Raise :class:`Stopped` in every piece of work at its next report."""
        self._is_stopped = True

    def _forward(self, part: int, heard: Progress) -> None:
        if self._is_stopped:
            raise Stopped
        if self._subscriber is None:
            return
        with self._lock:
            if heard.stage:
                self._latest[part] = heard
                heard = self._sum(heard.stage)
            self._subscriber(heard)

    def _sum(self, stage: str) -> Progress:
        parts = [latest for latest in self._latest.values() if latest.stage == stage]
        totals = [latest.total for latest in parts if latest.total is not None]
        counts = [latest.count for latest in parts if latest.count is not None]
        return replace(
            min(parts, key=lambda latest: latest.done),
            done=sum(latest.done for latest in parts),
            total=sum(totals) if len(totals) == self._n_parts else None,
            count=sum(counts) if counts else None,
        )


def has_subscriber() -> bool:
    """Whether anything is listening, for work that needs time to compute what to report."""
    return _SUBSCRIBER.get() is not None


def report(
    stage: str,
    done: float = 0.0,
    total: float | None = None,
    *,
    detail: str = "",
    count: float | None = None,
    unit: str = "",
) -> None:
    """Report how far a stage has come; cheap, and does nothing if nothing is listening."""
    subscriber = _SUBSCRIBER.get()
    if subscriber is not None:
        # NumPy numbers become Python numbers, which are simpler for listeners.
        n_units = None if count is None else float(count)
        subscriber(Progress(stage, float(done), None if total is None else float(total), detail, n_units, unit))


def reporter(stage: str) -> Callable[[float, float | None], None]:
    """Report that a stage begins; returns a function that reports how much is done, and how much there is."""
    report(stage)
    return partial(report, stage)


def reported(items: Sequence[_Item], stage: str, *, unit: str, every: int = 1_000) -> Iterator[_Item]:
    """The items one after the other, with a report before every ``every``-th of them."""
    for n_done, item in enumerate(items):
        if n_done % every == 0:
            report(stage, n_done, len(items), unit=unit)
        yield item
