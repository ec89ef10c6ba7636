"""Whether a code pays: the learner as it is against a code of its bits, on samples that neither has learned from.

The learner as it is has no code: a single column with a symbol for every class. It is the simpler choice, so a code is
taken only if it is clearly ahead. A code keeps this column among its own, where it can, and so adds to what the learner
knows. The margins of the held-out samples serve everything: the choice, the weights of a learned decoder, and a
temperature for probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.utils import get_tags

from codekin._system.messages import counted
from codekin.code import Code, FloatArray, IntArray
from codekin.codebooks import dense_random, one_vs_rest
from codekin.codebooks.symbols import beside_all_classes, single_column
from codekin.decoding import fit_decoder
from codekin.decoding.learned import LearnedDecoder
from codekin.fitting.codes import are_alike
from codekin.fitting.orders import Orders, choose_orders
from codekin.fitting.plan import MAX_COLUMNS, Alternatives, Plan, Seed, code_plan, n_dense_bits
from codekin.fitting.settings import ECOC_SETTINGS
from codekin.learners import Learner
from codekin.learners.estimators import (
    declared_limit,
    describes_classes,
    is_tree,
    learns_at_once,
    learns_linearly,
    way_of_learning,
)
from codekin.learners.independent import BitsAtOnce
from codekin.measures.predictions import is_clear
from codekin.progress import stage
from codekin.samples import N_FOLDS, Samples, rows_at, stratified_folds

LEAST_SAMPLES = 50
"""Fewer samples are too few to hold some out."""
FEW_SAMPLES, LARGER_PART = 300, 3
"""The trial of a code learns from a third of the samples; of fewer than these, from half."""
MOST_LEARNED, MOST_HELD_OUT = 5_000, 2_500
"""The most samples that the trial of a code learns from, and that are held out."""
MOST_FOLDS = 3
"""The most folds that are held out of a learner that is tried without a code."""
LEARNED_PER_CLASS = 20
"""But it learns from this many for each class, if there are so many."""
CLEAR, CLEAR_OF_REST, CLEAR_WEIGHTS = 1.0, 2.0, 2.0
"""A code counts as better if it is so by more than this many standard errors, one-vs-rest by more than the second
number, and weights of the learner's own probabilities, which were fitted to the same samples, by the third."""
MOST_BESIDE = 50
"""With more classes, no column of all classes is put beside others: every column would get a margin for each class."""
OF_ALL, OF_REST = 1 / 2, 1 / 3
"""What the logarithms of the probabilities of a column of all classes and of each column of one-vs-rest beside it
count: their errors are alike."""
OF_DENSE, LEAST_SURE = 5.0, 1 / 5
"""Dense columns together count this many times as much as a column of all classes beside them. Single trees are much
too sure: so much is left of the logarithms."""
MORE_COLUMNS = 1
"""At most this many dense columns more than classes are put beside one of all classes: they take little longer to learn
than one-vs-rest."""
STRENGTHS = (np.inf, 1.0, 0.1, 0.01)
"""How strongly such weights are pulled towards the learner's own probabilities. Only learners that describe classes get
any: margins of others depend on how many samples they have learned from, and a trial has fewer."""
FEW_DRAWS = 500
"""Of dense codebooks: the best of more is found in more time than cheap learners take to learn."""
CLEAR_GAIN = 0.02
"""The learner's own probabilities are changed only if its log loss falls by this share, too."""


Split = tuple[IntArray, IntArray]
"""Samples to learn from, and those that are held out."""


class Chosen(NamedTuple):
    """A plan, what samples may still change in it, and the order of its classes."""

    plan: Plan
    alternatives: Alternatives
    orders: Orders

    def because(self, reason: str) -> Chosen:
        """The same with the reason for its codebook."""
        return self._replace(plan=replace(self.plan, reason=reason))


def planned(
    given: Mapping[str, Any],
    classifier: Any,
    learner: Learner,
    samples: Samples,
    *,
    n_classes: int,
    seed: Seed,
    policy: str = "",
) -> Chosen:
    """The plan of :func:`code_plan`, without a trial; ``policy`` names an assignment that is found in another way."""
    plan, alternatives, classes = code_plan(given, classifier, learner, samples, n_classes=n_classes, seed=seed)
    plan = replace(plan, policy=policy)
    return Chosen(plan, alternatives, choose_orders(plan, samples, classes=classes))


