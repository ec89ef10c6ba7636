"""Learning a decoder from margins, and finding out whether that pays.

The weights minimise the multinomial logistic loss and are shrunk towards the coding matrix, times the factor with the
best probabilities. With infinite strength they are the coding matrix: loss-based decoding with calibrated
probabilities. Those of real codewords are shrunk towards decoding by the nearest target, which has biases. The strength
is chosen on samples that were not used to fit the weights, and so is whether products of two margins get weights too,
which are shrunk towards zero.

Margins must be honest, that is, about as large and as often wrong as those of new samples. Learners that fit their
training samples closely, such as trees, have no honest margins on these: use
:func:`codekin.learners.unseen.unseen_margins`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp
from threadpoolctl import threadpool_limits

from codekin.coding import Code, FloatArray, IntArray, Margins
from codekin.decoding._multinomial import Problem, best_factor, shrunk_weights, work_of_gradient
from codekin.decoding._standard import Standard
from codekin.decoding.learned import LearnedDecoder, evidence, products_of
from codekin.decoding.losses import LossLike
from codekin.decoding.minimum_loss import MinimumLossDecoder, as_margins
from codekin.decoding.nearest_target import NearestTargetDecoder
from codekin.samples import stratified_folds

STRENGTHS = (np.inf, 25.0, 5.0, 1.0, 0.2, 0.04, 0.008, 0.0016)
"""The strengths to compare, strongest first."""

LINEAR_LOSSES = ("linear", "logistic", "squared")
"""Losses for which the evidence of a margin is a multiple of the margin."""

MAX_MARGINS = 20_000
"""The most rows of margins that a decoder is fitted to; from more, a sample is drawn."""

MAX_WORK_OF_GRADIENT = 10**9
"""If one gradient takes more multiplications, fewer rows are drawn, but at least two for every class."""

MAX_WORK_OF_PRODUCTS = 5 * 10**8
"""If one gradient takes more multiplications, products of margins are not tried."""

MAX_WORK = 5 * 10**10
"""Multiplications of the comparison and of the last fit: a few seconds of one processor each. What has been reached by
then is compared, and kept, like any other fit."""

MAX_GRADIENTS = 60
"""For one strength."""

MIN_GRADIENTS = 3

N_FOLDS = 5

ROUGHLY, CLOSELY = 1e-4, 1e-5
"""A step that gains less is the last one: for decoders that are compared, and for the one that is kept."""

ENOUGH_HELD_OUT = 2_000
"""This many held-out rows suffice to compare the strengths; then no further fold is held out."""

PATIENCE = 2
"""The comparison ends after this many strengths in a row with a lower likelihood."""

LEAST_GAIN = 1.0
"""A gain in held-out accuracy counts if it is larger than so many of its standard errors."""

ROUNDING = 1e-12
"""Accuracies closer than this differ only by rounding."""


@dataclass(frozen=True, eq=False)
class DecoderFit:
    """A learned decoder, and how it was chosen.

    - ``decoder``: fitted with the chosen strength on all margins.
    - ``strengths`` of shape (n,): those that were compared; the first is infinite, loss-based decoding.
    - ``held_out_log_losses``, ``held_out_accuracies`` of shape (n,): for each strength, on held-out samples.
    - ``has_products`` of shape (n,): whether products of margins had weights.
    - ``chosen``: the index of the chosen strength.
    - ``loss_based_accuracy``: the accuracy of decoding under the loss, on the same samples. It differs from that of
      infinite strength only for codes with zeros.
    - ``n_margins``, ``n_held_out``: how many samples the decoder was fitted to, and how many were held out in turn.
    """

    decoder: LearnedDecoder
    strengths: FloatArray
    held_out_log_losses: FloatArray
    held_out_accuracies: FloatArray
    has_products: NDArray[np.bool_]
    chosen: int
    loss_based_accuracy: float
    n_margins: int
    n_held_out: int

    @property
    def strength(self) -> float:
        """The chosen strength."""
        return float(self.strengths[self.chosen])

    @property
    def accuracy(self) -> float:
        """The held-out accuracy of the chosen strength."""
        return float(self.held_out_accuracies[self.chosen])

    @property
    def log_loss(self) -> float:
        """The held-out log loss of the chosen strength."""
        return float(self.held_out_log_losses[self.chosen])

    @property
    def pays(self) -> bool:
        """Whether learned decoding is at least as accurate as loss-based decoding on held-out samples."""
        return self.accuracy >= self.loss_based_accuracy


def fit_decoder(
    margins: Margins,
    class_index: ArrayLike,
    code: Code,
    *,
    loss: LossLike = "linear",
    is_weighted: bool = False,
    with_products: bool = False,
    sample_weight: ArrayLike | None = None,
    rng: np.random.Generator | int | None = None,
) -> DecoderFit:
    """Learn a decoder from honest margins, with weights shrunk towards the coding matrix as far as that pays.

    The weights apply to the margins themselves, whatever the loss. The strength of the shrinkage is the one with the
    largest held-out likelihood among those whose held-out accuracy is at least that of decoding under the loss and, if
    the best of them gains more than a standard error, within one of the best.

    Parameters
    ----------
    margins : array of shape (n_samples, n_bits)
        Like those of new samples.
    class_index : array-like of int of shape (n_samples,)
        The class of each sample, from 0.
    code : Code
        The codeword of every class, zeros included. Classes without samples become unlikely.
    loss : str or callable, default="linear"
        The decoding loss to improve upon; that of real codewords is always the squared one.
    is_weighted : bool, default=False
        For codes with zeros: whether the loss of a class is divided by the number of bits that do not ignore it.
    with_products : bool, default=False
        Whether products of two margins are tried as well, unless there are so many that it would take too long. Linear
        bits benefit, often a lot; trees do not.
    sample_weight : array-like of shape (n_samples,), optional
        How much each sample counts.
    rng : numpy.random.Generator or int, optional
        For the folds.

    Returns
    -------
    DecoderFit

    References
    ----------
    K. Crammer and Y. Singer, "On the Learnability and Design of Output Codes for Multiclass Problems", Machine Learning
    47, 2002.

    Examples
    --------
    Two bits for three classes; the margins of the second bit are always too low.

    >>> rng = np.random.default_rng(0)
    >>> code = Code.of([[1, 1], [1, -1], [-1, 1]])
    >>> class_index = rng.integers(3, size=300)
    >>> margins = code.coding_matrix[class_index] + [0, -1.5] + 0.3 * rng.normal(size=(300, 2))
    >>> fit = fit_decoder(margins, class_index, code, rng=0)
    >>> fit.loss_based_accuracy < 0.7, fit.accuracy > 0.95
    (True, True)
    """
    margins = as_margins(margins, code.n_bits)
    classes = np.asarray(class_index)
    weights = np.ones(len(classes)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if not len(margins) == len(classes) == len(weights):
        raise ValueError(f"Each of {len(margins)} rows of margins needs a class and a weight. Got {len(classes)}.")
    if np.count_nonzero(weights > 0) < 2:
        raise ValueError(
            f"A decoder is learned from at least 2 samples of positive weight. Got {np.count_nonzero(weights > 0)}."
        )
    generator = np.random.default_rng(rng)
    rows = _drawn(np.flatnonzero(weights > 0), classes, code, generator)
    margins, classes, weights = margins[rows], classes[rows], weights[rows] / weights[rows].sum()
    loss_based = _loss_based(code, loss, is_weighted)
    families = _families(margins, classes, weights, loss_based, with_products=with_products)
    # One thread: sums, and so the decoder, must not depend on the number of threads.
    with threadpool_limits(1, user_api="blas"):
        held_out = _folds(classes, generator)
        tried = _compared(families, held_out)
        seen = np.concatenate(held_out)
        chosen = _choice(tried, weights[seen])
        decoder = _fitted(tried[chosen], loss_based)
    is_right = loss_based.decoder.decode(margins[seen]) == classes[seen]
    return DecoderFit(
        decoder=decoder,
        strengths=np.array([trial.strength for trial in tried]),
        held_out_log_losses=np.array([np.average(trial.log_losses, weights=weights[seen]) for trial in tried]),
        held_out_accuracies=np.array([np.average(trial.is_right, weights=weights[seen]) for trial in tried]),
        has_products=np.array([trial.family.has_products for trial in tried]),
        chosen=chosen,
        loss_based_accuracy=float(np.average(is_right, weights=weights[seen])),
        n_margins=len(rows),
        n_held_out=len(seen),
    )


class _LossBased(NamedTuple):
    """Decoding under the loss, and the scores towards which weights are shrunk, linear in the evidence."""

    decoder: MinimumLossDecoder | NearestTargetDecoder
    weights: FloatArray
    biases: FloatArray


def _loss_based(code: Code, loss: LossLike, is_weighted: bool) -> _LossBased:
    if code.codebook.is_real:
        nearest = NearestTargetDecoder(code.coding_matrix)
        return _LossBased(nearest, nearest.linear.weights, nearest.linear.biases)
    codewords = code.coding_matrix / _n_used(code, is_weighted)[:, None]
    return _LossBased(MinimumLossDecoder(code.coding_matrix, loss, is_weighted), codewords, np.zeros(code.n_classes))


class _Family(NamedTuple):
    """Decoders that differ only in their strength."""

    loss: LossLike
    strengths: Sequence[float]
    standard: Standard
    problem: Problem
    centre: FloatArray
    """The weights that correspond to the coding matrix, times a factor."""
    factor: float
    """The factor with the largest likelihood."""

    @property
    def has_products(self) -> bool:
        return bool(self.problem.features.shape[1] > len(self.standard.mean) + 1)


def _families(
    margins: Margins,
    classes: IntArray,
    weights: FloatArray,
    loss_based: _LossBased,
    *,
    with_products: bool,
) -> list[_Family]:
    """What to compare: decoding under the loss, weights of the margins themselves, weights of products too."""
    loss, n_classes = loss_based.decoder.loss, loss_based.decoder.n_classes
    is_linear = loss.name in LINEAR_LOSSES

    def family(of_loss: LossLike, strengths: Sequence[float]) -> _Family:
        values = evidence(margins, of_loss)
        standard = Standard.of(values, weights)
        smoothing = 1 / (len(classes) + 2)
        problem = Problem(standard.features(values), classes, weights, n_classes, smoothing)
        centre = standard.weights(loss_based.weights, loss_based.biases)
        factor = best_factor(problem, centre)
        return _Family(of_loss, strengths, standard, problem, factor * centre, factor)

    linear = family(loss, STRENGTHS) if is_linear else family("linear", STRENGTHS[1:])
    families = [linear] if is_linear else [family(loss, STRENGTHS[:1]), linear]
    features = np.asarray(linear.problem.features, dtype=np.float64)
    n_products = margins.shape[1] * (margins.shape[1] + 1) // 2
    work = work_of_gradient(len(margins), features.shape[1] + n_products, n_classes)
    if with_products and work <= MAX_WORK_OF_PRODUCTS:
        problem = replace(linear.problem, features=np.hstack([features, products_of(features[:, :-1])]))
        centre = np.pad(linear.centre, [(0, 0), (0, n_products)])
        families.append(linear._replace(strengths=STRENGTHS[1:], problem=problem, centre=centre))
    return families


def _fitted(trial: _Trial, loss_based: _LossBased) -> LearnedDecoder:
    """The decoder of a family and a strength, fitted on all samples."""
    loss, _, standard, problem, centre, factor = trial.family
    if np.isinf(trial.strength):  # without rounding: equal losses stay equal
        return LearnedDecoder(factor * loss_based.weights, factor * loss_based.biases, loss)
    n_allowed = int(np.clip(MAX_WORK / problem.work, MIN_GRADIENTS, MAX_GRADIENTS))
    weights, _ = shrunk_weights(problem, centre, trial.strength, trial.weights, n_allowed, tolerance=CLOSELY)
    return standard.decoder(weights, loss)


class _Trial(NamedTuple):
    """Decoders of one strength on the samples that were held out from each of them."""

    family: _Family
    strength: float
    log_losses: FloatArray
    is_right: NDArray[np.bool_]
    weights: FloatArray
    """Those of one of the decoders."""


def _compared(families: list[_Family], held_out: list[IntArray]) -> list[_Trial]:
    """How good the strengths of all families are on held-out samples.

    After the first fold, only the first of all and, of each family, the likeliest and the most accurate are continued.
    """
    tried = [_path(family, held_out[0]) for family in families]
    if len(held_out) == 1:
        return [trial for path in tried for trial in path]
    compared = []
    for number, path in enumerate(path for path in tried if path):
        likeliest = int(np.argmin([trial.log_losses.mean() for trial in path]))
        most_accurate = int(np.argmax([trial.is_right.mean() for trial in path]))
        kept = sorted({likeliest, most_accurate} | ({0} if number == 0 else set()))
        family = path[0].family._replace(strengths=[path[i].strength for i in kept])
        others = [_path(family, rows, is_whole=True) for rows in held_out[1:]]
        for i, further in zip(kept, zip(*others, strict=True), strict=True):
            folds = [path[i], *further]
            log_losses, is_right = (np.concatenate(parts) for parts in zip(*[fold[2:4] for fold in folds], strict=True))
            compared.append(path[i]._replace(log_losses=log_losses, is_right=is_right))
    return compared


def _path(family: _Family, rows: IntArray, *, is_whole: bool = False) -> list[_Trial]:
    """How good the strengths are on some rows, strongest first; each fit starts from the previous one.

    The comparison ends when the likelihood keeps falling, unless the whole path is requested.
    """
    problem, centre = family.problem, family.centre
    part, weights, tried = _without(problem, rows), centre, list[_Trial]()
    features, classes = problem.features[rows], problem.class_index[rows]
    n_left = MAX_WORK / problem.work
    for strength in family.strengths:
        n_allowed = int(np.clip(n_left / PATIENCE, MIN_GRADIENTS if is_whole else 0, MAX_GRADIENTS))
        if np.isfinite(strength) and n_allowed < MIN_GRADIENTS:
            break
        weights, n_used = shrunk_weights(part, centre, strength, weights, n_allowed, tolerance=ROUGHLY)
        n_left -= n_used
        scores = features @ weights.T
        log_losses = logsumexp(scores, axis=1) - scores[np.arange(len(classes)), classes]
        tried.append(_Trial(family, strength, log_losses, scores.argmax(axis=1) == classes, weights))
        if not is_whole and _has_passed_the_best(tried):
            break
    return tried


def _has_passed_the_best(tried: list[_Trial]) -> bool:
    means = [float(trial.log_losses.mean()) for trial in tried]
    return len(tried) - 1 - int(np.argmin(means)) >= PATIENCE


def _choice(tried: list[_Trial], weights: FloatArray) -> int:
    """The likeliest of those that are no less accurate than the first.

    If one gains more accuracy than chance explains, only those that are about as accurate as the best are considered.
    """
    is_right = np.array([trial.is_right for trial in tried], dtype=np.float64)
    share = weights / weights.sum()
    accuracies = is_right @ share
    best = int(accuracies.argmax())
    errors = np.sqrt((is_right[best] - is_right) ** 2 @ share**2)
    is_candidate = accuracies >= accuracies[0] - ROUNDING
    if accuracies[best] - accuracies[0] > LEAST_GAIN * errors[0]:
        is_candidate &= accuracies >= accuracies[best] - errors - ROUNDING
    log_losses = np.array([trial.log_losses @ share for trial in tried])
    return int(np.where(is_candidate, log_losses, np.inf).argmin())


def _without(problem: Problem, rows: IntArray) -> Problem:
    kept = np.delete(np.arange(len(problem.class_index)), rows)
    weights = problem.sample_weight[kept]
    return replace(
        problem,
        features=problem.features[kept],
        class_index=problem.class_index[kept],
        sample_weight=weights / weights.sum(),
    )


def _folds(class_index: IntArray, rng: np.random.Generator) -> list[IntArray]:
    """Samples to hold out in turn, enough of them in all."""
    n_samples = len(class_index)
    n_folds = min(N_FOLDS, n_samples)
    n_needed = -(-ENOUGH_HELD_OUT * n_folds // n_samples)
    fold_of_sample = stratified_folds(class_index, n_folds, rng)
    return [np.flatnonzero(fold_of_sample == fold) for fold in range(min(n_folds, n_needed))]


def _drawn(rows: IntArray, class_index: IntArray, code: Code, rng: np.random.Generator) -> IntArray:
    """As many rows as time allows, every class in proportion but at least once."""
    of_row = work_of_gradient(1, code.n_bits + 1, code.n_classes)
    n_rows = min(MAX_MARGINS, max(int(MAX_WORK_OF_GRADIENT / of_row), 2 * code.n_classes))
    if len(rows) <= n_rows:
        return rows
    order = rows[np.lexsort([rng.random(len(rows)), class_index[rows]])]
    evenly = order[np.linspace(0, len(order) - 1, n_rows).astype(np.intp)]
    return np.union1d(evenly, order[np.unique(class_index[order], return_index=True)[1]])


def _n_used(code: Code, is_weighted: bool) -> FloatArray:
    """The divisors of the losses of the classes."""
    n_used = np.maximum((code.coding_matrix != 0).sum(axis=1), 1)
    return np.asarray(n_used if is_weighted else np.ones(code.n_classes), dtype=np.float64)
