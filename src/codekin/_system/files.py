"""Files and folders that appear whole or not at all and survive a power cut, locks on them, and checksums.

What is incomplete has a hidden name next to its own and is locked by its writer; the system releases the lock when the
process ends, even if it is killed. Something hidden without a lock was left by a killed process; the next writer
removes it. The lock is on the file or folder that is written, so a model's folder holds the model and nothing else; the
package filelock locks a separate file and could replace only the call of ``flock``.

A complete folder is renamed. A mount point cannot be renamed, nor can a folder in a place where we may not write: there
the new files are created in a hidden folder inside and then renamed one by one.
"""

from __future__ import annotations

import errno
import glob
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO


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


def try_lock(descriptor: int) -> bool:
    """Lock an open file or folder until the descriptor is closed; False if another process has locked it.

    Always True where there are no locks: on Windows, and on file systems that don't support them.
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
    """Lock a folder while the block runs; FileExistsError with the message ``refusal`` if another process has.

    The folder is created if it does not exist, and removed if it is empty at the end.
    """
    if os.name == "nt":  # folders cannot be opened there, so there is no lock
        yield
        return
    descriptor = None
    while descriptor is None:  # again if another process removes it before it is opened
        make_folder(folder)
        with suppress(FileNotFoundError):
            descriptor = os.open(folder, os.O_RDONLY)
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


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary stream whose content becomes the file ``path`` when the block ends without an error.

    Until then the content is in a hidden file of the same folder, which must exist: readers see the old file or the new
    one, never a part. Symbolic links are followed. Devices and pipes are written directly. A file that is a mount point
    cannot be replaced, so the finished content is copied into it.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder) / "page.html") as stream:
    ...         print(stream.write(b"hello"), (Path(folder) / "page.html").exists())
    ...     print((Path(folder) / "page.html").read_text())
    5 False
    hello
    """
    if Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir():
        with named_in_errors(path), Path(path).open("wb") as device:
            yield device
        return
    target = followed(path)
    remove_abandoned(target.parent, target.name)
    while True:
        partial = hidden_name(target.parent, target.name)
        stream = partial.open("xb")
        if try_lock(stream.fileno()) and partial.exists():
            break
        stream.close()  # another writer removed it just before it was locked
    try:
        with named_in_errors(target), stream:
            yield stream
            stream.flush()
            # Without this, a power cut can leave the new name with none of its content.
            os.fsync(stream.fileno())
            _put_file_in_place(partial, target)
        sync_folder(target.parent)
    finally:
        partial.unlink(missing_ok=True)


def followed(path: str | os.PathLike[str]) -> Path:
    """The file or folder, existing or not, that a path leads to; OSError if symbolic links form a loop."""
    target = Path(path)
    if target.is_symlink() or target.name in ("", ".."):
        target = Path(os.path.realpath(target))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
    return target


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
    """The SHA-256 checksum of a JSON object without its field ``sha256``; the order of the keys does not matter."""
    others = {key: value for key, value in content.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(others, sort_keys=True).encode()).hexdigest()


def hidden_name(place: Path, name: str) -> Path:
    """A hidden path in the folder ``place`` for what is called ``name`` once complete; empty for several files."""
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


def _put_file_in_place(complete: Path, target: Path) -> None:
    """Rename a complete file to its name, or copy it if the target is a mount point, which cannot be replaced."""
    try:
        complete.replace(target)
    except OSError as error:
        if error.errno not in (errno.EBUSY, errno.EXDEV):
            raise
        shutil.copyfile(complete, target)
        with target.open("rb+") as stream:
            os.fsync(stream.fileno())


FIXED = (errno.EBUSY, errno.EXDEV, errno.EACCES, errno.EPERM)
"""Errors of renaming a folder that cannot be renamed: a mount point, a lower layer, or not permitted."""


