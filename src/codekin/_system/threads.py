"""Run a compiled function over disjoint blocks on several threads.

Kernels release the interpreter's lock and write to disjoint outputs, so the result does not depend on the number of
threads. We use a pool of ordinary threads because Numba's own threads spin while they wait, which is slow on a busy
machine.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

AHEAD_PER_THREAD = 2
"""How many results :func:`prepared` has ready before they are asked for."""

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


def prepared(function: Callable[[Item], Result], items: Iterable[Item], *, n_threads: int) -> Iterator[Result]:
    """Yields the results of the function for all items, in order; while one is used, threads prepare the next ones.

    If the next one is not ready, the calling thread prepares one itself. The function should release the interpreter's
    lock most of the time.

    >>> list(prepared(abs, [-1, 2, -3], n_threads=2))
    [1, 2, 3]
    """
    if n_threads <= 1:
        yield from map(function, items)
        return
    pool = ThreadPoolExecutor(n_threads - 1)
    sent = ((item, pool.submit(copy_context().run, function, item)) for item in items)
    try:
        waiting = deque(islice(sent, AHEAD_PER_THREAD * n_threads))
        while waiting:
            while not waiting[0][1].done():
                untouched = next((place for place, (_, future) in enumerate(waiting) if future.cancel()), None)
                if untouched is None:
                    break
                item, own = waiting[untouched][0], Future[Result]()
                own.set_result(function(item))
                waiting[untouched] = item, own
            yield waiting.popleft()[1].result()
            waiting.extend(islice(sent, 1))
    finally:
        pool.shutdown(cancel_futures=True)
