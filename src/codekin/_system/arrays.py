"""Arrays in safetensors and .npy files, and checks of arrays: indices of others, and numbers of a reasonable size.

Arrays are written without a copy and memory-mapped when read. A safetensors file is a JSON header followed by the bytes
of the arrays, so it cannot run code. Indices are checked before they are used, in the type stored in the file:
converting unsigned numbers to signed ones, or adding them up, can overflow.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import Any, TypeVar, cast
from zipfile import BadZipFile

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import sparse

from codekin._system.files import whole_file
from codekin._system.rows import StoredRows

Arrays = dict[str, NDArray[Any]]
AnyArray = TypeVar("AnyArray", bound=NDArray[Any])

_BROKEN = (ValueError, TypeError, KeyError, OverflowError, RecursionError)
NOT_AN_ARRAY = (*_BROKEN, EOFError, SyntaxError, TokenError, BadZipFile)
"""What NumPy raises for a file that is not a .npy file. Some come from its parsers of Python literals and of ZIP
archives, which it takes any file that begins with PK for."""

MAX_SINGLE = 1e15
"""In single precision, a sum of a hundred million squares of larger numbers may overflow."""
MAX_DOUBLE = 1e100
"""The same for double precision, with some room for weights."""
MIN_SINGLE = 1e-15
"""If all numbers are smaller than this, results in single precision may underflow to zero."""

# In the order in which the safetensors package writes them: every array starts at a multiple of its item size.
_KINDS = "U64 <u8, I64 <i8, F64 <f8, F32 <f4, U32 <u4, I32 <i4, F16 <f2, U16 <u2, I16 <i2, I8 i1, U8 u1, BOOL ?"
_DTYPES: dict[str, np.dtype[Any]] = {name: np.dtype(kind) for name, kind in map(str.split, _KINDS.split(", "))}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays to a file, which appears whole or not at all, and flush it to disk."""
    header, names = _header(arrays)
    with whole_file(path) as stream:
        stream.write(header)
        for name in names:
            array = np.ascontiguousarray(arrays[name], dtype=arrays[name].dtype.newbyteorder("<"))
            stream.write(array.reshape(-1).view(np.uint8).data)


def n_bytes_of(arrays: Mapping[str, NDArray[Any]]) -> int:
    """The size of the file that :func:`write_arrays` writes."""
    return len(_header(arrays)[0]) + sum(array.nbytes for array in arrays.values())


