"""Share work among threads of this process, or among joblib's workers.

Threads run a compiled function over disjoint blocks. Kernels release the interpreter's lock and write to disjoint
outputs, so the result does not depend on the number of threads. The pool is of ordinary threads because Numba's own
threads spin while they wait, which is slow on a busy machine.

Workers compute bits, restarts and splits, which do not depend on each other. joblib provides them: ``n_jobs`` processes
on this machine, or the backend of a ``joblib.parallel_config`` block, such as a Dask or Ray cluster. Without either
there are no workers, and threads share the work.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from functools import cache
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from codekin._system.messages import not_installed

Item = TypeVar("Item")
Result = TypeVar("Result")
Shared = TypeVar("Shared")
Part = TypeVar("Part")
Found = TypeVar("Found")

AHEAD_PER_THREAD = 2
"""How many results :func:`prepared` has ready before they are asked for."""

_LIMIT: ContextVar[int | None] = ContextVar("thread_limit", default=None)

SAMPLES_PER_BLOCK = 256
"""How many samples a kernel gets at a time: enough for its inner loops, and few enough for the cache."""


def available_threads() -> int:
    """How many processors this process may use; at most as many as :func:`limited_threads` allows."""
    n_processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(_LIMIT.get() or n_processors, n_processors)


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


def run_blocks(function: Callable[[int, int], None], n_items: int, *, block: int, n_threads: int | None = None) -> None:
    """Call ``function(start, stop)`` for consecutive blocks of ``range(n_items)``; each writes to its own outputs."""
    starts = range(0, n_items, block)
    threads = min(n_threads or available_threads(), len(starts)) if len(starts) > 1 else 1
    if threads > 1:
        on_threads(lambda start: function(start, min(start + block, n_items)), starts, n_threads=threads)
        return
    for start in starts:
        function(start, min(start + block, n_items))


def single_blas() -> AbstractContextManager[Any]:
    """Products within the block take one thread each, so that sums don't depend on their number.

    The libraries are looked for once, which takes milliseconds, and again once SciPy has loaded its own.
    """
    return cast(
        "AbstractContextManager[Any]", _libraries("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas")
    )


@cache
def _libraries(_with_own_of_scipy: bool) -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def on_threads(function: Callable[[Item], Result], items: Iterable[Item], *, n_threads: int) -> list[Result]:
    """The results of the function for all items, in order. The threads inherit the caller's context variables."""
    with ThreadPoolExecutor(n_threads) as pool:
        # A context serves one thread at a time, so each item has a copy. list() raises what the function raised.
        return list(pool.map(lambda work: work[0].run(function, work[1]), [(copy_context(), item) for item in items]))


def borrowed(free: list[Item], make: Callable[[], Item]) -> Item:
    """One of the workspaces that threads share and put back, or a new one if all are in use."""
    try:
        return free.pop()  # checking first whether there is one would race with other threads
    except IndexError:
        return make()


