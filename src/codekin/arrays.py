"""Arrays in a safetensors file: written from where they lie in memory, mapped into memory when read.

The format is a header in JSON and the bytes of the arrays, so that no file can run code.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

_DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U64": np.dtype("<u8"),
    "U32": np.dtype("<u4"),
    "U16": np.dtype("<u2"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays to a file; when it returns, they are on the disk.

    Parameters
    ----------
    path : Path
        The file; what it held before is gone, whatever happens.
    arrays : mapping of str to ndarray
        Contiguous ones are not copied.
    """
    from safetensors.numpy import save_file

    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, path)
    with path.open("rb") as file:
        os.fsync(file.fileno())


def read_arrays(path: Path) -> Arrays:
    """The arrays of a file, memory-mapped and read-only.

    Parameters
    ----------
    path : Path
        A safetensors file.

    Returns
    -------
    dict of str to ndarray

    Raises
    ------
    ValueError
        If it is no such file.
    """
    try:
        with path.open("rb") as file:
            (header_size,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(header_size))
        start = 8 + header_size
        content = np.memmap(path, dtype=np.uint8, mode="r", offset=0)
        arrays = {}
        for name, facts in header.items():
            if name == "__metadata__":
                continue
            first, last = facts["data_offsets"]
            raw = content[start + first : start + last]
            arrays[name] = raw.view(_DTYPES[facts["dtype"]]).reshape(facts["shape"])
        return arrays
    except (struct.error, json.JSONDecodeError, KeyError, ValueError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a readable safetensors file: {error}.") from error
