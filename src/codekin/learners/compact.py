"""Linear predictors with one or two bytes per weight, from which margins are computed directly.

A weight is a half-precision float, or an integer from -127 to 127 times a scale that all weights of its feature share.
Features whose weights are all zero, because no sample had them or because they are too small, take no space.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from codekin._system.rows import SparseRows
from codekin.learners.linear import Float32Array, LinearBits, LinearForm, LinearRows, SparseLinearBits, product_by

Precision = Literal["float32", "float16", "int8"]
PRECISIONS: tuple[Precision, ...] = ("float32", "float16", "int8")
"""How the weights of a model may be stored."""
LARGEST_HALF, SMALLEST_HALF = float(np.finfo(np.float16).max), float(np.finfo(np.float16).smallest_normal)
"""Larger weights are clipped; smaller ones become zero, since subnormal numbers are slow."""
LARGEST_BYTE = 127
LARGEST_GAP = 255
FEATURES_PER_BLOCK = 512
"""How many features are compressed at a time: a weight takes up to fifty bytes meanwhile."""

T = TypeVar("T")


class CompactForm(LinearForm):
    """Linear predictors whose weights only kernels can read."""

    makes_rows_sparse = True
    product: Callable[[], tuple[Callable[..., None], tuple[Any, ...]]]
    """The kernel that multiplies sparse rows by the weights, and the weights as it takes them."""

    def margins(self, X: Any) -> Float32Array:
        rows = SparseRows.of(X if sparse.issparse(X) else np.asarray(X, dtype=np.float32), self.n_features)
        kernel, weights = self.product()
        margins = product_by(kernel, rows, weights, self.n_bits, self.n_threads)
        margins += self.bias
        return margins

    def _freeze(self, *names: str) -> None:
        """Make these arrays read-only, so that the kernels are compiled for one kind."""
        for name in names:
            array = getattr(self, name)
            if array is not None:
                frozen = np.ascontiguousarray(array).view()
                frozen.flags.writeable = False
                object.__setattr__(self, name, frozen)


@dataclass(frozen=True, eq=False)
class CompactLinearBits(CompactForm):
    """Linear predictors with dense rows of narrow weights.

    - ``weights`` of shape (n_rows, n_bits): a row of zeros, then the other rows.
    - ``scales`` of shape (n_rows,): the factor of the integers of each row; None for floats.
    - ``row_of_feature`` of shape (n_features,): the row of each feature; 0 for none.

    >>> bits = CompactLinearBits.of(LinearBits([[1.0, -0.5], [0.0, 0.0], [0.1, 0.2]], bias=[0.0, 1.0]), "int8")
    >>> bits.weights
    array([[  0,   0],
           [127, -64],
           [ 64, 127]], dtype=int8)
    >>> bits.margins([[1.0, 5.0, 0.0]]).round(2)
    array([[1. , 0.5]], dtype=float32)
    """

    weights: NDArray[Any] = field(repr=False)
    scales: Float32Array | None = field(repr=False)
    row_of_feature: NDArray[np.int32] = field(repr=False)
    bias: Float32Array = field(repr=False)
    n_threads: int | None = None

    def __post_init__(self) -> None:
        self._freeze("weights", "scales", "row_of_feature")

    @classmethod
    def of(cls, bits: LinearBits, precision: Precision) -> CompactLinearBits:
        """The same predictors with weights of this precision."""
        n_features, n_bits = bits.weights.shape
        weights = np.empty((n_features + 1, n_bits), dtype=precision)
        weights[0] = 0
        scales = np.zeros(n_features + 1, dtype=np.float32) if precision == "int8" else None
        row_of_feature = np.zeros(n_features, dtype=np.int32)
        n_rows = 1
        for start in range(0, n_features, FEATURES_PER_BLOCK):
            block = bits.weights[start : start + FEATURES_PER_BLOCK]
            of_block = _scales(np.abs(block).max(axis=1, initial=0))
            narrow = _as_bytes(block, of_block[:, None]) if precision == "int8" else _as_halves(block)
            used = narrow.any(axis=1)
            stop = n_rows + int(used.sum())
            weights[n_rows:stop] = narrow[used]
            if scales is not None:
                scales[n_rows:stop] = of_block[used]
            row_of_feature[start : start + len(block)][used] = np.arange(n_rows, stop)
            n_rows = stop
        kept = None if scales is None else scales[:n_rows].copy()
        return cls(weights[:n_rows].copy(), kept, row_of_feature, bits.bias, bits.n_threads)

    @property
    def n_features(self) -> int:
        return len(self.row_of_feature)

    def product(self) -> tuple[Callable[..., None], tuple[Any, ...]]:
        from codekin.kernels.sparse_product import sparse_times_bytes, sparse_times_halves

        if self.scales is not None:
            return sparse_times_bytes, (self.row_of_feature, self.weights, self.scales)
        return sparse_times_halves, (self.row_of_feature, self.weights.view(np.int16))

    def linear_rows(self) -> LinearRows:
        return LinearRows(self.weights, self.scales, self.row_of_feature, self.bias)

    def decompressed(self) -> LinearBits:
        weights = self.weights.astype(np.float32)
        if self.scales is not None:
            weights *= self.scales[:, None]
        return LinearBits(weights[self.row_of_feature], self.bias, self.n_threads)


@dataclass(frozen=True, eq=False)
class CompactSparseLinearBits(CompactForm):
    """Linear predictors most of whose weights are zero, two or three bytes for each of the others.

    - ``weights`` of shape (n_weights,): feature by feature, and bit by bit within a feature.
    - ``gaps`` of shape (n_weights,): the number of bits from the previous weight, for the first of a feature from bit
    0.
      Larger gaps than a byte holds are bridged by weights of zero.
    - ``counts`` of shape (n_features,): the number of weights of each feature.
    - ``scales``: the factors of the integers, for each feature that has weights; None for floats.
    """

    weights: NDArray[Any] = field(repr=False)
    gaps: NDArray[np.uint8] = field(repr=False)
    counts: NDArray[Any] = field(repr=False)
    scales: Float32Array | None = field(repr=False)
    bias: Float32Array = field(repr=False)
    n_threads: int | None = None

    def __post_init__(self) -> None:
        self._freeze("weights", "gaps", "counts", "scales")

    @classmethod
    def of(
        cls, bits: LinearBits | SparseLinearBits, precision: Precision, threshold: float = 0.0
    ) -> CompactSparseLinearBits:
        """The same predictors with this precision, without weights up to the threshold, in blocks of features."""
        parts = []
        for start in range(0, max(bits.n_features, 1), FEATURES_PER_BLOCK):
            block: Any = bits.weights[start : start + FEATURES_PER_BLOCK]
            if isinstance(bits, LinearBits):
                block = LinearBits(block, bits.bias).sparse(threshold).weights
            parts.append(_gapped(block.sorted_indices(), precision))
        weights, gaps, counts, scales = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        kept = scales if precision == "int8" else None
        counts = counts.astype(np.min_scalar_type(int(counts.max(initial=0))))
        return cls(weights, gaps, counts, kept, bits.bias, bits.n_threads)

    @property
    def n_features(self) -> int:
        return len(self.counts)

    @cached_property
    def _indptr(self) -> NDArray[Any]:
        indptr = np.concatenate([[0], np.cumsum(self.counts, dtype=np.uint64)])
        return indptr.astype(np.uint32 if indptr[-1] <= np.iinfo(np.uint32).max else np.uint64)

    @cached_property
    def scale_of_feature(self) -> Float32Array:
        """What the integers of each feature are multiplied by; 1 for floats."""
        scales = np.ones(self.n_features, dtype=np.float32)
        if self.scales is not None:
            scales[self.counts > 0] = self.scales
        return scales

    def product(self) -> tuple[Callable[..., None], tuple[Any, ...]]:
        from codekin.kernels.sparse_product import sparse_times_gapped

        places = self.weights.view(np.uint8 if self.scales is not None else np.uint16)
        table, scales = _table(self.precision), self.scale_of_feature
        return sparse_times_gapped, (self._indptr, self.gaps, places, table, scales)

    def linear_rows(self) -> LinearRows:
        """Rows with the zeros that the compact form leaves out, in the same precision."""
        whole = self.decompressed().weights
        lengths = np.diff(whole.indptr)
        used = np.flatnonzero(lengths)
        row_of_feature = np.zeros(self.n_features, dtype=np.int32)
        row_of_feature[used] = np.arange(1, len(used) + 1)
        scales = None
        values = whole.data
        if self.scales is not None:
            scales = np.concatenate([[np.float32(0)], self.scale_of_feature[used]]).astype(np.float32)
            values = np.rint(values / np.repeat(self.scale_of_feature, lengths))
        weights = np.zeros((len(used) + 1, self.n_bits), dtype=self.weights.dtype)
        weights[np.repeat(row_of_feature, lengths), whole.indices] = values
        return LinearRows(weights, scales, row_of_feature, self.bias)

    def decompressed(self) -> SparseLinearBits:
        counts = self.counts.astype(np.int64)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        feature = np.repeat(np.arange(self.n_features), counts)
        distance = np.cumsum(self.gaps, dtype=np.int64)
        before = np.concatenate([[0], distance])[indptr[:-1]]
        weights = self.weights.astype(np.float32) * self.scale_of_feature[feature]
        matrix = sparse.csr_array((weights, distance - before[feature], indptr), shape=(self.n_features, self.n_bits))
        matrix.eliminate_zeros()
        return SparseLinearBits(matrix, self.bias, self.n_threads)


def compacted(bits: Any, precision: Precision, threshold: float | None = None) -> Any:
    """The same predictors with weights of this precision, in the form that takes the fewest bytes.

    "float32" leaves them as they are. Weights up to the ``threshold``, if there is one, are dropped.

    >>> weights = np.zeros((1000, 8), dtype=np.float32)
    >>> weights[3] = 0.5
    >>> bits = LinearBits(weights, np.zeros(8))
    >>> bits.nbytes, compacted(bits, "int8").nbytes
    (32032, 1052)
    """
    if precision not in PRECISIONS:
        raise ValueError(f"The 'precision' parameter must be one of {list(PRECISIONS)}. Got {precision!r} instead.")
    if threshold is not None and isinstance(bits, LinearBits):
        is_whole = precision == "float32"
        return bits.sparse(threshold) if is_whole else CompactSparseLinearBits.of(bits, precision, threshold)
    if precision == "float32":
        return bits
    if isinstance(bits, SparseLinearBits):
        return CompactSparseLinearBits.of(bits, precision)
    dense = CompactLinearBits.of(bits, precision)
    n_weights, width = int(np.count_nonzero(dense.weights)), dense.weights.itemsize
    if n_weights * (width + 1) + dense.n_features >= dense.weights.nbytes + dense.row_of_feature.nbytes:
        return dense
    return CompactSparseLinearBits.of(dense.decompressed(), precision)


def decompressed(bits: T) -> T | LinearBits | SparseLinearBits:
    """Compact predictors with weights of single precision; any others as they are."""
    return bits.decompressed() if isinstance(bits, CompactLinearBits | CompactSparseLinearBits) else bits


def _gapped(rows: sparse.csr_array, precision: Precision) -> tuple[NDArray[Any], ...]:
    """Weights, gaps, counts and scales of some features, as :class:`CompactSparseLinearBits` has them."""
    n_features = rows.shape[0]
    feature = np.repeat(np.arange(n_features), np.diff(rows.indptr))
    largest = np.zeros(n_features, dtype=np.float32)
    np.maximum.at(largest, feature, np.abs(rows.data))
    scales = _scales(largest)
    narrow = _as_bytes(rows.data, scales[feature]) if precision == "int8" else _as_halves(rows.data)
    used = narrow != 0
    feature, bit, narrow = feature[used], rows.indices[used].astype(np.int64), narrow[used]
    is_first = np.diff(feature, prepend=-1) != 0
    gap = np.where(is_first, bit, np.diff(bit, prepend=0))
    # Larger gaps than a byte holds are bridged by weights of zero.
    n_bridges = np.where(gap > LARGEST_GAP, (gap - 1) // LARGEST_GAP, 0)
    place = np.cumsum(1 + n_bridges) - 1
    n_weights = int(place[-1]) + 1 if len(place) else 0
    gaps = np.full(n_weights, LARGEST_GAP, dtype=np.uint8)
    gaps[place] = gap - LARGEST_GAP * n_bridges
    weights = np.zeros(n_weights, dtype=precision)
    weights[place] = narrow
    counts = np.bincount(feature, weights=1 + n_bridges, minlength=n_features).astype(np.int64)
    return weights, gaps, counts, scales[counts > 0]


def _as_halves(weights: Float32Array) -> NDArray[np.float16]:
    halves = np.clip(weights, -LARGEST_HALF, LARGEST_HALF).astype(np.float16)
    halves[np.abs(halves) < SMALLEST_HALF] = 0
    return halves


def _as_bytes(weights: Float32Array, scales: Float32Array) -> NDArray[np.int8]:
    return np.asarray(np.rint(weights / scales), dtype=np.int8)


def _scales(largest: Float32Array) -> Float32Array:
    """The scale that maps the largest weight of a feature to 127; 1 if all are zero."""
    scales = (largest / LARGEST_BYTE).astype(np.float32)
    scales[scales == 0] = 1
    return scales


def _table(precision: str) -> Float32Array:
    """The float of every weight, in the order of its bits as an unsigned integer."""
    every = np.arange(2 ** (8 * np.dtype(precision).itemsize), dtype=np.uint64)
    return every.astype(np.uint16 if precision == "float16" else np.uint8).view(precision).astype(np.float32)
