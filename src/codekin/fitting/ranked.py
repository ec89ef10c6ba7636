"""Several codes or re-ranking for very many classes, chosen by held-out samples."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from codekin.coding import IntArray
from codekin.fitting.members import Members
from codekin.fitting.memory_needs import check_ranking_needs
from codekin.fitting.part import part_of_classes
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

    Without validation samples, a trial chooses, and then everything is fitted with all samples and these choices. On
    trees the trial has a part of the classes: it makes as good choices as one with all of them, in a fraction of the
    time. On trellises, and where class means do not fit into memory, it has all classes and nine tenths of the samples.
    ``source`` lists the candidates. The temperature is that of the probabilities before the re-ranking;
    ``with_temperature=False`` leaves it at 1.
    """
    # Not from the generator itself: the codes must be the same as without a re-ranking.
    seed = int(rng.spawn(1)[0].integers(2**63))
    if held_out is not None:
        members = members_to_be.fit(samples, held_out)
        check_ranking_needs(members_to_be.plan, members, samples, held_out)
        sizes = class_sizes(samples, members[0].code.n_classes)
        power = best_power(members[0], sizes, held_out)
        members = tuple(size_corrected(member, sizes, power) for member in members)
        model, _ = Judges(members, method, samples, held_out, seed, source).choice()
        return model, temperature_of(model, held_out) if with_temperature else Temperature()
    on_trial, taught, judges = _on_trial(members_to_be, samples, rng)
    with within("on nine tenths of the samples" if on_trial is members_to_be else "on some of the classes"):
        trial = on_trial.fit(taught, None)
        sizes = class_sizes(taught, trial[0].code.n_classes)
        power = best_power(trial[0], sizes, judges)
        trial = tuple(size_corrected(member, sizes, power) for member in trial)
        model, how = Judges(trial, method, taught, judges, seed, source).choice()
        temperature = temperature_of(model, judges) if with_temperature else Temperature()
        ranking = model.ranking
    assert ranking is not None
    del on_trial, trial, model, taught, judges  # before all samples are learned from
    sizes = class_sizes(samples, members_to_be.codes[0].n_classes)
    members = tuple(size_corrected(member, sizes, power) for member in members_to_be.fit(samples, None))
    check_ranking_needs(members_to_be.plan, members, samples)
    ranking = ranking.with_vectors(final_vectors(members, method, samples, how, seed, source=source))
    return Model(members, ranking), Temperature(temperature.value)


def _on_trial(members: Members, samples: Samples, rng: np.random.Generator) -> tuple[Members, Samples, Samples]:
    """The members of a trial, samples to learn from and samples that judge."""
    if members.codes[0].codebook.tree is not None:
        with suppress(MemoryError):  # the class means of samples on disk may not fit, and a tree does without them
            return _some_classes(members, samples)
    return _most_samples(members, samples, rng)


def _most_samples(members: Members, samples: Samples, rng: np.random.Generator) -> tuple[Members, Samples, Samples]:
    """The same members, nine tenths of the samples and the others."""
    kept, held = holdout(samples.class_index, rng)
    if len(held) == 0:
        # Every class has a single sample, so nothing can be held out.
        kept = held = np.arange(len(samples.class_index))
    return members, samples.at(kept), samples.at(held).in_memory()


def _some_classes(members: Members, samples: Samples) -> tuple[Members, Samples, Samples]:
    """Members of some of the classes, samples to learn from and samples that judge."""
    part = part_of_classes(samples, members.codes[0].n_classes)
    return members.of_some_classes(part.classes), part.taught, part.judges if len(part.judges) else part.taught


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
