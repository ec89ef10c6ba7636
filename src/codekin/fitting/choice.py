"""Whether a code pays: the learner as it is against a code of its bits, on samples that neither has learned from.

The learner as it is has no code: a single column with a symbol for every class. It is the simpler choice, so a code is
taken only if it is ahead by more than a standard error. The margins of the held-out samples serve everything: the
choice, the weights of a learned decoder, and a temperature for probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.utils import get_tags

from codekin._system.messages import counted
from codekin.code import Code, FloatArray, IntArray
from codekin.codebooks import dense_random
from codekin.codebooks.symbols import single_column
from codekin.decoding import fit_decoder
from codekin.decoding.decoder_fit import DecoderFit
from codekin.decoding.learned import LearnedDecoder
from codekin.fitting.codes import are_alike
from codekin.fitting.fit import FitResult
from codekin.fitting.orders import Orders, choose_orders
from codekin.fitting.plan import MAX_COLUMNS, Alternatives, Plan, Seed, code_plan, n_dense_bits
from codekin.fitting.settings import ECOC_SETTINGS
from codekin.learners import Learner
from codekin.learners.estimators import (
    declared_limit,
    describes_classes,
    is_tree,
    predictors_of_classes,
    seeded,
    way_of_learning,
)
from codekin.learners.independent import EstimatorBits
from codekin.measures.predictions import is_clear
from codekin.progress import stage
from codekin.samples import N_FOLDS, Samples, rows_at, stratified_folds

LEAST_SAMPLES = 50
"""Fewer samples are too few to hold some out."""
FEW_SAMPLES, LARGER_PART = 300, 3
"""The trial of a code learns from a third of the samples; of fewer than these, from either half in turn."""
MOST_LEARNED, MOST_HELD_OUT = 5_000, 2_500
"""The most samples that the trial of a code learns from, and that are held out."""
MOST_FOLDS = 3
"""The most folds that are held out of a learner that is tried without a code."""
LEARNED_PER_CLASS = 20
"""But it learns from this many for each class, if there are so many."""
CLEAR, CLEAR_WEIGHTS = 1.0, 2.0
"""A code counts as better if it is so by more than this many standard errors, and so do weights of the learner's own
probabilities, which were fitted to the same samples."""
CLEAR_REST = 0.5
"""The same for one-vs-rest, since neither it nor the learner as it is may be much better than the other, and for codes
of single trees, which are better on most tables."""
MOST_COLUMNS = 2
"""With more columns per dense one, one-vs-rest is tried only if the dense code is not ahead: it would take long."""
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
    code without a trial: their decoder is compared with one-vs-rest in any case. Single trees need less evidence for a
    dense code: trees of different columns err differently. Neighbours, and learners that describe each class on its
    own, get none: their bits know nothing more.
    """
    way = "linear" if classifier is None else way_of_learning(classifier)
    may_gain = way != "classes"
    if are_alike(samples.X) or not is_open(given, classifier, n_classes) or way in ("linear", "jointly"):
        return planned(given, classifier, learner, samples, n_classes=n_classes, seed=seed)
    trial = _Trial.of(learner, samples, np.random.default_rng((*seed, 1)))

    def plan_of(policy: str = "", **settings: Any) -> Chosen:
        changed = {**given, **settings}
        return planned(changed, classifier, learner, samples, n_classes=n_classes, seed=seed, policy=policy)

    n_bits = n_dense_bits(n_classes)
    quick = partial(dense_random, n_draws=FEW_DRAWS)
    dense = partial(plan_of, policy=given["assignment"], codebook=quick, n_bits=n_bits, assignment="steepest_descent")
    alone = plan_of(codebook=single_column(n_classes))
    if len(trial.rows) < LEAST_SAMPLES:
        few = f"there are fewer than {LEAST_SAMPLES} samples, and its bits would know nothing more"
        return plan_of() if may_gain else alone.because(few)
    with stage("trying the learner without a code"):
        splits = trial.parts(n_classes) if may_gain else trial.folds()
        own = trial.judged(alone, splits)
    if own is None:
        return plan_of()
    if not may_gain:
        return own.chosen.because(f"{own.text}, and its bits would know nothing more; {own.probabilities}")
    least = CLEAR_REST if is_tree(classifier) else CLEAR
    best = _against_codes(trial, own, splits, dense, partial(plan_of, codebook="one_vs_rest"), least=least)
    if best.chosen.plan.codebook is alone.plan.codebook and len(trial.rows) > LARGER_PART * MOST_LEARNED:
        again = trial.judged(alone, trial.folds())
        best = best if again is None else again.because(best.chosen.plan.reason)
    return best.chosen


