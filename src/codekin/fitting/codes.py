"""The codes of a model: their bits and decoders are learned, several codes at a time, then pruned and compressed.

The bits of a trellis learn together, so a pass takes one thread; codes do not depend on each other. Their states are in
memory at the same time, twice the weights of all codes, as one code takes twice its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np

from codekin._system.arrays import Arrays
from codekin._system.memory import available_memory, give_back
from codekin._system.parallel import available_threads, limited_threads, n_workers
from codekin._system.rows import StoredRows
from codekin.code import Assignment, Code, Codebook, IntArray
from codekin.code.tree import label_tree
from codekin.decoding import DecodedAccuracy, Loss, decoder_of, fit_decoder
from codekin.decoding.decoder import Decoder
from codekin.decoding.decoder_fit import MAX_MARGINS, DecoderFit
from codekin.decoding.learned import LearnedDecoder
from codekin.fitting.footprint import BYTES_PER_KEPT_WEIGHT, bytes_converted, with_remaining_memory
from codekin.fitting.plan import Alternatives, Plan
from codekin.fitting.trial import class_sizes
from codekin.learners import Checkpoints, EpochReport, Learner, Validation
from codekin.learners.calibration import calibrate_bits, out_of_fold_margins
from codekin.learners.training import Callbacks
from codekin.model import FittedCode
from codekin.progress import JointProgress, Stopped, report, stage, subscribe
from codekin.samples import Samples, rows_at
from codekin.states.bits import describe_bits

if TYPE_CHECKING:
    from codekin.learners.without_samples import OutOfFold

Result = TypeVar("Result")
OnEpoch = Callable[[EpochReport], None]


class LearnedCode(NamedTuple):
    """A code with its bits, the loss of the bits, and how its decoder was learned, if it was."""

    member: FittedCode
    loss: Loss
    decoder_fit: DecoderFit | None = None


@dataclass
class SharedWork:
    """What the trials of a search within a budget share: chosen orders of every width, learned ones of the last width.

    The ``checkpoints`` of a width are removed when the next width starts.
    """

    checkpoints: Checkpoints | None = None
    orders: dict[int | None, Any] = field(default_factory=dict)
    _codes: dict[int, LearnedCode] = field(default_factory=dict)
    _width: int | None = None

    def codes_of(self, width: int | None) -> dict[int, LearnedCode]:
        """The learned codes of this width, by number; those of another width are forgotten."""
        if width != self._width:
            if self.checkpoints is not None and self._width is not None:
                self.checkpoints.part(f"width-{self._width}").clear()
            self._codes, self._width = {}, width
        return self._codes


@dataclass(frozen=True, eq=False)
class CodesToLearn:
    """The codes of a model before their bits are learned.

    - ``codes``: the codebook with the assignment of each.
    - ``generators``: one for each code; they do not depend on how many codes learn at the same time.
    - ``shared``: what other trials have learned, which is not learned again.
    - ``learned_decoding``: whether a decoder is learned, too, and taken if it is better.
    """

    plan: Plan
    codes: list[Code]
    generators: list[np.random.Generator]
    callbacks: Callbacks
    shared: SharedWork | None = None
    alternatives: Alternatives = Alternatives()  # noqa: RUF009  (immutable)

    def fit(self, samples: Samples, held_out: Samples | None) -> tuple[LearnedCode, ...]:
        """Learn all codes, some of them at the same time if that fits into memory."""
        if self.plan.rerank is not None:
            samples, held_out = samples.for_codes(), None if held_out is None else held_out.for_codes()
        n_codes, finished, held = len(self.codes), list[LearnedCode](), list[int]()
        at_once = n_parallel_codes(self.plan, self.codes[0].codebook, samples.X, keeps_all=self.shared is not None)
        for first in range(0, n_codes, at_once):
            group = range(first, min(first + at_once, n_codes))
            numbers = f"code {group[0] + 1}" if len(group) == 1 else f"codes {group[0] + 1} to {group[-1] + 1}"
            with stage(f"{numbers} of {n_codes}") if n_codes > 1 else nullcontext():
                learned = self._learned(group, samples, held_out, sum(held))
                for number in group:
                    code = learned.pop(number)
                    finished.append(code._replace(member=compressed(code.member, self.plan, held_out)))
                    if len(finished) < n_codes:
                        # Only trials need the weights as they were.
                        kept = [finished[-1], *([] if self.shared is None else [code])]
                        held += [int(getattr(each.member.bits, "nbytes", 0)) for each in kept]
                    del code
                    give_back()
        return tuple(finished)

    def _learned(self, group: range, samples: Samples, held_out: Samples | None, n_held: int) -> dict[int, LearnedCode]:
        """Codes that learn at the same time, by number, while finished ones hold ``n_held`` bytes."""
        known = {} if self.shared is None else self.shared.codes_of(self.plan.codebook.width)
        on_epoch = self.callbacks.on_epoch
        if on_epoch is not None and len(group) > 1:
            on_epoch = one_by_one(on_epoch)
        with with_remaining_memory(self.plan, n_held) if n_held else nullcontext(self.plan) as remaining:
            plan = with_shared_threads(remaining, len(group))
            tasks = {
                number: partial(
                    learned_code,
                    plan,
                    self.codes[number],
                    samples,
                    held_out,
                    rng=self.generators[number],
                    options=self._options(on_epoch, number),
                    alternatives=self.alternatives,
                )
                for number in group
                if number not in known
            }
            give_back()  # what choosing the code and its assignment took
            learned = {**known, **in_parallel(tasks)}
        if self.shared is not None:
            known.update(learned)
        return learned

    def with_checkpoints(self, name: str) -> CodesToLearn:
        """The same with checkpoints in a folder of their own."""
        own = self.callbacks.checkpoints
        return replace(self, callbacks=replace(self.callbacks, checkpoints=None if own is None else own.part(name)))

    def of_some_classes(self, classes: IntArray) -> CodesToLearn:
        """The codes of some of the classes, which keep their orders on trees of the same width."""
        codebook = label_tree(len(classes), min(self.plan.codebook.width or 2, len(classes)))
        places = [code.assignment.codeword_of_class[classes] for code in self.codes]
        codes = [Code(codebook, Assignment(np.argsort(np.argsort(of_code)))) for of_code in places]
        generators = [self.generators[0].spawn(1)[0]] * len(codes)
        return CodesToLearn(self.plan, codes, generators, self.callbacks)

    def _options(self, on_epoch: OnEpoch | None, number: int) -> dict[str, Any]:
        """The options for a learner: only those that are set, since a custom learner need not know them all."""
        own, shared = self.callbacks.checkpoints, self.shared
        if shared is not None:
            own = shared.checkpoints and shared.checkpoints.part(f"width-{self.plan.codebook.width}/code-{number}")
        elif own is not None and self.plan.is_ranked:
            own = own.part(f"fit-{number}")
        given = {"on_epoch": on_epoch, "checkpoints": own}
        return {name: value for name, value in given.items() if value is not None}


def one_by_one(on_epoch: OnEpoch) -> OnEpoch:
    """The same for codes that are learned at the same time: their reports wait for each other."""
    lock = Lock()

    def report_pass(of_pass: EpochReport) -> None:
        with lock:
            on_epoch(of_pass)

    return report_pass


def learned_code(
    plan: Plan,
    code: Code,
    samples: Samples,
    held_out: Samples | None,
    *,
    rng: np.random.Generator,
    options: dict[str, Any],
    alternatives: Alternatives,
) -> LearnedCode:
    """Learn the bits of a code, and its decoder.

    - ``options``: ``on_epoch`` and ``checkpoints``, if there are any.
    - ``alternatives``: whether a decoder is learned, too, and taken if it is better; or one that is known.
    """
    learner, (_, learned_decoding, known) = plan.learner, alternatives
    decoder = decoder_of(code, plan.loss, is_weighted=plan.weighted_decoding)
    decoder = LearnedDecoder._of_margins(code) if plan.decoding == "margins" else decoder
    if held_out is not None:
        options = {**options, "validation": _accuracy_on(held_out, decoder)}
    if plan.calibrate is None:
        bits: Any = learner.fit(samples, code, rng=rng, **options)
    else:
        bits = calibrate_bits(learner, samples, code, method=plan.calibrate, rng=rng)
    member = FittedCode(code, bits, decoder)
    X, is_final = samples.X, not hasattr(getattr(learner, "estimator", learner), "partial_fit")
    if learned_decoding and is_final and are_alike(X):
        # No bit can learn anything from equal rows: every sample gets the frequencies of the classes.
        sizes, nothing = class_sizes(samples, code.n_classes), np.zeros((code.n_classes, code.n_bits))
        of_classes = LearnedDecoder(nothing, np.log(sizes / sizes.sum()), decoder.loss)
        return LearnedCode(replace(member, decoder=of_classes), decoder.loss)
    if known is not None:
        return LearnedCode(replace(member, decoder=known), decoder.loss)
    fit, rng = None, rng.spawn(1)[0]
    if plan.decoding == "learned" or learned_decoding:
        fit = learned_decoder(plan, member, samples, rng, is_trial=plan.decoding != "learned")
    if fit is not None and (plan.decoding == "learned" or fit.accuracy >= fit.loss_based_accuracy):
        member = replace(member, decoder=fit.decoder)
    return LearnedCode(member, decoder.loss, fit)


def are_alike(X: Any) -> bool:
    """Whether all rows of an array are equal."""
    return isinstance(X, np.ndarray) and bool((X[:2] == X[0]).all() and (X[0] == X).all())


def compressed(member: FittedCode, plan: Plan, held_out: Samples | None) -> FittedCode:
    """The same code in the plan's precision, pruned as far as held-out samples allow."""
    bits: Any = member.bits
    if held_out is not None and plan.prune is not None:
        report("pruning weights")
        validation, most = _accuracy_on(held_out, member.decoder), plan.max_bytes

        def finished(bits: Any, threshold: float | None = None) -> Any:
            return bits.compacted(plan.precision, threshold)

        is_small: Any = {} if most in (None, np.inf) else {"is_small_enough": lambda bits: _bytes_of(bits) <= most}
        bits = bits.pruned(validation, finished=finished, max_loss=plan.prune, **is_small)
    elif plan.precision != "float32":
        bits = bits.compacted(plan.precision)
    return replace(member, bits=bits)