def prepared(function: Callable[[Item], Result], items: Iterable[Item], *, n_threads: int) -> Iterator[Result]:
    """Yields the results of the function for all items, in order; while one is used, threads prepare the next ones.

    If the next one is not ready, the calling thread prepares one itself.
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


SECONDS_BETWEEN_LOOKS = 1.0
"""How often a worker checks whether the process that started it is still alive."""


@contextmanager
def with_workers(n_jobs: int | None) -> Iterator[int]:
    """Share all work within the block among ``n_jobs`` of joblib's workers; how many there are then.

    -1 means one per processor, 1 only this process. None keeps the setting of the enclosing block.
    """
    if n_jobs is None:
        yield n_workers()
        return
    from joblib import parallel_config

    if n_jobs == 0:
        raise ValueError("The 'n_jobs' parameter must be a number of workers, or -1 for all processors. Got 0 instead.")
    how: dict[str, Any] = {"backend": "sequential"} if n_jobs == 1 else {"n_jobs": n_jobs}
    with parallel_config(**how):
        yield n_workers()


def n_workers() -> int:
    """How many workers share the work; 1 by default, and where nobody has imported joblib to ask for more."""
    joblib = sys.modules.get("joblib")
    return 1 if joblib is None else int(joblib.effective_n_jobs(None))


def share_work(function: Callable[[Shared, Part], Found], shared: Shared, parts: Sequence[Part]) -> Iterator[Found]:
    """Call ``function(shared, part)`` on the workers for every part; yields the results in order as they come in.

    ``shared`` is sent to each worker once: processes on this machine memory-map its large arrays. On a Dask cluster,
    workers pass it on to each other and the scheduler keeps a copy. The function may be called again for a part whose
    worker was lost, and must not change ``shared``. Each worker uses one thread.
    """
    from joblib import Parallel, delayed

    placed, parent = _placed(_backend(), shared), process_to_end_with()
    # A local process without a part would outlive this one by minutes if this one were killed.
    n_jobs = None if parent is None else max(1, min(n_workers(), len(parts)))
    # Copy-on-write arrays count as writable, so kernels compiled for ordinary arrays accept them.
    pool = Parallel(n_jobs, return_as=returned_as("generator"), mmap_mode="c")
    try:
        yield from pool(delayed(_call)(function, placed, part, parent) for part in parts)
    except BrokenProcessPool as error:
        raise ChildProcessError(
            "A worker process ended before it finished its work: it was killed, or memory ran out."
        ) from error


def _backend() -> Any:
    from joblib.parallel import get_active_backend

    return get_active_backend()[0]


def returned_as(kind: str) -> str:
    """How joblib returns results: ``kind``, or "list" if its backend supports nothing else, as on Ray."""
    return kind if _backend().supports_return_generator else "list"


def process_to_end_with() -> int | None:
    """The number of this process if it starts its workers itself, for :func:`end_with`; otherwise None."""
    return os.getpid() if type(_backend()).__name__ == "LokyBackend" else None


def end_with(parent: int | None) -> None:
    """Make a worker process end soon after ``parent``, the one that started it, even if that one was killed.

    Otherwise joblib's workers finish their current work and then wait five minutes for more. Linux can send them a
    signal, but sends it already when the thread that started them ends.
    """
    if parent is not None and parent != os.getpid():
        _watch(parent)


@cache
def _watch(parent: int) -> None:
    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(SECONDS_BETWEEN_LOOKS)
        os._exit(1)

    if os.name != "nt":  # on Windows, getppid() does not change when the parent ends
        threading.Thread(target=watch, name="end with parent", daemon=True).start()


@contextmanager
def output_array(shape: tuple[int, ...], dtype: DTypeLike) -> Iterator[NDArray[Any]]:
    """An array for results, not initialized; memory-mapped if the workers are processes on this machine.

    It can be used after the block, but the workers no longer see what is written to it.
    """
    if process_to_end_with() is None:
        yield np.empty(shape, dtype)
        return
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    in_memory = Path("/dev/shm")
    has_room = in_memory.is_dir() and shutil.disk_usage(in_memory).free > 2 * n_bytes
    # A mapped file can be used after it is unlinked; on systems that don't allow unlinking it, it stays.
    with TemporaryDirectory(
        prefix="codekin-", dir=in_memory if has_room else None, ignore_cleanup_errors=True
    ) as folder:
        yield np.memmap(Path(folder) / "output", dtype, "w+", shape=shape)


def _placed(backend: Any, shared: Any) -> Any:
    """A handle of the value on a Dask cluster or in Ray's store; otherwise the value itself.

    Data scattered by Dask is lost with its workers. The result of a task is not: the scheduler sends it again.
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


def _call(function: Callable[[Shared, Part], Found], shared: Shared, part: Part, parent: int | None) -> Found:
    end_with(parent)
    from joblib import parallel_config

    distributed, ray = sys.modules.get("distributed"), sys.modules.get("ray")
    if distributed is not None and isinstance(shared, distributed.Future):
        shared = shared.result()  # joblib does the work in this process while the cluster has only one worker
    elif ray is not None and isinstance(shared, ray.ObjectRef):
        shared = ray.get(shared)
    # Workers don't start workers of their own: otherwise Dask would share the work of a part again.
    with limited_threads(1), single_blas(), parallel_config(backend="sequential"):
        return function(shared, part)


# ----- the workers of a command ------------------------------------------------------------------------------------

SECONDS_TO_ANSWER = 10
SECONDS_WITHOUT_WORKERS = 120
"""How long to wait for new workers of a cluster when all are lost."""


@contextmanager
def workers(n_jobs: int | None, scheduler: str | None, n_threads: int | None = None) -> Iterator[None]:
    """Share the work of the block among ``n_jobs`` processes or the workers of a Dask scheduler, if any.

    ``n_threads`` limits the threads of this process.
    """
    with limited_threads(n_threads) if n_threads is not None else nullcontext(), _workers(n_jobs, scheduler):
        yield


@contextmanager
def _workers(n_jobs: int | None, scheduler: str | None) -> Iterator[None]:
    if n_jobs == 0:
        raise ValueError("--n-jobs must be a number of worker processes, or -1 for one per processor. Got 0 instead.")
    if scheduler is None:
        with with_workers(n_jobs):
            yield
        return
    if n_jobs is not None:
        raise ValueError(f"--scheduler uses all workers of the cluster. Got --n-jobs {n_jobs} as well.")
    from joblib import parallel_config

    with _client(scheduler) as client:
        if not client.ncores():
            raise ConnectionError(
                f"The Dask scheduler at {scheduler} has no workers. Start some: dask worker {scheduler}"
            )
        with parallel_config(backend="dask", client=client, wait_for_workers_timeout=SECONDS_WITHOUT_WORKERS):
            yield


def _client(scheduler: str) -> Any:
    try:
        from distributed import Client
    except ImportError:
        raise not_installed("--scheduler", "distributed") from None
    try:
        # A default client stays in Dask's settings even if it never got an answer.
        return Client(scheduler, timeout=SECONDS_TO_ANSWER, set_as_default=False)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        # A valid address that does not answer is not an error of the command line; an invalid address is.
        kind = ConnectionError if isinstance(error, OSError) else ValueError
        raise kind(f"The Dask scheduler at {scheduler} cannot be reached: {reason}.") from error
