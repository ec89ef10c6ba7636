"""From which probability on a label is predicted, chosen on validation samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import bdtr

from codekin.code import FloatArray, IntArray
from codekin.measures.label_sets import hits

AIMS = ("micro_f1", "macro_f1")
"""What thresholds can be best for; a number is the precision to keep."""

DOUBT, N_TESTS, STARTS = 0.05, 50, (5, 10, 20)
"""How often a promised precision may fail to hold, how many thresholds are tested for it, and where the tests start."""


def label_thresholds(
    best: IntArray,
    probabilities: FloatArray,
    truth: csr_array,
    aim: str | float = "micro_f1",
    *,
    per_label: bool = False,
) -> FloatArray:
    """The thresholds from which on labels are predicted: one for all labels, or one for each.

    A threshold is half-way between the smallest probability that is predicted and the next smaller one.

    Parameters
    ----------
    best : array of shape (n_samples, k)
        The most probable classes of each validation sample; -1 where there are fewer. Others are not predicted.
    probabilities : array of shape (n_samples, k)
        Their probabilities.
    truth : csr_array of shape (n_samples, n_labels)
        Which labels the samples have.
    aim : {"micro_f1", "macro_f1"} or float, default="micro_f1"
        What is as large as possible: F1 of all pairs of a sample and a label, or the mean F1 of the labels. A number is
        a precision to keep, of all pairs together or of each label: the smallest threshold with this precision,
        infinite if there is none.
    per_label : bool, default=False
        Whether each label gets a threshold. Those about which samples say nothing get the one for all labels.

    Returns
    -------
    array of shape (1,) or (n_labels,)

    Examples
    --------
    >>> best, probabilities = np.array([[0, 1], [1, 0]]), np.array([[0.9, 0.4], [0.6, 0.3]])
    >>> truth = csr_array(np.array([[1, 0], [0, 1]]))
    >>> label_thresholds(best, probabilities, truth)
    array([0.5])
    """
    if aim not in AIMS and not (isinstance(aim, float) and 0 < aim <= 1):
        raise ValueError(
            f"The 'aim' of thresholds must be 'micro_f1', 'macro_f1' or a precision from 0 to 1. Got {aim!r} instead."
        )
    if len(best) != truth.shape[0]:
        raise ValueError(f"There are {len(best):,} samples. Got labels of {truth.shape[0]:,}.")
    if not truth.nnz:
        raise ValueError(f"None of the {len(best):,} samples has a label that the model knows.")
    is_there, n_true = best >= 0, np.bincount(truth.indices, minlength=truth.shape[1])
    pairs = probabilities[is_there].astype(float), hits(best, truth)[is_there]
    of_all, of_labels = _Cuts.of(np.zeros(len(pairs[0]), np.intp), *pairs), _Cuts.of(best[is_there], *pairs)
    score = _mean_f1(of_all, of_labels, n_true) if aim == "macro_f1" else _score(of_all, n_true.sum(keepdims=True), aim)
    common = np.append(of_all.threshold[of_all.best(score)], np.inf)[:1]
    if not per_label:
        return common
    chosen = _jointly(of_labels, n_true) if aim == "micro_f1" else of_labels.best(_score(of_labels, n_true, aim))
    thresholds = np.where((n_true > 0) & (aim != "macro_f1"), np.inf, common)
    thresholds[of_labels.group[chosen]] = of_labels.threshold[chosen]
    return thresholds


def least_for_precision(confidence: FloatArray, is_right: NDArray[np.bool_], min_precision: float) -> float:
    """The probability from which on answers are right as often as promised; all answers together, with 95 % certainty.

    Learn then test (Angelopoulos et al. 2021): the most probable 10 %, 12 % and so on of the samples are tested in turn
    for a precision below the promised one, by exact binomial probabilities, until a test fails. There are two more
    starts, at 20 % and 40 %; each has a third of the 5 % of cases in which tests may err, and what tests before it have
    kept. So all together err in 5 % at most, if answers are right more often the more probable they are.

    >>> least_for_precision(np.linspace(0, 1, 400), np.arange(400) >= 100, 0.95).__round__(2)
    0.24
    """
    n_samples, order = len(confidence), np.argsort(-confidence, kind="stable")
    n_right, ordered = np.append(0, np.cumsum(is_right[order])), np.append(confidence[order], -np.inf)
    # Those above the first one that is left out are a sample of all that are above it.
    first_out = ordered[n_samples * np.arange(1, N_TESTS + 1) // N_TESTS]
    n_answered = np.searchsorted(-ordered[:-1], -first_out)
    return max(
        float(np.nextafter(first_out[last_precise(n_right[n_answered], n_answered, min_precision)], np.inf)), 0.0
    )


def last_precise(n_right: IntArray, n_answered: IntArray, min_precision: float) -> int:
    """The last of the thresholds whose answers pass the tests of :func:`least_for_precision`."""
    chosen, level = -1, 0.0
    for place in range(N_TESTS):
        level += DOUBT / len(STARTS) * (place + 1 in STARTS)
        if min_precision ** n_answered[place] > level:
            continue  # so few answers do not pass even if all are right
        n_wrong = n_answered[place] - n_right[place]
        if bdtr(n_wrong, n_answered[place], 1 - min_precision) <= level:
            chosen = place
        else:
            level = 0.0
    if chosen < 0:
        raise ValueError(
            f"No threshold keeps a precision of {min_precision:g} with certainty: at the lowest one, "
            f"{n_right[-1]:,} of {n_answered[-1]:,} answers to calibration samples are right. Ask for less, or use "
            "more samples."
        )
    return chosen


@dataclass(frozen=True, eq=False)
class _Cuts:
    """Where the predictions of each group, in the order of their probabilities, can end: not between equal ones."""

    group: IntArray
    probability: FloatArray
    threshold: FloatArray
    n_right: IntArray
    n_predicted: IntArray

    @classmethod
    def of(cls, group: IntArray, probability: FloatArray, is_right: NDArray[np.bool_]) -> _Cuts:
        order = np.lexsort((-probability, group))
        group, probability, is_right = group[order], probability[order], is_right[order]
        start = np.searchsorted(group, group)
        so_far = np.cumsum(is_right)
        n_right: IntArray = so_far - (so_far - is_right)[start]
        n_predicted = np.arange(len(group)) - start + 1
        is_last = _is_last(group)
        following = np.where(is_last, 0, np.roll(probability, -1))
        between = (probability + following) / 2
        threshold = np.where(between > following, between, probability)
        cut = np.flatnonzero(is_last | (following < probability))
        return cls(group[cut], probability[cut], threshold[cut], n_right[cut], n_predicted[cut])

    def best(self, score: FloatArray) -> IntArray:
        """The cut of each group with the largest score, if that is above 0."""
        last = np.lexsort((score, self.group))[_is_last(self.group)]
        return np.asarray(last[score[last] > 0])


def _is_last(group: IntArray) -> NDArray[np.bool_]:
    """Whether each place is the last one of its group; groups are in increasing order."""
    return np.roll(np.append(True, np.diff(group) > 0)[: len(group)], -1)


def _score(cuts: _Cuts, n_true: IntArray, aim: str | float) -> FloatArray:
    """F1 of each group's predictions, or how many there are if they have a precision."""
    if isinstance(aim, float):
        return np.where(cuts.n_right >= aim * cuts.n_predicted, cuts.n_predicted, 0)
    return np.asarray(2 * cuts.n_right / (cuts.n_predicted + n_true[cuts.group]))