def _bytes_of(bits: Any) -> int:
    """The size of the weights of a code on disk."""
    arrays: Arrays = {}
    describe_bits(bits, arrays, [])
    return sum(array.nbytes for array in arrays.values())


def _accuracy_on(held_out: Samples, decoder: Decoder) -> Validation:
    """The accuracy on held-out samples, in the form that learners need."""
    return Validation(held_out.X, DecodedAccuracy(decoder, held_out))


def n_parallel_codes(plan: Plan, codebook: Codebook, X: Any, *, keeps_all: bool = False) -> int:
    """How many codes of a plan learn from samples ``X`` at the same time.

    One where a single code uses all threads; with joblib's workers, who share the bits; with samples on disk; and with
    learners that do not say how much memory they take. Otherwise as many as there are threads, if they fit into the
    memory that the learner is allowed and that is available. ``keeps_all``: whether the weights of finished codes are
    kept as they were learned, too.
    """
    learner: Any = plan.learner
    in_training = getattr(learner, "bytes_at_once", None)
    if plan.n_codes == 1 or in_training is None or codebook.uses_all_threads:
        return 1
    most = min(plan.n_codes, getattr(learner, "n_threads", None) or available_threads())
    if most <= 1 or isinstance(X, StoredRows) or n_workers() > 1:
        return 1
    n_weights = (int(X.shape[1]) + 1) * codebook.n_bits  # perhaps with a bias
    kept = BYTES_PER_KEPT_WEIGHT[plan.precision] + (BYTES_PER_KEPT_WEIGHT["float32"] if keeps_all else 0)
    limits = [limit for limit in (getattr(learner, "max_memory", None), available_memory()) if limit is not None]
    own = bytes_converted(learner, X)
    for n_codes in range(most, 1, -1):
        of_weights = n_weights * (n_codes * in_training + (plan.n_codes - n_codes) * kept)
        if all(of_weights + n_codes * own <= limit for limit in limits):
            return n_codes
    return 1


