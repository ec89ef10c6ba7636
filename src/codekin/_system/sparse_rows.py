"""Compressed sparse rows as the kernels take them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

LARGEST_INT32 = np.iinfo(np.int32).max


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Compressed sparse rows in the types of the kernels: int64, int32 (where it suffices) and float32."""

    indptr: NDArray[np.int64]
    indices: NDArray[Any]
    values: NDArray[np.float32]

    @classmethod
    def of(cls, X: Any, n_features: int | None = None) -> SparseRows:
        """The rows of a sparse or dense matrix; copies only what has another type."""
        if n_features is not None and X.shape[1] != n_features:
            raise ValueError(f"X must have {n_features} features, as many as the weights. Got {X.shape[1]} instead.")
        rows = X if getattr(X, "format", None) == "csr" else sparse.csr_array(X)
        narrow = np.int32 if rows.shape[1] <= LARGEST_INT32 else np.int64
        return cls(
            np.asarray(rows.indptr, dtype=np.int64),
            np.asarray(rows.indices, dtype=narrow),
            np.asarray(rows.data, dtype=np.float32),
        )

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.indptr) - 1

    def between(self, start: int, stop: int) -> SparseRows:
        """The rows from ``start`` to ``stop - 1``; their entries are not copied."""
        ends = self.indptr[start : stop + 1]
        own = slice(int(ends[0]), int(ends[-1]))
        return SparseRows(ends - ends[0], self.indices[own], self.values[own])
