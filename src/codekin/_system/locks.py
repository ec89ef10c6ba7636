"""Locks on files and folders, which the system releases when a process ends, even if it is killed.

The lock is on the file or folder that is written, so a model's folder holds the model and nothing else. The package
filelock locks a separate file and could replace only the call of ``flock``.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from codekin._system.disk import make_folder


def try_lock(descriptor: int) -> bool:
    """Lock an open file or folder; False if another process has locked it.

    The lock ends when the descriptor is closed. Always True where there are no locks: on Windows, and on file systems
    that don't support them.
    """
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EWOULDBLOCK, errno.EACCES)
    return True


@contextmanager
def locked_folder(folder: Path, refusal: str) -> Iterator[None]:
    """Keep other processes from locking a folder while the block runs.

    The folder is created if it does not exist, and removed if it is empty at the end. Raises FileExistsError with the
    message ``refusal`` if another process has locked it.
    """
    if os.name == "nt":  # folders cannot be opened there, so there is no lock
        yield
        return
    descriptor = _opened(folder)
    try:
        if not try_lock(descriptor):
            raise FileExistsError(refusal)
        try:
            yield
        finally:
            with suppress(OSError):
                folder.rmdir()
    finally:
        os.close(descriptor)


def _opened(folder: Path) -> int:
    """A descriptor of the folder; retries if another process removes it before it is opened."""
    while True:
        make_folder(folder)
        with suppress(FileNotFoundError):
            return os.open(folder, os.O_RDONLY)
