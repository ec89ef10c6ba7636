"""Held-out samples choose how the candidates of codes are ranked: by which vectors, how many, at which weight."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from codekin._system.stored_rows import StoredRows
from codekin.coding import FloatArray, IntArray
from codekin.model import Candidates, Member, Model
from codekin.model.class_vectors import ClassVectors, centroid_vectors, centroids
from codekin.model.learned_vectors import RATE, learned_vectors
from codekin.model.mixture import mixed_vectors, share_of_means, three_weights
from codekin.model.reranking import CANDIDATE_NUMBERS, TOLERANCE, Reranking, best_weight
from codekin.model.temperature import fit_candidate_temperature
from codekin.progress import tell
from codekin.samples import Samples

MAX_PASSES = 4
N_CONFUSED, N_CONFUSED_IN_TREES = 20, 10
"""How many candidates a sample's class is told from while vectors are learned. On trees ten are as good, in half the
time: of 20,000 validation samples of 102,673 classes 38.8 and 38.6 % are right after one pass."""
RATE_ON_TREES = 1.0
"""The share of a Newton step while vectors are learned on trees: 39.0 % are right after one pass and 38.8 % at 0.5."""
SAMPLES_PER_BLOCK = 20_000
CANDIDATE_NUMBERS_OF_TREES = (10, 20)
"""The best ten of a tree are as good as fifty: 48.5 and 48.4 % of 12,582 classes, 39.2 and 39.2 % of 102,673."""
REACHES = (2.0, 3.0, 5.0)
"""What is tried: candidates at most ``exp(2)`` times less probable than the best one, and so on."""
MOST_FOR_REACH = 4_000
REACH_TOLERANCE = 0.0005

RerankMethod = Literal["centroid", "learned"]


class LearnedHow(NamedTuple):
    """After how many passes class vectors are taken, and how much of the class means is added to them."""

    n_passes: int = 1
    share_of_means: float = 0.0


@dataclass
class Judges:
    """Held-out samples that choose how the candidates of codes are ranked."""

    members: tuple[Member, ...]
    method: RerankMethod | None
    samples: Samples
    held_out: Samples
    seed: int

    def choice(self) -> tuple[Model, LearnedHow]:
        """The codes ranked as is right most often, and how that was learned."""
        n_classes, held_out = self.members[0].code.n_classes, self.held_out
        tries = CANDIDATE_NUMBERS if self.members[0].code.codebook.tree is None else CANDIDATE_NUMBERS_OF_TREES
        numbers = list(dict.fromkeys(min(n, n_classes) for n in tries))
        tell("listing candidates to choose by")
        # What the codes list does not depend on the vectors that rescore it; one code's short lists begin its long one.
        is_alone = len(self.members) == 1
        lists = [_listed(self.members, n, held_out.X) for n in numbers[-1 if is_alone else 0 :]]
        if is_alone:
            longest = lists[0]
            lists = [
                replace(longest, **{name: getattr(longest, name)[:, :n] for name in ("classes", "losses", "scores")})
                for n in numbers
            ]
        self.lists = list(zip(numbers, lists, strict=True))
        # A class that is not known is never right.
        self.is_true = [(found.classes == held_out.class_index[:, None]) & (found.classes >= 0) for found in lists]
        means = None
        if self.method == "learned":
            means = class_means(self.samples, n_classes)
            of_means = self._scores(ClassVectors.of(means))
        best, highest, how = None, -1.0, LearnedHow()
        for i, vectors in enumerate(_vectors_after_passes(self.members, self.method, self.samples, self.seed, means)):
            scores, share = self._scores(vectors), 0.0
            if means is not None:
                assert vectors is not None
                share = share_of_means(three_weights((-lists[-1].losses, scores[-1], of_means[-1]), self.is_true[-1]))
                scores = [m if share == np.inf else v + share * m for v, m in zip(scores, of_means, strict=True)]
            reranking, accuracy = self._best(scores)
            gain = accuracy - highest
            if gain > 0:
                mixed = vectors if means is None or vectors is None else mixed_vectors(vectors, means, share)
                best, highest, how = replace(reranking, vectors=mixed), accuracy, LearnedHow(i + 1, share)
            if gain < TOLERANCE:
                break  # a further pass is not worth its time
        assert best is not None
        del means, vectors, scores, lists, self.lists, self.is_true  # only the choice needs them
        best = self._within_reach(best)
        tell("fitting the temperature of the re-ranking")
        candidates = Model(self.members, best).candidates(held_out.X)
        ranking = replace(best, temperature=fit_candidate_temperature(candidates, held_out.class_index))
        return Model(self.members, ranking), how

    def _within_reach(self, ranking: Reranking) -> Reranking:
        """The same for candidates on trees within the smallest reach that costs no accuracy."""
        if self.members[0].code.codebook.tree is None:
            return ranking
        tell("choosing the reach of the candidates")
        n_held_out = len(self.held_out.class_index)
        held_out = self.held_out.at(np.arange(0, n_held_out, -(-n_held_out // MOST_FOR_REACH) or 1))
        accuracy = {}
        for reach in (np.inf, *REACHES):
            model = Model(self.members, replace(ranking, reach=reach))
            accuracy[reach] = float((model.predict(held_out.X) == held_out.class_index).mean())
        enough = [reach for reach in REACHES if accuracy[reach] >= accuracy[np.inf] - REACH_TOLERANCE]
        return replace(ranking, reach=min(enough, default=np.inf))

    def _scores(self, vectors: ClassVectors | None) -> list[FloatArray]:
        """The dot products of all listed candidates with the samples."""
        if vectors is None:
            return [found.scores for _, found in self.lists]
        if len(self.members) > 1:
            return [vectors.scores(self.held_out.X, found.classes) for _, found in self.lists]
        longest = vectors.scores(self.held_out.X, self.lists[-1][1].classes)
        return [longest[:, :n] for n, _ in self.lists]

    def _best(self, scores: list[FloatArray]) -> tuple[Reranking, float]:
        """The weight and the number of candidates that are right most often; few candidates are faster."""
        tried: list[tuple[Reranking, float]] = []
        for (n, found), of_list, is_true in zip(self.lists, scores, self.is_true, strict=True):
            weight, accuracy = best_weight(found.losses, of_list, is_true)
            tried.append((Reranking(n, None, weight), accuracy))
        highest = max(accuracy for _, accuracy in tried)
        return next((reranking, accuracy) for reranking, accuracy in tried if accuracy >= highest - TOLERANCE)


def class_means(samples: Samples, n_classes: int) -> sparse.csr_array:
    """The means of the classes, scaled to length 1."""
    return centroids(samples.X, samples.class_index, n_classes=n_classes, sample_weight=samples.weights)


def final_vectors(
    members: tuple[Member, ...], method: RerankMethod | None, samples: Samples, how: LearnedHow, seed: int
) -> ClassVectors | None:
    """The class vectors of codes that are learned from all samples, made as held-out samples chose."""
    means = class_means(samples, members[0].code.n_classes) if method == "learned" else None
    passes = _vectors_after_passes(members, method, samples, seed, means)
    (vectors,) = deque(islice(passes, how.n_passes), maxlen=1)
    del passes  # what only learning needs
    if vectors is None or means is None or how.share_of_means == 0:
        return vectors
    return mixed_vectors(vectors, means, how.share_of_means)


def _vectors_after_passes(
    members: tuple[Member, ...],
    method: RerankMethod | None,
    samples: Samples,
    seed: int,
    means: sparse.csr_array | None,
) -> Iterator[ClassVectors | None]:
    """The class vectors to try, one after the other; they are learned from the class means."""
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
        means=means,
        rate=RATE if members[0].code.codebook.tree is None else RATE_ON_TREES,
        rng=seed,
    )
    return _told(passes)


def _told(passes: Iterator[ClassVectors]) -> Iterator[ClassVectors]:
    """So many passes as are tried, each told of before it is made."""
    for number in range(MAX_PASSES):
        tell("learning class vectors", number, MAX_PASSES, detail=f"pass {number + 1} of at most {MAX_PASSES}")
        yield next(passes)


def _listed(members: tuple[Member, ...], n: int, X: Any) -> Candidates:
    """The candidates of the codes alone, in narrow types: there are no scores yet."""
    found = Model(members, Reranking(n)).candidates(X)
    classes: Any = found.classes.astype(np.int32)
    return replace(found, classes=classes, scores=np.broadcast_to(0.0, classes.shape))


def _confused(members: tuple[Member, ...], X: Any) -> IntArray:
    """The best classes of each sample under the codes alone, some samples at a time."""
    is_tree = members[0].code.codebook.tree is not None
    n = N_CONFUSED_IN_TREES if is_tree else N_CONFUSED
    # One tree is enough, and others would double the time.
    model = Model(tuple(member.hasty() for member in members[: 1 if is_tree else None]), Reranking(n))
    n = min(n, model.n_classes)
    blocks = []
    for start in range(0, X.shape[0], SAMPLES_PER_BLOCK):
        tell("listing the classes that are confused", start, X.shape[0], unit="samples")
        blocks.append(model.candidates(X[start : start + SAMPLES_PER_BLOCK], n).classes.astype(np.int32))
    return np.concatenate(blocks)