def _header(arrays: Mapping[str, NDArray[Any]]) -> tuple[bytes, list[str]]:
    """The header of the file, and the names of the arrays in the order in which they are written."""
    kinds = {name: _NAMES[array.dtype.newbyteorder("<")] for name, array in arrays.items()}
    names = sorted(arrays, key=lambda name: (list(_DTYPES).index(kinds[name]), name))
    header: dict[str, Any] = {}
    end = 0
    for name in names:
        start, end = end, end + arrays[name].nbytes
        header[name] = {"dtype": kinds[name], "shape": arrays[name].shape, "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text, names


def read_arrays(path: Path) -> Arrays:
    """The arrays of a file, memory-mapped and read-only. Raises ValueError if it is not a safetensors file."""
    try:
        with path.open("rb") as file:
            (header_size,) = struct.unpack("<Q", file.read(8))
            start = 8 + header_size
            if start > path.stat().st_size:
                raise ValueError("it is shorter than its header")
            header = json.loads(file.read(header_size))
        header.pop("__metadata__", None)
        content = np.memmap(path, dtype=np.uint8, mode="r", offset=0)
        end, arrays = start, {}
        for name, facts in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
            dtype, shape, first = _DTYPES[facts["dtype"]], facts["shape"], end
            if not all(isinstance(size, int) and size >= 0 for size in shape):
                raise ValueError(f"the array {name!r} has the shape {shape}")
            end = first + prod(shape) * dtype.itemsize
            # Without gaps or overlaps: arrays that share bytes could be larger than the file.
            if facts["data_offsets"] != [first - start, end - start] or end > len(content) or first % dtype.itemsize:
                raise ValueError(f"the array {name!r} does not start where the one before it ends")
            arrays[name] = content[first:end].view(dtype).reshape(shape)
        if end != len(content):
            raise ValueError("there are more bytes after its last array")
        return {name: arrays[name] for name in header}
    except (*_BROKEN, struct.error, AttributeError) as error:
        raise ValueError(f"{path} is not a readable safetensors file: {error}.") from error


def frozen(array: AnyArray) -> AnyArray:
    """The same array, which can no longer be written to."""
    array.flags.writeable = False
    return array


def writeable(array: NDArray[Any]) -> NDArray[Any]:
    """The array, or a copy if it is read-only, so that kernels are compiled for one kind."""
    return array if array.flags.writeable else np.array(array)


def as_narrow(integers: NDArray[Any]) -> NDArray[Any]:
    """The same integers in the smallest type that holds them all."""
    smallest, largest = int(integers.min(initial=0)), int(integers.max(initial=0))
    return integers.astype(np.result_type(np.min_scalar_type(smallest), np.min_scalar_type(largest)))


def read_npy(path: Path, *, is_mapped: bool = False) -> NDArray[Any]:
    """The array of a file in NumPy's own format. Arrays of Python objects, which need unpickling, are refused.

    An array that ``is_mapped`` stays on disk until it is used. Raises ValueError if it is not such a file.
    """
    try:
        with path.open("rb") as file:
            if file.read(len(npy.MAGIC_PREFIX)) == npy.MAGIC_PREFIX:
                file.seek(0)
                version = npy.read_magic(file)
                shape, _, dtype = (npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0)(file)
                if dtype.hasobject:
                    raise ValueError("it holds Python objects, which are not read")
                # A header that promises other bytes than there are: NumPy would first allocate the promise.
                is_other = prod(shape) * dtype.itemsize != path.stat().st_size - file.tell()
                if min(shape, default=0) < 0 or not dtype.itemsize or is_other:
                    raise ValueError(f"its bytes are not those of an array of shape {shape} and type {dtype}")
        array = np.load(path, mmap_mode="r" if is_mapped else None, allow_pickle=False)
    except NOT_AN_ARRAY as error:
        reason = " ".join(str(error).split()).rstrip(".")
        # NumPy's own message suggests unpickling them.
        reason = "it holds Python objects, which are not read" if "object" in reason else reason
        raise ValueError(f"{path} is not a readable .npy file: {reason}.") from error
    if not isinstance(array, np.ndarray):
        array.close()
        raise ValueError(f"{path} is not a readable .npy file: it is an archive.")
    return array


def check_indices(indices: NDArray[Any], n_items: int, name: str) -> None:
    """Raise ValueError unless all are integers from 0 to ``n_items - 1``."""
    _check_integers(indices, name)
    smallest, largest = (int(indices.min()), int(indices.max())) if indices.size else (0, -1)
    if smallest < 0 or largest >= n_items:
        wrong = smallest if smallest < 0 else largest
        raise ValueError(f"{name} must be from 0 to {n_items - 1}. Got {wrong} instead.")


def check_ends(ends: NDArray[Any], n_items: int, name: str) -> None:
    """Raise ValueError unless where parts begin starts with 0, never decreases, and the last ends with ``n_items``."""
    _check_integers(ends, name)
    if not len(ends) or int(ends[0]) != 0 or int(ends[-1]) != n_items or (ends[1:] < ends[:-1]).any():
        raise ValueError(f"{name} must increase from 0 to {n_items}.")


def check_counts(counts: NDArray[Any], n_items: int, name: str) -> None:
    """Raise ValueError unless the counts are not negative and add up to ``n_items``."""
    check_indices(counts, n_items + 1, name)
    # No count exceeds the expected sum, so the sum cannot overflow.
    total = int(counts.sum(dtype="uint64"))
    if total != n_items:
        raise ValueError(f"{name} must add up to {n_items}. Got {total} instead.")


def check_compressed(indptr: NDArray[Any], indices: NDArray[Any], n_values: int, n_rows: int, n_columns: int) -> None:
    """Raise ValueError unless these arrays describe compressed sparse rows of this shape."""
    check_ends(indptr, n_values, "the ends of sparse rows")
    if len(indptr) != n_rows + 1 or len(indices) != n_values:
        raise ValueError(
            f"{n_rows} sparse rows of {n_values} values need {n_rows + 1} ends and {n_values} columns. "
            f"Got {len(indptr)} and {len(indices)}."
        )
    check_indices(indices, n_columns, "the columns of sparse rows")


def _check_integers(numbers: NDArray[Any], name: str) -> None:
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be a one-dimensional array of integers. Got shape {numbers.shape} of type {numbers.dtype}."
        )


