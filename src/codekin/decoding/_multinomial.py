"""Multinomial logistic regression whose weights are shrunk towards given ones, by the best of several strengths.

    minimise  sum_i w_i (log sum_k exp(W_k . u_i) - W_y(i) . u_i)  +  strength / (2 K) ||W - centre||^2,   sum_i w_i = 1

Solved by L-BFGS in coordinates in which the curvature is about the same in all directions: the eigenvectors of
``sum_i w_i u_i u_i'``, divided by the roots of eigenvalue + strength, since the Hessian is at most half of that for
each class (Böhning 1992). The eigenvectors serve all strengths; gradients are computed in single precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from codekin._system.parallel import single_blas
from codekin.code import FloatArray, IntArray, Margins
from codekin.decoding.learned import LearnedDecoder, Products, best_factor, products_of
from codekin.decoding.losses import Loss, LossLike, get_loss

Centre = tuple[FloatArray, FloatArray]
"""Weights and biases of the classes."""

STRENGTHS = (np.inf, 25.0, 5.0, 1.0, 0.2, 0.04, 0.008, 0.0016)
"""The strengths to compare, strongest first."""

LINEAR_LOSSES = ("linear", "logistic", "squared", "log_likelihood")
"""Losses for which the evidence of a margin is a multiple of the margin."""

MAX_WORK_OF_PRODUCTS = 5 * 10**8
"""If one gradient takes more multiplications, products of margins are not tried."""

LEAST_GAIN = 1.0
"""A gain in held-out accuracy counts if it is larger than this many of its standard errors."""

ROUNDING = 1e-12
"""Accuracies closer than this differ only by rounding."""

MAX_WORK = 5 * 10**10
"""Multiplications of the comparison and of the last fit: a few seconds of one processor each. What has been reached by
then is compared, and kept, like any other fit."""

MIN_GRADIENTS, MAX_GRADIENTS = 3, 60
"""For one strength."""

ROUGHLY, CLOSELY = 1e-4, 1e-5
"""A step that gains less is the last one: for decoders that are compared, and for the one that is kept."""

PATIENCE = 2
"""The comparison ends after this many strengths in a row with a lower likelihood."""

BLOCK_ENTRIES = 2**22
"""Scores of (sample, class) pairs in memory at a time: 32 MB."""

N_CORRECTIONS = 12
"""Of L-BFGS."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Samples whose classes are to be predicted."""

    features: NDArray[np.floating[Any]]
    class_index: IntArray
    sample_weight: FloatArray
    """Positive; they sum to 1."""
    n_classes: int
    smoothing: float
    """Label smoothing: the share of every sample that is spread evenly over all classes."""

    @property
    def work(self) -> float:
        n_samples, n_features = self.features.shape
        return work_of_gradient(n_samples, n_features, self.n_classes)

    def without(self, rows: IntArray) -> Problem:
        """The same without some samples."""
        kept = np.delete(np.arange(len(self.class_index)), rows)
        weights = self.sample_weight[kept]
        return replace(
            self,
            features=self.features[kept],
            class_index=self.class_index[kept],
            sample_weight=weights / weights.sum(),
        )

    @cached_property
    def axes(self) -> tuple[FloatArray, FloatArray, Problem]:
        """Eigenvalues and eigenvectors of the second moments, and the same problem in these coordinates."""
        from scipy import linalg

        second_moment = self.features.T @ (self.features * self.sample_weight[:, None])
        values, vectors = linalg.eigh(second_moment)
        turned = (self.features @ vectors).astype(np.float32)
        return np.maximum(values, 0), vectors, replace(self, features=turned)

    def loss(self, weights: FloatArray, gradient: FloatArray | None = None) -> float:
        """The mean negative log-likelihood of weights (n_classes, n_features); adds its gradient to ``gradient``."""
        total, step = 0.0, max(1, BLOCK_ENTRIES // self.n_classes)
        weights = weights.astype(self.features.dtype, copy=False)
        for start in range(0, len(self.features), step):
            rows = slice(start, start + step)
            # One row per class, so that sums over few classes are fast too.
            scores = weights @ self.features[rows].T
            total += self._add(scores, rows)
            if gradient is not None:
                gradient += scores @ self.features[rows]
        return total

    def _add(self, scores: FloatArray, rows: slice) -> float:
        """The loss of some scores, which are overwritten by its derivatives."""
        own = self.class_index[rows], np.arange(scores.shape[1])
        w = self.sample_weight[rows].astype(scores.dtype, copy=False)
        scores -= scores.max(axis=0)
        explained = (1 - self.smoothing) * scores[own] + self.smoothing * scores.mean(axis=0)
        np.exp(scores, out=scores)
        total = scores.sum(axis=0)
        scores *= w / total
        scores -= self.smoothing / self.n_classes * w
        scores[own] -= (1 - self.smoothing) * w
        return float(w @ (np.log(total) - explained))


def work_of_gradient(n_samples: int, n_features: int, n_classes: int) -> float:
    """About how many multiplications a gradient takes; an exponential counts as twenty."""
    return float(n_samples * n_classes * (2 * n_features + 20))


def shrunk_weights(
    problem: Problem,
    centre: FloatArray,
    strength: float,
    start: FloatArray,
    max_gradients: int,
    *,
    tolerance: float = 1e-6,
) -> tuple[FloatArray, int]:
    """The weights that minimise the penalised loss within a number of gradients, and how many were used.

    Infinite strength returns the centre. A step that gains less than ``tolerance`` is the last.
    """
    if np.isinf(strength):
        return centre, 0
    values, vectors, turned = problem.axes
    penalty, scale, turned_centre = strength / problem.n_classes, 1 / np.sqrt(values + strength), centre @ vectors

    def objective(x: FloatArray) -> tuple[float, FloatArray]:
        W = x.reshape(centre.shape) * scale
        off = W - turned_centre
        gradient = penalty * off
        loss = turned.loss(W, gradient)
        return loss + penalty / 2 * float(np.vdot(off, off)), (gradient * scale).ravel()

    from scipy.optimize import minimize

    found = minimize(
        objective,
        (start @ vectors / scale).ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxfun": max_gradients, "maxcor": N_CORRECTIONS, "ftol": tolerance, "gtol": 1e-7},
    )
    return np.asarray((found.x.reshape(centre.shape) * scale) @ vectors.T), int(found.nfev)


class Standard(NamedTuple):
    """The means and scales of the columns."""

    mean: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, values: FloatArray, sample_weight: FloatArray) -> Standard:
        mean = sample_weight @ values
        scale = np.sqrt(sample_weight @ (values - mean) ** 2)
        # A constant column carries no information, whatever its weights.
        return cls(mean, np.where(scale > 1e-9 * np.abs(mean), scale, np.inf))

    def features(self, values: FloatArray) -> FloatArray:
        """Columns of mean 0 and variance 1, and a column of ones."""
        return np.column_stack([(values - self.mean) / self.scale, np.ones(len(values))])

    def weights(self, weights: FloatArray, biases: FloatArray) -> FloatArray:
        """Weights of the standardised features from weights of the original columns and a constant."""
        scale = np.where(np.isinf(self.scale), 0.0, self.scale)
        return np.column_stack([weights * scale, weights @ self.mean + biases])

    def decoder(self, weights: FloatArray, loss: LossLike) -> LearnedDecoder:
        """The decoder from weights of the standardised features, and perhaps of their products."""
        n_bits = len(self.mean)
        plain = weights[:, :n_bits] / self.scale
        of_products = weights[:, n_bits + 1 :]
        products = Products(of_products, self.mean, self.scale) if of_products.size else None
        return LearnedDecoder(plain, weights[:, n_bits] - plain @ self.mean, loss, products)


