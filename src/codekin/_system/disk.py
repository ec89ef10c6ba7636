"""Bring what was written to the disk, and the names under which it was written: a power cut leaves both."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Bring the names of a folder's files to the disk, as far as the system does that."""
    if os.name != "nt":
        _sync(folder)


def sync_tree(folder: Path) -> None:
    """Bring everything in a folder to the disk, and the names of it. The files must be closed."""
    for place, _, names in os.walk(folder):
        for name in names:
            _sync(Path(place, name))
        sync_folder(Path(place))


def make_folder(folder: Path) -> None:
    """Make a folder and those that it is in, as far as they are not there, and bring their names to the disk."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for place in missing:
        sync_folder(place.parent)


def _sync(path: Path) -> None:
    try:
        # Windows wants to be able to write what it brings to the disk.
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
