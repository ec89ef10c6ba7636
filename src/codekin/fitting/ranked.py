"""How a trellis classifier comes by several codes and a re-ranking: what is learned, and what is chosen by whom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Literal

import numpy as np

from codekin._system.stored_rows import StoredRows
from codekin.coding import IntArray
from codekin.fitting.members import Members
from codekin.fitting.temperature import Temperature, fit_candidate_temperature, fit_temperature
from codekin.model import Candidates, Member, Model
from codekin.progress import tell, within
from codekin.ranking import Reranking
from codekin.ranking.learned import learned_vectors
from codekin.ranking.reranking import CANDIDATE_NUMBERS, TOLERANCE, best_weight
from codekin.ranking.vectors import ClassVectors, centroid_vectors
from codekin.samples import Samples

HELD_OUT_SHARE = 0.1
MAX_PASSES = 4
N_CONFUSED = 20
"""How many candidates a sample's class is told from while vectors are learned."""
SAMPLES_PER_BLOCK = 20_000

RerankMethod = Literal["centroid", "learned"]


def fit_ranked(
    members_to_be: Members,
    method: RerankMethod | None,
    samples: Samples,
    *,
    held_out: Samples | None,
    rng: np.random.Generator,
) -> tuple[Model, Temperature]:
    """Fit the members and choose how their candidates are ranked.

    Without validation samples a tenth of the training samples chooses, every class keeping at least one; then all is
    fitted again with all samples, under what was chosen. The temperature is that of the probabilities before the
    re-ranking.
    """
    numbers = range(len(members_to_be.codes))
    # Not from the generator itself: the codes are to be those that would be learned without a re-ranking.
    seed = int(rng.spawn(1)[0].integers(2**63))
    if held_out is not None:
        members = tuple(members_to_be.fit(r, samples, held_out) for r in numbers)
        reranking, _ = _chosen(members, method, samples, held_out, seed)
        model = Model(members, reranking)
        return model, fit_temperature(model, held_out.X, held_out.class_index)
    kept, held = holdout(samples.class_index, rng)
    if len(held) == 0:
        # Every class has a single sample: these must do.
        kept = held = np.arange(len(samples.class_index))
    judges = samples.at(held).in_memory()
    with within("on nine tenths of the samples"):
        trial = tuple(members_to_be.fit(r, samples.at(kept), None) for r in numbers)
        reranking, n_passes = _chosen(trial, method, samples.at(kept), judges, seed)
        temperature = fit_temperature(Model(trial, reranking), judges.X, judges.class_index)
    members = tuple(members_to_be.fit(r, samples, None) for r in numbers)
    vectors = _vectors(members, method, samples, n_passes, seed)
    return Model(members, replace(reranking, vectors=vectors)), Temperature(temperature.value)


def holdout(class_index: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Rows to keep and rows to hold out, a tenth at most; every class keeps at least one.

    ``kept``, ``held``: in increasing order.
    """
    shuffled = rng.permutation(len(class_index))
    _, first = np.unique(class_index[shuffled], return_index=True)
    may_go = np.ones(len(class_index), dtype=bool)
    may_go[first] = False
    held = shuffled[may_go][: max(1, round(HELD_OUT_SHARE * len(class_index)))]
    is_held = np.zeros(len(class_index), dtype=bool)
    is_held[held] = True
    return np.flatnonzero(~is_held), np.flatnonzero(is_held)


def _chosen(
    members: tuple[Member, ...],
    method: RerankMethod | None,
    samples: Samples,
    judges: Samples,
    seed: int,
) -> tuple[Reranking, int]:
    """The re-ranking under which the judges are most often right, and after how many passes of learning."""
    n_classes = members[0].code.n_classes
    numbers = list(dict.fromkeys(min(n, n_classes) for n in CANDIDATE_NUMBERS))
    # What the codes list does not depend on the vectors that rescore it.
    lists: list[tuple[int, Candidates]] = []
    for n in numbers:
        tell("listing candidates to choose by", sum(m for m, _ in lists), sum(numbers))
        lists.append((n, Model(members, Reranking(n)).candidates(judges.X)))
    best, highest, n_passes = None, -1.0, 0
    for i, vectors in enumerate(_vectors_after_passes(members, method, samples, seed)):
        reranking, accuracy = _best_reranking(lists, vectors, judges)
        if accuracy > highest:
            best, highest, n_passes = reranking, accuracy, i + 1
    assert best is not None
    tell("fitting the temperature of the re-ranking")
    candidates = Model(members, best).candidates(judges.X)
    return replace(best, temperature=fit_candidate_temperature(candidates, judges.class_index)), n_passes


def _best_reranking(
    lists: list[tuple[int, Candidates]], vectors: ClassVectors | None, judges: Samples
) -> tuple[Reranking, float]:
    """The weight and the number of candidates that are right most often; few candidates are faster."""
    tried: list[tuple[Reranking, float]] = []
    for n, found in lists:
        # A class that is not known is never right.
        is_true = (found.classes == judges.class_index[:, None]) & (found.classes >= 0)
        scores = found.scores if vectors is None else vectors.scores(judges.X, found.classes)
        weight, accuracy = best_weight(found.losses, scores, is_true)
        tried.append((Reranking(n, vectors, weight), accuracy))
    highest = max(accuracy for _, accuracy in tried)
    return next((reranking, accuracy) for reranking, accuracy in tried if accuracy >= highest - TOLERANCE)


def _vectors(
    members: tuple[Member, ...], method: RerankMethod | None, samples: Samples, n_passes: int, seed: int
) -> ClassVectors | None:
    return list(islice(_vectors_after_passes(members, method, samples, seed), n_passes))[-1]


def _vectors_after_passes(
    members: tuple[Member, ...], method: RerankMethod | None, samples: Samples, seed: int
) -> Iterator[ClassVectors | None]:
    """The class vectors to try, one after the other."""
    n_classes = members[0].code.n_classes
    if method is None:
        return iter([None])
    if method == "centroid":
        vectors = centroid_vectors(samples.X, samples.class_index, n_classes=n_classes, sample_weight=samples.weights)
        return iter([vectors])
    passes = learned_vectors(
        samples.X,
        samples.class_index,
        partial(_confused, members) if isinstance(samples.X, StoredRows) else _confused(members, samples.X),
        n_classes=n_classes,
        sample_weight=samples.weights,
        rng=seed,
    )
    return _told(passes)


def _told(passes: Iterator[ClassVectors]) -> Iterator[ClassVectors]:
    """So many passes as are tried, each told of before it is made."""
    for number in range(MAX_PASSES):
        tell("learning class vectors", number, MAX_PASSES, detail=f"pass {number + 1} of at most {MAX_PASSES}")
        yield next(passes)


def _confused(members: tuple[Member, ...], X: Any) -> IntArray:
    """The best classes of each sample under the codes alone, some samples at a time."""
    model = Model(members, Reranking(N_CONFUSED))
    n = min(N_CONFUSED, model.n_classes)
    blocks = []
    for start in range(0, X.shape[0], SAMPLES_PER_BLOCK):
        tell("listing the classes that are confused", start, X.shape[0], unit="samples")
        blocks.append(model.candidates(X[start : start + SAMPLES_PER_BLOCK], n).classes.astype(np.int32))
    return np.concatenate(blocks)