class Family(NamedTuple):
    """Decoders that differ only in their strength."""

    loss: LossLike
    strengths: Sequence[float]
    standard: Standard
    problem: Problem
    plain_centre: Centre
    """The weights and biases of the classes that infinite strength gives, up to the factor."""
    centre: FloatArray
    """The same as weights of the standardised features, times the factor."""
    factor: float
    """The factor with the largest likelihood."""
    judged: Any
    """The features of the samples when they are held out."""

    def with_products(self) -> Family | None:
        """The same with products of two margins; None if a gradient takes too many multiplications."""
        features = np.asarray(self.problem.features, dtype=np.float64)
        n_samples, n_features = features.shape
        n_products = (n_features - 1) * n_features // 2
        if work_of_gradient(n_samples, n_features + n_products, self.problem.n_classes) > MAX_WORK_OF_PRODUCTS:
            return None
        wider = np.hstack([features, products_of(features[:, :-1])])
        judged = wider
        if self.judged is not self.problem.features:
            judged = np.hstack([self.judged, products_of(self.judged[:, :-1])])
        return self._replace(
            strengths=[s for s in self.strengths if np.isfinite(s)],
            problem=replace(self.problem, features=wider),
            centre=np.pad(self.centre, [(0, 0), (0, n_products)]),
            judged=judged,
        )

    def tried(self, rows: IntArray, *, is_whole: bool = False) -> list[Trial]:
        """How good the strengths are on some rows, strongest first; each fit starts from the previous one.

        The comparison ends when the likelihood keeps falling, unless the whole path is requested.
        """
        problem, weights, tried = self.problem.without(rows), self.centre, list[Trial]()
        features, strict = self.problem.features[rows], self.judged[rows]
        classes, is_same = self.problem.class_index[rows], self.judged is self.problem.features
        n_left, has_products = MAX_WORK / self.problem.work, features.shape[1] > len(self.standard.mean) + 1
        for strength in self.strengths:
            n_allowed = int(np.clip(n_left / PATIENCE, MIN_GRADIENTS if is_whole else 0, MAX_GRADIENTS))
            if np.isfinite(strength) and n_allowed < MIN_GRADIENTS:
                break
            weights, n_used = shrunk_weights(problem, self.centre, strength, weights, n_allowed, tolerance=ROUGHLY)
            n_left -= n_used
            easy = Outcome.of(features @ weights.T, classes)
            outcome = easy if is_same else Outcome.of(strict @ weights.T, classes)
            tried.append(Trial(self, strength, outcome, easy, weights, has_products))
            best = int(np.argmin([trial.easy.log_losses.mean() for trial in tried]))
            if not is_whole and len(tried) - 1 - best >= PATIENCE:
                break
        return tried


