"""Folders that appear whole or not at all, and sets of files that replace others once all are written.

A folder is created under a hidden name next to its own and renamed when it is complete. A mount point cannot be
renamed, nor can a folder in a place where we may not write: there the new files are created in a hidden folder inside
and then renamed one by one.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from codekin._system.disk import sync_folder, sync_tree
from codekin._system.files import followed, hidden_name, remove_abandoned
from codekin._system.locks import try_lock

FIXED = (errno.EBUSY, errno.EXDEV, errno.EACCES, errno.EPERM)
"""Errors of renaming a folder that cannot be renamed: a mount point, a lower layer, or not permitted."""


@contextmanager
def whole_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A new folder whose content becomes that of the folder ``path`` when the block ends without an error.

    Until then it has a hidden name next to ``path``. What was at ``path`` stays until the new folder is complete and is
    then removed; where the system can exchange two names, ``path`` exists at every moment. Symbolic links are followed.
    A folder that :func:`is_fixed` holds some old and some new files for a moment; its hidden files stay.

    The parent folder must exist.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as home:
    ...     with whole_folder(f"{home}/model") as folder:
    ...         _ = (folder / "notes.txt").write_text("hello")
    ...         print(Path(home, "model").exists())
    ...     print(Path(home, "model", "notes.txt").read_text())
    False
    hello
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
    with _new_folder(target.parent, target.name) as partial:
        yield partial
        sync_tree(partial)
        _put_in_place(partial, target)
        sync_folder(target.parent)


@contextmanager
def whole_files(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A new folder whose files move into the folder ``path`` when the block ends; none do if it raises an error.

    Until then it has a hidden name inside that folder. The files are renamed one by one: those of the same names are
    replaced, others stay.
    """
    target = followed(path)
    with _new_folder(target, "") as partial:
        yield partial
        sync_tree(partial)
        for file in sorted(partial.iterdir()):
            file.replace(target / file.name)
        sync_folder(target)


def check_folder(path: str | os.PathLike[str]) -> None:
    """Raise OSError if :func:`whole_folder` could not write this folder. The attempt leaves nothing behind.

    The parent folders need not exist.
    """
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


def is_fixed(folder: Path) -> bool:
    """Whether a folder exists and cannot be renamed: a mount point, or in a folder where we may not write."""
    if not folder.is_dir():
        return False
    target = followed(folder)
    try:
        with _new_folder(target.parent, target.name) as full:
            # A folder cannot replace one that is not empty, but the error tells whether it could be renamed at all.
            (full / "something").touch()
            return _refusal(target, full) in FIXED
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
    partial, descriptor = _locked_folder(place, name)
    try:
        yield partial
    finally:
        # The new folder if something went wrong, otherwise the old one that it was exchanged with.
        shutil.rmtree(partial, ignore_errors=True)
        if descriptor is not None:
            os.close(descriptor)


def _locked_folder(place: Path, name: str) -> tuple[Path, int | None]:
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


def _refusal(folder: Path, full: Path) -> int | None:
    """The error number of renaming a folder to one that is not empty; None if the system allows it."""
    try:
        folder.rename(full)
    except OSError as error:
        return error.errno
    full.rename(folder)  # undo it
    return None


def _put_in_place(complete: Path, target: Path) -> None:
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
