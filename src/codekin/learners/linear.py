"""Linear predictors of all bits at once: margins are one product with the weights, dense or pruned."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from codekin._system.parallel import SAMPLES_PER_BLOCK, run_blocks
from codekin._system.rows import Row, SparseRows
from codekin.code import FloatArray, IntArray, Margins
from codekin.kernels.calling import typed_once
from codekin.learners.training_rows import Validation, score_of

CONSTANT_MARGIN = 1.0
"""The margin of a bit that has one sign in all training samples, at the edge of the hinge."""
COMPILE_FROM = 10**6
"""From this many products of a non-zero and a weight on, the compiled product is worth its start-up time."""
KEPT_SHARES = 0.5 ** np.arange(1, 10.25, 0.25)
"""The shares of the weights that pruning tries to keep, from one half: below, a sparse model is smaller."""
QUANTILE_SAMPLE = 10**6

Float32Array = NDArray[np.float32]


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
    rows: LinearRows | None = bits.linear_rows() if hasattr(bits, "linear_rows") else None
    if rows is None:
        uncalibrated = getattr(bits, "bits", bits)
        kinds = sorted({type(one).__name__ for one in getattr(uncalibrated, "predictors", [uncalibrated])})
        raise ValueError(f"Only linear predictors of two-sided bits can {purpose}. Got {', '.join(kinds)}.")
    return rows


class LinearForm(ABC):
    """The common properties of linear predictors of all bits, in any form of weights."""

    makes_rows_sparse: ClassVar[bool] = False
    """Whether dense rows are made sparse; otherwise they have a product of their own."""
    kept_shares: ClassVar[NDArray[np.float64]] = KEPT_SHARES

    weights: Any
    bias: Float32Array
    n_threads: int | None

    @abstractmethod
    def margins(self, X: Any) -> Any:
        """One column per bit, positive if the predictor says +1."""

    @abstractmethod
    def linear_rows(self) -> LinearRows:
        """The weights in the form that linear predictors of all kinds have in common."""

    @property
    def precision(self) -> str:
        """The type of the weights."""
        return str(self.weights.dtype)

    @property
    def n_features(self) -> int:
        return int(self.weights.shape[0])

    @property
    def n_bits(self) -> int:
        return len(self.bias)

    @property
    def nbytes(self) -> int:
        """The memory of the model, without caches."""
        arrays = [getattr(self, each.name) for each in fields(self)]  # type: ignore[arg-type]
        return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))

    def sizes(self) -> Float32Array:
        """The sizes of some evenly spaced weights, as many as quantiles need."""
        flat = self.weights.ravel()
        return np.asarray(np.abs(flat[:: max(1, flat.size // QUANTILE_SAMPLE)]))

    def compacted(self, precision: Any, threshold: float | None = None) -> Any:
        """The same predictors with narrow weights, as :func:`codekin.learners.compact.compacted` makes them."""
        from codekin.learners.compact import compacted

        return compacted(self, precision, threshold)

    def pruned(
        self,
        validation: Validation,
        *,
        max_loss: float = 0.001,
        finished: Callable[..., Any] = lambda bits, threshold=None: (
            bits if threshold is None else bits.sparse(threshold)
        ),
        is_small_enough: Callable[[Any], bool] = lambda _: True,
    ) -> Any:
        """The same predictors without as many small weights as the validation score allows, or as the size requires.

        The threshold is the largest whose score is at most ``max_loss`` below that of the full model, found by
        bisection on a grid of shares of the weights, for dense ones from 1/2 down to 1/1000. The model that is returned
        has itself been scored. If it is not small enough, the threshold is the smallest that makes it so; if none does,
        the smallest model is returned. A dense model that must keep more than half of its weights stays whole, since a
        sparse one would not be smaller.

        ``finished`` is applied to a model, whole or without weights up to a threshold, before it is scored and
        returned: for example fewer bytes per weight.
        """
        lowest, thresholds = score_of(self, validation) - max_loss, self.thresholds(self.kept_shares)
        best = whole = finished(self)
        next_smaller, accepted, refused = None, -1, len(thresholds)
        while refused - accepted > 1:
            middle = (accepted + refused) // 2
            candidate = finished(self, threshold=thresholds[middle])
            if not is_small_enough(candidate) or score_of(candidate, validation) >= lowest:
                best, accepted = candidate, middle
            else:
                next_smaller, refused = candidate, middle
        if not is_small_enough(best):
            return best if next_smaller is None else next_smaller
        return whole if whole.nbytes <= best.nbytes and is_small_enough(whole) else best

    def thresholds(self, shares: NDArray[np.float64]) -> list[float]:
        """The sizes above which at most these shares of the weights lie, estimated from evenly spaced ones.

        Features that occur once give all bits weights of the same size: such a group is kept or dropped together.
        """
        sizes = self.sizes()
        return [float(size) for size in np.quantile(sizes, 1 - shares)] if sizes.size else []


@dataclass(frozen=True, eq=False)
class LinearBits(LinearForm):
    """Linear predictors with dense float32 weights of shape (n_features, n_bits).

    >>> bits = LinearBits([[1.0, -1.0], [0.5, 2.0]], bias=[0.0, 1.0])
    >>> bits.margins([[2.0, 0.0], [0.0, 1.0]])
    array([[ 2. , -1. ],
           [ 0.5,  3. ]], dtype=float32)
    """

    weights: Float32Array = field(repr=False)
    bias: Float32Array = field(repr=False)
    n_threads: int | None = None

    def __post_init__(self) -> None:
        """Bring the arrays into their types and check that they fit."""
        object.__setattr__(self, "weights", np.ascontiguousarray(self.weights, dtype=np.float32))
        object.__setattr__(self, "bias", _checked_bias(self.bias, self.weights.shape[1]))

    def product(self) -> tuple[Callable[..., None], tuple[Any, ...]]:
        from codekin.kernels.sparse_product import sparse_times_dense

        return sparse_times_dense, (self.weights[:, None], 0)

    def margins(self, X: Any) -> Float32Array:
        if sparse.issparse(X):
            rows = SparseRows.of(X, self.n_features)
            margins = product_with_dense(rows, self.weights[:, None], 0, self.n_threads)
        else:
            margins = _checked_dense(X, self.n_features) @ self.weights
        margins += self.bias
        return margins

    def linear_rows(self) -> LinearRows:
        return LinearRows(self.weights, None, None, self.bias)

    def sparse(self, threshold: float = 0.0) -> SparseLinearBits:
        """The same predictors without weights up to this size."""
        from codekin.kernels.sparse_product import count_large, keep_large

        counts = np.empty(self.n_features, dtype=np.int64)
        count_large(self.weights, threshold, counts)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        kept_bits, kept = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1], dtype=np.float32)
        keep_large(self.weights, threshold, kept_bits, kept)
        weights = sparse.csr_array((kept, kept_bits, indptr), shape=self.weights.shape)
        return SparseLinearBits(weights, self.bias, self.n_threads)


@dataclass(frozen=True, eq=False)
class SparseLinearBits(LinearForm):
    """Linear predictors most of whose weights are zero, as compressed rows: eight bytes for each of the others."""

    weights: sparse.csr_array = field(repr=False)
    bias: Float32Array = field(repr=False)
    n_threads: int | None = None

    def __post_init__(self) -> None:
        """Bring the arrays into their types and check that they fit."""
        weights = sparse.csr_array(self.weights).astype(np.float32, copy=False)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "bias", _checked_bias(self.bias, weights.shape[1]))

    @property
    def nbytes(self) -> int:
        """The memory of the model."""
        arrays = (self.weights.data, self.weights.indices, self.weights.indptr, self.bias)
        return sum(array.nbytes for array in arrays)

    @cached_property
    def _weight_rows(self) -> SparseRows:
        return SparseRows.of(self.weights, self.n_bits)

    def product(self) -> tuple[Callable[..., None], tuple[Any, ...]]:
        from codekin.kernels.sparse_product import sparse_times_sparse

        weights = self._weight_rows
        return sparse_times_sparse, (weights.indptr, weights.indices, weights.values)

    def margins(self, X: Any) -> Float32Array:
        if sparse.issparse(X):
            kernel, weights = self.product()
            margins = product_by(kernel, SparseRows.of(X, self.n_features), weights, self.n_bits, self.n_threads)
        else:
            margins = np.asarray(_checked_dense(X, self.n_features) @ self.weights)
        margins += self.bias
        return margins

    def linear_rows(self) -> LinearRows:
        return LinearRows(self.weights.toarray(), None, None, self.bias)


def product_with_dense(rows: SparseRows, weights: Float32Array, which: int, n_threads: int | None) -> Float32Array:
    """Sparse rows times ``weights[:, which]``, where weights have shape (n_features, n_matrices, n_bits)."""
    n_features, n_matrices, n_bits = weights.shape
    if len(rows.values) * n_bits < COMPILE_FROM and n_matrices == 1:
        # Adds in the same order as the kernel: a sample's margins do not depend on the size of its batch.
        X = sparse.csr_array((rows.values, rows.indices, rows.indptr), shape=(rows.n_rows, n_features))
        return np.asarray(X @ weights[:, which])
    from codekin.kernels.sparse_product import sparse_times_dense

    return product_by(sparse_times_dense, rows, (weights, which), n_bits, n_threads)


def product_by(
    kernel: Callable[..., None], rows: SparseRows, weights: tuple[Any, ...], n_bits: int, n_threads: int | None
) -> Float32Array:
    """The product of sparse rows and weights, computed by a kernel in blocks of rows."""
    product, multiply = np.empty((rows.n_rows, n_bits), dtype=np.float32), typed_once(kernel)

    def fill(start: int, stop: int) -> None:
        multiply(rows.indptr[start : stop + 1], rows.indices, rows.values, *weights, product[start:stop])

    run_blocks(fill, rows.n_rows, block=SAMPLES_PER_BLOCK, n_threads=n_threads)
    return product


def _checked_dense(X: ArrayLike, n_features: int) -> Float32Array:
    dense = np.asarray(X, dtype=np.float32)
    if dense.ndim != 2 or dense.shape[1] != n_features:
        raise ValueError(f"X must have {n_features} features, as many as the weights. Got shape {dense.shape} instead.")
    return dense


def _checked_bias(bias: ArrayLike, n_bits: int) -> Float32Array:
    checked = np.asarray(bias, dtype=np.float32)
    if checked.shape != (n_bits,):
        raise ValueError(f"The bias must have one entry for each of the {n_bits} bits. Got shape {checked.shape}.")
    return checked


def single_margins(bits: Any) -> Callable[[Row], Margins]:
    """The margins of one row, (1, n_bits), as the bits themselves compute them, without what many rows share."""
    if not hasattr(bits, "product"):  # of a tree, or not linear
        return lambda row: bits.margins(row.matrix())
    kernel, weights = bits.product()
    kernel, bias, n_bits = typed_once(kernel), bits.bias, bits.n_bits

    def margins(row: Row) -> Margins:
        if not (bits.makes_rows_sparse or row.given is None or sparse.issparse(row.given)):
            return np.asarray(bits.margins(row.given))
        product = np.empty((1, n_bits), np.float32)
        kernel(row.indptr, row.indices, row.values, *weights, product)
        product += bias
        return product

    return margins