def _mean_f1(of_all: _Cuts, of_labels: _Cuts, n_true: IntArray) -> FloatArray:
    """The mean F1 of the labels that occur or are predicted, for cuts through all pairs."""
    f1, is_first = _score(of_labels, n_true, "macro_f1"), np.roll(_is_last(of_labels.group), 1)
    gains = f1 - np.where(is_first, 0, np.roll(f1, 1))
    is_new = is_first & (n_true[of_labels.group] == 0)
    order = np.argsort(-of_labels.probability, kind="stable")
    n_passed = np.searchsorted(-of_labels.probability[order], -of_all.probability, side="right")
    total, n_new = (np.append(0, np.cumsum(column[order]))[n_passed] for column in (gains, is_new))
    return np.asarray(total / np.maximum((n_true > 0).sum() + n_new, 1))


def _jointly(cuts: _Cuts, n_true: IntArray) -> IntArray:
    """The cuts of the labels that together have the largest F1 of all pairs (Dinkelbach's method for ratios)."""
    f1, chosen = -1.0, np.zeros(0, np.intp)
    while True:
        n_right, n_predicted = cuts.n_right[chosen].sum(), cuts.n_predicted[chosen].sum()
        reached = 2 * n_right / max(n_predicted + n_true.sum(), 1)
        if reached <= f1:
            return chosen
        f1 = reached
        chosen = cuts.best(2 * cuts.n_right - f1 * cuts.n_predicted)
