"""Files, pipes and gzip as blocks of whole lines, with the number of the first line of each.

Memory does not depend on the size of the file: a block is a few megabytes, or one line if a line is longer.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, cast

from codekin.datasets.samples import DataError

Source = str | Path | IO[bytes]
"""A path, ``"-"`` for the standard input, or a binary stream."""

BLOCK_BYTES = 1 << 22
MAX_LINE_BYTES = 1 << 24
_ZIPPED_BYTES = 1 << 18

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"


@dataclass(frozen=True)
class LineBlock:
    """Some whole lines of a file; the last one ends with a newline too."""

    text: bytes
    first_line: int
    n_lines: int
    source: str

    def line_at(self, position: int) -> int:
        """The line number, within the file, of a byte."""
        return self.first_line + self.text.count(b"\n", 0, position)

    def error(self, position: int, reason: str) -> DataError:
        """An error at a byte."""
        column = position - self.text.rfind(b"\n", 0, position)
        return DataError(self.source, reason, line=self.line_at(position), column=column)


def source_name(source: Source) -> str:
    """The name of a source in errors."""
    if isinstance(source, (str, Path)):
        return "standard input" if str(source) == "-" else str(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) and name != "<stdin>" else "standard input" if name else "the given stream"


@contextmanager
def opened(source: Source) -> Iterator[IO[bytes]]:
    """The binary stream of a source; closed afterwards if it was opened here."""
    if not isinstance(source, (str, Path)):
        if hasattr(source, "encoding"):
            raise TypeError("Data is read from binary streams. Got a text stream; open the file with mode 'rb'.")
        yield source
    elif str(source) == "-":
        if sys.stdin is None:
            raise OSError("The standard input is closed, so nothing can be read from it.")
        yield sys.stdin.buffer
    else:
        path = Path(source)
        if path.is_dir():
            raise DataError(str(source), "this is a folder, not a file.")
        try:
            # Blocks are large, so a buffer would only add a copy.
            stream = path.open("rb", buffering=0)
        except FileNotFoundError:
            raise FileNotFoundError(f"{source}: there is no such file.") from None
        except PermissionError:
            raise PermissionError(f"{source}: reading it is not permitted.") from None
        with stream:
            yield stream


def byte_blocks(stream: IO[bytes], name: str) -> Iterator[bytes]:
    """The bytes of a stream, uncompressed if they begin like gzip, in blocks of at most ``BLOCK_BYTES``.

    The stream is read from its current position and need not be seekable. No block is empty.
    """
    # read1 returns what a pipe holds instead of waiting until the block is full.
    read = getattr(stream, "read1", stream.read)
    blocks = iter(lambda: cast(bytes, read(BLOCK_BYTES)), b"")
    head = b""
    while len(head) < len(ZIP_MAGIC) and (block := next(blocks, b"")):
        head += block
    if not head:
        return
    if not head.startswith(_GZIP_MAGIC):
        yield head
        yield from blocks
        return
    # Little at a time: zlib returns a copy of all input that it did not use.
    pieces = (
        block[start : start + _ZIPPED_BYTES]
        for block in chain([head], blocks)
        for start in range(0, len(block), _ZIPPED_BYTES)
    )
    yield from _unzipped(pieces, name)


def _unzipped(blocks: Iterator[bytes], name: str) -> Iterator[bytes]:
    inflate = zlib.decompressobj(wbits=31)
    block = next(blocks)
    n_lines = 0
    while block:
        while block:
            if inflate.eof:
                if not block.strip(b"\0"):  # padding, which some tools add
                    break
                inflate = zlib.decompressobj(wbits=31)
            try:
                text = inflate.decompress(block, BLOCK_BYTES)
            except zlib.error:
                raise DataError(name, "the gzip data is damaged here.", line=n_lines + 1) from None
            if text:
                n_lines += text.count(b"\n")
                yield text
            block = inflate.unconsumed_tail or inflate.unused_data
        block = next(blocks, b"")
    if rest := inflate.flush():
        n_lines += rest.count(b"\n")
        yield rest
    if not inflate.eof:
        raise DataError(name, "the gzip data ends here, before its end mark: the file is cut off.", line=n_lines + 1)


def line_blocks(blocks: Iterable[bytes], name: str) -> Iterator[LineBlock]:
    """Blocks of bytes, cut at the ends of lines.

    A byte order mark at the start is dropped, and the last line gets the newline that it may lack. NUL bytes and
    endless lines, which text files do not have, are errors.
    """
    first_line = 1
    pieces: list[bytes] = []  # the line that is not complete yet
    n_pending = 0
    mark = _BYTE_ORDER_MARK
    for block in blocks:
        nul = block.find(b"\0")
        if nul >= 0:
            line = first_line + block.count(b"\n", 0, nul)
            raise DataError(name, "a NUL byte; is this a text file in UTF-8?", line=line)
        cut = block.rfind(b"\n") + 1
        if cut:
            text = b"".join([*pieces, block[:cut]])
            pieces, n_pending = [], 0
            n_lines = text.count(b"\n")
            yield LineBlock(text.removeprefix(mark), first_line, n_lines, name)
            first_line += n_lines
            mark = b""
        if cut < len(block):
            pieces.append(block[cut:])
            n_pending += len(block) - cut
        if n_pending > MAX_LINE_BYTES:
            limit = MAX_LINE_BYTES >> 20
            raise DataError(name, f"this line is longer than {limit} MiB, the longest allowed.", line=first_line)
    if last := b"".join(pieces).removeprefix(mark):
        yield LineBlock(last + b"\n", first_line, 1, name)


def text_lines(source: Source, name: str) -> Iterator[tuple[int, str]]:
    """The number and the text of each line of a file in UTF-8."""
    with opened(source) as stream:
        for block in line_blocks(byte_blocks(stream, name), name):
            try:
                text = block.text.decode()
            except UnicodeDecodeError as error:
                raise block.error(error.start, "this line is not UTF-8.") from None
            yield from enumerate(text.split("\n")[:-1], block.first_line)
