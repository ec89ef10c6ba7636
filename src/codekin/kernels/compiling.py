"""Report when kernels are being compiled: only in the first calls after an installation."""

from __future__ import annotations

from threading import Lock
from time import perf_counter
from typing import Any

from numba.core import event

from codekin.progress import tell

WHAT = "compiling kernels, once after an installation: about half a minute in all"


class _Watch(event.Listener):
    """Listens to compilations, but not to loading from the cache; callees are compiled within their callers."""

    def __init__(self) -> None:
        self.n_running, self.ended_at = 0, 0.0
        self.lock = Lock()

    def on_start(self, _event: Any) -> None:
        with self.lock:
            self.n_running += 1
        tell("", detail=WHAT)

    def on_end(self, _event: Any) -> None:
        with self.lock:
            self.n_running, self.ended_at = self.n_running - 1, perf_counter()
            is_over = self.n_running == 0
        if is_over:
            tell("")


WATCH = _Watch()
event.register("numba:compile", WATCH)
