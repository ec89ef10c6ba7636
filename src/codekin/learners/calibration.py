"""Turning margins into log-odds: Platt's two numbers per bit, and one temperature for all of them.

``P(bit = +1) = 1 / (1 + exp(-(a f + b)))`` is fitted to margins of held-out samples, bit by bit (Platt 1999). Bits of
an error-correcting code overlap, so a product over bits counts the same evidence several times and is overconfident;
one temperature, chosen by the likelihood of the held-out classes, corrects that. The result is a slope and an intercept
per bit; decoding under the logistic loss does not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from codekin.code import Code, CodingMatrix, FloatArray, IntArray, Margins
from codekin.learners.linear import LinearRows
from codekin.samples import N_FOLDS, Samples, rows_at, stratified_folds

SMALLEST_WEIGHT, LARGEST_WEIGHT = 0.0, 20.0

Calibration = Literal["cv", "holdout"]


@dataclass(frozen=True, eq=False)
class CalibratedBits:
    """Bits whose margins are log-odds, or logarithms of probabilities: ``slope * margin + intercept``."""

    bits: Any
    slopes: FloatArray = field(repr=False)
    intercepts: FloatArray = field(repr=False)

    @property
    def n_bits(self) -> int:
        return int(self.bits.n_bits)

    def margins(self, X: Any) -> Margins:
        """Log-odds of +1, one column per bit."""
        return np.asarray(self.bits.margins(X) * self.slopes + self.intercepts)

    def linear_rows(self) -> LinearRows | None:
        """Those of the bits, and the calibration; None if the bits are not linear."""
        inner = self.bits.linear_rows() if hasattr(self.bits, "linear_rows") else None
        return inner and replace(inner, slopes=self.slopes, intercepts=self.intercepts)


def calibrate_bits(
    learner: Any, samples: Samples, code: Code, *, method: Calibration, rng: np.random.Generator
) -> CalibratedBits:
    """Learn the bits, and their calibration on samples that they were not trained on.

    "cv" trains five more sets of bits, each without a fifth of the samples, and the final ones on all; "holdout" trains
    once, on four fifths, and calibrates on one fifth. Columns with more than two symbols get one weight each, by
    :func:`column_weights`.
    """
    if learner.learns_probabilities:
        raise ValueError(
            f"{type(learner).__name__} learns probabilities of the classes; calibrate={method!r} is for bits that "
            "are learned one by one. Use calibrate=None."
        )
    class_index, coding_matrix = samples.class_index, code.coding_matrix
    weights = np.ones(len(samples)) if samples.weights is None else np.asarray(samples.weights, dtype=np.float64)
    if method == "holdout":
        bits, seen = next(learned_without_folds(learner, samples, code, rng))
        margins = bits.margins(rows_at(samples.X, seen))
    else:
        margins, seen = out_of_fold_margins(learner, samples, code, rng=rng)
        bits = learner.fit(samples, code, rng=rng)
    if code.codebook.has_symbol_margins:
        of_column = column_weights(margins, class_index[seen], coding_matrix, weights[seen])
        return CalibratedBits(bits, np.repeat(of_column, code.n_symbols), np.zeros(code.n_margins))
    slopes, intercepts = platt_scaling(margins, coding_matrix[class_index[seen]], weights[seen])
    temperature = fit_temperature(margins * slopes + intercepts, class_index[seen], coding_matrix, weights[seen])
    return CalibratedBits(bits, slopes / temperature, intercepts / temperature)


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


def platt_scaling(margins: Margins, signs: CodingMatrix, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Slopes and intercepts that make each column of margins log-odds of its bit.

    Newton's method on all columns at once, with Platt's smoothed targets ``(n+ + 1) / (n+ + 2)`` and
    ``1 / (n- + 2)``, which keep separable bits finite. A slope is never negative: a bit that predicts worse than chance
    on held-out samples is ignored. Samples with a zero in ``signs``, the true bits, do not count for that bit.
    """
    from scipy.special import expit

    f = np.asarray(margins, dtype=np.float64)
    scale = np.maximum(np.sqrt((f**2).mean(axis=0)), 1e-12)
    f = f / scale
    counted = weights[:, None] * (signs != 0)
    n_positive = (counted * (signs > 0)).sum(axis=0)
    n_negative = (counted * (signs < 0)).sum(axis=0)
    target = np.where(signs > 0, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    slope = np.zeros(f.shape[1])
    intercept = np.log((n_positive + 1) / (n_negative + 1))

    def loss(a: FloatArray, b: FloatArray) -> FloatArray:
        z = f * a + b
        return np.asarray((counted * (np.logaddexp(0, z) - target * z)).sum(axis=0), dtype=np.float64)

    current = loss(slope, intercept)
    for _ in range(100):
        p = expit(f * slope + intercept)
        residual = counted * (p - target)
        curvature = counted * p * (1 - p)
        gradient_a, gradient_b = (residual * f).sum(axis=0), residual.sum(axis=0)
        h_aa = (curvature * f**2).sum(axis=0) + 1e-9
        h_ab, h_bb = (curvature * f).sum(axis=0), curvature.sum(axis=0) + 1e-9
        determinant = np.maximum(h_aa * h_bb - h_ab**2, 1e-18)
        step_a = (h_bb * gradient_a - h_ab * gradient_b) / determinant
        step_b = (h_aa * gradient_b - h_ab * gradient_a) / determinant
        size = np.ones_like(slope)
        for _ in range(30):
            candidate = loss(slope - size * step_a, intercept - size * step_b)
            worse = candidate > current + 1e-12 * np.abs(current)
            if not worse.any():
                break
            size = np.where(worse, size / 2, size)
        size = np.where(candidate <= current, size, 0.0)
        slope, intercept = slope - size * step_a, intercept - size * step_b
        previous, current = current, np.minimum(candidate, current)
        if (previous - current <= 1e-10 * np.maximum(np.abs(previous), 1)).all():
            break
    hopeless = slope <= 0
    slope = np.where(hopeless, 0.0, slope)
    intercept = np.where(hopeless, np.log((n_positive + 1) / (n_negative + 1)), intercept)
    return slope / scale, intercept


def fit_temperature(
    log_odds: Margins, class_index: IntArray, coding_matrix: CodingMatrix, weights: FloatArray
) -> float:
    """The temperature, from 1/20 to 20, that maximises the held-out likelihood (softmax of minus the logistic loss)."""
    from scipy.special import logsumexp

    used = np.abs(coding_matrix).astype(np.float64)
    is_ternary = bool((used == 0).any())
    agreement = log_odds @ coding_matrix.T.astype(np.float64) / 2

    def negative_log_likelihood(log_temperature: float) -> float:
        temperature = np.exp(log_temperature)
        scores = agreement / temperature
        if is_ternary:
            z = np.abs(log_odds) / temperature
            scores = scores - (z / 2 + np.log1p(np.exp(-z))) @ used.T - np.log(2) * (1 - used).sum(axis=1)
        chosen = scores[np.arange(len(class_index)), class_index]
        return float((weights * (logsumexp(scores, axis=1) - chosen)).sum())

    return float(np.exp(least_between(negative_log_likelihood, -np.log(20), np.log(20))))


def column_weights(
    margins: Margins, class_index: IntArray, coding_matrix: CodingMatrix, weights: FloatArray
) -> FloatArray:
    """The weights of the columns that maximise the likelihood of held-out classes; ``margins`` are of held-out samples.

    The probability of a class is proportional to the exponential of its weighted margins, so the loss is convex in the
    weights of the columns. They start at 1 and stay between 0 and 20: they express both how reliable each column is and
    how far the probabilities as a whole can be trusted.
    """
    from scipy.special import logsumexp

    n_bits = coding_matrix.shape[1]
    by_column = margins.reshape(len(margins), n_bits, -1)
    # The margin of each class in each column, (n_bits, n_samples, n_classes); 0 if the column ignores the class.
    columns = enumerate(coding_matrix.T)
    said = np.stack([by_column[:, j, np.maximum(symbols, 0)] * (symbols >= 0) for j, symbols in columns])
    own = said[:, np.arange(len(margins)), class_index]
    shares = weights / weights.sum()

    def loss_and_gradient(of_column: FloatArray) -> tuple[float, FloatArray]:
        scores = np.einsum("j,jik->ik", of_column, said)
        log_total = logsumexp(scores, axis=1)
        expected = np.einsum("jik,ik->ji", said, np.exp(scores - log_total[:, None]))
        return float(shares @ (log_total - of_column @ own)), (expected - own) @ shares

    bounds = [(SMALLEST_WEIGHT, LARGEST_WEIGHT)] * n_bits
    from scipy.optimize import minimize

    found = minimize(loss_and_gradient, np.ones(n_bits), jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(found.x)


TOLERANCE = 1e-5
MOST_CALLS = 500
_GOLDEN, _EPSILON = 0.5 * (3 - 5**0.5), 2.2e-16**0.5


def least_between(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function is least between two numbers: Brent's method, step by step as ``minimize_scalar`` bounds it.

    Without scipy.optimize, whose import takes 0.15 seconds and 25 MB.

    A step goes to the minimum of the parabola through the best three points if that lies well within the bounds, and
    otherwise to the golden section of the larger side.
    """
    best = second = third = low + _GOLDEN * (high - low)
    at_best = at_second = at_third = function(best)
    step = before = 0.0
    for _ in range(MOST_CALLS - 1):
        middle, tolerance = 0.5 * (low + high), _EPSILON * abs(best) + TOLERANCE / 3
        if not abs(best - middle) > 2 * tolerance - 0.5 * (high - low):
            break
        is_golden = True
        if abs(before) > tolerance:
            r, q = (best - second) * (at_best - at_third), (best - third) * (at_best - at_second)
            p, q = (best - third) * q - (best - second) * r, 2 * (q - r)
            p, q = -p if q > 0 else p, abs(q)
            r, before = before, step
            if abs(p) < abs(0.5 * q * r) and q * (low - best) < p < q * (high - best):
                is_golden, step = False, p / q
                if best + step - low < 2 * tolerance or high - best - step < 2 * tolerance:
                    step = tolerance if middle >= best else -tolerance
        if is_golden:
            before = (low if best >= middle else high) - best
            step = _GOLDEN * before
        new = best + float(np.copysign(max(abs(step), tolerance), step if step else 1.0))
        at_new = function(new)
        if at_new <= at_best:
            low, high = (best, high) if new >= best else (low, best)
            third, at_third, second, at_second, best, at_best = second, at_second, best, at_best, new, at_new
        else:
            low, high = (new, high) if new < best else (low, new)
            if at_new <= at_second or second == best:
                third, at_third, second, at_second = second, at_second, new, at_new
            elif at_new <= at_third or third in (best, second):
                third, at_third = new, at_new
    return best
