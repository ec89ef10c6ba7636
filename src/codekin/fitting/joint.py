"""Logistic regression of all classes at once, as the bits of one-vs-rest: taken where a learned decoder is no better.

Its scores of the classes are linear, so that each can be the margin of a bit, and the class with the largest one is
decoded. All that works with linear bits works with these.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from codekin.code import Code, FloatArray, IntArray
from codekin.decoding.learned import LearnedDecoder
from codekin.decoding.losses import get_loss
from codekin.fitting.choice import is_clear, is_open
from codekin.fitting.codes import are_alike
from codekin.fitting.fit import FitResult
from codekin.fitting.plan import Seed
from codekin.learners.estimators import last_step, learns_jointly, seeded
from codekin.learners.independent import EstimatorBits
from codekin.progress import stage
from codekin.samples import N_FOLDS, Samples, rows_at, stratified_folds

SURE = 3.0
"""A learned decoder that gains more than this many standard errors on decoding by the loss is kept without a trial."""
ENOUGH_HELD_OUT = 300
"""No further fold is held out once this many samples have been."""
MOST_WEIGHTS = 10**6
"""With more weights, the solver of all classes at once takes long, and much memory."""


def or_joint(fit: FitResult, given: Mapping[str, Any], classifier: Any, samples: Samples, *, seed: Seed) -> FitResult:
    """A fit, or the same code with the scores of one logistic regression as its margins, whichever is better.

    They are compared on samples that neither has learned from. With too few samples for a learned decoder, the
    regression of all classes is taken.
    """
    shape: tuple[int, ...] = getattr(samples.X, "shape", ())
    if not learns_jointly(classifier) or len(shape) != 2 or are_alike(samples.X):
        return fit
    code, found = fit.model.first.code, fit.decoder_fit
    if not (
        is_open(given, classifier, code.n_classes)
        and not getattr(fit.plan.learner, "fit_params", None)
        and _is_one_vs_rest(code)
        and code.n_classes * shape[1] <= MOST_WEIGHTS
    ):
        return fit
    weights = np.ones(len(samples)) if samples.weights is None else np.asarray(samples.weights, dtype=np.float64)
    rows = np.flatnonzero((samples.class_index >= 0) & (weights > 0))
    if len(np.unique(samples.class_index[rows])) < code.n_classes:
        return fit
    rng, text = np.random.default_rng((*seed, 2)), "there are too few samples to learn a decoder"
    if found is not None:
        is_right = found.is_right
        if is_clear(is_right, found.trials[0].outcome.is_right, weights[found.held_out], SURE):
            return fit
        with stage("trying a regression of all classes at once"):
            judged, own_is_right = _judged(classifier, samples, weights, found.held_out, rng)
        order = np.argsort(found.held_out)
        of_code = is_right[order][np.searchsorted(found.held_out, judged, sorter=order)]
        if is_clear(of_code, own_is_right, weights[judged], 0.0):
            return fit
        text = f"all classes at once get {np.average(own_is_right, weights=weights[judged]):.1%} of "
        text += f"{len(judged)} held-out samples right, one-vs-rest {np.average(of_code, weights=weights[judged]):.1%}"
    with stage("learning all classes at once"):
        learned = _learned(classifier, samples, weights, rows, rng)
    member = replace(fit.model.first, bits=_bits(learned, code), decoder=_largest(code))
    plan = replace(fit.plan, reason=f"{fit.plan.reason}; one regression for all bits: {text}", decoding="learned")
    return replace(fit, model=replace(fit.model, codes=(member,)), plan=plan, decoder_fit=None)


def _judged(
    classifier: Any, samples: Samples, weights: FloatArray, rows: IntArray, rng: np.random.Generator
) -> tuple[IntArray, Any]:
    """Which of some rows, held out a fold at a time until there are enough, the regression gets right."""
    classes, judged, is_right = samples.class_index, list[IntArray](), list[Any]()
    fold = stratified_folds(classes[rows], N_FOLDS, rng)
    for number in range(N_FOLDS):
        held_out = rows[fold == number]
        learned = _learned(classifier, samples, weights, rows[fold != number], rng)
        judged.append(held_out)
        is_right.append(learned.predict(rows_at(samples.X, held_out)) == classes[held_out])
        if sum(map(len, judged)) >= ENOUGH_HELD_OUT:
            break
    return np.concatenate(judged), np.concatenate(is_right)


def _learned(classifier: Any, samples: Samples, weights: FloatArray, rows: IntArray, rng: np.random.Generator) -> Any:
    """The regression of all classes from some rows."""
    copied = seeded(classifier, int(rng.integers(np.iinfo(np.int32).max)))
    name = f"{copied.steps[-1][0]}__sample_weight" if hasattr(copied, "steps") else "sample_weight"
    own = {} if samples.weights is None else {name: weights[rows]}
    return copied.fit(rows_at(samples.X, rows), samples.class_index[rows], **own)


def _is_one_vs_rest(code: Code) -> bool:
    matrix = code.coding_matrix
    return matrix.shape == (code.n_classes, code.n_classes) and bool(((matrix == 1).sum(axis=1) == 1).all())


def _bits(learned: Any, code: Code) -> EstimatorBits:
    """A predictor for each bit, with the weights of the class whose bit it is."""
    predictors = []
    for k in code.coding_matrix.argmax(axis=0):
        own, last = copy(learned), copy(last_step(learned))
        last.coef_, last.intercept_ = last.coef_[k : k + 1].copy(order="C"), last.intercept_[k : k + 1].copy()
        last.classes_ = np.arange(2)
        if hasattr(own, "steps"):
            own.steps = [*own.steps[:-1], (own.steps[-1][0], last)]
        predictors.append(own if hasattr(own, "steps") else last)
    return EstimatorBits(predictors)


def _largest(code: Code) -> LearnedDecoder:
    """The decoder whose score of a class is the margin of its bit."""
    loss = get_loss("linear")
    weights = (code.coding_matrix > 0) / loss.agreement(np.ones(1))
    return LearnedDecoder(weights, np.zeros(code.n_classes), loss)
