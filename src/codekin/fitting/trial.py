"""Trials: some samples, or some classes, are held out, and what is right most often there is chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from time import process_time
from typing import Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from codekin._system.memory import in_units
from codekin._system.parallel import limited_threads
from codekin.code import Code, FloatArray, IntArray
from codekin.decoding import DecodedAccuracy, decoder_of
from codekin.decoding.losses import LossLike
from codekin.fitting.learned_vectors import centroids
from codekin.learners import Learner
from codekin.learners.compact import Precision
from codekin.model import FittedCode, Model
from codekin.model.reranking import CandidateSource, Reranking
from codekin.progress import report, stage
from codekin.samples import Samples

HELD_OUT_SHARE = 0.1
HELD_OUT_OF_SOME_CLASSES = 0.25
N_NEIGHBOURHOODS = 16
LEAST_SAMPLES, MOST_SAMPLES = 15_000, 50_000
"""Some classes have a quarter of all samples, but no fewer and no more than these."""
LEAST_CLASSES = 200
"""Fewer classes than these would not need a tree; if they have too many samples, some of these are left out."""
SEED = 0
"""A trial is the same for all seeds of a fit, so that they make the same choices."""
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
        return DecodedAccuracy(decoder, self.held_out)(bits.margins(self.held_out.X))


def most_accurate(choices: Iterable[Choice], accuracy: Callable[[Choice], float], title: str) -> Choice:
    """The choice with the highest accuracy, the first of several; ``title`` is what to report, with ``{}`` for each."""
    found = {}
    for choice in choices:
        with stage(title.format(choice)):
            found[choice] = accuracy(choice)
    return max(found, key=lambda choice: found[choice])


def hold_out_samples(
    samples: Samples, rng: np.random.Generator, *, is_copied: bool = True, most_learned: int | None = None
) -> Holdout:
    """Hold out at most a tenth of the samples, of several labels as if they came later; every class keeps at least one.

    If every class has a single sample, nothing can be held out: all samples are in both sets. Without a copy, samples
    that are held out get class -1 among those to learn from. At most about ``most_learned`` and
    half as many are in the two sets.
    """
    class_index = samples.class_index
    shuffled = rng.permutation(len(class_index))
    may_go = np.ones(len(class_index), dtype=bool)
    may_go[samples._one_of_each_class(shuffled)] = False
    is_held = np.zeros(len(class_index), dtype=bool)
    most, movable = len(class_index) if most_learned is None else most_learned, shuffled[may_go]
    n_held = min(max(1, round(HELD_OUT_SHARE * len(class_index))), most // 2)
    is_held[movable[:n_held]] = True
    is_left_out = is_held.copy()
    is_left_out[movable[n_held + most :]] = True
    kept = np.flatnonzero(~is_held)
    to_learn = samples._without(is_left_out, is_copied=is_copied)
    held_out = samples.at(np.flatnonzero(is_held) if is_held.any() else kept).in_memory()
    return Holdout(to_learn, held_out._as_if_new(to_learn))


def hold_out_classes(samples: Samples, n_classes: int) -> Holdout:
    """Classes that hold about a quarter of the samples; a quarter of those is held out.

    A small problem that is as hard as the whole: the classes are neighbours of a few drawn ones by their means, since
    distant classes are too easy to separate, and hide what a choice is worth. Every class keeps at least one sample to
    learn from. All classes if there are few samples or few classes. Raises MemoryError if samples are on disk and the
    means of their classes do not fit into memory.
    """
    rng = np.random.default_rng(SEED)
    n_wanted = min(max(len(samples) // 4, LEAST_SAMPLES), MOST_SAMPLES)
    is_chosen = neighbouring_classes(samples.of_each_label(), n_classes, n_wanted, rng)
    rows = np.flatnonzero(samples._has_any_of(is_chosen))
    if len(rows) > 2 * MOST_SAMPLES:
        rows = np.sort(rng.permutation(rows)[:MOST_SAMPLES])
    # Rows on disk may be fewer in memory, so classes are numbered afterwards.
    classes, some = samples.at(rows).in_memory()._of_some_classes(is_chosen)
    class_index = some.class_index
    is_held: NDArray[np.bool_] = rng.random(len(class_index)) < HELD_OUT_OF_SOME_CLASSES
    is_held[np.unique(class_index, return_index=True)[1]] = False
    return Holdout(some.at(np.flatnonzero(~is_held)), some.at(np.flatnonzero(is_held)), classes)


def neighbouring_classes(
    samples: Samples, n_classes: int, n_wanted: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Which classes are the nearest neighbours of some drawn ones, until these have enough samples."""
    is_chosen = np.zeros(n_classes, dtype=bool)
    if n_wanted >= len(samples):
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

    For each sample, or each of its several classes without the others, the weights with which its class comes first
    are an interval, so that all weights are tried at once:
    60 in a geometric series, compared by the mean over their neighbours to reduce noise. Arrays have the shape
    (n_samples, n_candidates); infinite losses mean missing candidates.

    >>> losses = np.array([[1.0, 1.5], [2.0, 2.1]])
    >>> scores = np.array([[0.0, 1.0], [0.3, 0.1]])
    >>> weight, accuracy = best_weight(losses, scores, np.array([[False, True], [True, False]]))
    >>> weight > 0.5, accuracy
    (True, 1.0)
    """
    n_samples = len(losses)
    rows, places = np.nonzero(is_true)
    if len(rows) == 0:
        return 0.0, 0.0
    blocks = [slice(start, start + WEIGHED_PER_BLOCK) for start in range(0, len(rows), WEIGHED_PER_BLOCK)]
    found = [_winning_weights(losses, scores, is_true, rows[block], places[block]) for block in blocks]
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
    losses: FloatArray, scores: FloatArray, is_true: NDArray[np.bool_], rows: IntArray, places: IntArray
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """Between which weights a true class of a sample comes before false ones, and whether it does without any."""
    is_other = is_true[rows]
    is_other[np.arange(len(rows)), places] = False
    losses, scores = np.where(is_other, np.inf, losses[rows]), scores[rows]
    own = np.arange(len(rows)), places
    behind = losses[own][:, None] - losses
    gain = scores[own][:, None] - scores
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = behind / gain
    low = np.where(gain > 0, crossing, -np.inf).max(axis=1)
    high = np.where(gain < 0, crossing, np.inf).min(axis=1)
    # If the scores are equal no weight helps; the class itself and missing candidates never come first.
    high[((gain == 0) & (behind > 0)).any(axis=1)] = -np.inf
    return low, high, losses.argmin(axis=1) == places


# ----- what held-out samples correct in probabilities -----------------------------------------------------------------

# A softmax that has seen many samples of one class and few of another finds the first more probable than it is. So its
# probabilities are divided by a power of the class sizes and normalised again. On a tree that is a number for each bit,
# which is added to its margin: it costs nothing in prediction.

N_LISTED = 20
"""Among how many classes of each sample the power of class sizes is chosen."""


def corrected_for_sizes(
    codes: tuple[FittedCode, ...], samples: Samples, held_out: Samples | None = None, power: float | None = None
) -> tuple[tuple[FittedCode, ...], float]:
    """The codes with probabilities divided by a power of the class sizes, and that power.

    Without a given power, it is the best one of the first code on held-out samples or, without these, the usual one of
    this kind of code; 0 if that is not done for its kind.
    """
    first = codes[0]
    if first.code.codebook.usual_size_power == 0 or getattr(first.bits, "link", "softmax") != "softmax":
        return codes, 0.0
    sizes = class_sizes(samples, first.code.n_classes)
    if power is None:
        usual = first.code.codebook.usual_size_power
        power = usual if held_out is None else best_power(first, sizes, held_out)
    return tuple(size_corrected(code, sizes, power) for code in codes), power


def class_sizes(samples: Samples, n_classes: int) -> FloatArray:
    """The total weight of each class's samples; classes without any count as the smallest of the others."""
    samples = samples.of_each_label()
    known = samples.class_index >= 0
    weights = None if samples.weights is None else np.asarray(samples.weights, dtype=np.float64)[known]
    sizes = np.bincount(samples.class_index[known], weights, minlength=n_classes).astype(np.float64)
    return np.asarray(np.maximum(sizes, sizes[sizes > 0].min(initial=np.inf)))


