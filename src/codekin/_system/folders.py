"""Folders that appear whole or not at all, and sets of files that appear all or none.

A folder is made under a hidden name beside its own and renamed when it is complete. A mount point cannot be renamed,
nor can a folder that stands where we may not write: there the new files are made in a hidden folder inside, and then
renamed one by one.
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
"""What systems say of a folder that they do not rename: a mount point, of another layer, of another user."""


@contextmanager
def whole_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A new folder whose content becomes that of the folder ``path`` when the block ends without an error.

    Until then it has a hidden name beside it. What was at ``path`` before stays until the new folder is complete, and
    goes then; where the system can exchange two names, there is no moment without either of them. A symbolic link is
    followed. In a folder that :func:`is_fixed`, there is a moment with some files of each; hidden ones stay.

    The folder that it is in must exist.

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
    """A new folder whose files go into the folder ``path`` when the block ends without an error, all or none.

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
    """Raise if :func:`whole_folder` could not write a folder; nothing is left of the attempt.

    Those that it is in need not be there. Raises OSError if nothing can be written.
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
    """Whether a folder is there and cannot be renamed: a mount point, or in a folder where we may not write.

    The folder need not be there yet.
    """
    if not folder.is_dir():
        return False
    target = followed(folder)
    try:
        with _new_folder(target.parent, target.name) as full:
            # No folder takes the place of one that is not empty, but the reason tells whether this one could be moved.
            (full / "something").touch()
            return _refusal(target, full) in FIXED
    except OSError:
        return True


def visible(folder: Path) -> list[Path]:
    """What is in a folder, sorted, without hidden names and what a file system has in its topmost folder."""
    return sorted(path for path in folder.iterdir() if not path.name.startswith(".") and path.name != "lost+found")


@contextmanager
def _new_folder(place: Path, name: str) -> Iterator[Path]:
    """A new hidden folder for the time of the block, locked; a name that it loses in the block is not missed."""
    remove_abandoned(place, name)
    partial, descriptor = _locked_folder(place, name)
    try:
        yield partial
    finally:
        # The new folder, if something went wrong, or the one that it has replaced.
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
            os.close(descriptor)  # another writer has cleared it away in the moment before it was locked


def _refusal(folder: Path, full: Path) -> int | None:
    """Why a folder cannot take the place of one that is not empty."""
    try:
        folder.rename(full)
    except OSError as error:
        return error.errno
    full.rename(folder)  # a system that does it all the same
    return None


def _put_in_place(complete: Path, target: Path) -> None:
    """Rename a complete folder to its name; what was there before is then under the other name, or gone."""
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
        with suppress(FileNotFoundError):  # another writer was faster; its folder is replaced in the next round
            target.rename(previous)
            try:
                complete.rename(target)
            except OSError:
                previous.rename(target)
                raise
            shutil.rmtree(previous, ignore_errors=True)
            return


def _exchange(one: Path, other: Path) -> bool:
    """Let two names change places at once; False where the system cannot."""
    import ctypes

    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):  # not Linux, or an old one
        return False
    here, exchanging = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return bool(rename(here, os.fsencode(one), here, os.fsencode(other), exchanging) == 0)
