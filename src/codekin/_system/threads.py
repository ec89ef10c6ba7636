"""Run a compiled function over disjoint blocks on several threads.

Kernels release the interpreter's lock and write to disjoint outputs, so the result does not depend on the number of
threads. We use a pool of ordinary threads because Numba's own threads spin while they wait, which is slow on a busy
machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_LIMIT: ContextVar[int | None] = ContextVar("thread_limit", default=None)


def available_threads() -> int:
    """How many processors this process may use; at most as many as :func:`limited_threads` allows."""
    limit = _LIMIT.get()
    return _processors() if limit is None else min(limit, _processors())


@contextmanager
def limited_threads(n_threads: int | None) -> Iterator[None]:
    """Limit the default number of threads within the block. None sets no limit.

    >>> with limited_threads(1):
    ...     available_threads()
    1
    """
    if n_threads is not None and n_threads < 1:
        raise ValueError(f"The 'n_threads' parameter must be at least 1. Got {n_threads} instead.")
    token = _LIMIT.set(n_threads)
    try:
        yield
    finally:
        _LIMIT.reset(token)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_blocks(function: Callable[[int, int], None], n_items: int, *, block: int, n_threads: int | None = None) -> None:
    """Call ``function(start, stop)`` for consecutive blocks that cover ``range(n_items)``.

    The function takes the bounds of a block of ``block`` items and writes only to the outputs of that block. The
    default number of threads is :func:`available_threads`.
    """
    if n_items <= block:
        if n_items > 0:
            function(0, n_items)
        return
    starts = range(0, n_items, block)
    threads = min(n_threads or available_threads(), len(starts))
    if threads <= 1:
        for start in starts:
            function(start, min(start + block, n_items))
        return
    on_threads(lambda start: function(start, min(start + block, n_items)), starts, n_threads=threads)


def on_threads(function: Callable[[Item], Result], items: Iterable[Item], *, n_threads: int) -> list[Result]:
    """The results of the function for all items, in order. The threads inherit the caller's context variables.

    The function should release the interpreter's lock most of the time.
    """
    with ThreadPoolExecutor(n_threads) as pool:
        # A context serves one thread at a time, so each item has a copy. list() raises what the function raised.
        return list(pool.map(lambda work: work[0].run(function, work[1]), [(copy_context(), item) for item in items]))


def taken(rooms: list[Item], made: Callable[[], Item]) -> Item:
    """One of the rooms that threads share and put back, or a new one if all are in use."""
    try:
        return rooms.pop()  # looking first whether there is one would be too late for another thread
    except IndexError:
        return made()