def choose_plan(
    given: Mapping[str, Any], classifier: Any, learner: Learner, samples: Samples, *, n_classes: int, seed: Seed
) -> Chosen:
    """The plan of a fit from the parameters of a :class:`codekin.ECOCClassifier`: see :func:`code_plan`.

    If the code is left open, held-out samples choose between the learner as it is and a code. Linear learners get a
    code without a trial: their decoder is compared with one-vs-rest in any case. Neighbours, and learners that describe
    each class on its own, get none: their bits know nothing more. Where several fits are better than one, there is no
    trial either: a column of all classes gets others beside it, dense ones for single trees and otherwise one-vs-rest.
    """
    way = "linear" if classifier is None else way_of_learning(classifier)
    is_left_open = is_open(given, classifier, n_classes) and not are_alike(samples.X)
    if not is_left_open or way in ("linear", "jointly"):
        chosen = planned(given, classifier, learner, samples, n_classes=n_classes, seed=seed)
        return _at_once(chosen, classifier, samples) if is_left_open else chosen
    trial = _Trial.of(learner, samples, np.random.default_rng((*seed, 1)))

    def plan_of(policy: str = "", **settings: Any) -> Chosen:
        changed = {**given, **settings}
        return planned(changed, classifier, learner, samples, n_classes=n_classes, seed=seed, policy=policy)

    alone = plan_of(codebook=single_column(n_classes))
    if len(trial.rows) < LEAST_SAMPLES:
        few = f"there are fewer than {LEAST_SAMPLES} samples, and its bits would know nothing more"
        return plan_of() if way != "classes" else alone.because(few)
    with stage("trying the learner without a code"):
        splits = trial.folds() if way == "classes" else trial.parts(n_classes)
        own = trial.judged(alone, splits)
    if own is None:
        return plan_of()
    if way == "classes":
        return own.chosen.because(f"{own.text}, and its bits would know nothing more; {own.probabilities}")
    has_dense = is_tree(classifier) or not (way == "varied" or learns_linearly(classifier))
    settings = _dense(given, n_classes, np.random.default_rng((*seed, 3))) if has_dense else {"codebook": "one_vs_rest"}
    if way == "varied" and n_classes <= MOST_BESIDE:
        both = plan_of(**(settings if has_dense else {"codebook": beside_all_classes(one_vs_rest(n_classes))}))
        return _decoded_together(both, has_dense).because("several fits of this learner are better than one")
    with stage("trying a code"):
        rival = plan_of(**settings)
        other = trial.judged(rival, splits)
    assert other is not None
    text = f"{own.text}, {counted(rival.plan.codebook.n_bits, 'column')} {other.accuracy:.1%}"
    best = other if other.is_ahead_of(own, CLEAR if has_dense else CLEAR_OF_REST) else own
    if best is own and (learns_linearly(classifier) or len(trial.rows) > LARGER_PART * MOST_LEARNED):
        best = trial.judged(alone, trial.folds()) or own
    return best.chosen.because(text if best is other else f"{text}; {best.probabilities}")


def _dense(given: Mapping[str, Any], n_classes: int, rng: np.random.Generator) -> dict[str, Any]:
    """The settings of dense columns, beside a column of all classes if these are few enough."""
    n_bits = n_dense_bits(n_classes)
    if n_classes <= MOST_BESIDE:
        n_bits = min(n_bits, n_classes + MORE_COLUMNS)
        return {"codebook": beside_all_classes(dense_random(n_classes, n_bits=n_bits, rng=rng, n_draws=FEW_DRAWS))}
    columns = dense_random(n_classes, n_bits=n_bits, rng=rng, n_draws=FEW_DRAWS)
    return {"codebook": columns, "policy": given["assignment"], "assignment": "steepest_descent"}


