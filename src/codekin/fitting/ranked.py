"""Several codes or re-ranking for very many classes, chosen by held-out samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from codekin.coding import IntArray
from codekin.fitting.members import Members
from codekin.model import Model
from codekin.model.class_sizes import best_power, class_sizes, size_corrected
from codekin.model.judges import Judges, RerankMethod, final_vectors
from codekin.model.reranking import CandidateSource
from codekin.model.temperature import Temperature, fit_temperature
from codekin.progress import within
from codekin.samples import Samples

HELD_OUT_SHARE = 0.1


def fit_ranked(
    members_to_be: Members,
    method: RerankMethod | None,
    samples: Samples,
    *,
    held_out: Samples | None,
    rng: np.random.Generator,
    source: CandidateSource = "code",
    with_temperature: bool = True,
) -> tuple[Model, Temperature]:
    """Fit the members and choose how their candidates are ranked.

    Without validation samples, a tenth of the training samples is held out to choose, where every class keeps at least
    one; then everything is fitted again with all samples and these choices. ``source`` lists the candidates. The
    temperature is that of the probabilities before the re-ranking; ``with_temperature=False`` leaves it at 1.
    """
    numbers = range(len(members_to_be.codes))
    # Not from the generator itself: the codes must be the same as without a re-ranking.
    seed = int(rng.spawn(1)[0].integers(2**63))
    if held_out is not None:
        members = tuple(members_to_be.fit(r, samples, held_out) for r in numbers)
        sizes = class_sizes(samples, members[0].code.n_classes)
        power = best_power(members[0], sizes, held_out)
        members = tuple(size_corrected(member, sizes, power) for member in members)
        model, _ = Judges(members, method, samples, held_out, seed, source).choice()
        return model, temperature_of(model, held_out) if with_temperature else Temperature()
    kept, held = holdout(samples.class_index, rng)
    if len(held) == 0:
        # Every class has a single sample, so nothing can be held out.
        kept = held = np.arange(len(samples.class_index))
    with within("on nine tenths of the samples"):
        trial = tuple(members_to_be.fit(r, samples.at(kept), None) for r in numbers)
        judged = samples.at(held).in_memory()
        sizes = class_sizes(samples, trial[0].code.n_classes)
        power = best_power(trial[0], sizes, judged)
        trial = tuple(size_corrected(member, sizes, power) for member in trial)
        model, how = Judges(trial, method, samples.at(kept), judged, seed, source).choice()
        temperature = temperature_of(model, judged) if with_temperature else Temperature()
    members = tuple(size_corrected(members_to_be.fit(r, samples, None), sizes, power) for r in numbers)
    vectors = final_vectors(members, method, samples, how, seed, source=source)
    assert model.ranking is not None
    return Model(members, replace(model.ranking, vectors=vectors)), Temperature(temperature.value)


def temperature_of(model: Model, held_out: Samples) -> Temperature:
    """The temperature of a model, fitted to held-out samples."""
    return fit_temperature(model, held_out.X, held_out.class_index)


def holdout(class_index: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Rows to keep and rows to hold out, at most a tenth; every class keeps at least one.

    Both are in increasing order.
    """
    shuffled = rng.permutation(len(class_index))
    _, first = np.unique(class_index[shuffled], return_index=True)
    may_go = np.ones(len(class_index), dtype=bool)
    may_go[first] = False
    held = shuffled[may_go][: max(1, round(HELD_OUT_SHARE * len(class_index)))]
    is_held = np.zeros(len(class_index), dtype=bool)
    is_held[held] = True
    return np.flatnonzero(~is_held), np.flatnonzero(is_held)
