"""What becomes of the settings that are left to a trellis classifier: by the number of classes, or within a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import product
from operator import itemgetter
from time import perf_counter, process_time
from typing import Any, Literal

import numpy as np
from scipy import sparse

from codekin.codebooks import trellis_codebook
from codekin.coding import IntArray
from codekin.learners.compact import Precision
from codekin.memory import in_units
from codekin.progress import tell
from codekin.stored_rows import is_sparse
from codekin.threads import limited_threads

MANY_CLASSES = 100
"""From this many classes on, a search for the order and a re-ranking are worth their time."""
WIDTHS = (2, 3, 5, 10, 20)
MAX_TRIALS = 5
GENTLE_PRUNING = 0.001
"""How much validation accuracy may go with small weights."""
PRUNED_SHARE = 0.2
"""About the share of its bytes that a wide model keeps under gentle pruning; what it really keeps is measured."""
HARD_PRUNINGS = (0.005, 0.02, 0.05)
BYTES_PER_WEIGHT = {"float32": 4, "float16": 2, "int8": 1}
BYTES_PER_ENTRY = 3
BYTES_BESIDES = 4_096
"""Of a model's description, besides its arrays, labels and losses."""


@dataclass(frozen=True)
class Recipe:
    """Settings of a trellis classifier, none of them left open.

    Parameters
    ----------
    width : int
        The width of the trellis.
    n_members : int
        How many codes there are.
    rerank : "centroid", "learned" or None
        How the best classes are rescored.
    precision : "float32", "float16" or "int8"
        How weights are kept.
    prune : float or None
        How much validation accuracy small weights may cost that are dropped.
    """

    width: int
    n_members: int
    rerank: Literal["centroid", "learned"] | None
    precision: Precision
    prune: float | None

    def __str__(self) -> str:
        """A few words."""
        parts = [f"width {self.width}" if self.n_members == 1 else f"{self.n_members} x width {self.width}"]
        parts += [f"{self.rerank} re-ranking"] * (self.rerank is not None)
        parts.append(self.precision)
        return ", ".join(parts if self.prune is None else [*parts, f"pruned by {self.prune:g}"])


@dataclass(frozen=True)
class Trial:
    """A recipe and what it was worth.

    Parameters
    ----------
    recipe : Recipe
    accuracy : float
        Of the validation samples.
    n_bytes : int
        About what the model takes on disk.
    microseconds : float
        Per prediction, on one thread.
    seconds : float
        It took to fit.
    fits : bool
        Whether it is within the budget.
    """

    recipe: Recipe
    accuracy: float
    n_bytes: int
    microseconds: float
    seconds: float
    fits: bool

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as JSON wants them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Trial:
        """The trial whose ``as_dict`` this is."""
        return cls(**{**values, "recipe": Recipe(**values["recipe"])})

    def __str__(self) -> str:
        """One line."""
        return (
            f"{100 * self.accuracy:.2f} %  {in_units(self.n_bytes):>9}  {self.microseconds:>5.1f} us  {self.recipe}"
            + ("" if self.fits else "  (beyond the budget)")
        )


@dataclass(frozen=True)
class Limits:
    """What a model may cost.

    Parameters
    ----------
    n_bytes : int, optional
        On disk.
    microseconds : float, optional
        Per prediction, on one thread.
    seconds : float, optional
        For looking for it.
    """

    n_bytes: int | None = None
    microseconds: float | None = None
    seconds: float | None = None

    def allow(self, n_bytes: float, microseconds: float = 0.0) -> bool:
        """Whether a model of this size and speed is within the limits."""
        is_small = self.n_bytes is None or n_bytes <= self.n_bytes
        return is_small and (self.microseconds is None or microseconds <= self.microseconds)

    def __str__(self) -> str:
        """A few words."""
        size = [] if self.n_bytes is None else [in_units(self.n_bytes)]
        return " and ".join([*size, *([] if self.microseconds is None else [f"{self.microseconds:g} microseconds"])])


def default_recipe(settings: dict[str, Any], X: Any, n_classes: int) -> Recipe:
    """What is taken where there is no budget.

    100 classes of sparse samples or more are re-ranked, since that gains most where a bit has to separate most
    classes; few classes or dense samples are not: their class vectors would be as large as one predictor per class.

    Parameters
    ----------
    settings : dict
        Of a :class:`Recipe`, "auto" where they are open.
    X : {array, sparse matrix}
    n_classes : int

    Returns
    -------
    Recipe
    """
    is_reranked = n_classes >= MANY_CLASSES and is_sparse(X)
    defaults: dict[str, Any] = {
        "width": 2,
        "n_members": 1,
        "rerank": "learned" if is_reranked else None,
        "precision": "float32",
        "prune": None,
    }
    return Recipe(**{name: defaults[name] if value == "auto" else value for name, value in settings.items()})


