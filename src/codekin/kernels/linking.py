"""Object files of compiled kernels as images, for :mod:`codekin.kernels.calling` to put into memory without LLVM."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from mmap import PAGESIZE
from typing import Any, NamedTuple

ABSOLUTE = 1
"""The kind of all relocations of Numba's code: 64 bits, the address of a symbol plus a number."""
RELOCATIONS, SYMBOLS, NO_BITS = 4, 2, 8
IS_LOADED, IS_CODE = 2, 4
COMMON = 0xFFF2


class Section(NamedTuple):
    """A section header of an ELF file of 64 bits."""

    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


def image_of(code: bytes, entry: str, variables: Sequence[str]) -> tuple[dict[str, Any], bytes] | None:
    """Code and constants as they lie in memory, and where what is in them; None if the file has anything unexpected.

    The first ``code`` bytes are whole pages of code. At each of the places ``own``, the address of the image is to be
    added; at those of ``needed``, the address of the function or object of that name.
    """
    (start,) = struct.unpack_from("<Q", code, 0x28)
    n_sections, named = struct.unpack_from("<HH", code, 0x3C)
    sections = [Section(*struct.unpack_from("<IIQQQQIIQQ", code, start + 64 * k)) for k in range(n_sections)]

    def text(table: int, place: int) -> str:
        first = sections[table].offset + place
        return code[first : code.index(b"\0", first)].decode()

    loaded = [k for k, each in enumerate(sections) if each.flags & IS_LOADED]
    loaded = [k for k in loaded if text(named, sections[k].name) != ".eh_frame"]  # for exceptions of C++
    image, places, n_code = bytearray(), dict[int, int](), 0
    for is_code in (True, False):
        for k in loaded:
            own = sections[k]
            if bool(own.flags & IS_CODE) == is_code:
                image += bytes(-len(image) % max(own.alignment, 1))
                places[k] = len(image)
                image += bytes(own.size) if own.kind == NO_BITS else code[own.offset : own.offset + own.size]
        image += bytes(-len(image) % (PAGESIZE if is_code else 8))
        n_code = n_code or len(image)
    (table,) = (each for each in sections if each.kind == SYMBOLS)
    symbols: list[tuple[str, int | None]] = []
    for k in range(table.size // 24):
        name, _, _, section, value, size = struct.unpack_from("<IBBHQQ", code, table.offset + 24 * k)
        if section == COMMON:  # a variable of this size, with its alignment for a value
            image += bytes(-len(image) % max(value, 8))
            symbols.append((text(table.link, name), len(image)))
            image += bytes(size)
        else:
            symbols.append((text(table.link, name), places[section] + value if section in places else None))
    own_places: list[int] = []
    needed: dict[str, list[int]] = {}
    for each in sections:
        if each.kind == RELOCATIONS and each.info in places:
            for k in range(each.size // 24):
                offset, what, addend = struct.unpack_from("<QQq", code, each.offset + 24 * k)
                if what & 0xFFFFFFFF != ABSOLUTE:
                    return None
                name_, found = symbols[what >> 32]
                (own_places if found is not None else needed.setdefault(name_, [])).append(places[each.info] + offset)
                struct.pack_into("<q", image, places[each.info] + offset, (found or 0) + addend)
    at = {name: place for name, place in symbols if place is not None}
    facts = {"size": len(image), "code": n_code, "entry": at[entry], "variables": [at[name] for name in variables]}
    return {**facts, "own": own_places, "needed": needed}, bytes(image)
