"""Whether arrays of numbers that point into other arrays stay within them.

Asked before anything follows them, in the type that they have in the file: an unsigned number that becomes a signed
one, or a sum of such numbers, can come out anywhere.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray


def check_indices(indices: NDArray[Any], n_items: int, name: str) -> None:
    """Raise unless all are integers from 0 to ``n_items - 1``."""
    _check_integers(indices, name)
    if indices.size:
        smallest, largest = int(indices.min()), int(indices.max())
        if smallest < 0 or largest >= n_items:
            wrong = smallest if smallest < 0 else largest
            raise ValueError(f"{name} must be from 0 to {n_items - 1}. Got {wrong} instead.")


def check_ends(ends: NDArray[Any], n_items: int, name: str) -> None:
    """Raise unless they begin with 0, never decrease and end with ``n_items``.

    ``ends`` says where each part begins, and where the last one ends; the parts have ``n_items`` items together.
    """
    _check_integers(ends, name)
    if not len(ends) or int(ends[0]) != 0 or int(ends[-1]) != n_items or (ends[1:] < ends[:-1]).any():
        raise ValueError(f"{name} must increase from 0 to {n_items}.")


def check_counts(counts: NDArray[Any], n_items: int, name: str) -> None:
    """Raise unless they are not negative and add up to ``n_items``."""
    check_indices(counts, n_items + 1, name)
    # None of them is larger than the sum that they should have, so the sum of all of them cannot wrap around.
    total = int(counts.sum(dtype="uint64"))
    if total != n_items:
        raise ValueError(f"{name} must add up to {n_items}. Got {total} instead.")


def check_compressed(indptr: NDArray[Any], indices: NDArray[Any], n_values: int, n_rows: int, n_columns: int) -> None:
    """Raise unless these are the places of values in compressed sparse rows."""
    check_ends(indptr, n_values, "the ends of sparse rows")
    if len(indptr) != n_rows + 1 or len(indices) != n_values:
        raise ValueError(f"{n_rows} sparse rows need as many ends and one. Got {len(indptr)} for {n_values} values.")
    check_indices(indices, n_columns, "the columns of sparse rows")


def _check_integers(numbers: NDArray[Any], name: str) -> None:
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise ValueError(f"{name} must be integers in a row. Got shape {numbers.shape} of type {numbers.dtype}.")