class Outcome(NamedTuple):
    """What a decoder makes of samples that were held out: the log loss of each, and whether it is right."""

    log_losses: FloatArray
    is_right: NDArray[np.bool_]

    @classmethod
    def of(cls, scores: FloatArray, classes: IntArray) -> Outcome:
        from scipy.special import logsumexp

        log_losses = logsumexp(scores, axis=1) - scores[np.arange(len(classes)), classes]
        return cls(log_losses, scores.argmax(axis=1) == classes)

    @classmethod
    def joined(cls, outcomes: Sequence[Outcome]) -> Outcome:
        return cls(*(np.concatenate(parts) for parts in zip(*outcomes, strict=True)))


class Trial(NamedTuple):
    """Decoders of one strength on the samples that were held out from each of them."""

    family: Family
    strength: float
    outcome: Outcome
    easy: Outcome
    """The same by margins like those that the weights were fitted to, which may reveal something about the classes."""
    weights: FloatArray
    """Those of one of the decoders."""
    has_products: bool
    """Whether products of margins have weights."""

    def fitted(self) -> LearnedDecoder:
        """The decoder of this strength, fitted on all samples."""
        family, problem = self.family, self.family.problem
        if np.isinf(self.strength):  # without rounding: equal losses stay equal
            weights, biases = family.plain_centre
            return LearnedDecoder(family.factor * weights, family.factor * biases, family.loss)
        n_allowed = int(np.clip(MAX_WORK / problem.work, MIN_GRADIENTS, MAX_GRADIENTS))
        weights, _ = shrunk_weights(problem, family.centre, self.strength, self.weights, n_allowed, tolerance=CLOSELY)
        return family.standard.decoder(weights, family.loss)


