"""The codes of a model and their bits, pruned and compressed."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from codekin._system.memory import give_back
from codekin.codebooks.label_tree import label_tree
from codekin.coding import Assignment, Code, IntArray
from codekin.decoding import DecodedAccuracy, Loss, decoder_of
from codekin.decoding.decoder import Decoder
from codekin.decoding.decoder_fit import DecoderFit
from codekin.fitting.at_once import all_at_once, codes_at_once, shared_threads
from codekin.fitting.decoders import learned_decoder, with_decoder
from codekin.fitting.learner_choice import decoding_loss
from codekin.fitting.memory_needs import beside, bytes_held
from codekin.fitting.plan import Plan, Watch
from codekin.fitting.recipe import GENTLE_PRUNING
from codekin.fitting.shared_work import SharedWork
from codekin.fitting.size import bytes_of_bits
from codekin.learners import Checkpoints, Validation
from codekin.learners.calibration import calibrate_bits
from codekin.learners.compact import compacted
from codekin.model import Member
from codekin.progress import tell, within
from codekin.samples import Samples


class LearnedCode(NamedTuple):
    """A code with its bits, and the loss that decodes them."""

    member: Member
    loss: Loss
    decoder_fit: DecoderFit | None = None


@dataclass
class Members:
    """The codes of a model.

    ``codes`` are the codebook with the assignment of each. What trials have in ``shared`` is not learned again. Weights
    that are pruned to fit take at most ``max_bytes`` on disk. ``loss`` and ``decoder_fit`` are those of the first code.
    """

    plan: Plan
    codes: list[Code]
    rng: np.random.Generator
    watch: Watch
    shared: SharedWork | None = None
    max_bytes: float = np.inf
    loss: Loss = field(init=False)
    decoder_fit: DecoderFit | None = field(init=False)
    _n_fits: count[int] = field(default_factory=count)
    _held: dict[int, int] = field(default_factory=dict)

    def fit(self, samples: Samples, held_out: Samples | None) -> tuple[Member, ...]:
        """Learn all codes; on trellises some of them at the same time, if that fits into memory."""
        keeps_all = self.shared is not None
        n_at_once = codes_at_once(self.plan, self.codes[0].codebook, samples.X, keeps_all=keeps_all)
        finished: list[Member] = []
        for first in range(0, len(self.codes), n_at_once):
            group = range(first, min(first + n_at_once, len(self.codes)))
            with within(_told(group, len(self.codes))) if len(self.codes) > 1 else nullcontext():
                finished += self._fit_group(group, samples, held_out)
        return tuple(finished)

    def _fit_group(self, group: range, samples: Samples, held_out: Samples | None) -> list[Member]:
        known: dict[int, LearnedCode] = {} if self.shared is None else self.shared.codes_of(self.plan.width)
        watch = self.watch if len(group) == 1 else self.watch.one_by_one()
        n_held = sum(n_bytes for other, n_bytes in self._held.items() if other < group[0])
        with beside(self.plan, n_held) as plan:
            learn = partial(self._learned, shared_threads(plan, len(group)), samples, held_out)
            tasks = {
                number: partial(learn, number, watch.options(self._checkpoints(number)))
                for number in group
                if number not in known
            }
            give_back()  # what choosing the code and its assignment took
            learned = {**known, **all_at_once(tasks)}
        if self.shared is not None:
            known.update(learned)
        if 0 in group:
            self.loss, self.decoder_fit = learned[0].loss, learned[0].decoder_fit
        finished = []
        for number in group:
            member = learned.pop(number).member
            finished.append(compressed(member, self.plan, held_out, self.max_bytes))
            # Only trials need the weights as they were.
            n_learned = 0 if self.shared is None else bytes_held(member.bits)
            self._held[number] = bytes_held(finished[-1].bits) + n_learned
            del member
            give_back()
        return finished

    def of_some_classes(self, classes: IntArray) -> Members:
        """The same for a trial with some of the classes, which keep their orders on trees of the same width."""
        codebook = label_tree(len(classes), min(self.plan.width or 2, len(classes)))
        places = [code.assignment.codeword_of_class[classes] for code in self.codes]
        codes = [Code(codebook, Assignment(np.argsort(np.argsort(of_code)))) for of_code in places]
        own = self.watch.checkpoints
        watch = replace(self.watch, checkpoints=None if own is None else own.part("trial"))
        return Members(self.plan, codes, self.rng.spawn(1)[0], watch)

    def _checkpoints(self, number: int) -> Checkpoints | None:
        if self.shared is not None:
            return self.shared.checkpoints_of(self.plan.width, number)
        own = self.watch.checkpoints
        return own.part(f"fit-{next(self._n_fits)}") if own is not None and self.plan.is_ranked else own

    def _learned(
        self, plan: Plan, samples: Samples, held_out: Samples | None, number: int, options: dict[str, Any]
    ) -> LearnedCode:
        rng = self._generators[number]
        return learned_code(plan, self.codes[number], samples, held_out, rng=rng, options=options)

    def __post_init__(self) -> None:
        """Give codes their generators."""
        others = len(self.codes) - 1
        if self.shared is not None:
            self._generators = self.rng.spawn(len(self.codes))  # a code must be the same in every trial
        elif self.plan.has_tree:
            self._generators = [self.rng] * len(self.codes)  # one after the other
        else:
            self._generators = [self.rng, *(self.rng.spawn(others) if others else ())]


def _told(group: range, n_codes: int) -> str:
    """Which codes are learned, for reports of progress."""
    first, last = group[0] + 1, group[-1] + 1
    return f"code {first} of {n_codes}" if first == last else f"codes {first} to {last} of {n_codes}"


def learned_code(
    plan: Plan,
    code: Code,
    samples: Samples,
    held_out: Samples | None,
    *,
    rng: np.random.Generator,
    options: dict[str, Any],
) -> LearnedCode:
    """Learn the bits of a code; ``options`` holds ``on_epoch`` and ``checkpoints``, if there are any."""
    learner = plan.learner
    decoder = decoder_of(code, decoding_loss(plan, code.codebook), is_weighted=plan.weighted_decoding)
    judged = {} if held_out is None else {"validation": accuracy_on(held_out, decoder)}
    if plan.calibrate is None:
        bits: Any = learner.fit(samples, code, rng=rng, **options, **judged)
    else:
        bits = calibrate_bits(learner, samples, code, method=plan.calibrate, rng=rng)
    member = Member(code, bits, decoder)
    fit = learned_decoder(plan, member, samples, rng.spawn(1)[0])
    return LearnedCode(with_decoder(plan, member, fit), decoder.loss, fit)


def compressed(member: Member, plan: Plan, held_out: Samples | None, max_bytes: float = np.inf) -> Member:
    """The same code in the plan's precision, pruned as far as held-out samples allow."""
    bits: Any = member.bits
    if held_out is not None and plan.prune is not None:
        tell("pruning weights")
        finished = partial(compacted, precision=plan.precision)
        validation = accuracy_on(held_out, member.decoder)
        if plan.prune == "to fit":
            allowed = {"max_loss": GENTLE_PRUNING, "is_small_enough": lambda bits: bytes_of_bits(bits) <= max_bytes}
        else:
            allowed = {"max_loss": plan.prune}
        bits = bits.pruned(validation, finished=finished, **allowed)
    elif plan.precision != "float32":
        bits = compacted(bits, plan.precision)
    return replace(member, bits=bits)


def accuracy_on(held_out: Samples, decoder: Decoder) -> Validation:
    """The accuracy on held-out samples, in the form that learners need."""
    return Validation(held_out.X, DecodedAccuracy(decoder, held_out.class_index))
