"""Share work among joblib's workers: processes of this machine, or those of a Dask or Ray cluster.

Bits, restarts and splits do not depend on each other, so each can be worked on elsewhere, and no result depends on
where. Who the workers are is joblib's business: ``n_jobs`` processes of this machine, or whatever a block of
``joblib.parallel_config`` names. Without either there are none, and threads share the work.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from codekin._system.threads import limited_threads

Shared = TypeVar("Shared")
Part = TypeVar("Part")
Found = TypeVar("Found")

SECONDS_BETWEEN_LOOKS = 1.0
"""How often a worker looks whether the process that has started it is still there."""


def with_workers(n_jobs: int | None) -> AbstractContextManager[Any]:
    """Let everything within the block share its work among so many of joblib's workers.

    -1 is as many as there are processors, 1 none but this process. None leaves it to the blocks around this one.

    >>> with with_workers(2):
    ...     n_workers()
    2
    """
    from joblib import parallel_config

    if n_jobs is None:
        return nullcontext()
    if n_jobs == 0:
        raise ValueError("The 'n_jobs' parameter must be a number of workers, or -1 for all processors. Got 0 instead.")
    config: AbstractContextManager[Any] = (
        parallel_config(backend="sequential") if n_jobs == 1 else parallel_config(n_jobs=n_jobs)
    )
    return config


def n_workers() -> int:
    """How many workers share the work; 1 where nobody asked for any."""
    from joblib import effective_n_jobs

    return int(effective_n_jobs(None))


def share_work(
    function: Callable[[Shared, Part], Found], shared: Shared, parts: Sequence[Part], *, n_threads: int | None = 1
) -> Iterator[Found]:
    """Let the workers call ``function(shared, part)`` for every part; what they found, in order, as it comes in.

    What is shared goes to each worker once: large arrays in it are mapped into the memory of processes on this
    machine. A Dask cluster hands it on from worker to worker, and its scheduler keeps a copy: no loss of a worker
    matters, and parts that were in work are worked on again.

    The function may be called again for a part whose worker was lost. ``shared`` is what all parts need; it is not to
    be changed: it may be read-only, and others read it, too. ``n_threads``: how many threads a worker may use for a
    part; None for all that it has.
    """
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    placed, parent = _placed(backend, shared), process_to_end_with()
    # A process here that got no part would outlive this one by minutes if this one were killed.
    n_jobs = None if parent is None else max(1, min(n_workers(), len(parts)))
    # Mapped arrays are copied where they are written to, and so taken by kernels compiled for ordinary arrays.
    pool = Parallel(n_jobs, return_as=returned_as("generator"), mmap_mode="c")
    try:
        yield from pool(delayed(_call)(function, placed, part, n_threads, parent) for part in parts)
    except BrokenProcessPool as error:
        raise ChildProcessError(
            "A worker process ended before its work did: it was killed, or memory was short."
        ) from error


def returned_as(kind: str) -> str:
    """How the workers return what they find: as asked, or in a list where joblib's backend knows nothing else.

    That kind, or "list": on Ray, for example.
    """
    from joblib.parallel import get_active_backend

    return kind if get_active_backend()[0].supports_return_generator else "list"


def process_to_end_with() -> int | None:
    """The process whose end should be the end of the workers, for :func:`end_with`.

    It is this process, if its workers are processes that it starts itself. Those of a cluster outlive it.
    """
    from joblib.parallel import get_active_backend

    return os.getpid() if type(get_active_backend()[0]).__name__ == "LokyBackend" else None


def end_with(parent: int | None) -> None:
    """Let a worker process end a few seconds after the one that started it, however that ended.

    Workers of joblib wait for five minutes for work from a process that was killed, and before that they finish what
    they are at. Linux could send them a signal, but does so already when the thread ends that has started them.

    Nothing happens if it is None, or this process itself.
    """
    if parent is not None and parent != os.getpid():
        _watch(parent)


@cache
def _watch(parent: int) -> None:
    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(SECONDS_BETWEEN_LOOKS)
        os._exit(1)

    if os.name != "nt":  # there a process keeps the number of its parent
        threading.Thread(target=watch, name="end with parent", daemon=True).start()


@contextmanager
def output_array(shape: tuple[int, ...], dtype: DTypeLike) -> Iterator[NDArray[Any]]:
    """An array for what the workers find; a mapped one, in which they can write themselves, if they are processes here.

    Its content is unknown. It may be used after the block, but the workers no longer see what is written to it.
    """
    from joblib.parallel import get_active_backend

    if type(get_active_backend()[0]).__name__ != "LokyBackend":
        yield np.empty(shape, dtype)
        return
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    in_memory = Path("/dev/shm")
    has_room = in_memory.is_dir() and shutil.disk_usage(in_memory).free > 2 * n_bytes
    # A mapped file can be used after its name is gone; where a system sees that differently, the name stays.
    with TemporaryDirectory(
        prefix="codekin-", dir=in_memory if has_room else None, ignore_cleanup_errors=True
    ) as folder:
        yield np.memmap(Path(folder) / "output", dtype, "w+", shape=shape)


def _placed(backend: Any, shared: Any) -> Any:
    """The value where the workers find it: on a Dask cluster, in Ray's store, or as it is.

    Data that is scattered by Dask is gone with the workers that hold it. The result of a task is not: the scheduler
    knows how to get it again, and here that is nothing but sending it again.
    """
    if type(backend).__name__ == "RayBackend":
        return sys.modules["ray"].put(shared)
    if not hasattr(backend, "client"):
        return shared
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph")
        return backend.client.submit(_itself, shared, pure=False)


def _itself(value: Shared) -> Shared:
    return value


def _call(
    function: Callable[[Shared, Part], Found], shared: Shared, part: Part, n_threads: int | None, parent: int | None
) -> Found:
    end_with(parent)
    from joblib import parallel_config
    from threadpoolctl import threadpool_limits

    distributed, ray = sys.modules.get("distributed"), sys.modules.get("ray")
    if distributed is not None and isinstance(shared, distributed.Future):
        shared = shared.result()  # joblib does the work itself while a cluster has a single worker left
    elif ray is not None and isinstance(shared, ray.ObjectRef):
        shared = ray.get(shared)
    # Workers do not start workers of their own: otherwise Dask would share the work of a part again.
    with limited_threads(n_threads), threadpool_limits(n_threads, "blas"), parallel_config(backend="sequential"):
        return function(shared, part)
