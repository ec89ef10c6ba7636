"""Files that appear whole or not at all, whatever interrupts the writing of them, and their checksums."""

from __future__ import annotations

import gzip
import hashlib
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, cast


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
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        with partial.open("xb") as stream:
            yield stream
            stream.flush()
            # Without this, a power cut can leave the new name with none of its content.
            os.fsync(stream.fileno())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


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
