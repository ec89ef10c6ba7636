"""A file appears whole or not at all, whatever interrupts the writing of it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


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
