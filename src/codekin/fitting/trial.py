"""Trials: some samples, or some classes, are held out, and what is right most often there is chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields
from time import process_time
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from codekin._system.memory import in_units
from codekin._system.parallel import limited_threads
from codekin.classes.samples import ColumnTrials
from codekin.code import Code, CodingMatrix, FloatArray, IntArray, Margins
from codekin.decoding import DecodedAccuracy, decoder_of
from codekin.decoding.losses import LossLike
from codekin.fitting.learned_vectors import centroids
from codekin.learners import Learner
from codekin.learners.compact import Precision
from codekin.model.reranking import CandidateSource
from codekin.progress import report, stage
from codekin.samples import N_FOLDS, Samples, rows_at, stratified_folds

HELD_OUT_SHARE = 0.1
HELD_OUT_OF_SOME_CLASSES = 0.25
N_NEIGHBOURHOODS = 16
LEAST_SAMPLES, MOST_SAMPLES = 15_000, 50_000
"""Some classes have a quarter of all samples, but no fewer and no more than these."""
LEAST_CLASSES = 200
"""Fewer classes than these would not need a tree; if they have too many samples, some of these are left out."""
SEED = 0
"""A trial is the same for all seeds of a fit, so that they make the same choices."""
ENOUGH_FOR_COLUMNS, PER_CLASS_FOR_COLUMNS = 2_000, 20
"""Fifths of the samples are left out until there are this many."""
N_WEIGHTS = 60
WEIGHED_PER_BLOCK = 1_024

Choice = TypeVar("Choice")


@dataclass(frozen=True, eq=False)
class Holdout:
    """Samples to learn from, and held-out ones to choose by; ``classes`` if only some have samples, then renumbered."""

    samples: Samples
    held_out: Samples
    classes: IntArray | None = None

    def accuracy(self, code: Code, learner: Learner, loss: LossLike, rng: np.random.Generator) -> float:
        """The share of held-out samples that a code gets right after it learned from the others."""
        bits = learner.fit(self.samples, code, rng=rng)
        decoder = decoder_of(code, loss)
        return DecodedAccuracy(decoder, self.held_out.class_index)(bits.margins(self.held_out.X))


def most_accurate(choices: Iterable[Choice], accuracy: Callable[[Choice], float], title: str) -> Choice:
    """The choice with the highest accuracy, the first of several; ``title`` is what to report, with ``{}`` for each."""
    found = {}
    for choice in choices:
        with stage(title.format(choice)):
            found[choice] = accuracy(choice)
    return max(found, key=lambda choice: found[choice])


def hold_out_samples(samples: Samples, rng: np.random.Generator) -> Holdout:
    """Hold out at most a tenth of the samples; every class keeps at least one.

    If every class has a single sample, nothing can be held out: all samples are in both sets.
    """
    class_index = samples.class_index
    shuffled = rng.permutation(len(class_index))
    _, first = np.unique(class_index[shuffled], return_index=True)
    may_go = np.ones(len(class_index), dtype=bool)
    may_go[first] = False
    is_held = np.zeros(len(class_index), dtype=bool)
    is_held[shuffled[may_go][: max(1, round(HELD_OUT_SHARE * len(class_index)))]] = True
    kept = np.flatnonzero(~is_held)
    return Holdout(samples.at(kept), samples.at(np.flatnonzero(is_held) if is_held.any() else kept).in_memory())


def hold_out_classes(samples: Samples, n_classes: int) -> Holdout:
    """Classes that hold about a quarter of the samples; a quarter of those is held out.

    A small problem that is as hard as the whole: the classes are neighbours of a few drawn ones by their means, since
    distant classes are too easy to separate, and hide what a choice is worth. Every class keeps at least one sample to
    learn from. All classes if there are few samples or few classes. Raises MemoryError if samples are on disk and the
    means of their classes do not fit into memory.
    """
    rng = np.random.default_rng(SEED)
    rows = np.flatnonzero(_neighbouring_classes(samples, n_classes, rng)[samples.class_index])
    if len(rows) > 2 * MOST_SAMPLES:
        rows = np.sort(rng.permutation(rows)[:MOST_SAMPLES])
    some = samples.at(rows).in_memory()
    # Rows on disk may be fewer in memory, so classes are numbered afterwards.
    classes, class_index = np.unique(some.class_index, return_inverse=True)
    some = Samples(some.X, class_index, some.weights)
    is_held: NDArray[np.bool_] = rng.random(len(class_index)) < HELD_OUT_OF_SOME_CLASSES
    is_held[np.unique(class_index, return_index=True)[1]] = False
    return Holdout(some.at(np.flatnonzero(~is_held)), some.at(np.flatnonzero(is_held)), classes)


def _neighbouring_classes(samples: Samples, n_classes: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which classes are the nearest neighbours of some drawn ones, until these have enough samples."""
    n_samples = len(samples)
    n_wanted = min(max(n_samples // 4, LEAST_SAMPLES), MOST_SAMPLES)
    is_chosen = np.zeros(n_classes, dtype=bool)
    if n_wanted >= n_samples:
        is_chosen[samples.class_index] = True
        return is_chosen
    sizes = np.bincount(samples.class_index, minlength=n_classes)
    means = centroids(samples.X, samples.class_index, n_classes=n_classes, sample_weight=samples.weights)
    drawn = rng.permutation(np.flatnonzero(sizes))[:N_NEIGHBOURHOODS]
    similar = (means[drawn] @ means.T).toarray()
    nearest = np.argsort(-similar, axis=1, kind="stable").T
    # In the order of their ranks in any neighbourhood.
    classes, first = np.unique(nearest, return_index=True)
    classes = classes[np.argsort(first, kind="stable")]
    n_enough = int(np.searchsorted(np.cumsum(sizes[classes]), n_wanted)) + 1
    is_chosen[classes[: max(n_enough, LEAST_CLASSES)]] = True
    return is_chosen


def best_weight(losses: FloatArray, scores: FloatArray, is_true: NDArray[np.bool_]) -> tuple[float, float]:
    """The weight with which the true class most often has the smallest ``loss - weight * score``, and how often.

    For each sample the weights with which its class comes first are an interval, so that all weights are tried at once:
    60 in a geometric series, compared by the mean over their neighbours to reduce noise. Arrays have the shape
    (n_samples, n_candidates); infinite losses mean missing candidates.

    >>> losses = np.array([[1.0, 1.5], [2.0, 2.1]])
    >>> scores = np.array([[0.0, 1.0], [0.3, 0.1]])
    >>> weight, accuracy = best_weight(losses, scores, np.array([[False, True], [True, False]]))
    >>> weight > 0.5, accuracy
    (True, 1.0)
    """
    n_samples = len(losses)
    has_true = np.flatnonzero(is_true.any(axis=1))
    if len(has_true) == 0:
        return 0.0, 0.0
    blocks = [has_true[start : start + WEIGHED_PER_BLOCK] for start in range(0, len(has_true), WEIGHED_PER_BLOCK)]
    found = [_winning_weights(losses[block], scores[block], is_true[block]) for block in blocks]
    low, high, is_first = (np.concatenate(parts) for parts in zip(*found, strict=True))
    is_winnable = low < high
    low, high = np.sort(low[is_winnable]), np.sort(high[is_winnable])
    without = float(is_first.sum() / n_samples)
    if not (low > 0).any():
        return 0.0, without
    smallest, largest = np.quantile(low[low > 0], [0.01, 0.99])
    weights = np.geomspace(max(smallest, largest * 1e-6), 2 * largest, N_WEIGHTS)
    shares = (np.searchsorted(low, weights, side="left") - np.searchsorted(high, weights, side="right")) / n_samples
    around = np.convolve(np.pad(shares, 1, mode="edge"), np.ones(3) / 3, mode="valid")
    best = int(around.argmax())
    return (float(weights[best]), float(shares[best])) if shares[best] > without else (0.0, without)


def _winning_weights(
    losses: FloatArray, scores: FloatArray, is_true: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """Between which weights the true class of each sample comes first, and whether it does without any."""
    behind = losses[is_true][:, None] - losses
    gain = scores[is_true][:, None] - scores
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = behind / gain
    low = np.where(gain > 0, crossing, -np.inf).max(axis=1)
    high = np.where(gain < 0, crossing, np.inf).min(axis=1)
    # If the scores are equal no weight helps; the class itself and missing candidates never come first.
    high[((gain == 0) & (behind > 0)).any(axis=1)] = -np.inf
    return low, high, losses.argmin(axis=1) == is_true.argmax(axis=1)


def column_trials(learner: Learner, samples: Samples, n_classes: int, rng: np.random.Generator) -> ColumnTrials:
    """The learner's margins for samples that it did not learn from; columns are learned when they are asked for."""
    fold_of_sample = stratified_folds(samples.class_index, N_FOLDS, rng)
    enough = max(ENOUGH_FOR_COLUMNS, PER_CLASS_FOR_COLUMNS * n_classes)
    sizes = np.cumsum(np.bincount(fold_of_sample, minlength=N_FOLDS))
    n_tried = min(N_FOLDS, 1 + int(np.searchsorted(sizes, enough)))
    known = samples.class_index >= 0
    tried = [np.flatnonzero((fold_of_sample == fold) & known) for fold in range(n_tried)]
    seed = int(rng.integers(2**31 - 1))

    def margins(columns: CodingMatrix) -> Margins:
        report(f"trying {columns.shape[1]} columns")
        # Classes with the same bits in all of these columns are one class to them.
        rows, row_of_class = np.unique(columns, axis=0, return_inverse=True)
        code = Code.of(rows)
        merged = np.where(known, row_of_class.ravel()[samples.class_index], -1)
        found = []
        for held_out in tried:
            class_index = merged.copy()
            class_index[held_out] = -1
            kept = Samples(samples.X, class_index, samples.weights)
            bits = learner.fit(kept, code, rng=np.random.default_rng(seed))
            found.append(np.asarray(bits.margins(rows_at(samples.X, held_out))))
        return np.concatenate(found)

    rows = np.concatenate(tried)
    weights = np.ones(len(rows)) if samples.weights is None else np.asarray(samples.weights, dtype=np.float64)[rows]
    return ColumnTrials(samples.class_index[rows], weights, margins)


# ----- recipes and their trials --------------------------------------------------------------------------------------

TO_FIT: Literal["to fit"] = "to fit"
"""Pruning that drops weights that cost next to nothing, and as many more as a budget requires."""
LISTED_BY = {"code": "", "index": " of an index", "both": " of the code and an index"}


@dataclass(frozen=True)
class Recipe:
    """Settings of a trellis classifier, none of them left open.

    - ``rerank``: how the best classes are rescored.
    - ``precision``: how weights are stored.
    - ``prune``: how much validation accuracy pruning may cost; "to fit" drops weights that cost next to nothing, and
      as many more as a budget requires.
    - ``code``: what the codewords are paths of.
    - ``candidates``: what lists the classes to rescore.
    """

    width: int
    n_codes: int
    rerank: Literal["centroid", "learned"] | None
    precision: Precision
    prune: float | Literal["to fit"] | None
    code: Literal["trellis", "tree"] = "trellis"
    candidates: CandidateSource = "code"

    @classmethod
    def of(cls, plan: Any) -> Recipe:
        own = {setting.name: getattr(plan, setting.name) for setting in fields(cls) if setting.name in vars(plan)}
        own["prune"] = plan.prune if plan.max_bytes is None else TO_FIT
        return cls(**own, width=plan.codebook.width, code=plan.codebook.kind)

    def __str__(self) -> str:
        kind = "tree of width" if self.code == "tree" else "width"
        parts = [f"{kind} {self.width}" if self.n_codes == 1 else f"{self.n_codes} x {kind} {self.width}"]
        parts += [f"{self.rerank} re-ranking{LISTED_BY[self.candidates]}"] * (self.rerank is not None)
        parts.append(self.precision)
        pruned = (
            [] if self.prune is None else ["pruned " + (self.prune if self.prune == TO_FIT else f"by {self.prune:g}")]
        )
        return ", ".join([*parts, *pruned])


@dataclass(frozen=True)
class Trial:
    """A recipe and its results.

    - ``accuracy``: on the validation samples.
    - ``n_bytes``: the size of the whole model folder.
    - ``microseconds``: per prediction, on one thread.
    - ``fits``: whether it is within the budget.
    """

    recipe: Recipe
    accuracy: float
    n_bytes: int
    microseconds: float
    seconds: float
    fits: bool

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Trial:
        return cls(**{**values, "recipe": Recipe(**values["recipe"])})

    def __str__(self) -> str:
        return (
            f"{100 * self.accuracy:.2f} %  {in_units(self.n_bytes):>9}  {self.microseconds:>5.1f} us  {self.recipe}"
            + ("" if self.fits else "  (beyond the budget)")
        )


@dataclass(frozen=True)
class Limits:
    """What a model may cost.

    - ``n_bytes``: of the whole folder on disk.
    - ``microseconds``: per prediction, on one thread.
    - ``seconds``: for the search.
    """

    n_bytes: int | None = None
    microseconds: float | None = None
    seconds: float | None = None

    def allow(self, n_bytes: float, microseconds: float = 0.0) -> bool:
        """Whether a model of this size and speed is within the limits."""
        is_small = self.n_bytes is None or n_bytes <= self.n_bytes
        return is_small and (self.microseconds is None or microseconds <= self.microseconds)

    def __str__(self) -> str:
        size = [] if self.n_bytes is None else [in_units(self.n_bytes)]
        return " and ".join([*size, *([] if self.microseconds is None else [f"{self.microseconds:g} microseconds"])])


def microseconds_of(model: Any, X: Any, n_rounds: int = 3, n_rows: int = 2_000) -> float:
    """CPU microseconds per prediction of rows or texts on one thread; the minimum of some rounds."""
    rows = X[:n_rows]
    with limited_threads(1):
        model.predict(rows)  # compiles
        times = []
        for _ in range(n_rounds):
            begin = process_time()
            model.predict(rows)
            times.append(process_time() - begin)
    return float(1e6 * min(times) / (rows.shape[0] if hasattr(rows, "shape") else len(rows)))
