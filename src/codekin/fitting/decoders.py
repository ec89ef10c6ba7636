"""Which decoder a code gets: that of the loss, or one that is learned from margins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from codekin.coding import FloatArray, IntArray, Margins
from codekin.decoding import fit_decoder
from codekin.decoding.decoder_fit import MAX_MARGINS, DecoderFit
from codekin.fitting.plan import Plan
from codekin.learners import Learner
from codekin.learners.unseen import are_linear, has_honest_margins, unseen_margins
from codekin.model import Member
from codekin.progress import tell
from codekin.samples import Samples

ENOUGH_MARGINS = 2_000
MARGINS_PER_CLASS = 50
"""Unseen margins cost further fits of the bits, so that no more are asked for than tell the classes apart."""


def learned_decoder(
    plan: Plan, member: Member, learner: Learner, samples: Samples, rng: np.random.Generator
) -> DecoderFit | None:
    """A decoder for bits that were learned from samples; None where there is nothing to learn it from, or no need to.

    "auto" learns one for linear bits, whose losses throw much away. Trees say most of what they know in the signs of
    their margins, and learning from these would take several further fits of every tree.
    """
    if plan.decoding == "loss":
        return None
    if plan.decoding == "auto" and (learner.learns_probabilities or not are_linear(member.bits)):
        return None
    margins, class_index, weights = _honest_margins(member, learner, samples, rng)
    if plan.decoding == "auto" and np.count_nonzero(weights > 0) <= member.code.n_classes:
        return None
    tell("learning the decoder")
    return fit_decoder(
        margins,
        class_index,
        member.code,
        loss=member.decoder.loss,
        is_weighted=plan.weighted_decoding,
        sample_weight=weights,
        rng=rng,
    )


def _honest_margins(
    member: Member, learner: Learner, samples: Samples, rng: np.random.Generator
) -> tuple[Margins, IntArray, FloatArray]:
    """Margins such as new samples would have, and the classes and weights of their samples."""
    counts = samples.class_index >= 0
    if samples.weights is not None:
        counts &= np.asarray(samples.weights) > 0
    samples = samples if counts.all() else samples.at(np.flatnonzero(counts))
    if has_honest_margins(member.bits, samples, member.code):
        margins, rows = member.bits.margins(samples.X), np.arange(len(samples))
    else:
        tell("learning the bits again without some samples, for the decoder")
        wanted = min(MAX_MARGINS, max(ENOUGH_MARGINS, MARGINS_PER_CLASS * member.code.n_classes))
        margins, rows = unseen_margins(learner, samples, member.code, n_margins=wanted, rng=rng)
    weights = np.ones(len(samples)) if samples.weights is None else np.asarray(samples.weights, dtype=np.float64)
    return margins, samples.class_index[rows], weights[rows]


def with_decoder(plan: Plan, member: Member, fit: DecoderFit | None) -> Member:
    """The same code behind a learned decoder, if there is one; "auto" wants it to pay on held-out samples."""
    is_taken = fit is not None and (plan.decoding == "learned" or fit.pays)
    return replace(member, decoder=fit.decoder) if fit is not None and is_taken else member
