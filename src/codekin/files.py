"""Files and folders that appear whole or not at all, whatever interrupts the writing of them, and their checksums.

Until it is whole, a file has a hidden name beside its own, and its writer has it locked. So one of these that nobody
has locked was left by a process that was killed, and the next writer clears it away.
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

from codekin.locks import try_lock


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary stream whose content becomes the file ``path`` when the block ends without an error.

    Until then it is in a hidden file of the same folder; a reader sees the old file or the new one, never a part.

    Parameters
    ----------
    path : path-like
        The file to write. Its folder must exist.

    Yields
    ------
    binary stream

    Examples
    --------
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
    target = Path(path)
    _remove_abandoned(target)
    partial, stream = _new_file(target)
    try:
        with named_in_errors(target), stream:
            yield stream
            stream.flush()
            # Without this, a power cut can leave the new name with none of its content.
            os.fsync(stream.fileno())
            partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A new folder whose content becomes that of the folder ``path`` when the block ends without an error.

    Until then it has a hidden name beside it. What was at ``path`` before stays until the new folder is complete, and
    goes then; where the system can exchange two names, there is no moment without either of them.

    Parameters
    ----------
    path : path-like
        The folder to write. The folder that it is in must exist.

    Yields
    ------
    Path
        Where to write.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as home:
    ...     with whole_folder(f"{home}/model") as folder:
    ...         _ = (folder / "notes.txt").write_text("hello")
    ...         print(Path(home, "model").exists())
    ...     print(Path(home, "model", "notes.txt").read_text())
    False
    hello
    """
    target = Path(path)
    _remove_abandoned(target)
    partial, descriptor = _new_folder(target)
    try:
        yield partial
        _put_in_place(partial, target)
    finally:
        # The new folder, if something went wrong, or the one that it has replaced.
        shutil.rmtree(partial, ignore_errors=True)
        if descriptor is not None:
            os.close(descriptor)


@contextmanager
def output_stream(target: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary stream to a file or to the standard output.

    Parameters
    ----------
    target : path or "-"
        ``"-"`` is the standard output. A file is written by :func:`whole_file`, zipped if its name ends with ``.gz``,
        and always the same bytes for the same content.

    Yields
    ------
    binary stream
    """
    if str(target) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    elif Path(target).suffix == ".gz":
        # Without a name and a time in it, the same content gives the same bytes.
        with whole_file(target) as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as zipped:
            yield cast(IO[bytes], zipped)
    else:
        with whole_file(target) as raw:
            yield raw


@contextmanager
def named_in_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let the error of a write for which there is no room say which file it was for; Python does not.

    Parameters
    ----------
    path : path-like
        The file that is written in the block.

    Yields
    ------
    None
    """
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            error.filename = os.fspath(path)
        raise


def sha256(path: str | os.PathLike[str]) -> str:
    """The SHA-256 checksum of a file, in hexadecimal digits.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    str
    """
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def json_checksum(content: Mapping[str, Any]) -> str:
    """The SHA-256 checksum of a JSON object without its field ``sha256``, in which it is then kept.

    Parameters
    ----------
    content : mapping
        The object; the order of its keys does not matter.

    Returns
    -------
    str
    """
    others = {key: value for key, value in content.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(others, sort_keys=True).encode()).hexdigest()


def _new_file(target: Path) -> tuple[Path, BinaryIO]:
    """A new hidden file beside the target, locked."""
    while True:
        partial = _hidden_name(target)
        stream = partial.open("xb")
        if try_lock(stream.fileno()) and partial.exists():
            return partial, stream
        stream.close()  # another writer has cleared it away in the moment before it was locked


def _new_folder(target: Path) -> tuple[Path, int | None]:
    """A new hidden folder beside the target, and the descriptor that keeps it locked."""
    while True:
        partial = _hidden_name(target)
        partial.mkdir()
        if os.name == "nt":
            return partial, None
        with suppress(FileNotFoundError):
            descriptor = os.open(partial, os.O_RDONLY)
            if try_lock(descriptor) and partial.exists():
                return partial, descriptor
            os.close(descriptor)


def _hidden_name(target: Path) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")


def _remove_abandoned(target: Path) -> None:
    """Clear away what killed processes left of earlier attempts to write the target."""
    for abandoned in target.parent.glob(f".{glob.escape(target.name)}.*.partial"):
        with suppress(OSError):  # gone by now, or not ours to remove
            descriptor = os.open(abandoned, os.O_RDONLY)
            try:
                if try_lock(descriptor) and abandoned.is_dir():
                    shutil.rmtree(abandoned)
                elif try_lock(descriptor):
                    abandoned.unlink()
            finally:
                os.close(descriptor)


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
        previous = _hidden_name(target)
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
