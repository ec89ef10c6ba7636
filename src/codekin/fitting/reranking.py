"""Several codes, or a re-ranking of the best classes: how candidates are ranked is chosen by held-out samples."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from scipy import sparse

from codekin._system.memory import give_back
from codekin._system.rows import StoredRows
from codekin.code import FloatArray, IntArray
from codekin.code.codebook import GraphCodebook
from codekin.code.types import RankingConstants
from codekin.fitting.codes import CodesToLearn, LearnedCode
from codekin.fitting.footprint import check_ranking_needs
from codekin.fitting.learned_vectors import (
    centroids,
    fitted_share,
    learned_vectors,
    mixed_vectors,
)
from codekin.fitting.temperature import Temperature, fit_candidate_temperature, fit_temperature
from codekin.fitting.trial import (
    Holdout,
    best_weight,
    corrected_for_sizes,
    hold_out_classes,
    hold_out_samples,
)
from codekin.model import Candidates, FittedCode, Model
from codekin.model.class_vectors import ClassIndex, ClassVectors, index_entries
from codekin.model.reranking import NUMBERS_OF_INDEX, CandidateSource, Reranking
from codekin.progress import report, stage
from codekin.samples import Samples

MAX_PASSES = 4
TOLERANCE = 0.002
"""Fewer candidates are preferred at this loss of accuracy, a fifth of a point: they determine the time."""
RANKED_PER_BLOCK = 20_000
MOST_FOR_LOSS_GAP = 4_000
LOSS_GAP_TOLERANCE = 0.0005

RerankMethod = Literal["centroid", "learned"]
Listed = tuple[Reranking, Candidates]


def fit_ranked(
    codes: CodesToLearn,
    samples: Samples,
    held_out: Samples | None,
    rng: np.random.Generator,
    *,
    with_temperature: bool,
) -> tuple[Model, Temperature, LearnedCode]:
    """Learn the codes and choose how their candidates are ranked.

    Without validation samples, a trial chooses, and then everything is fitted with all samples and these choices. On
    trees the trial has some of the classes: it makes as good choices as one with all of them, in a fraction of the
    time. On trellises, and where class means do not fit into memory, it has all classes and nine tenths of the samples.

    Returns the model, its temperature before the re-ranking, which is 1 if it is not wanted, and the first code.
    """
    # Not from the generator itself: the codes must be the same as without a re-ranking.
    rescoring = Rescoring(codes.plan.rerank, codes.plan.candidates, int(rng.spawn(1)[0].integers(2**63)))
    if held_out is not None:
        learned = codes.fit(samples, held_out)
        members = _members(learned)
        check_ranking_needs(codes.plan, members, samples, held_out)
        members, _ = corrected_for_sizes(members, samples, held_out)
        model, _ = RankingTrial(members, samples, held_out, rescoring).choice()
        temperature = fit_temperature(model, held_out) if with_temperature else Temperature()
        return model, temperature, learned[0]
    trial = _trial(codes, samples, rng)
    on_trial = codes if trial.classes is None else codes.of_some_classes(trial.classes)
    with stage("on nine tenths of the samples" if trial.classes is None else "on some of the classes"):
        members = _members(on_trial.with_checkpoints("trial").fit(trial.samples, None))
        members, power = corrected_for_sizes(members, trial.samples, trial.held_out)
        model, how = RankingTrial(members, trial.samples, trial.held_out, rescoring).choice()
        temperature = fit_temperature(model, trial.held_out) if with_temperature else Temperature()
        temperature = Temperature(temperature.value, marginals=temperature.marginals)
    ranking = cast("Reranking", model.ranking)
    del trial, on_trial, members, model  # before all samples are learned from
    learned = codes.fit(samples, None)
    members, _ = corrected_for_sizes(_members(learned), samples, power=power)
    check_ranking_needs(codes.plan, members, samples)
    means = _class_means(members, samples, rescoring)
    passes = _vectors_after_passes(members, samples, rescoring, means)
    (vectors,) = deque(islice(passes, how.n_passes), maxlen=1)
    del passes  # what only learning needs
    vectors = mixed_vectors(vectors, means, how.share_of_means)
    n_entries = index_entries(vectors.n_classes) if vectors is not None and ranking.n_indexed else 0
    ranking = replace(ranking, vectors=vectors, n_entries=n_entries)  # perhaps of more classes
    return Model(members, ranking), temperature, learned[0]


def _members(learned: tuple[LearnedCode, ...]) -> tuple[FittedCode, ...]:
    return tuple(code.member for code in learned)


def _trial(codes: CodesToLearn, samples: Samples, rng: np.random.Generator) -> Holdout:
    """Some of the classes if these suffice, or most of the samples of all classes."""
    first = codes.codes[0]
    if first.codebook.is_tried_on_some_classes:
        with suppress(MemoryError):  # the class means of samples on disk may not fit, and a tree does without them
            trial = hold_out_classes(samples, first.n_classes)
            return trial if len(trial.held_out) else replace(trial, held_out=trial.samples)
    return hold_out_samples(samples, rng)


class Rescoring(NamedTuple):
    """How candidates are rescored, if at all, what lists them, and the seed of what is learned."""

    method: RerankMethod | None
    source: CandidateSource
    seed: int


class LearnedHow(NamedTuple):
    """After how many passes class vectors are taken, and how much of the class means is added to them."""

    n_passes: int = 1
    share_of_means: float = 0.0


@dataclass(frozen=True, eq=False)
class RankingTrial:
    """The choice of how the candidates of codes or of an index are ranked, by held-out samples."""

    members: tuple[FittedCode, ...]
    samples: Samples
    held_out: Samples
    rescoring: Rescoring

    def choice(self) -> tuple[Model, LearnedHow]:
        """The codes ranked as is right most often, and how that was learned."""
        best, how = self._best_after_passes()
        best = self._with_loss_gap(best)
        report("fitting the temperature of the re-ranking")
        candidates = Model(self.members, best).candidates(self.held_out.X)
        temperature = fit_candidate_temperature(candidates, self.held_out.is_label(candidates.classes))
        return Model(self.members, replace(best, temperature=temperature)), how

    def _best_after_passes(self) -> tuple[Reranking, LearnedHow]:
        """The vectors that are right most often, and how they were learned; lists of candidates are held only here."""
        report("listing candidates to choose by")
        # What codes list does not depend on the vectors that rescore it; what an index lists does.
        is_of_codes = self.rescoring.source == "code"
        lists = self._lists_of_codes() if is_of_codes else []
        give_back()  # what listing took
        means = _class_means(self.members, self.samples, self.rescoring)
        of_means = None if means is None else ClassVectors.of(means)
        scores_of_means = self._scores(of_means, lists)
        best, highest, how = None, -1.0, LearnedHow()
        for i, vectors in enumerate(_vectors_after_passes(self.members, self.samples, self.rescoring, means)):
            scores, share = self._scores(vectors, lists), 0.0
            if vectors is not None and of_means is not None:
                if is_of_codes:
                    longest = lists[-1][1], scores[-1], scores_of_means[-1]
                else:
                    source, n = self.rescoring.source, self._numbers(NUMBERS_OF_INDEX)[-1]
                    found = Model(self.members, Reranking.of_index(source, n, vectors)).candidates(self.held_out.X)
                    longest = found, found.scores, of_means.scores(self.held_out.X, found.classes)
                    del found
                is_true = self.held_out.is_label(longest[0].classes)
                share = fitted_share((-longest[0].losses, *longest[1:]), is_true)
                scores = self._mixed_scores(scores, scores_of_means, share)
                del longest
            mixed = None
            if is_of_codes:
                tried = [(ranking, found, of) for (ranking, found), of in zip(lists, scores, strict=True)]
            else:
                mixed = mixed_vectors(vectors, means, share)
                tried = self._lists_of_index(mixed)
            reranking, accuracy = self._best(tried)
            gain = accuracy - highest
            if gain > 0:
                mixed = mixed_vectors(vectors, means, share) if mixed is None else mixed
                best, highest, how = replace(reranking, vectors=mixed), accuracy, LearnedHow(i + 1, share)
            if gain < TOLERANCE:
                break  # a further pass is not worth its time
            del scores, tried  # before the next ones are made
        assert best is not None
        return best, how

    def _numbers(self, tries: tuple[int, ...]) -> list[int]:
        """The numbers of candidates to try: those of an index, but no more than suit the codes."""
        n_classes, own = self.members[0].code.n_classes, ranking_constants(self.members).candidate_numbers
        return list(dict.fromkeys(min(n, n_classes) for n in (tries if max(tries) <= max(own) else own)))

    def _lists_of_codes(self) -> list[Listed]:
        """What the codes list; one code's short lists begin its long one."""
        numbers = self._numbers(ranking_constants(self.members).candidate_numbers)
        if len(self.members) > 1:
            return [(Reranking(n), self._listed(Reranking(n))) for n in numbers]
        longest = self._listed(Reranking(numbers[-1]))
        names = ("classes", "losses", "scores")
        return [
            (Reranking(n), replace(longest, **{name: getattr(longest, name)[:, :n] for name in names})) for n in numbers
        ]

    def _listed(self, ranking: Reranking) -> Candidates:
        """The candidates of the codes alone, in narrow types: there are no scores yet."""
        found = Model(_without_caches(self.members), ranking).candidates(self.held_out.X)
        classes: Any = found.classes.astype(np.int32)
        return replace(found, classes=classes, scores=np.broadcast_to(0.0, classes.shape))

    def _lists_of_index(self, vectors: ClassVectors | None) -> list[tuple[Reranking, Candidates, FloatArray]]:
        """What an index of these vectors lists, short lists first, and its dot products with the samples."""
        assert vectors is not None
        rankings = [Reranking.of_index(self.rescoring.source, n, vectors) for n in self._numbers(NUMBERS_OF_INDEX)]
        lists = [(ranking, Model(self.members, ranking).candidates(self.held_out.X)) for ranking in rankings]
        return [(ranking, found, found.scores) for ranking, found in lists]

    def _with_loss_gap(self, ranking: Reranking) -> Reranking:
        """The same with the smallest loss gap that costs no accuracy, if there are some to try."""
        gaps = ranking_constants(self.members).loss_gaps
        if not gaps:
            return ranking
        report("choosing the loss gap of the candidates")
        n_held_out = len(self.held_out.class_index)
        held_out = self.held_out.at(np.arange(0, n_held_out, -(-n_held_out // MOST_FOR_LOSS_GAP) or 1))
        accuracy = {}
        for gap in (np.inf, *gaps):
            model = Model(self.members, replace(ranking, max_loss_gap=gap))
            accuracy[gap] = held_out._share_of_hits(model.predict(held_out.X))
        enough = [gap for gap in gaps if accuracy[gap] >= accuracy[np.inf] - LOSS_GAP_TOLERANCE]
        return replace(ranking, max_loss_gap=min(enough, default=np.inf))

    def _scores(self, vectors: ClassVectors | None, lists: list[Listed]) -> list[FloatArray]:
        """The dot products of all candidates that the codes list with the samples."""
        if vectors is None or not lists:
            return [found.scores for _, found in lists]
        if len(self.members) > 1:
            return [vectors.scores(self.held_out.X, found.classes) for _, found in lists]
        longest = vectors.scores(self.held_out.X, lists[-1][1].classes)
        return [longest[:, : found.classes.shape[1]] for _, found in lists]

    def _mixed_scores(self, scores: list[FloatArray], of_means: list[FloatArray], share: float) -> list[FloatArray]:
        """The scores with their share of those of the class means; one code's short lists begin its long one."""
        if share == np.inf:
            return of_means
        if len(self.members) > 1 or not scores:
            return [own + share * mean for own, mean in zip(scores, of_means, strict=True)]
        longest = share * of_means[-1]
        longest += scores[-1]
        return [longest[:, : own.shape[1]] for own in scores]

    def _best(self, lists: list[tuple[Reranking, Candidates, FloatArray]]) -> tuple[Reranking, float]:
        """The weight and the number of candidates that are right most often; few candidates are faster."""
        tried: list[tuple[Reranking, float]] = []
        for ranking, found, scores in lists:
            weight, accuracy = best_weight(found.losses, scores, self.held_out.is_label(found.classes))
            tried.append((replace(ranking, weight=weight), accuracy))
        highest = max(accuracy for _, accuracy in tried)
        return next((reranking, accuracy) for reranking, accuracy in tried if accuracy >= highest - TOLERANCE)


def ranking_constants(members: tuple[FittedCode, ...]) -> RankingConstants:
    """What suits a re-ranking of these codes."""
    return cast("GraphCodebook", members[0].code.codebook).ranking_constants


def _without_caches(members: tuple[FittedCode, ...]) -> tuple[FittedCode, ...]:
    """The same members without what they compute for predictions, which may be more than they take themselves."""
    return tuple(replace(member, bits=replace(member.bits)) for member in members)  # type: ignore[type-var]


def _class_means(members: tuple[FittedCode, ...], samples: Samples, rescoring: Rescoring) -> sparse.csr_array | None:
    """The means of the classes, scaled to length 1, if vectors are learned from them."""
    if rescoring.method != "learned":
        return None
    n_classes, samples = members[0].code.n_classes, samples.of_each_label()
    return centroids(samples.X, samples.class_index, n_classes=n_classes, sample_weight=samples.weights)


def _vectors_after_passes(
    members: tuple[FittedCode, ...], samples: Samples, rescoring: Rescoring, means: sparse.csr_array | None
) -> Iterator[ClassVectors | None]:
    """The class vectors to try, one after the other; they are learned from the class means."""
    n_classes, samples = members[0].code.n_classes, samples.of_each_label()
    if means is None:
        options: Any = {"n_classes": n_classes, "sample_weight": samples.weights}
        yield (
            None if rescoring.method is None else ClassVectors.of(centroids(samples.X, samples.class_index, **options))
        )
        return
    index = None
    if rescoring.source != "code":
        index = ClassIndex.of(ClassVectors.of(means), index_entries(n_classes))
    confused: Any = partial(_confused, _without_caches(members), index)
    if not isinstance(samples.X, StoredRows):
        confused = confused(samples.X)
        give_back()  # what listing took
    passes = learned_vectors(
        samples.X,
        samples.class_index,
        confused,
        n_classes=n_classes,
        sample_weight=samples.weights,
        means=means,
        rate=ranking_constants(members).rate,
        rng=rescoring.seed,
    )
    for number in range(MAX_PASSES):
        report("learning class vectors", number, MAX_PASSES, detail=f"pass {number + 1} of at most {MAX_PASSES}")
        yield next(passes)


def _confused(members: tuple[FittedCode, ...], index: ClassIndex | None, X: Any) -> IntArray:
    """The best classes of each sample under the codes alone, or half of them by an index; some samples at a time."""
    constants = ranking_constants(members)
    of_codes = tuple(member.with_narrow_beam() for member in members[: constants.n_confusing_codes])
    n = min(constants.n_confused if index is None else constants.n_confused // 2, members[0].code.n_classes)
    model = Model(of_codes, Reranking(n))
    confused = np.empty((X.shape[0], n if index is None else 2 * n), dtype=np.int32)
    for start in range(0, X.shape[0], RANKED_PER_BLOCK):
        report("listing the classes that are confused", start, X.shape[0], unit="samples")
        rows = X[start : start + RANKED_PER_BLOCK]
        listed = model.candidates(rows, n).classes
        if index is not None:
            found = index.best(rows, n)
            found[(found[:, :, None] == listed[:, None]).any(axis=2)] = -1
            listed = np.hstack([listed, found])
        confused[start : start + RANKED_PER_BLOCK] = listed
    return confused
