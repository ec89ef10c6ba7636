"""Run a compiled function over disjoint blocks on several threads.

Kernels release the interpreter's lock and write to disjoint outputs, so the result does not depend on the number of
threads. A pool of ordinary threads is preferred to Numba's own: the latter spins while it waits and is slow on a
machine that does other work.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


def available_threads() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_blocks(function: Callable[[int, int], None], n_items: int, *, block: int, n_threads: int | None = None) -> None:
    """Call ``function(start, stop)`` for consecutive blocks that cover ``range(n_items)``.

    Parameters
    ----------
    function : callable
        Takes the bounds of a block; writes only what belongs to that block.
    n_items : int
        How many items there are.
    block : int
        How many items a block has.
    n_threads : int, optional
        How many threads to use; by default, as many as there are processors.
    """
    starts = range(0, n_items, block)
    threads = min(n_threads or available_threads(), len(starts))
    if threads <= 1:
        for start in starts:
            function(start, min(start + block, n_items))
        return
    with ThreadPoolExecutor(threads) as pool:
        # list() raises what a block raised.
        list(pool.map(lambda start: function(start, min(start + block, n_items)), starts))
