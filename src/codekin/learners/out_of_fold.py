"""Margins of samples as if the bits had not been trained on them.

Margins of training samples are too good. In least squares, leaving a sample out moves its margin by its residual times
``h / (1 - h)``, and the leverages ``h`` of all samples add up to the number of features. So with many samples per
feature, margins of training samples are good enough. Trees memorise their samples, and so does a linear learner with
more features than samples. Then bits are trained again without a fifth of the samples at a time.

Linear bits need not be trained again: see :mod:`codekin.learners.without_samples`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from codekin.code import Code, IntArray, Margins
from codekin.learners.estimators import is_plain_linear
from codekin.learners.independent import ConstantBit, EstimatorBits
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


def steps_of(predictor: Any) -> list[Any]:
    """The steps of a pipeline, or the predictor alone."""
    named = getattr(predictor, "steps", [("", predictor)])
    return [step for _, step in named if step not in (None, "passthrough")]
