"""File systems that are full or read-only, for this process and its children; they vanish with it."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000
_READ_ONLY, _REMOUNT, _BIND, _RECURSIVE, _PRIVATE = 1, 32, 4096, 16384, 1 << 18


class CannotMountError(OSError):
    """This system does not let us have mounts of our own."""


class Mounts:
    """Mounts in a namespace of their own, which needs root, or a system that gives users namespaces."""

    def __init__(self) -> None:
        self.reason = ""
        self._folders: list[Path] = []
        try:
            self._libc = ctypes.CDLL(None, use_errno=True)
            self._enter()
        except OSError as error:
            self.reason = f"mounts are not permitted here ({error.strerror})"

    def _enter(self) -> None:
        user, group = os.getuid(), os.getgid()
        if user == 0:
            self._call("unshare", _NEW_MOUNTS)
        else:
            self._call("unshare", _NEW_MOUNTS | _NEW_USER)
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"0 {user} 1")
            Path("/proc/self/gid_map").write_text(f"0 {group} 1")
        self._call("mount", b"none", b"/", None, _RECURSIVE | _PRIVATE, None)

    def small(self, folder: Path, n_bytes: int) -> Path:
        """A new folder on a disk of so many bytes."""
        folder.mkdir()
        self._mount(b"tmpfs", folder, b"tmpfs", 0, b"size=%d" % n_bytes)
        return folder

    def enlarged(self, folder: Path, n_bytes: int) -> None:
        """Give the disk of :meth:`small` another size."""
        self._mount(b"tmpfs", folder, b"tmpfs", _REMOUNT, b"size=%d" % n_bytes)

    def bound(self, folder: Path, source: Path) -> Path:
        """The folder, as a mount point at which another folder of the same disk is seen."""
        self._mount(os.fsencode(source), folder, None, _BIND, None)
        return folder

    def read_only(self, folder: Path) -> Path:
        """The folder, in which nothing can be written any more."""
        # What is mounted below stays, and can be written as before.
        self._mount(os.fsencode(folder), folder, None, _BIND | _RECURSIVE, None)
        self._mount(b"none", folder, None, _BIND | _REMOUNT | _READ_ONLY, None)
        return folder

    def remove(self) -> None:
        """Leave the folders without their mounts."""
        while self._folders:
            self._call("umount2", os.fsencode(self._folders.pop()), 2)

    def _mount(self, source: bytes, folder: Path, kind: bytes | None, flags: int, data: bytes | None) -> None:
        if self.reason:
            raise CannotMountError(self.reason)
        self._call("mount", source, os.fsencode(folder), kind, flags, data)
        if not flags & _REMOUNT:
            self._folders.append(folder)

    def _call(self, name: str, *arguments: object) -> None:
        if getattr(self._libc, name)(*arguments) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
