"""The predictors of bits as JSON and arrays: one table of their kinds, each of which is written, read and checked.

Compiled loops trust their arrays: an index beyond an array would let them read other memory. Checksums detect
accidents; the checks made here also detect forged files. Features without weights take one bit each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from reprlib import repr as shortened
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from codekin._system.arrays import Arrays, as_narrow, check_compressed, check_counts, check_indices
from codekin.code import Code, IntArray, Margins
from codekin.learners.calibration import CalibratedBits
from codekin.learners.compact import PRECISIONS, CompactLinearBits, CompactSparseLinearBits
from codekin.learners.independent import ConstantBit, EstimatorBits
from codekin.learners.linear import LinearBits, SparseLinearBits
from codekin.learners.training import LearningBits
from codekin.learners.tree_bits import TreeBits
from codekin.learners.vector_bits import Cells, Sketch, VectorBits
from codekin.states.values import Json, ModelFolderError, check, checked, typed


def describe_bits(bits: Any, arrays: Arrays, learners: list[Any]) -> Json:
    """The predictors of all bits as JSON, arrays and learners."""
    if isinstance(bits, LearningBits):
        bits = bits.finished()
    for name, form in BITS.items():
        if isinstance(bits, form.type):
            return {"kind": name, **form.write(bits, arrays, learners)}
    raise TypeError(f"Bits of type {type(bits).__name__} cannot be saved.")


def restore_bits(description: Json, arrays: Arrays, learners: list[Any], code: Code) -> Any:
    """What :func:`describe_bits` described, checked against the code."""
    kind = description["kind"]
    if kind not in BITS:
        raise KeyError(f"bits of kind {shortened(kind)}")
    refusal = f"the codebook {code.codebook.name!r} cannot have bits of kind {shortened(kind)}"
    check(code.codebook.kind in BITS[kind].codebooks, REFUSALS.get(code.codebook.kind, refusal))
    return BITS[kind].read(description, arrays, learners, code)


# ----- linear predictors --------------------------------------------------------------------------------------------


def _write_linear(bits: LinearBits, arrays: Arrays, _: list[Any]) -> Json:
    arrays["bias"], arrays["weights"] = bits.bias, bits.weights
    return {}


def _read_linear(_: Json, arrays: Arrays, __: list[Any], code: Code) -> LinearBits:
    return LinearBits(typed(arrays["weights"], "weights", "float32", 2), _bias(arrays, code))


def _write_sparse(bits: SparseLinearBits, arrays: Arrays, _: list[Any]) -> Json:
    weights = bits.weights
    arrays["bias"], arrays["weights_data"] = bits.bias, weights.data
    arrays["weights_indices"], arrays["weights_indptr"] = as_narrow(weights.indices), as_narrow(weights.indptr)
    return {"shape": [int(size) for size in weights.shape]}


def _read_sparse(description: Json, arrays: Arrays, _: list[Any], code: Code) -> SparseLinearBits:
    bias = _bias(arrays, code)
    data, indices, indptr = (arrays[f"weights_{name}"] for name in ("data", "indices", "indptr"))
    shape = (len(indptr) - 1, len(bias))
    if description["shape"] != list(shape):
        raise ValueError(f"'shape' must be {list(shape)}. Got {shortened(description['shape'])} instead.")
    check_compressed(indptr, indices, len(typed(data, "weights_data", "float32")), *shape)
    places = (array.astype(np.int64) for array in (indices, indptr))
    return SparseLinearBits(csr_array((data, *places), shape=shape), bias)


def _write_compact(bits: CompactLinearBits, arrays: Arrays, _: list[Any]) -> Json:
    _write_scaled(bits, arrays)
    arrays["weights_has_row"] = np.packbits(bits.row_of_feature > 0)
    return {"n_features": bits.n_features}


def _read_compact(description: Json, arrays: Arrays, _: list[Any], code: Code) -> CompactLinearBits:
    has_row = typed(arrays["weights_has_row"], "weights_has_row", "uint8")
    n_features = checked(description["n_features"], "n_features")
    if len(has_row) != -(-n_features // 8):
        raise ValueError(f"n_features={n_features} needs as many bits of 'weights_has_row'. Got {8 * len(has_row)}.")
    has = np.unpackbits(has_row, count=n_features)
    row_of_feature = np.cumsum(has, dtype=np.int32)
    row_of_feature *= has
    weights, scales, bias = _scaled(arrays, code)
    n_rows = int(row_of_feature.max(initial=0)) + 1
    check(weights.shape == (n_rows, code.n_bits), f"there must be {n_rows} rows of {code.n_bits} weights")
    check(scales is None or scales.shape == (n_rows,), f"there must be {n_rows} scales")
    return CompactLinearBits(weights, scales, row_of_feature, bias)


def _write_compact_sparse(bits: CompactSparseLinearBits, arrays: Arrays, _: list[Any]) -> Json:
    _write_scaled(bits, arrays)
    arrays["weights_gaps"], arrays["weights_counts"] = bits.gaps, bits.counts
    return {}


def _read_compact_sparse(_: Json, arrays: Arrays, __: list[Any], code: Code) -> CompactSparseLinearBits:
    (weights, scales, bias), gaps, counts = _scaled(arrays, code), arrays["weights_gaps"], arrays["weights_counts"]
    n_weights = len(weights)
    check_counts(counts, n_weights, "the numbers of weights")
    is_whole = counts.dtype.kind == "u" and gaps.dtype == np.uint8
    check(is_whole and weights.shape == gaps.shape == (n_weights,), f"there must be {n_weights} gaps")
    counts, used = counts.astype(np.int64), counts > 0
    check(scales is None or scales.shape == (int(used.sum()),), "every feature with weights needs a scale")
    if n_weights:
        # The gaps of a feature lead from bit 0 to its last one.
        last_bit = int(np.add.reduceat(gaps, (np.cumsum(counts) - counts)[used], dtype=np.int64).max())
        check(last_bit < code.n_bits, f"a weight is for bit {last_bit} of {code.n_bits}")
    return CompactSparseLinearBits(weights, gaps, arrays["weights_counts"], scales, bias)


def _write_scaled(bits: CompactLinearBits | CompactSparseLinearBits, arrays: Arrays) -> None:
    arrays["bias"], arrays["weights"] = bits.bias, bits.weights
    if bits.scales is not None:
        arrays["weights_scales"] = bits.scales


def _scaled(arrays: Arrays, code: Code) -> tuple[NDArray[Any], NDArray[Any] | None, NDArray[Any]]:
    """Weights of one or two bytes, their scales and the bias."""
    weights, scales = arrays["weights"], arrays.get("weights_scales")
    expected = np.float16 if scales is None else np.int8
    check(weights.dtype == expected, f"the weights must be {np.dtype(expected)}, not {weights.dtype}")
    check(scales is None or scales.dtype == np.float32, "the scales must be float32")
    return weights, scales, _bias(arrays, code)


def _bias(arrays: Arrays, code: Code) -> NDArray[Any]:
    bias = typed(arrays["bias"], "bias", "float32")
    check(bias.shape == (code.n_bits,), f"there are weights for {bias.size} bits, not for {code.n_bits}")
    return bias


# ----- predictors of a tree -----------------------------------------------------------------------------------------

LINKS = "softmax", "logistic"
CHUNKS = ("counts", "nodes", "lengths", "children", "weights")


def _write_tree(bits: TreeBits, arrays: Arrays, _: list[Any]) -> Json:
    arrays["bias"] = bits.bias
    arrays.update({f"chunk_{name}": getattr(bits, name) for name in CHUNKS})
    own = {} if bits.link == LINKS[0] else {"link": bits.link}
    return {"scale": None if bits.scale is None else list(bits.scale), **own}


def _read_tree(description: Json, arrays: Arrays, _: list[Any], code: Code) -> TreeBits:
    counts, nodes, lengths, children, weights = (arrays[f"chunk_{name}"] for name in CHUNKS)
    tree = code.codebook.graph
    check_counts(counts, len(nodes), "the numbers of chunks")
    check_indices(nodes, tree.n_nodes, "the nodes of chunks")
    check_counts(lengths, len(weights), "the lengths of chunks")
    if lengths.shape != nodes.shape or children.shape != weights.shape or (lengths == 0).any():
        raise ValueError("every chunk needs a node and a weight, and every weight a child.")
    _check_increasing(nodes, np.repeat(np.arange(len(counts)), counts), "the nodes of a feature's chunks")
    chunk = np.repeat(np.arange(len(lengths)), lengths)
    n_children = np.diff(tree.first_bits)[nodes.astype(np.intp)]
    check_indices(children, int(n_children.max(initial=0)), "the children of weights")
    check(
        bool((children.astype(np.int64) < n_children[chunk]).all()),
        "a weight is for a child that its node does not have",
    )
    _check_increasing(children, chunk, "the children of a chunk's weights")
    link = description.get("link", LINKS[0])
    check(link in LINKS, f"'link' must be one of {', '.join(LINKS)}. Got {shortened(link)}")
    scale, bias = _scale(description["scale"], weights), _bias(arrays, code)
    return TreeBits(tree, counts, nodes, lengths, children, weights, scale, bias, link=link)


def _scale(scale: Any, weights: NDArray[Any]) -> tuple[float, float] | None:
    if weights.ndim != 1 or weights.dtype.name not in PRECISIONS or (weights.dtype == np.int8) != (scale is not None):
        raise ValueError(f"weights of type {weights.dtype} do not go with the scale {shortened(scale)}.")
    if scale is None:
        return None
    if not isinstance(scale, list) or len(scale) != 2:
        raise ValueError(f"'scale' must be a pair of numbers. Got {shortened(scale)}.")
    smallest, largest = (float(checked(size, "scale", "positive")) for size in scale)
    if smallest > largest:
        raise ValueError(f"'scale' must not fall. Got {shortened(scale)}.")
    return smallest, largest


def _check_increasing(values: NDArray[Any], group: IntArray, what: str) -> None:
    """Raise unless values increase within groups of neighbours."""
    if ((values[1:] <= values[:-1]) & (group[1:] == group[:-1])).any():
        raise ValueError(f"{what} must increase.")


# ----- class vectors of dense samples -------------------------------------------------------------------------------


def _write_vectors(bits: VectorBits, arrays: Arrays, _: list[Any]) -> Json:
    arrays.update({name: getattr(bits, name) for name in ("weights", "scales", "bias", "centre", "factor")})
    description: Json = {}
    for name, part in (("sketch", bits.sketch), ("cells", bits.cells)):
        if part is not None:
            numbers = part._asdict()
            description[name] = {key: float(each) for key, each in numbers.items() if np.ndim(each) == 0}
            arrays.update({f"{name}_{key}": each for key, each in numbers.items() if np.ndim(each)})
    return description


def _read_vectors(description: Json, arrays: Arrays, _: list[Any], code: Code) -> VectorBits:
    weights, (scales, centre, factor) = (
        typed(arrays["weights"], "weights", "int8", 2),
        (typed(arrays[name], name, "float32") for name in ("scales", "centre", "factor")),
    )
    n_features, n = len(centre), code.n_classes
    is_whole = weights.shape == (n, n_features) and scales.shape == (n,) and factor.shape == (n_features,)
    check(is_whole and code.n_bits == n, f"there must be a vector for each of the {n} classes")
    bits, sketch, cells = VectorBits(weights, scales, _bias(arrays, code), centre, factor), None, None
    if "sketch" in description:
        projection, vectors = (typed(arrays[f"sketch_{name}"], name, "int8", 2) for name in ("projection", "vectors"))
        of_columns = typed(arrays["sketch_projection_scales"], "sketch_projection_scales", "float32")
        width = projection.shape[1]
        is_whole = projection.shape == (n_features, width) and vectors.shape == (n, width) and len(of_columns) == width
        check(is_whole and width > 0, f"the sketch must be of {n_features} features and {n} classes")
        sketch = Sketch(projection, of_columns, vectors, *_numbers(description["sketch"], "scale", "gap"))
        if "cells" in description:
            centres, starts, members = (arrays[f"cells_{name}"] for name in ("centres", "starts", "members"))
            n_cells = len(typed(centres, "cells_centres", "int8", 2))
            check(n_cells > 0 and centres.shape[1] == width, f"the cells must have {width} dimensions")
            check_compressed(starts, members, n, n_cells, n)
            check(bool((np.bincount(members, minlength=n) == 1).all()), "every class must be in one cell")
            (scale,) = _numbers(description["cells"], "scale")
            cells = Cells(centres, scale, starts.astype(np.int64), members.astype(np.int32))
    return replace(bits, sketch=sketch, cells=cells)


def _numbers(description: Json, *names: str) -> list[np.float32]:
    return [np.float32(checked(description[name], name, "positive")) for name in names]


# ----- predictors of scikit-learn's kind ----------------------------------------------------------------------------


class RestoredEstimatorBits(EstimatorBits):
    """Predictors from a file; if one cannot predict, the file is damaged."""

    def margins(self, X: Any) -> Margins:
        """One column per bit; errors of damaged learners become one sentence."""
        try:
            return super().margins(X)
        except (ValueError, MemoryError):
            raise
        except Exception as error:
            reason = " ".join(str(error).split()).rstrip(".")
            raise ModelFolderError(
                f"The learners of this model cannot predict ({type(error).__name__}: {reason}). Save it again."
            ) from error


def _write_estimators(bits: EstimatorBits, arrays: Arrays, learners: list[Any]) -> Json:
    places: list[Json] = []
    for predictor in bits.predictors:
        if isinstance(predictor, ConstantBit):
            places.append({"constant": predictor.sign})
        else:
            places.append({"learner": len(learners)})
            learners.append(predictor)
    if bits.columns is not None:
        arrays["bit_columns"] = bits.columns
    if bits.symbols is None:
        return {"predictors": places}
    for place, symbols in zip(places, bits.symbols, strict=True):
        place["symbols"] = symbols.tolist()
    return {"n_symbols": bits.n_symbols, "predictors": places}


def _read_estimators(description: Json, arrays: Arrays, learners: list[Any], code: Code) -> EstimatorBits:
    places, n_symbols = description["predictors"], checked(description.get("n_symbols", 2), "n_symbols")
    predictors = [_predictor(place, learners) for place in places]
    symbols = [_symbols(place["symbols"], n_symbols) for place in places] if "n_symbols" in description else None
    check(n_symbols == code.n_symbols, f"the predictors are of {n_symbols} symbols, the code of {code.n_symbols}")
    check(len(predictors) == code.n_bits, f"there are {len(predictors)} predictors for {code.n_bits} bits")
    is_suitable, refusal = NEEDED.get(code.codebook.kind, (lambda _: True, ""))
    check(all(map(is_suitable, predictors)), refusal)
    columns = typed(arrays["bit_columns"], "bit_columns", "bool", 2) if "bit_columns" in arrays else None
    is_mask = columns is None or len(columns) == code.n_bits
    check(is_mask, f"the columns of the bits must be a mask of {code.n_bits} rows")
    return RestoredEstimatorBits(predictors, columns, symbols, n_symbols)


def _predictor(place: Json, learners: list[Any]) -> Any:
    if "learner" in place:
        return learners[checked(place["learner"], "learner")]
    if place["constant"] not in (-1, 1):
        raise ValueError(f"'constant' must be -1 or 1. Got {shortened(place['constant'])} instead.")
    return ConstantBit(int(place["constant"]))


def _symbols(symbols: Any, n_symbols: int) -> IntArray:
    every = [checked(symbol, "symbols") for symbol in symbols]
    if not every or every != sorted(set(every)) or every[-1] >= n_symbols:
        raise ValueError(
            f"'symbols' must increase from 0 to at most {n_symbols - 1}. Got {shortened(symbols)} instead."
        )
    return np.array(every, dtype=np.intp)


def _write_calibrated(bits: CalibratedBits, arrays: Arrays, learners: list[Any]) -> Json:
    arrays["calibration_slopes"], arrays["calibration_intercepts"] = bits.slopes, bits.intercepts
    return {"bits": describe_bits(bits.bits, arrays, learners)}


def _read_calibrated(description: Json, arrays: Arrays, learners: list[Any], code: Code) -> CalibratedBits:
    check(description["bits"]["kind"] != "calibrated", "bits are calibrated once")
    inner = restore_bits(description["bits"], arrays, learners, code)
    slopes, intercepts = (arrays[f"calibration_{name}"].astype(np.float64) for name in ("slopes", "intercepts"))
    for name, numbers in (("slopes", slopes), ("intercepts", intercepts)):
        check(numbers.shape == (code.n_margins,), f"there must be {code.n_margins} {name}")
    return CalibratedBits(inner, slopes, intercepts)


# ----- the tables ---------------------------------------------------------------------------------------------------


class _Form(NamedTuple):
    """How bits of a type are written and read, and the kinds of codebooks that may have them."""

    type: type
    write: Callable[[Any, Arrays, list[Any]], Json]
    read: Callable[[Json, Arrays, list[Any], Code], Any]
    codebooks: tuple[str, ...] = ("signs", "trellis")


BITS = {
    "linear": _Form(LinearBits, _write_linear, _read_linear),
    "sparse_linear": _Form(SparseLinearBits, _write_sparse, _read_sparse),
    "compact_linear": _Form(CompactLinearBits, _write_compact, _read_compact),
    "compact_sparse_linear": _Form(CompactSparseLinearBits, _write_compact_sparse, _read_compact_sparse),
    "tree": _Form(TreeBits, _write_tree, _read_tree, ("tree",)),
    "vectors": _Form(VectorBits, _write_vectors, _read_vectors, ("tree",)),
    "estimators": _Form(EstimatorBits, _write_estimators, _read_estimators, ("signs", "symbols", "targets", "trellis")),
    "calibrated": _Form(CalibratedBits, _write_calibrated, _read_calibrated, ("signs", "symbols", "trellis")),
}
"""The kinds of bits by their names in ``model.json``."""


def _is_regressor(predictor: Any) -> bool:
    from sklearn.base import is_regressor

    return bool(is_regressor(predictor))


NEEDED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "targets": (_is_regressor, "real codewords need regressors, one per bit"),
}
"""What the predictors of some kinds of codebooks must be."""
REFUSALS = {
    "symbols": "columns of several symbols need predictors of scikit-learn's kind",
    "targets": NEEDED["targets"][1],
}
"""Why some kinds of codebooks do not have some kinds of bits."""