def _decoded_together(chosen: Chosen, has_dense: bool) -> Chosen:
    """The same plan, decoded by how much a column of all classes and those beside it count."""
    code = Code(chosen.plan.codebook, chosen.orders.first)
    of_dense = LEAST_SURE * np.array([1.0, OF_DENSE / (code.n_bits - 1)])
    counts = _counts(code, *(of_dense if has_dense else (OF_ALL, OF_REST)))
    return _with_decoder(chosen, LearnedDecoder(code.indicators * counts, np.zeros(code.n_classes), chosen.plan.loss))


def _at_once(chosen: Chosen, classifier: Any, samples: Samples) -> Chosen:
    """The same plan, whose bits come from one fit of all classes if that is possible."""
    plan = chosen.plan
    if plan.codebook.name != "one_vs_rest" or not learns_at_once(classifier, samples.X, plan.n_classes):
        return chosen
    given: Any = plan.learner
    learner = BitsAtOnce(given.estimator, given.n_jobs, given.fit_params, given.tasks)
    chosen = chosen._replace(plan=replace(plan, learner=learner))
    if way_of_learning(classifier) != "jointly":
        return chosen
    return chosen.because(f"{plan.reason}; one regression of all classes learns all bits")


def _counts(code: Code, of_all: float, of_each: float) -> FloatArray:
    """How much each margin counts: those of a column of all classes, and of each column beside it."""
    if code.n_bits == 1 or not code.codebook.has_symbol_margins:
        return np.ones(code.n_margins)
    return np.repeat([of_all] + [of_each] * (code.n_bits - 1), code.codebook.n_symbols)


def is_open(given: Mapping[str, Any], classifier: Any, n_classes: int) -> bool:
    """Whether the code is left open, and the learner may learn all classes at once."""
    asked = ("codebook", "n_bits", "n_symbols", "class_distances", "assignment", "loss", "decoding")
    is_default = all(_is_default(name, given[name]) for name in (*asked, "weighted_decoding", "calibrate"))
    if not (is_default and classifier is not None and 2 < n_classes <= MAX_COLUMNS):
        return False
    # The weights of the two sides of a bit are not those of classes.
    has_sides = isinstance(getattr(classifier, "class_weight", None), dict)
    of_classes = get_tags(classifier).classifier_tags
    is_multiclass = of_classes is not None and of_classes.multi_class
    return is_multiclass and not has_sides and declared_limit(classifier) is None


def _is_default(name: str, value: Any) -> bool:
    default = ECOC_SETTINGS[name].default
    return value is default or (isinstance(value, str | bool) and value == default)


class _Judged(NamedTuple):
    """A plan with the best decoder for it, and how good that is on held-out samples."""

    chosen: Chosen
    is_right: NDArray[np.bool_]
    weights: FloatArray
    """Of the held-out samples."""
    probabilities: str = ""
    """What becomes of those of the learner."""

    @property
    def accuracy(self) -> float:
        return float(np.average(self.is_right, weights=self.weights))

    @property
    def text(self) -> str:
        n_held_out = counted(len(self.is_right), "held-out sample")
        return f"the learner as it is gets {self.accuracy:.1%} of {n_held_out} right"

    def because(self, reason: str) -> _Judged:
        return self._replace(chosen=self.chosen.because(reason))

    def is_ahead_of(self, other: _Judged, least: float) -> bool:
        return is_clear(self.is_right, other.is_right, self.weights, least)


