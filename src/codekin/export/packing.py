"""A description and arrays as text inside a page, which ``unpacked`` of ``engine.js`` reads."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]
KINDS = ("i1", "u1", "i2", "u2", "i4", "u4", "f4")
"""The types of arrays, as the script calls them; all others become double precision."""


def packed(description: dict[str, Any], arrays: Arrays) -> str:
    """The description and the arrays, zipped, in letters: the length of the JSON, the JSON, the arrays."""
    places: dict[str, Any] = {}
    parts: list[bytes] = []
    # Places depend on the length of the JSON, and that on the places: room for both is left at the beginning.
    start = 8 * (len(json.dumps(description)) // 8 + 16 * (len(arrays) + 2))
    offset = start
    for name, array in arrays.items():
        kind = array.dtype.str[1:] if array.dtype.str[1:] in KINDS else "f8"
        places[name] = [kind, offset, array.size]
        content = array.astype(f"<{kind}").tobytes()
        parts.append(content + b"\0" * (-len(content) % 8))
        offset += len(parts[-1])
    text = json.dumps({**description, "arrays": places}).encode()
    head = len(text).to_bytes(4, "little") + text
    whole = head + b"\0" * (start - len(head)) + b"".join(parts)
    return base64.b64encode(gzip.compress(whole, compresslevel=9, mtime=0)).decode()
