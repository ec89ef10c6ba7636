"""Files that appear whole or not at all, even if the writer is killed, and their checksums.

An incomplete file has a hidden name in the same folder and is locked by its writer. One without a lock was left by a
killed process; the next writer removes it.
"""

from __future__ import annotations

import errno
import glob
import gzip
import hashlib
import json
import os
import secrets
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from codekin._system.disk import sync_folder
from codekin._system.locks import try_lock


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary stream whose content becomes the file ``path`` when the block ends without an error.

    Until then the content is in a hidden file of the same folder: readers see the old file or the new one, never a
    part. Symbolic links are followed. Devices and pipes are written directly. A file that is a mount point cannot be
    replaced, so the finished content is copied into it.

    The folder must exist.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     page = Path(folder) / "page.html"
    ...     with whole_file(page) as stream:
    ...         _ = stream.write(b"hello")
    ...         print(page.exists())
    ...     print(page.read_text())
    False
    hello
    """
    if _is_device(path):
        with named_in_errors(path), Path(path).open("wb") as device:
            yield device
        return
    target = followed(path)
    remove_abandoned(target.parent, target.name)
    partial, stream = _new_file(target)
    try:
        with named_in_errors(target), stream:
            yield stream
            stream.flush()
            # Without this, a power cut can leave the new name with none of its content.
            os.fsync(stream.fileno())
            _put_in_place(partial, target)
        sync_folder(target.parent)
    finally:
        partial.unlink(missing_ok=True)


def followed(path: str | os.PathLike[str]) -> Path:
    """The file or folder, existing or not, that a path leads to: the path itself unless it is a symbolic link.

    Raises OSError if links form a loop.
    """
    target = Path(path)
    if target.is_symlink() or target.name in ("", ".."):
        target = Path(os.path.realpath(target))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
    return target


@contextmanager
def output_stream(target: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary stream to a file or to the standard output.

    ``"-"`` is the standard output. A file is written by :func:`whole_file`, compressed if its name ends with ``.gz``;
    the same content gives the same bytes.
    """
    if str(target) == "-":
        if sys.stdout is None:
            raise OSError("The standard output is closed, so nothing can be written to it.")
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    elif Path(target).suffix == ".gz":
        # No file name and no time, so that the same content gives the same bytes.
        with whole_file(target) as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as zipped:
            yield cast(IO[bytes], zipped)
    else:
        with whole_file(target) as raw:
            yield raw


@contextmanager
def named_in_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Add the file's name to errors about a full disk, which Python raises without it."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            error.filename = os.fspath(path)
        raise


def sha256(path: str | os.PathLike[str]) -> str:
    """The SHA-256 checksum of a file, in hexadecimal digits."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def json_checksum(content: Mapping[str, Any]) -> str:
    """The SHA-256 checksum of a JSON object, ignoring the field ``sha256`` in which the checksum is stored.

    The order of the keys does not matter.
    """
    others = {key: value for key, value in content.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(others, sort_keys=True).encode()).hexdigest()


def _new_file(target: Path) -> tuple[Path, BinaryIO]:
    """A new hidden file next to the target, locked."""
    while True:
        partial = hidden_name(target.parent, target.name)
        stream = partial.open("xb")
        if try_lock(stream.fileno()) and partial.exists():
            return partial, stream
        stream.close()  # another writer removed it just before it was locked


def hidden_name(place: Path, name: str) -> Path:
    """A hidden path in the folder ``place`` for something that is called ``name`` once it is complete.

    The name is empty for a temporary folder whose files move into ``place`` under their own names.
    """
    return place / f".{name}.{secrets.token_hex(4)}.partial"


def remove_abandoned(place: Path, name: str) -> None:
    """Remove what killed processes left of earlier attempts to write ``name`` in the folder ``place``."""
    for abandoned in place.glob(f".{glob.escape(name)}.*.partial"):
        with suppress(OSError):  # already gone, or not ours to remove
            descriptor = os.open(abandoned, os.O_RDONLY)
            try:
                if try_lock(descriptor) and abandoned.is_dir():
                    shutil.rmtree(abandoned)
                elif try_lock(descriptor):
                    abandoned.unlink()
            finally:
                os.close(descriptor)


def _is_device(path: str | os.PathLike[str]) -> bool:
    """Whether the path exists and is neither a file nor a folder."""
    target = Path(path)
    return target.exists() and not target.is_file() and not target.is_dir()


def _put_in_place(complete: Path, target: Path) -> None:
    """Rename a complete file to its name, or copy it if the target is a mount point, which cannot be replaced."""
    try:
        complete.replace(target)
    except OSError as error:
        if error.errno not in (errno.EBUSY, errno.EXDEV):
            raise
        shutil.copyfile(complete, target)
        with target.open("rb+") as stream:
            os.fsync(stream.fileno())
