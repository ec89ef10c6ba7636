"""Whether the parts of a model fit together, asked before any of them is used.

Compiled loops trust the arrays that they are given: a number in a file that points beyond an array would let them read
whatever lies there. Checksums find accidents; these checks also find what was made to deceive.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from codekin.learners import (
    CalibratedBits,
    CompactLinearBits,
    CompactSparseLinearBits,
    EstimatorBits,
    LinearBits,
    SparseLinearBits,
)
from codekin.model import CodedModel
from codekin.ranked_model import RankedModel
from codekin.ranking import ClassVectors


def check_code(model: CodedModel) -> None:
    """Raise unless every class has a codeword that there is, and every bit a predictor."""
    largest = int(model.assignment.codeword_of_class.max(initial=0))
    _check(
        largest < model.codebook.n_codewords,
        f"codeword {largest} is not among the {model.codebook.n_codewords} of the codebook",
    )
    _check_bits(model.bits, model.n_bits)


def check_ranking(model: RankedModel) -> None:
    """Raise unless the class vectors point at features that there are."""
    if model.reranking.vectors is not None:
        _check_vectors(model.reranking.vectors)


def check_classifier(classifier: Any) -> None:
    """Raise unless there is a label for every class, and a weight for every feature."""
    model = classifier.model_
    _check(
        classifier.classes_.shape == (model.n_classes,),
        f"there are {classifier.classes_.shape[0]} labels for {model.n_classes} classes",
    )
    members = model.members if isinstance(model, RankedModel) else [model]
    widths = {member.bits.n_features for member in members if hasattr(member.bits, "n_features")}
    if isinstance(model, RankedModel) and model.reranking.vectors is not None:
        widths.add(model.reranking.vectors.n_features)
    n_features = getattr(classifier, "n_features_in_", None)
    _check(
        not widths or widths == {n_features},
        f"there are weights for {', '.join(map(str, sorted(widths)))} features, not for {n_features}",
    )


def _check_bits(bits: Any, n_bits: int) -> None:
    if isinstance(bits, EstimatorBits):
        _check(len(bits.predictors) == n_bits, f"there are {len(bits.predictors)} predictors for {n_bits} bits")
        columns = bits.columns
        is_mask = columns is None or (columns.ndim == 2 and len(columns) == n_bits and columns.dtype == np.bool_)
        _check(is_mask, f"the columns of the bits must be a mask of {n_bits} rows")
        return
    if isinstance(bits, CalibratedBits):
        for name in ("slopes", "intercepts"):
            _check(getattr(bits, name).shape == (n_bits,), f"there must be {n_bits} {name}")
        _check_bits(bits.bits, n_bits)
        return
    _check(bits.bias.shape == (n_bits,), f"there are weights for {bits.bias.size} bits, not for {n_bits}")
    if isinstance(bits, SparseLinearBits):
        bits.weights.check_format(full_check=True)
    elif isinstance(bits, LinearBits):
        _check(bits.weights.ndim == 2, "the weights must be a matrix")
    elif isinstance(bits, CompactLinearBits):
        _check_rows(bits, n_bits)
    elif isinstance(bits, CompactSparseLinearBits):
        _check_gaps(bits, n_bits)


def _check_rows(bits: CompactLinearBits, n_bits: int) -> None:
    n_rows = int(bits.row_of_feature.max(initial=0)) + 1
    _check_precision(bits)
    _check(bits.weights.shape == (n_rows, n_bits), f"there must be {n_rows} rows of {n_bits} weights")
    _check(bits.scales is None or bits.scales.shape == (n_rows,), f"there must be {n_rows} scales")


def _check_gaps(bits: CompactSparseLinearBits, n_bits: int) -> None:
    counts = bits.counts.astype(np.int64)
    n_weights = int(counts.sum())
    _check_precision(bits)
    is_whole = counts.ndim == 1 and bits.counts.dtype.kind == "u" and bits.gaps.dtype == np.uint8
    _check(is_whole and bits.weights.shape == bits.gaps.shape == (n_weights,), f"there must be {n_weights} weights")
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


def _check_vectors(vectors: ClassVectors) -> None:
    n_entries = int(vectors.indptr[-1])
    _check(
        vectors.features.shape == vectors.steps.shape == (n_entries,) and len(vectors.scales) == vectors.n_classes,
        f"the class vectors must have {n_entries} entries and a scale each",
    )
    largest, smallest = int(vectors.features.max(initial=0)), int(vectors.features.min(initial=0))
    _check(smallest >= 0 and largest < max(vectors.n_features, 1), f"a class vector has an entry for feature {largest}")


def _check(is_right: bool, reason: str) -> None:
    if not is_right:
        raise ValueError(f"{reason}.")