def size_corrected(member: FittedCode, sizes: FloatArray, power: float) -> FittedCode:
    """The member with probabilities divided by a power of the class sizes, if that is done for its kind."""
    if power == 0 or member.code.codebook.usual_size_power == 0:
        return member
    codebook, bits = member.code.codebook, cast("Any", member.bits)
    size_of_codeword = np.ones(codebook.n_codewords)
    size_of_codeword[member.code.assignment.codeword_of_class] = sizes
    bias = (bits.bias + codebook.size_terms(size_of_codeword, power)).astype(np.float32)
    return replace(member, bits=replace(bits, bias=bias))


def best_power(member: FittedCode, sizes: FloatArray, held_out: Samples) -> float:
    """The power of the class sizes with which the classes of held-out samples most often come first."""
    if member.code.codebook.usual_size_power == 0 or len(held_out.class_index) == 0:
        return 0.0
    report("choosing how much class sizes count")
    n_listed = min(N_LISTED, member.code.n_classes)
    found = Model((member,), Reranking(n_listed)).candidates(held_out.X)
    classes: IntArray = found.classes
    return best_weight(found.losses, -np.log(sizes)[classes], held_out.is_label(classes))[0]


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

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Trial:
        return cls(**{**values, "recipe": Recipe(**values["recipe"])})

    def __str__(self) -> str:
        return (
            f"{100 * self.accuracy:.2f} %  {in_units(self.n_bytes):>9}  {self.microseconds:>5.1f} us  {self.recipe}"
            + ("" if self.fits else "  (beyond the budget)")
        )


def microseconds_of(predict: Callable[[Any], Any], X: Any, n_rounds: int = 3, n_rows: int = 2_000) -> float:
    """CPU microseconds per prediction of rows or texts on one thread; the minimum of some rounds."""
    rows = X[:n_rows]
    with limited_threads(1):
        predict(rows)  # compiles
        times = []
        for _ in range(n_rounds):
            begin = process_time()
            predict(rows)
            times.append(process_time() - begin)
    return float(1e6 * min(times) / (rows.shape[0] if hasattr(rows, "shape") else len(rows)))
