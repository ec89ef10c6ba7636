"""Flush files and the folders that list them to disk, so that both survive a power cut."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Flush a folder's list of names to disk, where the system supports it."""
    if os.name != "nt":
        _sync(folder)


def sync_tree(folder: Path) -> None:
    """Flush a folder and everything in it to disk. The files must be closed."""
    for place, _, names in os.walk(folder):
        for name in names:
            _sync(Path(place, name))
        sync_folder(Path(place))


def make_folder(folder: Path) -> list[Path]:
    """Create a folder and its missing parents, and flush their names to disk; returns those that were missing."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for place in missing:
        sync_folder(place.parent)
    return missing


@contextmanager
def folder_for(folder: Path) -> Iterator[None]:
    """A folder, made with its parents if necessary; what was made is removed if the block fails and leaves it empty."""
    made = make_folder(folder)
    try:
        yield
    except BaseException:
        with suppress(OSError):
            for place in made:
                place.rmdir()
        raise


def _sync(path: Path) -> None:
    try:
        # Windows flushes only files that are open for writing.
        descriptor = os.open(path, os.O_RDWR | os.O_BINARY if os.name == "nt" else os.O_RDONLY)  # type: ignore[attr-defined]
    except PermissionError:  # we may write here, but not read
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems cannot do this for folders.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