def with_shared_threads(plan: Plan, n_codes: int) -> Plan:
    """The plan for one of several codes at a time, which share the threads that its learner may use."""
    n_threads, learner = getattr(plan.learner, "n_threads", None), cast("Any", plan.learner)
    if n_codes == 1 or n_threads is None:
        return plan
    return replace(plan, learner=replace(learner, n_threads=max(n_threads // n_codes, 1)))


def in_parallel(tasks: Mapping[int, Callable[[], Result]]) -> dict[int, Result]:
    """The results of all tasks, each on a thread; a single one runs on the calling thread.

    Reports of progress are added up. If a task fails, or the calling thread is interrupted, the others end at their
    next report, and the error is raised.
    """
    if len(tasks) <= 1:
        return {number: task() for number, task in tasks.items()}
    joint = JointProgress(len(tasks))
    n_threads = max(available_threads() // len(tasks), 1)

    def run(task: Callable[[], Result]) -> Result:
        try:
            with limited_threads(n_threads), subscribe(joint.subscriber()):
                return task()
        except BaseException:
            joint.stop()
            raise

    pool, running = ThreadPoolExecutor(len(tasks)), {}
    try:
        for number, task in tasks.items():
            running[number] = pool.submit(copy_context().run, run, task)
        return {number: future.result() for number, future in running.items()}
    except BaseException:
        joint.stop()
        for future in running.values():
            error = future.exception()
            if error is not None and not isinstance(error, Stopped):
                raise error from None  # what stopped the others
        raise
    finally:
        joint.stop()  # if it is interrupted here, nothing runs on
        pool.shutdown()


# ----- learned decoders ----------------------------------------------------------------------------------------------

MAX_BITS_IN_PRODUCTS = 32
"""Products of more bits are not worth their time: more bits contain what products of few would add."""
MAX_BITS_PER_CLASS = 8
"""With more bits, a trial learns no decoder: it would take long, and loss-based decoding loses little."""
LEAST_SAMPLES, LEAST_PER_CLASS = 100, 10
"""With fewer samples, or fewer per class, a trial learns no decoder: the choice of its strength would be chance."""
ENOUGH_MARGINS, MARGINS_PER_CLASS = 2000, 10
"""If samples are left out a fifth at a time, a trial stops once this many margins are known."""


def learned_decoder(
    plan: Plan, member: FittedCode, samples: Samples, rng: np.random.Generator, *, is_trial: bool
) -> DecoderFit | None:
    """A decoder learned from the margins of the samples; None if a trial is not worth it.

    A trial learns one for linear bits, where loss-based decoding loses much. The margins of trees carry most of their
    information in their signs, and a decoder would need several more fits of every tree. For ridge, linear SVMs and
    logistic regressions, leave-one-out margins can be computed directly; other linear bits are learned again
    without a fifth of the samples, once for many samples and up to five times for few.
    """
    from codekin.learners.without_samples import are_linear  # it knows scikit-learn's learners

    code, n_bits, n_classes = member.code, member.code.codebook.n_bits, plan.n_classes
    is_worthwhile = not plan.learner.learns_probabilities and n_bits <= MAX_BITS_PER_CLASS * n_classes
    if is_trial and not (is_worthwhile and are_linear(member.bits)):
        return None
    given = samples.weights
    weights = np.ones(samples.class_index.shape) if given is None else np.asarray(given, dtype=np.float64)
    # Samples without weight get no class, so that nothing depends on them.
    class_index = np.where(weights > 0, samples.class_index, -1)
    samples, counted = replace(samples, class_index=class_index), np.flatnonzero(class_index >= 0)
    if is_trial and len(counted) < max(LEAST_SAMPLES, LEAST_PER_CLASS * n_classes):
        return None
    n_wanted = max(ENOUGH_MARGINS, MARGINS_PER_CLASS * n_classes) if is_trial else MAX_MARGINS
    margins, rows, by_fifths = _out_of_fold_margins(member, plan.learner, samples, n_wanted, rng=rng)
    report("learning the decoder")
    found = fit_decoder(
        margins,
        class_index[rows],
        code,
        loss=member.decoder.loss,
        is_weighted=plan.weighted_decoding,
        with_products=are_linear(member.bits) and n_bits <= MAX_BITS_IN_PRODUCTS,
        sample_weight=weights[rows],
        held_out_margins=by_fifths,
        rng=rng,
    )
    return replace(found, held_out=rows[found.held_out])


def _out_of_fold_margins(
    member: FittedCode, learner: Learner, samples: Samples, n_wanted: int, *, rng: np.random.Generator
) -> OutOfFold:
    """Margins that the bits did not learn from, computed in the cheapest way."""
    from codekin.learners.without_samples import OutOfFold, approximate_out_of_fold_margins, has_enough_samples

    bits, code = member.bits, member.code
    known = np.flatnonzero(samples.class_index >= 0)
    if len(known) > MAX_MARGINS and has_enough_samples(bits, Samples(None, samples.class_index[known]), code):
        # Leaving one of so many out changes nothing, and margins of all would take more memory than the bits.
        rows = np.sort(rng.permutation(known)[:MAX_MARGINS])
        return OutOfFold(bits.margins(rows_at(samples.X, rows)), rows)
    report("finding margins of samples by bits without them, for the decoder")
    found = approximate_out_of_fold_margins(bits, samples, code, n_margins=n_wanted, rng=rng)
    if found is None:
        counted = np.flatnonzero(samples.class_index >= 0)
        if has_enough_samples(bits, Samples(None, samples.class_index[counted]), code):
            return OutOfFold(bits.margins(rows_at(samples.X, counted)), counted)
        report("learning the bits again without some samples, for the decoder")
        margins, rows = out_of_fold_margins(learner, samples, code, n_margins=n_wanted, rng=rng)
        is_counted = samples.class_index[rows] >= 0
        found = OutOfFold(margins[is_counted], rows[is_counted])
    return found
