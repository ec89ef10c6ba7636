"""The weights of linear predictors as arrays, whatever their precision; features without weights take one bit each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from codekin.arrays import Arrays
from codekin.learners import CompactLinearBits, CompactSparseLinearBits, LinearBits, SparseLinearBits
from codekin.storage.files import Json

LINEAR_KINDS = (LinearBits, SparseLinearBits, CompactLinearBits, CompactSparseLinearBits)


def describe_linear_bits(bits: Any, arrays: Arrays) -> Json:
    arrays["bias"] = bits.bias
    if isinstance(bits, LinearBits):
        arrays["weights"] = bits.weights
        return {"kind": "linear"}
    if isinstance(bits, SparseLinearBits):
        weights = bits.weights
        arrays["weights_data"], arrays["weights_indices"] = weights.data, as_narrow(weights.indices)
        arrays["weights_indptr"] = as_narrow(weights.indptr)
        return {"kind": "sparse_linear", "shape": [int(size) for size in weights.shape]}
    arrays["weights"] = bits.weights
    if bits.scales is not None:
        arrays["weights_scales"] = bits.scales
    if isinstance(bits, CompactLinearBits):
        arrays["weights_has_row"] = np.packbits(bits.row_of_feature > 0)
        return {"kind": "compact_linear", "n_features": bits.n_features}
    arrays["weights_gaps"], arrays["weights_counts"] = bits.gaps, bits.counts
    return {"kind": "compact_sparse_linear"}


def restore_linear_bits(description: Json, arrays: Arrays) -> Any:
    kind, bias = description["kind"], arrays["bias"]
    if kind == "linear":
        return LinearBits(arrays["weights"], bias)
    if kind == "sparse_linear":
        places = (arrays[f"weights_{name}"].astype(np.int64) for name in ("indices", "indptr"))
        parts = (arrays["weights_data"], *places)
        return SparseLinearBits(csr_array(parts, shape=tuple(description["shape"])), bias)
    scales = arrays.get("weights_scales")
    if kind == "compact_linear":
        if not 0 <= description["n_features"] <= 8 * len(arrays["weights_has_row"]):
            raise ValueError(f"n_features={description['n_features']} is more than 'weights_has_row' has bits.")
        rows = _row_of_feature(arrays["weights_has_row"], description["n_features"])
        return CompactLinearBits(arrays["weights"], scales, rows, bias)
    if kind == "compact_sparse_linear":
        return CompactSparseLinearBits(
            arrays["weights"], arrays["weights_gaps"], arrays["weights_counts"], scales, bias
        )
    raise KeyError(f"bits of kind {kind!r}")


def as_narrow(integers: NDArray[Any]) -> NDArray[Any]:
    """The same integers in the smallest type that holds them all."""
    smallest, largest = int(integers.min(initial=0)), int(integers.max(initial=0))
    return integers.astype(np.result_type(np.min_scalar_type(smallest), np.min_scalar_type(largest)))


def _row_of_feature(has_row: NDArray[np.uint8], n_features: int) -> NDArray[np.int32]:
    has = np.unpackbits(has_row, count=n_features).astype(bool)
    return np.where(has, np.cumsum(has), 0).astype(np.int32)
