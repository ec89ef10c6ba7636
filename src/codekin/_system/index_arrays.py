"""Bounds checks for arrays of indices into other arrays.

They run before the indices are used, in the type stored in the file: converting unsigned numbers to signed ones, or
adding them up, can overflow.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray


def check_indices(indices: NDArray[Any], n_items: int, name: str) -> None:
    """Raise ValueError unless all are integers from 0 to ``n_items - 1``."""
    _check_integers(indices, name)
    if indices.size:
        smallest, largest = int(indices.min()), int(indices.max())
        if smallest < 0 or largest >= n_items:
            wrong = smallest if smallest < 0 else largest
            raise ValueError(f"{name} must be from 0 to {n_items - 1}. Got {wrong} instead.")


def check_ends(ends: NDArray[Any], n_items: int, name: str) -> None:
    """Raise ValueError unless they start with 0, never decrease and end with ``n_items``.

    ``ends`` says where each part starts, and where the last one ends; together the parts have ``n_items`` items.
    """
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