def largest_magnitude(X: Any) -> float:
    """The largest absolute value; 0 if there are no values, NaN if one of them is NaN."""
    if isinstance(X, StoredRows):
        return max((largest_magnitude(block.data) for _, block in X.blocks()), default=0.0)
    values = np.asarray(X)
    if sparse.issparse(X):
        rows: Any = X if hasattr(X, "indptr") else sparse.csr_array(cast(Any, X))
        values = rows.data
    return max(float(values.max()), -float(values.min())) if values.size else 0.0


def are_plain(X: Any, n_features: int | None) -> bool:
    """Whether samples are rows that a model takes as they are: for one row, checks take longer than the prediction."""
    return (
        isinstance(X, sparse.csr_matrix | sparse.csr_array)
        and X.ndim == 2
        and X.dtype in (np.float32, np.float64)
        and X.shape[0] > 0
        and X.shape[1] == n_features
        and largest_magnitude(X) <= MAX_SINGLE
    )


def in_single_precision(X: Any) -> Any:
    """Samples of half precision in single precision, all others as they are."""
    return X.astype(np.float32) if getattr(X, "dtype", None) == np.float16 else X


def check_single_precision(X: Any, *, is_to_learn_from: bool) -> None:
    """Raise ValueError if samples are too large for learners in single precision or, in training, too small."""
    largest = largest_magnitude(X)
    if not np.isfinite(largest):
        raise ValueError(f"The values of X must be finite. Got {largest}.")
    if largest > MAX_SINGLE:
        raise ValueError(
            f"The values of X must be at most {MAX_SINGLE:g} for learners in single precision. "
            f"Got {largest:g}; scale the features."
        )
    if is_to_learn_from and 0 < largest < MIN_SINGLE:
        raise ValueError(
            f"Some values of X must be at least {MIN_SINGLE:g} for learners in single precision. "
            f"Got at most {largest:g}; scale the features."
        )


def check_weights(weights: NDArray[Any]) -> None:
    """Raise ValueError if weights of samples are negative, or too large to add and multiply."""
    if len(weights) and weights.min() < 0:
        raise ValueError(f"The weights of samples must not be negative. Got {weights.min():g}.")
    largest = largest_magnitude(weights)
    if not largest <= MAX_SINGLE:
        raise ValueError(
            f"The weights of samples must be at most {MAX_SINGLE:g}. Got {largest:g}; divide all of them by a number."
        )


def check_learned(weights: NDArray[Any]) -> None:
    """Raise ValueError if a learner diverged; with default settings none does on samples that passed the checks."""
    if not np.isfinite(largest_magnitude(weights)):
        raise ValueError(
            "The weights of the bits have grown beyond single precision. Scale the features and the sample weights, "
            "or make the learner's steps smaller (a larger 'r' of AROW, a smaller 'step' of Softmax)."
        )


def bounded_margins(margins: NDArray[Any]) -> NDArray[Any]:
    """Margins clipped to ``MAX_SINGLE``, so that their squares can be added up. Raises ValueError if one is NaN."""
    largest = largest_magnitude(margins)
    if largest <= MAX_SINGLE:
        return margins
    if np.isnan(largest):
        sample, bit = (int(place) for place in np.argwhere(np.isnan(margins))[0])
        raise ValueError(
            f"The margin of bit {bit} is not a number for sample {sample}. Its features may be too large or too "
            "small for the learner; scale them. Or those of all training samples were the same, from which some "
            "learners, such as GaussianNB, learn nothing but NaN."
        )
    return np.asarray(np.clip(margins, -MAX_SINGLE, MAX_SINGLE))


SOME_SAMPLES = 10_000
LENGTH_FACTOR, MOST_IN_COMMON = 10.0, 0.5
"""The mean squared length of embeddings is within this factor of 1, and their mean has at most this share of it."""


def are_directions(X: Any) -> bool:
    """Whether dense samples point in many directions and have a length of about 1, as embeddings do.

    Nodes of trees and class vectors learn from such samples; others would have to be centred and scaled first.

    >>> X = np.eye(3)
    >>> are_directions(X), are_directions(100 * X), are_directions(X + 5)
    (True, False, False)
    """
    rows = np.asarray(X[:: max(1, len(X) // SOME_SAMPLES)], dtype=np.float64)
    squared_length = float(np.mean(np.sum(rows**2, axis=1)))
    is_centred = float(np.sum(rows.mean(axis=0) ** 2)) <= MOST_IN_COMMON * squared_length
    return is_centred and 1 / LENGTH_FACTOR <= squared_length <= LENGTH_FACTOR