def _against_codes(
    trial: _Trial,
    own: _Judged,
    splits: list[Split],
    dense: Callable[[], Chosen],
    one_vs_rest: Callable[[], Chosen],
    *,
    least: float,
) -> _Judged:
    """The learner as it is, or the better one of two codes that is ahead of it.

    - ``least``: by how many standard errors a dense code has to be ahead.
    """
    with stage("trying a code"):
        other = trial.judged(dense(), splits)
    assert other is not None
    plan, is_ahead = other.chosen.plan, other.is_ahead_of(own, least)
    bits = f"{counted(plan.codebook.n_bits, 'bit')} get {other.accuracy:.1%}"
    if is_ahead and plan.n_classes > MOST_COLUMNS * plan.codebook.n_bits:
        return other.because(f"{own.text}, {bits}")
    with stage("trying one-vs-rest"):
        rest = trial.judged(one_vs_rest(), splits)
    assert rest is not None
    text = f"{own.text}, {bits}, one-vs-rest {rest.accuracy:.1%}"
    if is_ahead and other.accuracy >= rest.accuracy:
        return other.because(text)
    if rest.is_ahead_of(own, CLEAR_REST):
        return rest.because(text)
    return own.because(f"{text}; {own.probabilities}")


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
        are_few = len(self.rows) < FEW_SAMPLES
        fold = stratified_folds(self.samples.class_index[self.rows], 2 if are_few else LARGER_PART, self.rng)
        first, others = self.rows[fold == 0], self.rows[fold > 0]
        if are_few:
            return [(first, others), (others, first)]
        most = max(MOST_LEARNED, LEARNED_PER_CLASS * n_classes)
        return [(self._some(first, most), self._some(others, MOST_HELD_OUT))]

    def folds(self) -> list[Split]:
        """The same with nearly all samples to learn from, until enough are held out.

        Neighbours are much less sure with fewer samples; a tenth is held out at a time.
        """
        n_folds = N_FOLDS if describes_classes(self.learner.estimator) else 2 * N_FOLDS
        fold = stratified_folds(self.samples.class_index[self.rows], n_folds, self.rng)
        found, n_found = list[Split](), 0
        for number in range(MOST_FOLDS):
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
        is_alone, margins = code.codebook.has_symbol_margins, []
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
        classes, weights, values = self.samples.class_index[rows], self.weights[rows], np.concatenate(margins)
        strengths = STRENGTHS if describes_classes(self.learner.estimator) else STRENGTHS[:1]
        found = fit_decoder(values, classes, code, loss=plan.loss, sample_weight=weights, strengths=strengths, rng=SEED)
        some = found.held_out
        if not is_alone:
            return _Judged(_with_decoder(chosen, found), found.is_right, weights[some])
        is_right = values[some].argmax(axis=1) == classes[some]
        if is_clear(found.is_right, is_right, weights[some], CLEAR_WEIGHTS):
            chosen, changed = _with_decoder(chosen, found), "its probabilities are weighted for each class"
            return _Judged(chosen, found.is_right, weights[some], changed)
        found, log_losses = found.scaled(), -log_softmax(values[some], axis=1)[np.arange(len(some)), classes[some]]
        mean = float(np.average(log_losses, weights=weights[some]))
        if found.log_loss < (1 - CLEAR_GAIN) * mean and is_clear(log_losses, found.sample_log_losses, weights[some]):
            changed = f"one temperature reduces its log loss from {mean:.3f} to {found.log_loss:.3f}"
            return _Judged(_with_decoder(chosen, found), is_right, weights[some], changed)
        return _Judged(chosen, is_right, weights[some], "its probabilities are its own")


SEED = 0
"""All decoders are compared on the same folds."""


def _weights_and_rows(samples: Samples) -> tuple[FloatArray, IntArray]:
    """The weights of samples, and the rows of those that have a class and a weight."""
    weights = np.ones(len(samples)) if samples.weights is None else np.asarray(samples.weights, dtype=np.float64)
    return weights, np.flatnonzero((samples.class_index >= 0) & (weights > 0))


def _with_decoder(chosen: Chosen, found: DecoderFit) -> Chosen:
    return chosen._replace(alternatives=Alternatives(decoder_fit=found))


# ----- one regression of all classes ---------------------------------------------------------------------------------

# Its scores of the classes are linear, so that each can be the margin of a bit, and the class with the largest one is
# decoded. All that works with linear bits works with these.

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
    is_joint = classifier is not None and way_of_learning(classifier) == "jointly"
    if not is_joint or len(shape) != 2 or are_alike(samples.X):
        return fit
    code, found = fit.model.first.code, fit.decoder_fit
    if not (
        is_open(given, classifier, code.n_classes)
        and not getattr(fit.plan.learner, "fit_params", None)
        and _is_one_vs_rest(code)
        and code.n_classes * shape[1] <= MOST_WEIGHTS
    ):
        return fit
    weights, rows = _weights_and_rows(samples)
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
    bits = EstimatorBits(predictors_of_classes(learned, code.coding_matrix.argmax(axis=0)))
    member = replace(fit.model.first, bits=bits, decoder=LearnedDecoder._of_margins(code))
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
