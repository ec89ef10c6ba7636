"""Prediction sets: all classes that are probable enough, where held-out samples say how probable that is.

This is split conformal prediction with the log-probability as score (Sadinle, Lei and Wasserman 2019). A set has every
class whose probability is at least that of the true class in all but a share of the held-out samples. If new samples
come from the same source, the true class is in the set as often as was asked, whatever the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin._system.rows import n_samples_in
from codekin.code import FloatArray, IntArray
from codekin.measures.thresholds import N_TESTS, last_precise, least_for_precision
from codekin.model.answer_tree import AnswerTree
from codekin.model.model import NUMBERS_AT_ONCE, Model
from codekin.progress import report
from codekin.samples import rows_at

FIRST_LIST, GROWTH = 16, 4
"""How many classes are listed at first, and how many times more if that was too few."""
LISTED_PER_BLOCK = 1024
"""Of codes that list classes one by one; of others, as many as have few enough numbers in all."""
ENTRIES_AT_ONCE = 1 << 22
"""How many listed classes are held at once."""
SURE = 1 - np.geomspace(1e-4, 0.8, N_TESTS)
"""The probabilities that are tested for a precision of groups."""
SLACK = 1e-9
"""Of the product of a coverage and a number of samples, which may be off in the last digit."""


@dataclass(frozen=True, eq=False)
class SetCalibration:
    """How improbable the true classes of held-out samples were.

    - ``scores`` of shape (n_samples,): minus the logarithms of their probabilities, in increasing order, in single
      precision; infinite for samples whose class the model does not know.
    - ``min_probability``: how probable an answer must be to be given, for the precision ``min_precision``; 0 gives all.
    - ``groups``: the groups of classes that are answers, too.
    """

    scores: NDArray[np.float32] = field(repr=False)
    min_probability: float = 0.0
    min_precision: float = 0.0
    groups: AnswerTree | None = field(default=None, repr=False)

    @classmethod
    def of(cls, log_probabilities: FloatArray) -> SetCalibration:
        """From the log-probabilities of the true classes."""
        return cls(np.sort(as_scores(log_probabilities)))

    @classmethod
    def measured(
        cls, model: Model, X: Any, class_index: IntArray, groups: AnswerTree | None, min_precision: float | None
    ) -> SetCalibration:
        """From samples and their classes, -1 for unknown ones."""
        logs = model.log_proba(X, class_index) if groups is None else groups.scores(model, X, class_index)
        found = replace(cls.of(logs), groups=groups)
        if min_precision is None:
            return found
        check_share(min_precision, "min_precision")
        if groups is None:
            classes, probabilities = sure_classes(model, X, 0.0)
            least = least_for_precision(probabilities, classes == class_index, min_precision)
        else:
            answers, _ = groups.sure(model, X, SURE)
            is_right = groups.holds(answers, class_index)
            least = float(SURE[last_precise(is_right.sum(axis=0), (answers >= 0).sum(axis=0), min_precision)])
        return replace(found, min_probability=least, min_precision=float(min_precision))

    def __post_init__(self) -> None:
        scores = self.scores
        if scores.ndim != 1 or not len(scores) or scores.dtype != np.float32 or not (scores[1:] >= scores[:-1]).all():
            raise ValueError("The scores of held-out samples must be sorted numbers in single precision.")
        check_share(self.min_probability, "min_probability")
        check_share(self.min_precision, "min_precision")

    def largest_score(self, coverage: float) -> np.float32:
        """The score up to which a class is in a set."""
        if not 0 < coverage < 1:
            raise ValueError(f"The 'coverage' parameter must be between 0 and 1. Got {coverage} instead.")
        n = len(self.scores)
        place = max(ceil((n + 1) * coverage - SLACK), 1)
        if place > n:
            least = ceil(coverage / (1 - coverage) - SLACK)
            raise ValueError(f"A coverage of {coverage:g} needs at least {least:,} calibration samples. Got {n:,}.")
        if not np.isfinite(self.scores[place - 1]):
            n_known = int(np.isfinite(self.scores).sum())
            raise ValueError(
                f"A coverage of {coverage:g} is out of reach: the model knows the classes of only {n_known:,} of "
                f"{n:,} calibration samples."
            )
        return np.float32(self.scores[place - 1])


def check_share(value: Any, name: str) -> None:
    """Raise unless a value is a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 <= value <= 1:
        raise ValueError(f"The '{name}' parameter must be between 0 and 1. Got {value!r} instead.")


def sure_classes(model: Model, X: Any, least: float) -> tuple[IntArray, FloatArray]:
    """The most probable class of each sample, -1 where it is less probable than ``least``, and its probability."""
    classes, probabilities = model.top_k_proba(X, 1)
    return np.where(probabilities[:, 0] >= least, classes[:, 0], -1), probabilities[:, 0]


def sure_answers(model: Model, X: Any, least: float, groups: AnswerTree | None = None) -> tuple[IntArray, FloatArray]:
    """The same, but where no class is probable enough the smallest group of classes that is, if there are groups."""
    answers, probabilities = sure_classes(model, X, least)
    rows = np.flatnonzero(answers < 0)
    if groups is not None and len(rows):
        found, shares = groups.sure(model, rows_at(X, rows), np.array([least]))
        answers[rows], probabilities[rows] = found[:, 0], shares[:, 0]
    return answers, probabilities


def answer_names(labels: NDArray[Any], groups: AnswerTree | None = None) -> NDArray[Any]:
    """What each answer is called: the labels as Python's objects, groups of them, and last None, the answer -1."""
    return np.array([*labels.tolist(), None], dtype=object) if groups is None else groups.names


def as_scores(log_probabilities: FloatArray) -> NDArray[np.float32]:
    """Log-probabilities as they are compared."""
    return np.asarray(-log_probabilities, dtype=np.float32)


def likely_classes(model: Model, X: Any, largest: np.float32) -> Iterator[IntArray]:
    """For each sample the classes with scores up to the largest, best first, and at least the best one.

    Lists of the best classes grow until they hold all such classes; on a trellis or a tree there is never a number for
    each class.
    """
    ranking, decoder, n_samples = model.ranking, model.probability_decoders[0], n_samples_in(X)
    # Classes behind the candidates may be more probable than the last of these.
    first = decoder.n_listed(FIRST_LIST)
    if ranking is not None:
        first += ranking.n_candidates * len(model.codes) + ranking.n_indexed
    at_once = max(NUMBERS_AT_ONCE // decoder.n_listed(LISTED_PER_BLOCK), 1)
    for start in range(0, n_samples, at_once):
        report("listing probable classes", start, n_samples, unit="samples")
        block = rows_at(X, np.arange(start, min(start + at_once, n_samples)))
        found: dict[int, IntArray] = {}
        waiting, k = np.arange(n_samples_in(block)), min(first, model.n_classes)
        while len(waiting):
            step = max(ENTRIES_AT_ONCE // k, 1)
            later = []
            for at in range(0, len(waiting), step):
                rows = waiting[at : at + step]
                some = block if len(rows) == n_samples_in(block) else rows_at(block, rows)
                classes, logs = model.top_k_proba(some, k, is_log=True)
                is_in = (as_scores(logs) <= largest) & (classes >= 0)
                is_whole = ~is_in[:, -1] | (k == model.n_classes)
                is_in[:, 0] = True
                for i in np.flatnonzero(is_whole).tolist():
                    found[int(rows[i])] = classes[i, is_in[i]]
                later.append(rows[~is_whole])
            waiting, k = np.concatenate(later), min(GROWTH * k, model.n_classes)
        yield from (found[row] for row in range(n_samples_in(block)))
