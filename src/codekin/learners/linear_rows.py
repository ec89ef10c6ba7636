"""Linear predictors of any kind in one form: a row of weights for each feature that has any."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.coding import FloatArray, IntArray
from codekin.learners.compact import CompactLinearBits, CompactSparseLinearBits
from codekin.learners.independent import EstimatorBits
from codekin.learners.linear import LinearBits, SparseLinearBits
from codekin.learners.tree_bits import TreeBits, sizes_of_steps


@dataclass(frozen=True, eq=False)
class LinearRows:
    """Weights of all bits, and what turns their product with a sample into margins.

    - ``weights`` of shape (n_rows, n_bits): int8, uint8, float16, float32 or float64.
    - ``scales`` of shape (n_rows,): what integers are multiplied by; None for floats.
    - ``row_of_feature`` of shape (n_features,): None if every feature has its own row.
    - ``slopes``, ``intercepts``: what margins are multiplied by, and what is added; None if nothing.
    - ``table`` of shape (256,): what weights of uint8 stand for; None if they stand for themselves.
    """

    weights: NDArray[Any]
    scales: NDArray[np.float32] | None
    row_of_feature: NDArray[Any] | None
    bias: NDArray[Any]
    slopes: NDArray[np.float64] | None = None
    intercepts: NDArray[np.float64] | None = None
    table: NDArray[np.float32] | None = None

    def dense(self) -> NDArray[Any]:
        """The weights of every feature, (n_features, n_bits), in single or double precision."""
        weights = self.weights if self.table is None else self.table[self.weights]
        weights = weights if weights.dtype == np.float64 else weights.astype(np.float32)
        if self.scales is not None:
            weights = weights * self.scales[:, None]
        return weights if self.row_of_feature is None else weights[self.row_of_feature]

    def at(self, features: IntArray) -> FloatArray:
        """The weights of some features in the margins, calibration included, (n, n_bits), in double precision."""
        rows = features if self.row_of_feature is None else self.row_of_feature[features]
        weights = self.weights[rows] if self.table is None else self.table[self.weights[rows]]
        weights = weights.astype(np.float64)
        if self.scales is not None:
            weights *= self.scales[rows][:, None]
        return weights if self.slopes is None else weights * self.slopes

    @property
    def offsets(self) -> FloatArray:
        """The margins of a sample without features, (n_bits,)."""
        bias = self.bias.astype(np.float64)
        if self.slopes is None or self.intercepts is None:
            return bias
        return np.asarray(bias * self.slopes + self.intercepts)


def linear_rows(bits: Any, *, purpose: str = "be exported") -> LinearRows:
    """The rows of linear predictors; raises ValueError for any others, which names the purpose."""
    if hasattr(bits, "slopes"):  # calibrated
        inner = linear_rows(bits.bits, purpose=purpose)
        return LinearRows(inner.weights, inner.scales, inner.row_of_feature, inner.bias, bits.slopes, bits.intercepts)
    if hasattr(bits, "finished"):  # still learning
        bits = bits.finished()
    if isinstance(bits, EstimatorBits):
        stacked = None if bits.symbols is not None else bits.stacked
        if stacked is None:
            kinds = sorted({type(predictor).__name__ for predictor in bits.predictors})
            raise ValueError(f"Only linear predictors of two-sided bits can {purpose}. Got {', '.join(kinds)}.")
        return LinearRows(np.asarray(stacked[0], np.float64), None, None, np.asarray(stacked[1], np.float64))
    if isinstance(bits, LinearBits):
        return LinearRows(bits.weights, None, None, bits.bias)
    if isinstance(bits, SparseLinearBits):
        return LinearRows(bits.weights.toarray(), None, None, bits.bias)
    if isinstance(bits, CompactLinearBits):
        return LinearRows(bits.weights, bits.scales, bits.row_of_feature, bits.bias)
    if isinstance(bits, CompactSparseLinearBits | TreeBits):
        return _filled(bits) if isinstance(bits, CompactSparseLinearBits) else _of_tree(bits)
    raise ValueError(f"Only linear predictors of two-sided bits can {purpose}. Got {type(bits).__name__}.")


def _filled(bits: CompactSparseLinearBits) -> LinearRows:
    """Rows with the zeros that the compact form leaves out, in the same precision."""
    whole = bits.decompressed().weights
    lengths = np.diff(whole.indptr)
    used = np.flatnonzero(lengths)
    row_of_feature = np.zeros(bits.n_features, dtype=np.int32)
    row_of_feature[used] = np.arange(1, len(used) + 1)
    scales = None
    values = whole.data
    if bits.scales is not None:
        scales = np.concatenate([[np.float32(0)], bits.scale_of_feature[used]]).astype(np.float32)
        values = np.rint(values / np.repeat(bits.scale_of_feature, lengths))
    weights = np.zeros((len(used) + 1, bits.n_bits), dtype=bits.weights.dtype)
    weights[np.repeat(row_of_feature, lengths), whole.indices] = values
    return LinearRows(weights, scales, row_of_feature, bits.bias)


def _of_tree(bits: TreeBits) -> LinearRows:
    """Rows with all bits of a tree; features without weights share the first row."""
    starts = np.concatenate([[0], np.cumsum(bits.lengths, dtype=np.int64)])
    n_weights = np.diff(starts[np.concatenate([[0], np.cumsum(bits.counts, dtype=np.int64)])])
    used = np.flatnonzero(n_weights)
    row_of_feature = np.zeros(bits.n_features, dtype=np.int32)
    row_of_feature[used] = np.arange(1, len(used) + 1)
    stored = bits.weights if bits.scale is None else bits.weights.view(np.uint8)
    weights = np.zeros((len(used) + 1, bits.n_bits), dtype=stored.dtype)
    weights[np.repeat(row_of_feature, n_weights), bits.bit_of_weight] = stored
    table = None if bits.scale is None else sizes_of_steps(bits.scale)
    return LinearRows(weights, None, row_of_feature, bits.bias, table=table)
