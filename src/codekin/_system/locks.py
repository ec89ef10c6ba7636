"""Locks on files and folders, which the system gives up when a process ends, however it ends.

What is locked is the folder or the file that is written, not a file beside it, so that a model's folder holds the
model and nothing else. The package filelock locks a file of its own and, on Unix, leaves it there on purpose; of what
is here it could replace the one call of ``flock``.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from codekin._system.disk import make_folder


def try_lock(descriptor: int) -> bool:
    """Lock an open file or folder, unless another process has done so.

    The lock ends when the descriptor is closed. False if another process has it; true if it is ours, and also where
    there are no locks: on Windows, and on file systems that know none.
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

    The folder is made if it is not there, and removed if it is empty at the end. Raises FileExistsError with
    ``refusal`` if another process has locked it.
    """
    if os.name == "nt":  # a folder cannot be opened there, so nothing keeps a second process out
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
    """A descriptor of the folder, which another process may remove between its making and its opening."""
    while True:
        make_folder(folder)
        with suppress(FileNotFoundError):
            return os.open(folder, os.O_RDONLY)
