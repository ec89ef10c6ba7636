"""A description and arrays as text inside a page, which ``unpacked`` of ``engine.js`` reads."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]
KINDS = {
    "int8": "i1",
    "uint8": "u1",
    "int16": "i2",
    "uint16": "u2",
    "int32": "i4",
    "uint32": "u4",
    "float32": "f4",
}
"""The types of arrays, as the script calls them; all others become double precision."""


def packed(description: dict[str, Any], arrays: Arrays) -> str:
    """The description and the arrays, zipped, in letters: the length of the JSON, the JSON, the arrays."""
    places: dict[str, Any] = {}
    parts: list[bytes] = []
    # Places depend on the length of the JSON, and that on the places: room for both is left at the beginning.
    start = 8 * (len(json.dumps(description)) // 8 + 16 * (len(arrays) + 2))
    offset = start
    for name, array in arrays.items():
        stored = np.ascontiguousarray(array)
        places[name] = [KINDS.get(stored.dtype.name, "f8"), offset, stored.size]
        if stored.dtype.name not in KINDS:
            stored = stored.astype(np.float64)
        content = stored.astype(stored.dtype.newbyteorder("<")).tobytes()
        parts.append(content + b"\0" * (-len(content) % 8))
        offset += len(parts[-1])
    text = json.dumps({**description, "arrays": places}).encode()
    head = len(text).to_bytes(4, "little") + text
    whole = head + b"\0" * (start - len(head)) + b"".join(parts)
    return base64.b64encode(gzip.compress(whole, compresslevel=9, mtime=0)).decode()
