"""Which column a feature of a file goes to, and how many columns there are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from codekin.coding import IntArray
from codekin.datasets.blocks import LineBlock
from codekin.datasets.options import ReadOptions
from codekin.datasets.samples import DataError

MAX_FEATURES = 2**31 - 1


@dataclass
class FeatureNumbers:
    """What is known so far about a file's features; ``n_features`` is what the user gave."""

    options: ReadOptions
    n_features: int | None = None
    index_base: int | None = None
    hash_bits: int = 0
    _has_zero: bool = False
    _largest: int = -1
    _line_of_largest: int = 0

    def __post_init__(self) -> None:
        if self.options.index_base != "auto":
            self.index_base = self.options.index_base
        if self.n_features is not None and not 1 <= self.n_features <= MAX_FEATURES:
            raise ValueError(f"'n_features' must be from 1 to {MAX_FEATURES}. Got {self.n_features} instead.")

    def allowed_range(self) -> tuple[int, int]:
        """The smallest and the largest index that may occur."""
        smallest = 0 if self.index_base is None else self.index_base
        if self.n_features is None:
            return smallest, MAX_FEATURES
        # While the base is unknown it may still turn out to be 1.
        return smallest, self.n_features - 1 + (1 if self.index_base is None else self.index_base)

    def note(self, indices: NDArray[np.int32], n_in_row: IntArray, block: LineBlock, row_starts: IntArray) -> None:
        """Update with the indices of a block."""
        if not len(indices):
            return
        self._has_zero = self._has_zero or int(indices.min()) == 0
        position = int(indices.argmax())
        if int(indices[position]) > self._largest:
            self._largest = int(indices[position])
            row = int(np.searchsorted(np.cumsum(n_in_row), position, side="right"))
            self._line_of_largest = block.line_at(int(row_starts[row]))

    def settled(self, source: str) -> tuple[int, int]:
        """The index base, fixed from now on, and the number of features."""
        if self.index_base is None:
            self.index_base = 0 if self._has_zero else 1
            if self.n_features is not None and self._largest - self.index_base >= self.n_features:
                raise DataError(source, self.unknown_reason(self._largest), line=self._line_of_largest)
        n_seen = max(self._largest - self.index_base + 1, 1)
        if n_seen > MAX_FEATURES:
            reason = f"feature index {self._largest} is too large; there may be up to {MAX_FEATURES} features."
            raise DataError(source, reason, line=self._line_of_largest)
        return self.index_base, n_seen if self.n_features is None else self.n_features

    def unknown_reason(self, index: int) -> str:
        """Why an index is too large."""
        base = self.index_base or 0
        return (
            f"feature index {index}, but there are {self.n_features} features, numbered from {base} "
            f"to {(self.n_features or 0) - 1 + base}."
        )

    @property
    def encoding(self) -> dict[str, int]:
        """How features are numbered, for reading another file in the same way."""
        return {"index_base": self.index_base or 0, "hash_bits": self.hash_bits}