@dataclass(frozen=True, eq=False)
class _Trial:
    """Samples, some of which are held out.

    - ``rows``: those that have a class and a weight.
    """

    learner: Any
    samples: Samples
    weights: FloatArray
    rows: IntArray
    rng: np.random.Generator

    @classmethod
    def of(cls, learner: Any, samples: Samples, rng: np.random.Generator) -> _Trial:
        return cls(replace(learner, tasks=None), samples, *_weights_and_rows(samples), rng)

    def parts(self, n_classes: int) -> list[Split]:
        """The samples to learn from, and those that are held out: few are enough to compare two learners."""
        n_parts = 2 if len(self.rows) < FEW_SAMPLES else LARGER_PART
        fold = stratified_folds(self.samples.class_index[self.rows], n_parts, self.rng)
        first, others = self.rows[fold == 0], self.rows[fold > 0]
        most = max(MOST_LEARNED, LEARNED_PER_CLASS * n_classes)
        return [(self._some(first, most), self._some(others, MOST_HELD_OUT))]

    def folds(self) -> list[Split]:
        """The same with nearly all samples to learn from, until enough are held out.

        Neighbours are much less sure with fewer samples: a tenth is held out at a time, of quick learners two fifths.
        """
        is_quick = learns_linearly(self.learner.estimator)
        n_folds = N_FOLDS if is_quick or describes_classes(self.learner.estimator) else 2 * N_FOLDS
        fold = stratified_folds(self.samples.class_index[self.rows], n_folds, self.rng)
        found, n_found = list[Split](), 0
        for number in range(MOST_FOLDS - is_quick):
            held_out = self._some(self.rows[fold == number], MOST_HELD_OUT)
            found.append((np.setdiff1d(self.rows, held_out), held_out))
            n_found += len(held_out)
            if n_found >= MOST_HELD_OUT:
                break
        return found

    def _some(self, rows: IntArray, most: int) -> IntArray:
        return rows if len(rows) <= most else np.sort(self.rng.permutation(rows)[:most])

    def judged(self, chosen: Chosen, splits: list[Split]) -> _Judged | None:
        """How good a plan is on samples that are held out; None if its learner cannot learn all classes at once."""
        plan, rng = chosen.plan, self.rng.spawn(1)[0]
        code = Code(plan.codebook, chosen.orders.first)
        is_alone, margins = code.n_bits == 1, []
        counts = _counts(code, 1.0, OF_DENSE / max(code.n_bits - 1, 1))
        for learned, held_out in splits:
            class_index = np.full(len(self.samples), -1)
            class_index[learned] = self.samples.class_index[learned]
            try:
                bits = self.learner.fit(replace(self.samples, class_index=class_index), code, rng=rng)
                margins.append(bits.margins(rows_at(self.samples.X, held_out)))
            except (ValueError, TypeError, ArithmeticError, RuntimeError):
                if is_alone:
                    return None
                raise
        rows = np.concatenate([held_out for _, held_out in splits])
        classes, weights = self.samples.class_index[rows], self.weights[rows]
        values = np.concatenate(margins) * counts
        strengths = STRENGTHS if describes_classes(self.learner.estimator) else STRENGTHS[:1]
        found = fit_decoder(values, classes, code, loss=plan.loss, sample_weight=weights, strengths=strengths, rng=SEED)
        some = found.held_out
        if not is_alone:
            decoder = replace(found.decoder, weights=found.decoder.weights * counts)
            return _Judged(_with_decoder(chosen, decoder), found.is_right, weights[some])
        is_right = values[some].argmax(axis=1) == classes[some]
        if is_clear(found.is_right, is_right, weights[some], CLEAR_WEIGHTS):
            chosen, changed = _with_decoder(chosen, found.decoder), "its probabilities are weighted for each class"
            return _Judged(chosen, found.is_right, weights[some], changed)
        found, log_losses = found.scaled(), -log_softmax(values[some], axis=1)[np.arange(len(some)), classes[some]]
        mean = float(np.average(log_losses, weights=weights[some]))
        if found.log_loss < (1 - CLEAR_GAIN) * mean and is_clear(log_losses, found.sample_log_losses, weights[some]):
            changed = f"one temperature reduces its log loss from {mean:.3f} to {found.log_loss:.3f}"
            return _Judged(_with_decoder(chosen, found.decoder), is_right, weights[some], changed)
        return _Judged(chosen, is_right, weights[some], "its probabilities are its own")


SEED = 0
"""All decoders are compared on the same folds."""


def _weights_and_rows(samples: Samples) -> tuple[FloatArray, IntArray]:
    """The weights of samples, and the rows of those that have a class and a weight."""
    weights = np.ones(len(samples)) if samples.weights is None else np.asarray(samples.weights, dtype=np.float64)
    return weights, np.flatnonzero((samples.class_index >= 0) & (weights > 0))


def _with_decoder(chosen: Chosen, decoder: LearnedDecoder) -> Chosen:
    return chosen._replace(alternatives=Alternatives(decoder=decoder))
