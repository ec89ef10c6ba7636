"""Learning a decoder from margins, and finding out whether that pays.

The weights minimise the multinomial logistic loss and are shrunk towards the coding matrix, times the factor with the
best probabilities. With infinite strength they are the coding matrix: loss-based decoding with calibrated
probabilities. Those of real codewords are shrunk towards decoding by the nearest target, which has biases. The strength
is chosen on samples that were not used to fit the weights, and so is whether products of two margins get weights too,
which are shrunk towards zero.

Margins must be about as large and as often wrong as those of new samples. Learners that fit their training samples
closely, such as trees, have no such margins of these: use :func:`codekin.learners.calibration.out_of_fold_margins`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin.code import Code, FloatArray, IntArray, Margins
from codekin.decoding._multinomial import STRENGTHS, Centre, Trial, choose_decoder, work_of_gradient
from codekin.decoding.learned import LearnedDecoder, NearestTargetDecoder
from codekin.decoding.losses import LossLike
from codekin.decoding.minimum_loss import BlockDecoder, MinimumLossDecoder, as_margins
from codekin.samples import N_FOLDS, stratified_folds

MAX_MARGINS = 20_000
"""The most rows of margins that a decoder is fitted to; from more, a sample is drawn."""

MAX_WORK_OF_GRADIENT = 10**9
"""If one gradient takes more multiplications, fewer rows are drawn, but at least two for every class."""

ENOUGH_HELD_OUT = 2_000
"""This many held-out rows suffice to compare the strengths; then no further fold is held out."""


@dataclass(frozen=True, eq=False)
class DecoderFit:
    """A learned decoder, and how it was chosen.

    - ``decoder``: fitted with the chosen strength on all margins.
    - ``strengths`` of shape (n,): those that were compared; the first is infinite, loss-based decoding.
    - ``held_out_log_losses``, ``held_out_accuracies`` of shape (n,): for each strength, on held-out samples.
    - ``has_products`` of shape (n,): whether products of margins had weights.
    - ``strength``, ``log_loss``, ``accuracy``: of the chosen one.
    - ``loss_based_accuracy``: the accuracy of decoding under the loss, on the same samples. It differs from that of
      infinite strength only for codes with zeros.
    - ``n_margins``, ``n_held_out``: how many samples the decoder was fitted to, and how many were held out in turn.
    - ``held_out``, ``trials``, ``chosen``: the rows of the margins that were held out, what was compared on them, and
      the number of the chosen one.
    """

    decoder: LearnedDecoder
    strengths: FloatArray
    held_out_log_losses: FloatArray
    held_out_accuracies: FloatArray
    has_products: NDArray[np.bool_]
    strength: float
    log_loss: float
    accuracy: float
    loss_based_accuracy: float
    n_margins: int
    n_held_out: int
    held_out: IntArray = field(repr=False)
    trials: list[Trial] = field(repr=False)
    chosen: int

    @property
    def is_right(self) -> NDArray[np.bool_]:
        """Which held-out samples the chosen decoder gets right."""
        return self.trials[self.chosen].outcome.is_right

    @property
    def sample_log_losses(self) -> FloatArray:
        """The log loss of each held-out sample."""
        return self.trials[self.chosen].outcome.log_losses

    def scaled(self) -> DecoderFit:
        """The same with the decoder of infinite strength: loss-based decoding with one temperature."""
        return replace(
            self,
            decoder=self.trials[0].fitted(),
            strength=float(self.strengths[0]),
            log_loss=float(self.held_out_log_losses[0]),
            accuracy=float(self.held_out_accuracies[0]),
            chosen=0,
        )


def fit_decoder(
    margins: Margins,
    class_index: ArrayLike,
    code: Code,
    *,
    loss: LossLike = "linear",
    is_weighted: bool = False,
    with_products: bool = False,
    sample_weight: ArrayLike | None = None,
    strengths: Sequence[float] = STRENGTHS,
    held_out_margins: Margins | None = None,
    rng: np.random.Generator | int | None = None,
) -> DecoderFit:
    """Learn a decoder from margins, with weights shrunk towards the coding matrix as far as that pays.

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
    strengths : sequence of float, default=(inf, 25, 5, 1, 0.2, 0.04, 0.008, 0.0016)
        The strengths to compare, strongest first. The first is infinite: the coding matrix, times one factor.
    held_out_margins : array of shape (n_samples, n_bits), optional
        What stands for the margins of a sample while it is held out, if not the same: margins that reveal less about
        its class than those that the weights are fitted to. Weights that are less likely by these than the coding
        matrix are not chosen.
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
    loss_based, centre = LOSS_BASED[code.codebook.kind](code, loss, is_weighted)
    n_classes, n_bits = centre[0].shape
    margins = as_margins(margins, n_bits)
    classes = np.asarray(class_index)
    weights = np.ones(len(classes)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if not len(margins) == len(classes) == len(weights):
        raise ValueError(f"Each of {len(margins)} rows of margins needs a class and a weight. Got {len(classes)}.")
    if np.count_nonzero(weights > 0) < 2:
        raise ValueError(
            f"A decoder is learned from at least 2 samples of positive weight. Got {np.count_nonzero(weights > 0)}."
        )
    generator = np.random.default_rng(rng)
    rows = _drawn(np.flatnonzero(weights > 0), classes, n_classes, n_bits, generator)
    judged = None if held_out_margins is None else as_margins(held_out_margins, n_bits)[rows]
    margins, classes, weights = margins[rows], classes[rows], weights[rows] / weights[rows].sum()
    judged = margins if judged is None else judged
    n_folds = min(N_FOLDS, len(rows))
    fold_of_row = stratified_folds(classes, n_folds, generator)
    # Nothing is fitted for infinite strength, so that every sample can be held out.
    n_needed = -(-ENOUGH_HELD_OUT * n_folds // len(rows)) if len(strengths) > 1 else n_folds
    held_out = [np.flatnonzero(fold_of_row == fold) for fold in range(min(n_folds, n_needed))]
    decoder, tried, chosen = choose_decoder(
        *(margins, classes, weights, held_out),
        loss=loss_based.loss,
        centre=centre,
        with_products=with_products,
        strengths=strengths,
        judged=judged,
    )
    seen = np.concatenate(held_out)
    of_seen = weights[seen]
    log_losses = np.array([np.average(trial.outcome.log_losses, weights=of_seen) for trial in tried])
    accuracies = np.array([np.average(trial.outcome.is_right, weights=of_seen) for trial in tried])
    is_right = loss_based.decode(judged[seen]) == classes[seen]
    return DecoderFit(
        decoder=decoder,
        strengths=np.array([trial.strength for trial in tried]),
        held_out_log_losses=log_losses,
        held_out_accuracies=accuracies,
        has_products=np.array([trial.has_products for trial in tried]),
        strength=float(tried[chosen].strength),
        log_loss=float(log_losses[chosen]),
        accuracy=float(accuracies[chosen]),
        loss_based_accuracy=float(np.average(is_right, weights=of_seen)),
        n_margins=len(rows),
        n_held_out=len(seen),
        held_out=rows[seen],
        trials=tried,
        chosen=chosen,
    )


def _nearest_target(code: Code, *_: Any) -> tuple[BlockDecoder, Centre]:
    nearest = NearestTargetDecoder(code.coding_matrix)
    return nearest, (nearest.linear.weights, nearest.linear.biases)


def _minimum_loss(code: Code, loss: LossLike, is_weighted: bool) -> tuple[BlockDecoder, Centre]:
    matrix = code.indicators
    n_used = np.maximum((matrix != 0).sum(axis=1), 1) if is_weighted else np.ones(len(matrix))
    return MinimumLossDecoder(matrix, loss, is_weighted), (matrix / n_used[:, None], np.zeros(len(matrix)))


LOSS_BASED: dict[str, Callable[[Code, LossLike, bool], tuple[BlockDecoder, Centre]]] = {
    **dict.fromkeys(("signs", "symbols", "trellis", "tree"), _minimum_loss),
    "targets": _nearest_target,
}
"""Maps the kind of a codebook to decoding under the loss, which a learned decoder is compared with, and to the scores
towards which its weights are shrunk, linear in the evidence."""


def _drawn(rows: IntArray, class_index: IntArray, n_classes: int, n_bits: int, rng: np.random.Generator) -> IntArray:
    """As many rows as time allows, every class in proportion but at least once."""
    of_row = work_of_gradient(1, n_bits + 1, n_classes)
    n_rows = min(MAX_MARGINS, max(int(MAX_WORK_OF_GRADIENT / of_row), 2 * n_classes))
    if len(rows) <= n_rows:
        return rows
    order = rows[np.lexsort([rng.random(len(rows)), class_index[rows]])]
    evenly = order[np.linspace(0, len(order) - 1, n_rows).astype(np.intp)]
    return np.union1d(evenly, order[np.unique(class_index[order], return_index=True)[1]])
