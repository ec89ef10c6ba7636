"""The labels of rows as numbers: the index of each row's label, or an indicator of its labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.code import IntArray
from codekin.data.datasets import DataError, LabelArray
from codekin.samples import as_indicator

RowLabels = NDArray[np.int64] | list[str] | list[tuple[int | str, ...]] | None
"""One label per row, or a tuple of any number of them."""
FOUND = ("class_index", "classes")
"""What is found of labels if each row has one."""
# A single long label would otherwise set the width of all.
_MAX_LABEL_CHARACTERS = 1 << 27


def classes_of(labels: Sequence[RowLabels], source: str) -> dict[str, Any]:
    """The distinct labels of all blocks in sorted order, and the index or the indicator of each row's."""
    if any(part is None for part in labels):
        return {}
    if all(isinstance(part, np.ndarray) for part in labels):
        return dict(zip(FOUND, _integer_classes(np.concatenate([np.asarray(part) for part in labels])), strict=True))
    if any(isinstance(label, tuple) for part in labels for label in part[:1]):  # type: ignore[index]
        return _label_sets([own for part in labels for own in part], source)  # type: ignore[union-attr]
    # If the first labels only look like integers: each has one canonical spelling, the one it had.
    spelled: list[Any] = [map(str, part.tolist()) if isinstance(part, np.ndarray) else part or [] for part in labels]
    number: dict[str, int] = {}
    first_seen = np.array([number.setdefault(label, len(number)) for part in spelled for label in part], dtype=np.intp)
    rank, names = sorted_classes(number, source)
    return dict(zip(FOUND, (rank[first_seen], names), strict=True))


def _label_sets(rows: Sequence[Any], source: str) -> dict[str, Any]:
    """The distinct labels of rows with any number of them, and an indicator of those of each row."""
    every = [label for own in rows for label in own]
    if any(isinstance(label, str) for label in every):
        every = list(map(str, every))
    number: dict[Any, int] = {}
    columns = np.array([number.setdefault(label, len(number)) for label in every], dtype=np.intp)
    rank, names = sorted_classes(number, source)
    ends = np.cumsum([0, *map(len, rows)])
    indicator = as_indicator((np.ones(len(every)), rank[columns], ends), (len(rows), len(names)))
    return {"indicator": indicator, "classes": names}


def sorted_classes(number: Mapping[Any, int], source: str) -> tuple[IntArray, LabelArray]:
    """The position of each numbered label in sorted order, and the labels in that order."""
    names = sorted(number)
    rank = np.empty(len(names), dtype=np.intp)
    rank[[number[name] for name in names]] = np.arange(len(names))
    if not names or isinstance(names[0], int):
        return rank, np.array(names, dtype=np.int64)
    width = max(map(len, names))
    if width * len(names) > _MAX_LABEL_CHARACTERS:
        raise DataError(
            source,
            f"{len(names)} distinct labels, one of them {width} characters long, are too much for one array; "
            "give short labels.",
        )
    return rank, np.array(names, dtype=np.str_)


def _integer_classes(labels: NDArray[np.int64]) -> tuple[IntArray, NDArray[np.int64]]:
    smallest, largest = int(labels.min()), int(labels.max())
    if largest - smallest > 10 * len(labels):
        classes, class_index = np.unique(labels, return_inverse=True)
        return class_index.astype(np.intp), classes
    # Labels that are close together need no sorting.
    is_there = np.zeros(largest - smallest + 1, dtype=bool)
    is_there[labels - smallest] = True
    rank = np.cumsum(is_there) - 1
    return rank[labels - smallest], np.flatnonzero(is_there) + smallest
