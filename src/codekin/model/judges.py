"""Held-out samples choose how the candidates of codes are ranked: by which vectors, how many, at which weight."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from codekin._system.memory import give_back
from codekin._system.stored_rows import StoredRows
from codekin.coding import FloatArray, IntArray
from codekin.coding._graph import GraphCodebook, RankingConstants
from codekin.model import Candidates, Member, Model
from codekin.model.class_index import ClassIndex, index_entries
from codekin.model.class_vectors import ClassVectors, centroid_vectors, centroids
from codekin.model.learned_vectors import learned_vectors
from codekin.model.mixture import mixed_vectors, share_of_means, three_weights
from codekin.model.reranking import TOLERANCE, CandidateSource, Reranking, best_weight
from codekin.model.temperature import fit_candidate_temperature
from codekin.progress import tell
from codekin.samples import Samples

MAX_PASSES = 4
SAMPLES_PER_BLOCK = 20_000
MOST_FOR_REACH = 4_000
REACH_TOLERANCE = 0.0005

NUMBERS_OF_INDEX = (20, 50)
"""The numbers of candidates of an index to try."""

RerankMethod = Literal["centroid", "learned"]
Listed = tuple[Reranking, Candidates]


def ranking_constants(members: tuple[Member, ...]) -> RankingConstants:
    """What suits a re-ranking of these codes."""
    return cast("GraphCodebook", members[0].code.codebook).ranking_constants


class LearnedHow(NamedTuple):
    """After how many passes class vectors are taken, and how much of the class means is added to them."""

    n_passes: int = 1
    share_of_means: float = 0.0


@dataclass
class Judges:
    """Held-out samples that choose how the candidates of codes or of an index are ranked."""

    members: tuple[Member, ...]
    method: RerankMethod | None
    samples: Samples
    held_out: Samples
    seed: int
    source: CandidateSource = "code"

    def choice(self) -> tuple[Model, LearnedHow]:
        """The codes ranked as is right most often, and how that was learned."""
        best, how = self._best_after_passes()
        del self.of_codes, self.of_means  # only the choice needs
        best = self._within_reach(best)
        tell("fitting the temperature of the re-ranking")
        candidates = Model(self.members, best).candidates(self.held_out.X)
        temperature = fit_candidate_temperature(candidates, self.held_out.class_index)
        return Model(self.members, replace(best, temperature=temperature)), how

    def _best_after_passes(self) -> tuple[Reranking, LearnedHow]:
        """The vectors that are right most often, and how they were learned; lists of candidates are held only here."""
        tell("listing candidates to choose by")
        # What codes list does not depend on the vectors that rescore it; what an index lists does.
        self.of_codes = self._lists_of_codes() if self.source == "code" else []
        give_back()  # what listing took
        means = class_means(self.samples, self.members[0].code.n_classes) if self.method == "learned" else None
        self.of_means = None if means is None else ClassVectors.of(means)
        scores_of_means = None if self.of_means is None else self._scores(self.of_means)
        best, highest, how = None, -1.0, LearnedHow()
        for i, vectors in enumerate(
            _vectors_after_passes(self.members, self.method, self.samples, self.seed, self.source, means=means)
        ):
            scores, share = self._scores(vectors), 0.0
            if scores_of_means is not None:
                share = self._share_of_means(vectors, scores, scores_of_means)
                scores = self._mixed_scores(scores, scores_of_means, share)
            mixed = None
            if self.source == "code":
                tried = [(ranking, found, of) for (ranking, found), of in zip(self.of_codes, scores, strict=True)]
            else:
                mixed = _mixed(vectors, means, share)
                tried = self._lists_of_index(mixed)
            reranking, accuracy = self._best(tried)
            gain = accuracy - highest
            if gain > 0:
                mixed = _mixed(vectors, means, share) if mixed is None else mixed
                best, highest, how = replace(reranking, vectors=mixed), accuracy, LearnedHow(i + 1, share)
            if gain < TOLERANCE:
                break  # a further pass is not worth its time
            del scores, tried  # before the next ones are made
        assert best is not None
        return best, how

    @property
    def constants(self) -> RankingConstants:
        """What suits the codes."""
        return ranking_constants(self.members)

    def _numbers(self, tries: tuple[int, ...]) -> list[int]:
        """The numbers of candidates to try: those of an index, but no more than suit the codes."""
        n_classes, own = self.members[0].code.n_classes, self.constants.candidate_numbers
        return list(dict.fromkeys(min(n, n_classes) for n in (tries if max(tries) <= max(own) else own)))

    def _lists_of_codes(self) -> list[Listed]:
        """What the codes list; one code's short lists begin its long one."""
        numbers = self._numbers(self.constants.candidate_numbers)
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

    def _share_of_means(
        self, vectors: ClassVectors | None, scores: list[FloatArray], scores_of_means: list[FloatArray]
    ) -> float:
        """How much of the class means to add to learned vectors, by the longest lists."""
        assert vectors is not None
        assert self.of_means is not None
        if self.source == "code":
            found, of_both = self.of_codes[-1][1], (scores[-1], scores_of_means[-1])
        else:
            n = self._numbers(NUMBERS_OF_INDEX)[-1]
            found = Model(self.members, Reranking.of_index(self.source, n, vectors)).candidates(self.held_out.X)
            of_both = found.scores, self.of_means.scores(self.held_out.X, found.classes)
        return share_of_means(three_weights((-found.losses, *of_both), self._is_true(found)))

    def _lists_of_index(self, vectors: ClassVectors | None) -> list[tuple[Reranking, Candidates, FloatArray]]:
        """What an index of these vectors lists, short lists first, and its dot products with the samples."""
        assert vectors is not None
        rankings = [Reranking.of_index(self.source, n, vectors) for n in self._numbers(NUMBERS_OF_INDEX)]
        lists = [(ranking, Model(self.members, ranking).candidates(self.held_out.X)) for ranking in rankings]
        return [(ranking, found, found.scores) for ranking, found in lists]

    def _is_true(self, found: Candidates) -> NDArray[np.bool_]:
        """Where the true classes are; a class that is not known is never right."""
        return np.asarray((found.classes == self.held_out.class_index[:, None]) & (found.classes >= 0))

    def _within_reach(self, ranking: Reranking) -> Reranking:
        """The same for candidates within the smallest reach that costs no accuracy, if there are reaches to try."""
        reaches = self.constants.reaches
        if not reaches:
            return ranking
        tell("choosing the reach of the candidates")
        n_held_out = len(self.held_out.class_index)
        held_out = self.held_out.at(np.arange(0, n_held_out, -(-n_held_out // MOST_FOR_REACH) or 1))
        accuracy = {}
        for reach in (np.inf, *reaches):
            model = Model(self.members, replace(ranking, reach=reach))
            accuracy[reach] = float((model.predict(held_out.X) == held_out.class_index).mean())
        enough = [reach for reach in reaches if accuracy[reach] >= accuracy[np.inf] - REACH_TOLERANCE]
        return replace(ranking, reach=min(enough, default=np.inf))

    def _scores(self, vectors: ClassVectors | None) -> list[FloatArray]:
        """The dot products of all candidates that the codes list with the samples."""
        lists = [found for _, found in self.of_codes]
        if vectors is None or not lists:
            return [found.scores for found in lists]
        if len(self.members) > 1:
            return [vectors.scores(self.held_out.X, found.classes) for found in lists]
        longest = vectors.scores(self.held_out.X, lists[-1].classes)
        return [longest[:, : found.classes.shape[1]] for found in lists]

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
            weight, accuracy = best_weight(found.losses, scores, self._is_true(found))
            tried.append((replace(ranking, weight=weight), accuracy))
        highest = max(accuracy for _, accuracy in tried)
        return next((reranking, accuracy) for reranking, accuracy in tried if accuracy >= highest - TOLERANCE)


def _without_caches(members: tuple[Member, ...]) -> tuple[Member, ...]:
    """The same members without what they compute for predictions, which may be more than they take themselves."""
    return tuple(replace(member, bits=replace(member.bits)) for member in members)  # type: ignore[type-var]


def class_means(samples: Samples, n_classes: int) -> sparse.csr_array:
    """The means of the classes, scaled to length 1."""
    return centroids(samples.X, samples.class_index, n_classes=n_classes, sample_weight=samples.weights)


def final_vectors(
    members: tuple[Member, ...],
    method: RerankMethod | None,
    samples: Samples,
    how: LearnedHow,
    seed: int,
    *,
    source: CandidateSource = "code",
) -> ClassVectors | None:
    """The class vectors of codes that are learned from all samples, made as held-out samples chose."""
    means = class_means(samples, members[0].code.n_classes) if method == "learned" else None
    passes = _vectors_after_passes(members, method, samples, seed, source, means=means)
    (vectors,) = deque(islice(passes, how.n_passes), maxlen=1)
    del passes  # what only learning needs
    return _mixed(vectors, means, how.share_of_means)


def _mixed(vectors: ClassVectors | None, means: sparse.csr_array | None, share: float) -> ClassVectors | None:
    """Learned vectors with their share of the class means; all others as they are."""
    return vectors if vectors is None or means is None or share == 0 else mixed_vectors(vectors, means, share)


def _vectors_after_passes(
    members: tuple[Member, ...],
    method: RerankMethod | None,
    samples: Samples,
    seed: int,
    source: CandidateSource,
    *,
    means: sparse.csr_array | None,
) -> Iterator[ClassVectors | None]:
    """The class vectors to try, one after the other; they are learned from the class means."""
    n_classes = members[0].code.n_classes
    if method is None:
        return iter([None])
    if method == "centroid":
        vectors = centroid_vectors(samples.X, samples.class_index, n_classes=n_classes, sample_weight=samples.weights)
        return iter([vectors])
    index = None
    if source != "code":
        assert means is not None
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
        rng=seed,
    )
    return _told(passes)


def _told(passes: Iterator[ClassVectors]) -> Iterator[ClassVectors]:
    """The passes to try, each reported before it starts."""
    for number in range(MAX_PASSES):
        tell("learning class vectors", number, MAX_PASSES, detail=f"pass {number + 1} of at most {MAX_PASSES}")
        yield next(passes)


def _confused(members: tuple[Member, ...], index: ClassIndex | None, X: Any) -> IntArray:
    """The best classes of each sample under the codes alone, or half of them by an index; some samples at a time."""
    constants = ranking_constants(members)
    of_codes = tuple(member.with_narrow_beam() for member in members[: constants.n_confusing_codes])
    n = min(constants.n_confused if index is None else constants.n_confused // 2, members[0].code.n_classes)
    model = Model(of_codes, Reranking(n))
    confused = np.empty((X.shape[0], n if index is None else 2 * n), dtype=np.int32)
    for start in range(0, X.shape[0], SAMPLES_PER_BLOCK):
        tell("listing the classes that are confused", start, X.shape[0], unit="samples")
        rows = X[start : start + SAMPLES_PER_BLOCK]
        listed = model.candidates(rows, n).classes
        if index is not None:
            found = index.best(rows, n)
            found[(found[:, :, None] == listed[:, None]).any(axis=2)] = -1
            listed = np.hstack([listed, found])
        confused[start : start + SAMPLES_PER_BLOCK] = listed
    return confused