def recipes_within(
    settings: dict[str, Any], X: Any, class_index: IntArray, n_classes: int, limits: Limits
) -> Iterator[Recipe]:
    """Recipes that should be within a budget, the one with the most bits first; then ever smaller ones.

    Parameters
    ----------
    settings : dict
        Of a :class:`Recipe`, "auto" where they are open.
    X : {array, sparse matrix}
    class_index : array of shape (n_samples,)
    n_classes : int
    limits : Limits

    Yields
    ------
    Recipe
    """

    def choices(name: str, options: tuple[Any, ...]) -> tuple[Any, ...]:
        return options if settings[name] == "auto" else (settings[name],)

    can_rerank = sparse.issparse(X) and n_classes > WIDTHS[0]
    vectors = BYTES_PER_ENTRY * _support(X, class_index, n_classes)
    within: list[tuple[tuple[bool, int], Recipe]] = []
    for width, n_members, rerank, precision in product(
        dict.fromkeys(min(width, n_classes) for width in choices("width", WIDTHS)),
        choices("n_members", (1, 2)),
        choices("rerank", ("learned", None) if can_rerank else (None,)),
        choices("precision", ("int8",)),
    ):
        n_bits = n_members * trellis_codebook(n_classes, width).n_bits
        weights = n_bits * X.shape[1] * BYTES_PER_WEIGHT[precision]
        besides = 8 * n_classes * n_members + BYTES_BESIDES + (0 if rerank is None else vectors)
        # All weights where they fit, otherwise the large ones.
        for prune in choices("prune", (None, GENTLE_PRUNING)):
            if limits.allow((1.0 if prune is None else PRUNED_SHARE) * weights + besides):
                within.append(((rerank is None, -n_bits), Recipe(width, n_members, rerank, precision, prune)))
                break
    yield from [recipe for _, recipe in sorted(within, key=itemgetter(0))]
    smallest = {"width": (min(WIDTHS[0], n_classes),), "n_members": (1,), "rerank": (None,), "precision": ("int8",)}
    for prune in choices("prune", HARD_PRUNINGS):
        yield Recipe(**{name: choices(name, options)[0] for name, options in smallest.items()}, prune=prune)


def _support(X: Any, class_index: IntArray, n_classes: int) -> int:
    """How many pairs of a class and a feature of its samples there are."""
    if not hasattr(X, "nnz"):
        return n_classes * int(X.shape[1])
    ones = np.ones(len(class_index), dtype=np.float32)
    members = sparse.csr_array((ones, (class_index, np.arange(len(class_index)))), shape=(n_classes, len(class_index)))
    return int((members @ abs(X)).nnz)


def best_within(
    fit: Callable[[Recipe, int], Any],
    recipes: Iterator[Recipe],
    X: Any,
    class_index: IntArray,
    limits: Limits,
) -> tuple[Any, tuple[Trial, ...]]:
    """Fit one recipe after the other and keep the model within the limits that is right most often.

    Parameters
    ----------
    fit : callable
        Takes a recipe and its number, returns a fitted classifier.
    recipes : iterator of Recipe
        Those expected to be best first. At most five are tried once one is within the limits.
    X : {array, sparse matrix}
        Validation samples.
    class_index : array
        Their classes, -1 where they are not known.
    limits : Limits

    Returns
    -------
    classifier
    trials : tuple of Trial
    """
    started = perf_counter()
    trials: list[Trial] = []
    best, winner = None, None
    for number, recipe in enumerate(recipes):
        fitting = [trial for trial in trials if trial.fits]
        longest = max((trial.seconds for trial in trials), default=0.0)
        is_late = limits.seconds is not None and perf_counter() - started + longest > limits.seconds
        if fitting and (len(trials) >= MAX_TRIALS or is_late):
            break
        begin = perf_counter()
        classifier = fit(recipe, number)
        seconds = perf_counter() - begin
        tell(f"trial {number + 1}: measuring accuracy, size and speed")
        n_bytes, microseconds = bytes_of(classifier), microseconds_of(classifier.model_, X)
        accuracy = float((classifier.model_.predict(X) == class_index).mean())
        trial = Trial(recipe, accuracy, n_bytes, microseconds, seconds, limits.allow(n_bytes, microseconds))
        trials.append(trial)
        if trial.fits and (best is None or (-trial.accuracy, trial.n_bytes) < (-best.accuracy, best.n_bytes)):
            best, winner = trial, classifier
    if winner is None:
        smallest = min(trials, key=lambda trial: trial.n_bytes, default=None)
        fastest = min((trial.microseconds for trial in trials), default=None)
        found = (
            "no recipe with the given settings can be that small"
            if smallest is None
            else f"the smallest model that was tried takes {in_units(smallest.n_bytes)}, the fastest {fastest:.2g} us"
        )
        raise ValueError(f"There is no model within {limits}: {found}. Allow more.")
    return winner, tuple(trials)


def bytes_of(classifier: Any) -> int:
    """About what a fitted classifier takes on disk: its arrays, labels and the losses of its bits.

    Parameters
    ----------
    classifier : TrellisClassifier

    Returns
    -------
    int
    """
    members = classifier.model_.members
    weights = sum(int(getattr(bits, "nbytes", 0)) for bits in (member.bits for member in members))
    ranking = classifier.model_.ranking
    vectors = None if ranking is None else ranking.vectors
    labels = sum(len(str(label)) + 4 for label in classifier.classes_.tolist())
    orders = sum(member.code.assignment.codeword_of_class.nbytes for member in members)
    tree = None if classifier.class_distances_ is None else classifier.class_distances_.tree
    of_tree = 0 if tree is None else tree.parent.nbytes + tree.node_of_class.nbytes + tree.edge_length.nbytes
    losses = 22 * sum(member.code.n_bits for member in members)
    of_vectors = 0 if vectors is None else vectors.nbytes
    return int(weights + of_vectors + labels + orders + of_tree + losses + BYTES_BESIDES)


def microseconds_of(model: Any, X: Any, n_rounds: int = 3, n_rows: int = 5_000) -> float:
    """Processor microseconds per prediction on one thread; the least of some rounds.

    Parameters
    ----------
    model : Model
    X : {array, sparse matrix}
    n_rounds, n_rows : int
        How often, and how many rows at a time.

    Returns
    -------
    float
    """
    rows = X[:n_rows]
    with limited_threads(1):
        model.predict(rows)  # compiles
        times = []
        for _ in range(n_rounds):
            begin = process_time()
            model.predict(rows)
            times.append(process_time() - begin)
    return float(1e6 * min(times) / rows.shape[0])
