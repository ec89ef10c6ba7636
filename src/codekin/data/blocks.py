"""Files, pipes and gzip: read as blocks of whole lines, with the number of the first line of each, and written.

Memory does not depend on the size of the file: a block is a few megabytes, or one line if a line is longer.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import IO, Any, cast

from codekin._system.files import whole_file
from codekin.data.datasets import DataError

Source = str | Path | IO[bytes]
"""A path, ``"-"`` for the standard input, or a binary stream."""

BLOCK_BYTES = 1 << 22
MAX_LINE_BYTES = 1 << 24
_ZIPPED_BYTES = 1 << 18

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_OTHER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",  # begins like UTF-16
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class _Zstd:
    """A decompressor of zstd, of Python 3.14 or the package zstandard, with the methods of the others."""

    def __init__(self) -> None:
        module: Any
        try:
            module = import_module("compression.zstd")
            self._inflate, self._has_limit = module.ZstdDecompressor(), True
        except ImportError:
            module = import_module("zstandard")
            self._inflate, self._has_limit = module.ZstdDecompressor().decompressobj(), False
        self._error = module.ZstdError

    def decompress(self, block: bytes, most: int) -> bytes:
        try:
            return cast(bytes, self._inflate.decompress(block, *([most] if self._has_limit else [])))
        except self._error as error:
            raise OSError(str(error)) from None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inflate, name)


_COMPRESSIONS: dict[bytes, tuple[str, Callable[[], Any]]] = {
    b"\x1f\x8b": ("gzip", lambda: zlib.decompressobj(wbits=31)),
    b"BZh": ("bzip2", bz2.BZ2Decompressor),
    b"\xfd7zXZ\0": ("xz", lzma.LZMADecompressor),
    b"\x28\xb5\x2f\xfd": ("zstd", _Zstd),
}
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
"""The ends of the names of compressed files."""
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


def not_utf8(block: LineBlock, position: int) -> DataError:
    """The error of a byte that is not UTF-8, with the remedy."""
    column = position - block.text.rfind(b"\n", 0, position)
    reason = f"byte {block.text[position]:#04x} at column {column} is not UTF-8; if it is in another encoding, say"
    return block.error(position, f"{reason} which, such as --encoding latin-1.")


def decoded(block: LineBlock) -> str:
    """The text of a block in UTF-8."""
    try:
        return block.text.decode()
    except UnicodeDecodeError as error:
        raise not_utf8(block, error.start) from None


def source_name(source: Source) -> str:
    """The name of a source in errors."""
    if isinstance(source, (str, Path)):
        return "standard input" if str(source) == "-" else str(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) and name != "<stdin>" else "standard input" if name else "the given stream"


@contextmanager
def opened(source: Source, *, folders: bool = False) -> Iterator[tuple[IO[bytes], str]]:
    """The binary stream of a source, closed afterwards if it was opened here, and its name in errors.

    With ``folders``, that of a folder is empty: its files are opened one by one.
    """
    name = source_name(source)
    if not isinstance(source, (str, Path)):
        if hasattr(source, "encoding"):
            raise TypeError("Data is read from binary streams. Got a text stream; open the file with mode 'rb'.")
        yield source, name
    elif str(source) == "-":
        if sys.stdin is None:
            raise OSError("The standard input is closed, so nothing can be read from it.")
        yield sys.stdin.buffer, name
    else:
        path = Path(source)
        if path.is_dir() and folders:
            yield io.BytesIO(), name
            return
        if path.is_dir():
            raise DataError(name, "this is a folder, not a file.")
        try:
            # Blocks are large, so a buffer would only add a copy.
            stream = path.open("rb", buffering=0)
        except FileNotFoundError:
            raise FileNotFoundError(f"{source}: there is no such file.") from None
        except PermissionError:
            raise PermissionError(f"{source}: reading it is not permitted.") from None
        with stream:
            yield stream, name


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


def byte_blocks(stream: IO[bytes], name: str) -> Iterator[bytes]:
    """The bytes of a stream in blocks of at most ``BLOCK_BYTES``, uncompressed if they begin like a compressed file.

    The stream is read from its current position and need not be seekable. No block is empty.
    """
    # read1 returns what a pipe holds instead of waiting until the block is full.
    read = getattr(stream, "read1", stream.read)
    blocks = iter(lambda: cast(bytes, read(BLOCK_BYTES)), b"")
    head = b""
    while len(head) < max(map(len, _COMPRESSIONS)) and (block := next(blocks, b"")):
        head += block
    if not head:
        return
    magic = next((magic for magic in _COMPRESSIONS if head.startswith(magic)), None)
    if magic is None:
        yield head
        yield from blocks
        return
    # Little at a time: zlib returns a copy of all input that it did not use.
    pieces = (
        block[start : start + _ZIPPED_BYTES]
        for block in chain([head], blocks)
        for start in range(0, len(block), _ZIPPED_BYTES)
    )
    yield from _unzipped(pieces, name, *_COMPRESSIONS[magic])


def _unzipped(blocks: Iterator[bytes], name: str, kind: str, inflater: Callable[[], Any]) -> Iterator[bytes]:
    try:
        inflate = inflater()
    except ImportError:
        raise DataError(name, f"this is {kind}, which needs Python 3.14 or the package zstandard.") from None
    block = next(blocks)
    n_lines = 0
    while block:
        while block or not getattr(inflate, "needs_input", True):
            if inflate.eof:
                if not block.strip(b"\0"):  # padding, which some tools add
                    break
                inflate = inflater()
            try:
                text = inflate.decompress(block, BLOCK_BYTES)
            except (zlib.error, lzma.LZMAError, OSError, EOFError):
                raise DataError(name, f"the {kind} data is damaged here.", line=n_lines + 1) from None
            if text:
                n_lines += text.count(b"\n")
                yield text
            # bzip2 and xz keep the input that they did not use.
            block = getattr(inflate, "unconsumed_tail", b"") or inflate.unused_data
        block = next(blocks, b"")
    if kind == "gzip" and (rest := inflate.flush()):
        n_lines += rest.count(b"\n")
        yield rest
    if not inflate.eof:
        raise DataError(name, f"the {kind} data ends here, before its end mark: the file is cut off.", line=n_lines + 1)


def in_utf8(blocks: Iterator[bytes], encoding: str | None, name: str) -> Iterator[bytes]:
    """Blocks of a text file in UTF-8, from another encoding if that is given or a byte order mark says so."""
    head = next(blocks, b"")
    if encoding is None:
        encoding = next((codec for mark, codec in _OTHER_MARKS.items() if head.startswith(mark)), "utf-8")
    blocks = chain([head], blocks)
    if codecs.lookup(encoding).name == "utf-8":
        yield from blocks
        return
    decoder = codecs.getincrementaldecoder(encoding)()
    n_lines = 0
    for block in chain(blocks, [b""]):
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeError as error:
            start = error.start if isinstance(error, UnicodeDecodeError) else 0
            read = block[:start].decode(encoding, errors="replace")
            reason = f"the bytes after {read[-20:]!r} are not {encoding}; name another --encoding."
            raise DataError(name, reason, line=n_lines + read.count("\n") + 1) from None
        n_lines += text.count("\n")
        if text:
            yield text.encode(errors="surrogatepass")


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
            column = nul + n_pending + 1 if line == first_line else nul - block.rfind(b"\n", 0, nul)
            raise DataError(name, f"a NUL byte at column {column}; {_nul_remedy(block)}", line=line, column=column)
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


def _nul_remedy(block: bytes) -> str:
    """What to do about NUL bytes: in UTF-16 every other byte is one, the first or the second of most letters."""
    head = block[: 1 << 12]
    for start, codec in ((0, "utf-16-be"), (1, "utf-16-le")):
        if head[start::2].count(0) > max(1 + len(head) // 50, 4 * head[1 - start :: 2].count(0)):
            return f"this looks like UTF-16 without a byte order mark: use --encoding {codec}."
    return "text files have none; remove it." if block.count(0) == 1 else "is this a text file?"


def text_lines(source: Source) -> Iterator[tuple[int, str]]:
    """The number and the text of each line of a file in UTF-8."""
    with opened(source) as (stream, name):
        for block in line_blocks(byte_blocks(stream, name), name):
            try:
                text = block.text.decode()
            except UnicodeDecodeError as error:
                raise block.error(error.start, "this line is not UTF-8.") from None
            yield from enumerate(text.split("\n")[:-1], block.first_line)
