"""One code of a trellis classifier: its bits by the better learner, and without the weights that it can spare."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from codekin.coding import Code
from codekin.decoding import Decoder, Loss
from codekin.fitting.learner_choice import decoding_loss
from codekin.fitting.recipe import Recipe
from codekin.fitting.size import bytes_of_bits
from codekin.learners import Learner, Validation, learner_name
from codekin.learners.compact import compacted
from codekin.model import Member, make_decoder
from codekin.progress import tell, within
from codekin.samples import Samples

GENTLE_PRUNING = 0.001
"""How much validation accuracy may go with small weights where none have to."""


class LearnedCode(NamedTuple):
    """A code with its bits, who learned them, and the loss that decodes them.

    Parameters
    ----------
    member : Member
    learner : Learner
    loss : Loss
    """

    member: Member
    learner: Learner
    loss: Loss


def learned_code(
    candidates: Sequence[Learner],
    code: Code,
    samples: Samples,
    held_out: Samples | None,
    *,
    loss: Any,
    rng: np.random.Generator,
    **watchers: Any,
) -> LearnedCode:
    """Let each candidate learn the bits, and keep those of the one who is right most often on the validation samples.

    Parameters
    ----------
    candidates : sequence of Learner
        More than one only with validation samples.
    code : Code
        On a trellis.
    samples : Samples
        To learn from.
    held_out : Samples or None
        To choose by: the pass and the learner.
    loss : str or callable
        The decoding loss; "auto" goes by the learner.
    rng : numpy.random.Generator
        The first candidate learns as it would alone.
    **watchers : dict
        ``on_epoch`` and ``checkpoints``, as far as there are any.

    Returns
    -------
    LearnedCode
    """
    given = dict(watchers)
    checkpoints = given.get("checkpoints")
    validation: Validation | None = None
    highest, best = -np.inf, None
    for learner, own_rng in zip(candidates, [rng, *rng.spawn(len(candidates) - 1)], strict=True):
        own_loss = decoding_loss(loss, learner, code.codebook)
        decoder = make_decoder(code, own_loss)
        if held_out is not None:
            validation = given["validation"] = _accuracy_on(held_out, decoder)
        if checkpoints is not None and len(candidates) > 1:
            given["checkpoints"] = checkpoints.part(learner_name(learner))
        with within(learner_name(learner)) if len(candidates) > 1 else nullcontext():
            bits: Any = learner.fit(samples, code, rng=own_rng, **given)
        score = 0.0
        if validation is not None and len(candidates) > 1:
            score = validation.score(bits.margins(validation.X))
        if score > highest:
            highest, best = score, LearnedCode(Member(code, bits, decoder), learner, own_loss)
    assert best is not None
    return best


def compressed(member: Member, recipe: Recipe, held_out: Samples | None, max_bytes: float = np.inf) -> Member:
    """The same code without small weights and in the precision that a recipe asks for.

    Parameters
    ----------
    member : Member
    recipe : Recipe
    held_out : Samples or None
        Who say which weights can be spared.
    max_bytes : float, default=inf
        How many bytes the weights may take on disk if they are pruned to fit.

    Returns
    -------
    Member
    """
    bits: Any = member.bits
    if held_out is not None and recipe.prune is not None:
        tell("pruning weights")
        finished = partial(compacted, precision=recipe.precision)
        validation = _accuracy_on(held_out, member.decoder)
        if recipe.prune == "to fit":
            allowed = {"max_loss": GENTLE_PRUNING, "is_small_enough": lambda bits: bytes_of_bits(bits) <= max_bytes}
        else:
            allowed = {"max_loss": recipe.prune}
        bits = bits.pruned(validation, finished=finished, **allowed)
    elif recipe.precision != "float32":
        bits = compacted(bits, recipe.precision)
    return replace(member, bits=bits)


def _accuracy_on(held_out: Samples, decoder: Decoder) -> Validation:
    y = held_out.class_index
    return Validation(held_out.X, lambda margins: float((decoder.decode(margins) == y).mean()))
