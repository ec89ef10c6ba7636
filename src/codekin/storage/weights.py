"""The weights of linear predictors as arrays of any precision; features without weights take one bit each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from codekin._system.arrays import Arrays, as_narrow
from codekin._system.index_arrays import check_compressed, check_counts
from codekin.learners.compact import CompactLinearBits, CompactSparseLinearBits
from codekin.learners.linear import LinearBits, SparseLinearBits
from codekin.storage.files import Json
from codekin.storage.values import shortened, typed, whole_number

LINEAR_KINDS = (LinearBits, SparseLinearBits, CompactLinearBits, CompactSparseLinearBits)


def describe_linear_bits(bits: Any, arrays: Arrays) -> Json:
    """Linear predictors with any form of weights as JSON and arrays."""
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
    """What :func:`describe_linear_bits` described."""
    kind, bias = description["kind"], typed(arrays["bias"], "bias", "float32")
    if kind == "linear":
        return LinearBits(typed(arrays["weights"], "weights", "float32", 2), bias)
    if kind == "sparse_linear":
        return SparseLinearBits(_sparse_weights(description, arrays, len(bias)), bias)
    scales = arrays.get("weights_scales")
    if kind == "compact_linear":
        return CompactLinearBits(arrays["weights"], scales, _row_of_feature(description, arrays), bias)
    if kind == "compact_sparse_linear":
        counts = arrays["weights_counts"]
        check_counts(counts, len(arrays["weights"]), "the numbers of weights")
        return CompactSparseLinearBits(arrays["weights"], arrays["weights_gaps"], counts, scales, bias)
    raise KeyError(f"bits of kind {kind!r}")


def _sparse_weights(description: Json, arrays: Arrays, n_bits: int) -> csr_array:
    data, indices, indptr = (arrays[f"weights_{name}"] for name in ("data", "indices", "indptr"))
    if description["shape"] != [len(indptr) - 1, n_bits]:
        raise ValueError(f"'shape' must be {[len(indptr) - 1, n_bits]}. Got {shortened(description['shape'])} instead.")
    check_compressed(indptr, indices, len(typed(data, "weights_data", "float32")), len(indptr) - 1, n_bits)
    places = (array.astype(np.int64) for array in (indices, indptr))
    return csr_array((data, *places), shape=(len(indptr) - 1, n_bits))


def _row_of_feature(description: Json, arrays: Arrays) -> NDArray[np.int32]:
    has_row = typed(arrays["weights_has_row"], "weights_has_row", "uint8")
    n_features = whole_number(description["n_features"], "n_features")
    if len(has_row) != -(-n_features // 8):
        raise ValueError(f"n_features={n_features} needs as many bits of 'weights_has_row'. Got {8 * len(has_row)}.")
    has = np.unpackbits(has_row, count=n_features)
    rows = np.cumsum(has, dtype=np.int32)
    rows *= has
    return rows
