"""Worker processes for commands: those of this machine, or those of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from codekin._system.messages import not_installed
from codekin._system.parallel import with_workers

SECONDS_TO_ANSWER = 10
SECONDS_WITHOUT_WORKERS = 120
"""How long to wait for new workers when all are lost."""


@contextmanager
def workers(n_jobs: int | None, scheduler: str | None) -> Iterator[None]:
    """Share the work of the block among ``n_jobs`` processes or the workers of a Dask scheduler, if any."""
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
