"""One code of a trellis classifier with its bits: by the better learner, without weights that it can spare."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from codekin.coding import Code
from codekin.decoding import Decoder, Loss
from codekin.estimators.learner_choice import decoding_loss
from codekin.estimators.recipe import Recipe
from codekin.learners import Learner, Validation, compacted, learner_name
from codekin.model import Member, make_decoder
from codekin.progress import tell, within
from codekin.samples import Samples


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
    recipe: Recipe,
    rng: np.random.Generator,
    **watchers: Any,
) -> LearnedCode:
    """Let each candidate learn the bits, and keep the one who is right most often on the validation samples.

    Parameters
    ----------
    candidates : sequence of Learner
        More than one only with validation samples.
    code : Code
        On a trellis.
    samples : Samples
        To learn from.
    held_out : Samples or None
        To choose by: the pass, the learner, the weights that go.
    loss : str or callable
        The decoding loss; "auto" goes by the learner.
    recipe : Recipe
        How weights are kept.
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
            member = Member(code, _compressed(bits, recipe, validation), decoder)
            highest, best = score, LearnedCode(member, learner, own_loss)
    assert best is not None
    return best


def _compressed(bits: Any, recipe: Recipe, validation: Validation | None) -> Any:
    """The bits without small weights and in the precision that the recipe asks for."""
    if validation is not None and recipe.prune is not None:
        tell("pruning weights")
        finished = partial(compacted, precision=recipe.precision)
        return bits.pruned(validation, max_loss=recipe.prune, finished=finished)
    return bits if recipe.precision == "float32" else compacted(bits, recipe.precision)


def _accuracy_on(held_out: Samples, decoder: Decoder) -> Validation:
    y = held_out.class_index
    return Validation(held_out.X, lambda margins: float((decoder.decode(margins) == y).mean()))
