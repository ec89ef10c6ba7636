"""Checks that the parts of a model fit together, made before any of them is used.

Compiled loops trust their arrays: an index beyond an array would let them read other memory. Checksums detect
accidents; these checks also detect forged files.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_regressor

from codekin.datasets.model_input import ModelInput
from codekin.learners.calibration import CalibratedBits
from codekin.learners.compact import CompactLinearBits, CompactSparseLinearBits
from codekin.learners.independent import EstimatorBits
from codekin.learners.tree_bits import TreeBits
from codekin.model import Member, Model
from codekin.storage.classifier_parts import ClassifierParts
from codekin.storage.files import Json


def check_member(member: Member) -> None:
    """Raise unless every class has an existing codeword, and every bit a predictor."""
    code = member.code
    largest = int(code.assignment.codeword_of_class.max(initial=0))
    _check(
        largest < code.codebook.n_codewords,
        f"codeword {largest} is not among the {code.codebook.n_codewords} of the codebook",
    )
    _check_bits(member.bits, code.n_bits, code.n_symbols)
    if code.codebook.is_real:
        _check(_are_regressors(member.bits), "real codewords need regressors, one per bit")


def check_shape(model: Model, description: Json) -> None:
    """Raise unless a description has the shape of the coding matrix."""
    shape = (description["n_classes"], description["n_bits"])
    _check(
        shape == (model.n_classes, model.n_bits),
        f"there are {model.n_classes} classes and {model.n_bits} bits, which is not what 'n_classes' and 'n_bits' say",
    )


def check_ranking(model: Model) -> None:
    """Raise unless all members and the class vectors are for the same features."""
    widths = _widths(model)
    _check(len(widths) <= 1, f"there are weights for {', '.join(map(str, sorted(widths)))} features")


def check_classifier(parts: ClassifierParts, model: Model) -> None:
    """Raise unless there is a label for every class, and a weight for every feature."""
    _check(
        parts.labels.shape == (model.n_classes,),
        f"there are {parts.labels.shape[0]} labels for {model.n_classes} classes",
    )
    if parts.subclasses is not None:
        n_parts = len(parts.subclasses.class_of_part)
        _check(
            np.array_equal(parts.labels, np.arange(n_parts)),
            f"the labels of the {model.n_classes} parts must be their numbers, and there are classes for {n_parts}",
        )
    widths = _widths(model)
    _check(
        not widths or widths == {parts.n_features},
        f"there are weights for {', '.join(map(str, sorted(widths)))} features, not for {parts.n_features}",
    )


def check_input(model_input: ModelInput, parts: ClassifierParts) -> None:
    """Raise unless texts have as many features as the model."""
    vectorizer, n_features = model_input.vectorizer, parts.n_features
    _check(
        vectorizer is None or n_features is None or vectorizer.n_features == n_features,
        f"texts have {0 if vectorizer is None else vectorizer.n_features} features, the model {n_features}",
    )


def _widths(model: Model) -> set[int]:
    """The numbers of features of all weights."""
    of_bits = [getattr(member.bits, "n_features", None) for member in model.members]
    widths = {int(n_features) for n_features in of_bits if n_features is not None}
    if model.ranking is not None and model.ranking.vectors is not None:
        widths.add(model.ranking.vectors.n_features)
    return widths


def _are_regressors(bits: Any) -> bool:
    return isinstance(bits, EstimatorBits) and all(map(is_regressor, bits.predictors))


def _check_bits(bits: Any, n_bits: int, n_symbols: int = 2) -> None:
    if isinstance(bits, EstimatorBits):
        _check(bits.n_symbols == n_symbols, f"the predictors are of {bits.n_symbols} symbols, the code of {n_symbols}")
        _check(len(bits.predictors) == n_bits, f"there are {len(bits.predictors)} predictors for {n_bits} bits")
        columns = bits.columns
        is_mask = columns is None or (columns.ndim == 2 and len(columns) == n_bits and columns.dtype == np.bool_)
        _check(is_mask, f"the columns of the bits must be a mask of {n_bits} rows")
        return
    if isinstance(bits, CalibratedBits):
        n_margins = n_bits if n_symbols == 2 else n_bits * n_symbols
        for name in ("slopes", "intercepts"):
            _check(getattr(bits, name).shape == (n_margins,), f"there must be {n_margins} {name}")
        _check_bits(bits.bits, n_bits, n_symbols)
        return
    _check(n_symbols == 2, f"columns of {n_symbols} symbols need predictors of scikit-learn's kind")
    if isinstance(bits, TreeBits):
        return  # checked against its tree when it was restored
    _check(bits.bias.shape == (n_bits,), f"there are weights for {bits.bias.size} bits, not for {n_bits}")
    if isinstance(bits, CompactLinearBits):
        _check_rows(bits, n_bits)
    elif isinstance(bits, CompactSparseLinearBits):
        _check_gaps(bits, n_bits)


def _check_rows(bits: CompactLinearBits, n_bits: int) -> None:
    n_rows = int(bits.row_of_feature.max(initial=0)) + 1
    _check_precision(bits)
    _check(bits.weights.shape == (n_rows, n_bits), f"there must be {n_rows} rows of {n_bits} weights")
    _check(bits.scales is None or bits.scales.shape == (n_rows,), f"there must be {n_rows} scales")


def _check_gaps(bits: CompactSparseLinearBits, n_bits: int) -> None:
    """Check gaps whose counts are known to add up to the number of weights."""
    counts, n_weights = bits.counts.astype(np.int64), len(bits.weights)
    _check_precision(bits)
    is_whole = bits.counts.dtype.kind == "u" and bits.gaps.dtype == np.uint8
    _check(is_whole and bits.weights.shape == bits.gaps.shape == (n_weights,), f"there must be {n_weights} gaps")
    used = counts > 0
    _check(bits.scales is None or bits.scales.shape == (int(used.sum()),), "every feature with weights needs a scale")
    if n_weights:
        # The gaps of a feature lead from bit 0 to its last one.
        last_bits = np.add.reduceat(bits.gaps, (np.cumsum(counts) - counts)[used], dtype=np.int64)
        _check(int(last_bits.max()) < n_bits, f"a weight is for bit {int(last_bits.max())} of {n_bits}")


def _check_precision(bits: CompactLinearBits | CompactSparseLinearBits) -> None:
    expected = np.float16 if bits.scales is None else np.int8
    _check(bits.weights.dtype == expected, f"the weights must be {np.dtype(expected)}, not {bits.weights.dtype}")
    for name in ("scales", "bias"):
        array = getattr(bits, name)
        _check(array is None or array.dtype == np.float32, f"the {name} must be float32")


def _check(is_right: bool, reason: str) -> None:
    if not is_right:
        raise ValueError(f"{reason}.")