def choose_decoder(
    margins: Margins,
    classes: IntArray,
    weights: FloatArray,
    held_out: list[IntArray],
    *,
    loss: Loss,
    centre: Centre,
    with_products: bool,
    strengths: Sequence[float],
    judged: Margins,
) -> tuple[LearnedDecoder, list[Trial], int]:
    """The decoder of the best strength, all that were compared on held-out rows, and which of them it is.

    The first is decoding under the loss, by the weights and biases of ``centre``; all others are shrunk towards it.
    ``judged`` are the margins of rows that are held out.
    """
    families = _families(margins, judged, classes, weights, loss=loss, centre=centre, strengths=strengths)
    wider = families[-1].with_products() if with_products else None
    families += [] if wider is None else [wider]
    # One thread: sums, and so the decoder, must not depend on the number of threads.
    with single_blas():
        tried = _compared(families, held_out)
        chosen = _choice(tried, weights[np.concatenate(held_out)])
        return tried[chosen].fitted(), tried, chosen


def _families(
    margins: Margins,
    judged: Margins,
    classes: IntArray,
    weights: FloatArray,
    *,
    loss: Loss,
    centre: Centre,
    strengths: Sequence[float],
) -> list[Family]:
    """What to compare: decoding under the loss, and weights of the margins themselves."""

    def family(of_loss: LossLike, strengths: Sequence[float]) -> Family:
        agreement = get_loss(of_loss).agreement
        values = np.asarray(agreement(margins.astype(np.float64, copy=False)), dtype=np.float64)
        standard = Standard.of(values, weights)
        problem = Problem(standard.features(values), classes, weights, len(centre[1]), 1 / (len(classes) + 2))
        of_features = standard.weights(*centre)
        factor = best_factor(problem, of_features)
        seen = problem.features
        if judged is not margins:
            seen = standard.features(np.asarray(agreement(judged.astype(np.float64, copy=False)), dtype=np.float64))
        return Family(of_loss, strengths, standard, problem, centre, factor * of_features, factor, seen)

    if loss.name in LINEAR_LOSSES:
        return [family(loss, strengths)]
    return [family(loss, strengths[:1]), family("linear", strengths[1:])]


def _compared(families: list[Family], held_out: list[IntArray]) -> list[Trial]:
    """How good the strengths of all families are on held-out samples.

    After the first fold, only the first of all and, of each family, the likeliest and the most accurate are continued.
    """
    tried = [path for path in [family.tried(held_out[0]) for family in families] if path]
    if len(held_out) == 1:
        return [trial for path in tried for trial in path]
    compared = []
    for number, path in enumerate(tried):
        likeliest = int(np.argmin([trial.easy.log_losses.mean() for trial in path]))
        most_accurate = int(np.argmax([trial.easy.is_right.mean() for trial in path]))
        kept = sorted({likeliest, most_accurate} | ({0} if number == 0 else set()))
        family = path[0].family._replace(strengths=[path[i].strength for i in kept])
        others = [family.tried(rows, is_whole=True) for rows in held_out[1:]]
        for i, further in zip(kept, zip(*others, strict=True), strict=True):
            folds = [path[i], *further]
            easy = Outcome.joined([one.easy for one in folds])
            is_same = path[i].outcome is path[i].easy
            outcome = easy if is_same else Outcome.joined([one.outcome for one in folds])
            compared.append(path[i]._replace(outcome=outcome, easy=easy))
    return compared


def _choice(tried: list[Trial], weights: FloatArray) -> int:
    """The likeliest of those that are no less accurate than the first.

    If one gains more accuracy than chance explains, only those that are about as accurate as the best are considered.
    None is that is less likely than the first by the stricter margins: it has learned how those of its samples differ.
    """
    is_right = np.array([trial.easy.is_right for trial in tried], dtype=np.float64)
    share = weights / weights.sum()
    accuracies = is_right @ share
    best = int(accuracies.argmax())
    errors = np.sqrt((is_right[best] - is_right) ** 2 @ share**2)
    is_candidate = accuracies >= accuracies[0] - ROUNDING
    if accuracies[best] - accuracies[0] > LEAST_GAIN * errors[0]:
        is_candidate &= accuracies >= accuracies[best] - errors - ROUNDING
    strict = np.array([trial.outcome.log_losses @ share for trial in tried])
    log_losses = np.array([trial.easy.log_losses @ share for trial in tried])
    if tried[0].outcome is not tried[0].easy:
        is_candidate &= strict <= strict[0] + ROUNDING
    return int(np.where(is_candidate, log_losses, np.inf).argmin())
