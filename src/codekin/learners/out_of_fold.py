"""Margins of samples as if the bits had not been trained on them.

Margins of training samples are too good. In least squares, leaving a sample out moves its margin by its residual times
``h / (1 - h)``, and the leverages ``h`` of all samples add up to the number of features. So with many samples per
feature, margins of training samples are good enough. Trees memorise their samples, and so does a linear learner with
more features than samples. Then bits are trained again without a fifth of the samples at a time.

Linear bits need not be trained again: see :mod:`codekin.learners.without_samples`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import get_tags

from codekin._system.arrays import bounded_margins
from codekin._system.parallel import single_blas
from codekin.code import Code, FloatArray, IntArray, Margins
from codekin.learners.estimators import is_plain_linear
from codekin.learners.independent import ConstantBit, EstimatorBits
from codekin.learners.linear import CONSTANT_MARGIN
from codekin.learners.without_samples import LinearLesson, objective_of, steps_of
from codekin.samples import N_FOLDS, Samples, rows_at, stratified_folds

SAMPLES_PER_FEATURE = 20
"""From this many samples per feature on, margins of training samples are better than those out of folds, which come
from five sets of bits that differ from the final one. Accuracy of decoders learned from the former and from the latter:
digits, 17 samples per feature, 93.8 and 94.3 %; vowel, 20 and 45 samples per feature, 68.6 and 66.9 %, 88.6 and 83.8 %.
"""


def out_of_fold_margins(
    learner: Any, samples: Samples, code: Code, *, n_margins: int | None = None, rng: np.random.Generator
) -> tuple[Margins, IntArray]:
    """Margins of samples from bits trained without them, and which samples these are, in increasing order.

    A fifth of the samples is left out at a time, until there are ``n_margins``, by default those of all samples.
    """
    wanted = len(samples) if n_margins is None else min(n_margins, len(samples))
    margins = np.zeros((len(samples), code.n_margins))
    is_known = np.zeros(len(samples), dtype=bool)
    for bits, held_out in learned_without_folds(learner, samples, code, rng):
        if len(held_out):
            margins[held_out] = bits.margins(rows_at(samples.X, held_out))
            is_known[held_out] = True
        if np.count_nonzero(is_known) >= wanted:
            break
    return margins[is_known], np.flatnonzero(is_known)


def learned_without_folds(
    learner: Any, samples: Samples, code: Code, rng: np.random.Generator
) -> Iterator[tuple[Any, IntArray]]:
    """Bits trained without a fifth of the samples, and which samples these are, five times."""
    fold_of_sample = stratified_folds(samples.class_index, N_FOLDS, rng)
    for fold in range(N_FOLDS):
        is_held = fold_of_sample == fold
        # Samples of unknown classes are left out.
        kept = replace(samples, class_index=np.where(is_held, -1, samples.class_index))
        yield learner.fit(kept, code, rng=rng), np.flatnonzero(is_held)


def has_enough_samples(bits: Any, samples: Samples, code: Code) -> bool:
    """Whether the margins of the training samples are about like those of new samples.

    That is so for linear bits with at least twenty samples per feature each, also after transformations that do not use
    the classes.
    """
    n_features = _n_linear_features(bits)
    if n_features is None:
        return False
    counts = None if samples.weights is None else (np.asarray(samples.weights) > 0).astype(np.float64)
    class_sizes = np.bincount(samples.class_index, counts, minlength=code.n_classes)
    n_seen = class_sizes @ code.is_used
    return bool(n_seen.min() >= SAMPLES_PER_FEATURE * n_features)


def are_linear(bits: Any) -> bool:
    """Whether the margins are linear in the features, possibly after a transformation."""
    return _n_linear_features(bits) is not None


def _n_linear_features(bits: Any) -> int | None:
    """The largest number of features of linear bits; None for other bits."""
    if not isinstance(bits, EstimatorBits):
        return getattr(bits, "n_features", None)
    numbers = [_n_features_of(predictor) for predictor in bits.predictors]
    return None if None in numbers else max(number for number in numbers if number is not None)


def _n_features_of(predictor: Any) -> int | None:
    if isinstance(predictor, ConstantBit):
        return 0
    steps = steps_of(predictor)
    if steps and steps[0] is not predictor:
        # A step that uses the classes, or selects features, is fitted to them, however few features remain.
        has_looked = any(get_tags(step).target_tags.required for step in steps[:-1])
        n_features = None if has_looked else _n_features_of(steps[-1])
        return n_features and max(n_features, int(getattr(predictor, "n_features_in_", 0)))
    return int(np.shape(predictor.coef_)[-1]) if is_plain_linear(predictor) else None


MAX_FEATURES = 300
MAX_WORK = 3e10
"""With more features than this, and more multiplications than this, a fifth of the samples is left out at a time."""

SAMPLES_PER_DIMENSION = 3
"""With more bits than dimensions and fewer samples per class and dimension, a fifth is left out at a time, too."""
LEAST_VARIANCE = 1e-7
"""Directions in which margins vary by less than this share of the largest variance are rounding, and so is what varies
by less than its square as a share of the largest square: all of it, if bits say the same of every sample."""


class OutOfFold(NamedTuple):
    """Margins of samples from bits without them.

    - ``rows``: which samples, in increasing order.
    - ``by_fifths``: the same margins from bits without a fifth of the samples, where ``margins`` are from bits without
      one. They are less like those of new samples, but reveal nothing about the class.
    """

    margins: Margins
    rows: IntArray
    by_fifths: Margins | None = None


def approximate_out_of_fold_margins(
    bits: Any, samples: Samples, code: Code, *, n_margins: int, rng: np.random.Generator
) -> OutOfFold | None:
    """Margins of samples as if the bits had been learned without them.

    None for bits that do not minimise a smooth loss with a quadratic penalty over numeric features. Where there are few
    features or few samples, all samples get margins; otherwise as many fifths of them as contain ``n_margins``.

    More linear bits than features add no information. But bits learned without a single sample differ from those of
    other samples, and how they differ reveals its class. Margins are projected onto the span of the bits' own, as those
    of new samples are. With few samples per class that also takes back much of what the sample's absence changed; then
    a fifth of them is left out at a time, so that many samples share the same bits, and nothing is projected.
    Of few samples, there are margins of either kind.
    """
    if not isinstance(bits, EstimatorBits) or bits.columns is not None:
        return None
    predictors, class_index = bits.predictors, samples.class_index
    is_constant = np.array([isinstance(predictor, ConstantBit) for predictor in predictors])
    if is_constant.all() or None in [objective_of(one) for one in predictors if not isinstance(one, ConstantBit)]:
        return None
    known = np.flatnonzero(class_index >= 0)
    fold_of_sample = stratified_folds(class_index[known], N_FOLDS, rng)
    folds = [known[fold_of_sample == fold] for fold in range(N_FOLDS)]
    entries, (n_classes, n_bits) = code.coding_matrix[class_index].astype(np.float64), code.coding_matrix.shape
    is_used = code.codebook.is_used(code.assignment.codeword_of_class)[class_index] & (class_index >= 0)[:, None]
    own = bits.margins(rows_at(samples.X, known))
    rank, n_learned = _basis(own).shape[1], np.count_nonzero(~is_constant)
    are_few = rank < n_learned and len(known) < SAMPLES_PER_DIMENSION * rank * n_classes
    is_each, n_folds, margins = True, N_FOLDS, np.empty((len(class_index), n_bits))
    has_both = len(known) <= n_margins
    by_fifths = np.empty_like(margins)
    for bit, predictor in enumerate(predictors):
        if isinstance(predictor, ConstantBit):
            margins[:, bit] = predictor.sign * CONSTANT_MARGIN
    with single_blas():  # sums must not depend on the number of threads
        for columns, X in _groups(predictors, np.flatnonzero(~is_constant), samples.X):
            if not _are_numbers(X):
                return None
            learners = [steps_of(predictors[bit])[-1] for bit in columns]
            lesson = LinearLesson.of(X, entries[:, columns], is_used[:, columns], samples.weights, learners)
            if not are_few and (X.shape[1] <= MAX_FEATURES or lesson.work <= MAX_WORK):
                margins[np.ix_(known, columns)] = lesson.without_each(known)
                for fold in folds if has_both else ():
                    by_fifths[np.ix_(fold, columns)] = lesson.without(fold)
                continue
            is_each, sizes = False, np.cumsum([len(fold) for fold in folds])
            n_folds = min(N_FOLDS, 1 + int(np.searchsorted(sizes, n_margins)))
            for fold in folds[:n_folds]:
                margins[np.ix_(fold, columns)] = lesson.without(fold)
    rows = np.sort(np.concatenate(folds[:n_folds]))
    if not is_each:
        return OutOfFold(bounded_margins(margins[rows]), rows)
    of_fifths = bounded_margins(by_fifths[rows]) if has_both else None
    return OutOfFold(bounded_margins(within_span(margins[rows], own)), rows, of_fifths)


def within_span(margins: Margins, own: Margins) -> Margins:
    """Margins projected onto the span of the bits' own margins for the same samples."""
    mean, basis = own.mean(axis=0), _basis(own)
    return margins if basis.shape[1] == len(basis) else np.asarray(mean + (margins - mean) @ basis @ basis.T)


def _basis(own: Margins) -> FloatArray:
    """Directions in which margins vary, as orthonormal columns."""
    with single_blas():
        values, vectors = np.linalg.eigh(np.cov(own, rowvar=False, ddof=0).reshape(own.shape[1], -1))
    least = max(LEAST_VARIANCE * values[-1], np.square(LEAST_VARIANCE * np.abs(own).max()))
    return np.asarray(vectors[:, values > least])


def _groups(predictors: Sequence[Any], columns: IntArray, X: Any) -> Iterator[tuple[IntArray, Any]]:
    """Groups of bits with the same features, and these; each bit after a transformation has its own."""
    is_plain = np.array([not hasattr(predictors[bit], "steps") for bit in columns])
    if is_plain.any():
        yield columns[is_plain], X
    for bit in columns[~is_plain]:
        yield np.array([bit]), predictors[bit][:-1].transform(X)


def _are_numbers(X: Any) -> bool:
    return getattr(getattr(X, "dtype", None), "kind", "O") in "biuf" and len(X.shape) == 2