@contextmanager
def whole_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A new folder whose content becomes that of the folder ``path`` when the block ends without an error.

    Until then it has a hidden name next to ``path``, whose parents are made if there are none. What was at ``path``
    stays until the new folder is complete; where the system can exchange two names, ``path`` exists at every moment.
    Symbolic links are followed. A folder that :func:`is_fixed` holds some old and some new files for a moment; its
    hidden files stay.
    """
    target = followed(path)
    if is_fixed(target):
        with whole_files(target) as inside:
            yield inside
            new = {entry.name for entry in inside.iterdir()}
        for other in visible(target):
            if other.name not in new:
                shutil.rmtree(other) if other.is_dir() else other.unlink(missing_ok=True)
        return
    make_folder(target.parent)
    with _new_folder(target.parent, target.name) as partial:
        yield partial
        sync_tree(partial)
        _put_folder_in_place(partial, target)
        sync_folder(target.parent)


@contextmanager
def whole_files(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A new folder whose files move into the folder ``path`` when the block ends; none do if it raises an error.

    Until then it has a hidden name inside that folder. Files of the same names are replaced, others stay.
    """
    target = followed(path)
    with _new_folder(target, "") as partial:
        yield partial
        sync_tree(partial)
        for file in sorted(partial.iterdir()):
            file.replace(target / file.name)
        sync_folder(target)


def check_folder(path: str | os.PathLike[str]) -> None:
    """Raise OSError if :func:`whole_folder` could not write this folder; its parents need not exist."""
    target = followed(path)
    place, name = (target, "") if is_fixed(target) else (target.parent, target.name)
    while not os.path.lexists(place):
        place = place.parent
    try:
        with _new_folder(place, name):
            pass
    except OSError as error:
        error.filename = os.fspath(path)
        raise


def beside(path: str | os.PathLike[str], suffix: str) -> Path:
    """Where to keep what belongs to a folder: next to it, or hidden in it if :func:`is_fixed`, as volumes are."""
    target = followed(path)
    return target / f".{suffix}" if is_fixed(target) else target.with_name(f"{target.name}.{suffix}")


def is_fixed(folder: Path) -> bool:
    """Whether a folder exists and cannot be renamed: a mount point, or in a folder where we may not write."""
    if not folder.is_dir():
        return False
    target = followed(folder)
    try:
        with _new_folder(target.parent, target.name) as full:
            # A folder cannot replace one that is not empty, but the error tells whether it could be renamed at all.
            (full / "something").touch()
            try:
                target.rename(full)
            except OSError as error:
                return error.errno in FIXED
            full.rename(target)  # undo it
            return False
    except OSError:
        return True


def visible(folder: Path) -> list[Path]:
    """The entries of a folder, sorted, without hidden ones and the ``lost+found`` of a file system's root."""
    return sorted(path for path in folder.iterdir() if not path.name.startswith(".") and path.name != "lost+found")


def bytes_in(folder: str | os.PathLike[str]) -> int:
    """The size of the visible files of a folder on disk."""
    return sum(path.stat().st_size for path in visible(Path(folder)))


@contextmanager
def _new_folder(place: Path, name: str) -> Iterator[Path]:
    """A new hidden folder, locked, and removed after the block unless it was renamed."""
    remove_abandoned(place, name)
    partial, descriptor = _new_locked_folder(place, name)
    try:
        yield partial
    finally:
        # The new folder if something went wrong, otherwise the old one that it was exchanged with.
        shutil.rmtree(partial, ignore_errors=True)
        if descriptor is not None:
            os.close(descriptor)


def _new_locked_folder(place: Path, name: str) -> tuple[Path, int | None]:
    """A new hidden folder, and the descriptor that keeps it locked."""
    while True:
        partial = hidden_name(place, name)
        partial.mkdir()
        if os.name == "nt":
            return partial, None
        with suppress(FileNotFoundError):
            descriptor = os.open(partial, os.O_RDONLY)
            if try_lock(descriptor) and partial.exists():
                return partial, descriptor
            os.close(descriptor)  # another writer removed it just before it was locked


def _put_folder_in_place(complete: Path, target: Path) -> None:
    """Rename a complete folder to its name; a folder of that name gets the other name or is removed."""
    while True:
        try:
            complete.rename(target)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        if _exchange(complete, target):
            return
        previous = hidden_name(target.parent, target.name)
        with suppress(FileNotFoundError):  # another writer renamed it first; its folder is replaced in the next round
            target.rename(previous)
            try:
                complete.rename(target)
            except OSError:
                previous.rename(target)
                raise
            shutil.rmtree(previous, ignore_errors=True)
            return


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two names atomically; False if the system cannot."""
    import ctypes

    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):  # not Linux, or an old one
        return False
    here, exchanging = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return bool(rename(here, os.fsencode(one), here, os.fsencode(other), exchanging) == 0)
