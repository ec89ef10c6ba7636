"""The decoder of a code: by the loss, or learned from margins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from codekin.coding import IntArray, Margins
from codekin.decoding import fit_decoder
from codekin.decoding.decoder_fit import MAX_MARGINS, DecoderFit
from codekin.fitting.plan import Plan
from codekin.learners import Learner
from codekin.learners.left_out import left_out_margins
from codekin.learners.unseen import are_linear, has_honest_margins, unseen_margins
from codekin.model import Member
from codekin.progress import tell
from codekin.samples import Samples, rows_at

MAX_BITS_IN_PRODUCTS = 32
"""Products of more bits are not worth their time: more bits contain what products of few would add."""
MAX_BITS_PER_CLASS = 8
"""With more bits, "auto" learns no decoder: it would take long, and loss-based decoding loses little."""
LEAST_SAMPLES, LEAST_PER_CLASS = 100, 10
"""With fewer samples, or fewer per class, "auto" learns no decoder: the choice of its strength would be chance."""
ENOUGH_MARGINS, MARGINS_PER_CLASS = 2000, 10
"""If samples are left out a fifth at a time, "auto" stops once this many margins are known."""


def learned_decoder(plan: Plan, member: Member, samples: Samples, rng: np.random.Generator) -> DecoderFit | None:
    """A decoder learned from the margins of the samples; None if it is not wanted or there are too few samples.

    "auto" learns one for linear bits, where loss-based decoding loses much. The margins of trees carry most of their
    information in their signs, and a decoder would need several more fits of every tree. For ridge, linear SVMs and
    logistic regressions, leave-one-out margins can be computed directly; other linear bits are learned again
    without a fifth of the samples, once for many samples and up to five times for few.
    """
    if plan.decoding == "loss":
        return None
    is_auto, code = plan.decoding == "auto", member.code
    is_worthwhile = not plan.learner.learns_probabilities and code.n_bits <= MAX_BITS_PER_CLASS * code.n_classes
    if is_auto and not (is_worthwhile and are_linear(member.bits)):
        return None
    weights = np.ones(len(samples)) if samples.weights is None else np.asarray(samples.weights, dtype=np.float64)
    # Samples without weight get no class, so that nothing depends on them.
    class_index = np.where(weights > 0, samples.class_index, -1)
    samples, counted = replace(samples, class_index=class_index), np.flatnonzero(class_index >= 0)
    if is_auto and len(counted) < max(LEAST_SAMPLES, LEAST_PER_CLASS * code.n_classes):
        return None
    n_wanted = max(ENOUGH_MARGINS, MARGINS_PER_CLASS * code.n_classes) if is_auto else MAX_MARGINS
    margins, rows = _honest_margins(member, plan.learner, samples, n_wanted, rng=rng)
    tell("learning the decoder")
    return fit_decoder(
        margins,
        class_index[rows],
        code,
        loss=member.decoder.loss,
        is_weighted=plan.weighted_decoding,
        with_products=are_linear(member.bits) and code.n_bits <= MAX_BITS_IN_PRODUCTS,
        sample_weight=weights[rows],
        rng=rng,
    )


def _honest_margins(
    member: Member, learner: Learner, samples: Samples, n_wanted: int, *, rng: np.random.Generator
) -> tuple[Margins, IntArray]:
    """Margins that the bits did not learn from, and their rows, computed in the cheapest way."""
    bits, code = member.bits, member.code
    tell("finding margins of samples by bits without them, for the decoder")
    found = left_out_margins(bits, samples, code, n_margins=n_wanted, rng=rng)
    if found is None:
        counted = np.flatnonzero(samples.class_index >= 0)
        if has_honest_margins(bits, Samples(None, samples.class_index[counted]), code):
            return bits.margins(rows_at(samples.X, counted)), counted
        tell("learning the bits again without some samples, for the decoder")
        margins, rows = unseen_margins(learner, samples, code, n_margins=n_wanted, rng=rng)
        is_counted = samples.class_index[rows] >= 0
        found = margins[is_counted], rows[is_counted]
    return found


def with_decoder(plan: Plan, member: Member, fit: DecoderFit | None) -> Member:
    """The same code with a learned decoder, if there is one; with "auto", only if it pays on held-out samples."""
    is_taken = fit is not None and (plan.decoding == "learned" or fit.pays)
    return replace(member, decoder=fit.decoder) if fit is not None and is_taken else member
