"""The search for the most accurate model within a budget of bytes and microseconds.

A wide code without most of its weights is smaller and better than a narrow one with all of them, so a wide one is
tried first: alone, without as many of its weights as it takes. Then its best classes are rescored, if there is room for
that, and two codes and other widths follow. Trials of one width share what was learned.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import Any, TypeVar, cast

import numpy as np
from scipy import sparse

from codekin._system.memory import available_memory, in_units
from codekin.codebooks import trellis_codebook
from codekin.coding import IntArray
from codekin.fitting.recipe import Limits, Recipe, Trial, microseconds_of
from codekin.fitting.size import BYTES_PER_TRIAL, bytes_besides_weights
from codekin.learners import Checkpoints
from codekin.progress import tell
from codekin.ranking.vectors import LARGEST_GAP

WIDTHS = (10, 20, 5, 3, 2)
"""In the order in which they are tried."""
MAX_TRIALS = 5
BYTES_PER_WEIGHT = {"float32": 4, "float16": 2, "int8": 1}
BYTES_PER_ENTRY = 3
BYTES_IN_TRAINING = 8
"""Of each weight while it is learned."""

T = TypeVar("T")
Plan = Generator[Recipe, Trial, None]
"""Recipes to try; it is sent what each of them was worth."""


@dataclass(frozen=True)
class Task:
    """What recipes are for, as far as their sizes depend on it.

    Parameters
    ----------
    settings : dict
        Of a :class:`Recipe`, "auto" where they are open.
    n_classes, n_features : int
    n_fixed_bytes : int
        What every model takes, whatever the recipe, with one code.
    n_vector_bytes : int or None
        What class vectors take at most; None where there are none to be had.
    """

    settings: dict[str, Any]
    n_classes: int
    n_features: int
    n_fixed_bytes: int
    n_vector_bytes: int | None

    def choices(self, name: str, options: tuple[Any, ...]) -> tuple[Any, ...]:
        """The options of a setting that is open, or what it is settled to."""
        return options if self.settings[name] == "auto" else (self.settings[name],)

    def n_weights(self, width: int) -> int:
        """How many weights a code has before any is dropped."""
        return trellis_codebook(self.n_classes, width).n_bits * self.n_features

    def recipe(self, width: int, n_members: int, rerank: Any, limits: Limits) -> Recipe:
        """A recipe with all weights where they fit, and without the small ones otherwise."""
        (precision,) = self.choices("precision", ("int8",))
        fits = self.n_weights(width) * BYTES_PER_WEIGHT[precision] <= self.room(width, n_members, rerank, limits)
        (prune,) = self.choices("prune", (None if fits else "to fit",))
        return Recipe(width, n_members, rerank, precision, prune)

    def room(self, width: int, n_members: int, rerank: Any, limits: Limits) -> float:
        """How many bytes each code may take, after all else that is saved."""
        if limits.n_bytes is None:
            return np.inf
        n_bits = n_members * trellis_codebook(self.n_classes, width).n_bits
        left = limits.n_bytes - self.n_fixed_bytes - bytes_besides_weights(n_bits, n_members, self.n_classes)
        left -= 2 * MAX_TRIALS * BYTES_PER_TRIAL
        return (left - (0 if rerank is None else self.n_vector_bytes or 0)) / n_members


@dataclass(frozen=True)
class Records:
    """What recipes were worth, for a search that goes on after an interruption.

    Parameters
    ----------
    checkpoints : Checkpoints or None
        Where to note it.
    training : dict
        What tells this search from others, as JSON.
    """

    checkpoints: Checkpoints | None
    training: dict[str, Any]

    def found(self, number: int, recipe: Recipe) -> Trial | None:
        """What a recipe was worth before the interruption, if it was tried."""
        if self.checkpoints is None:
            return None
        found = self._of(number).found(self._identity(recipe))
        return None if found is None else Trial.from_dict(found.progress)

    def note(self, number: int, trial: Trial) -> None:
        """Note what a recipe was worth."""
        if self.checkpoints is not None:
            self._of(number).save(self._identity(trial.recipe), trial.as_dict(), {})

    def _of(self, number: int) -> Checkpoints:
        assert self.checkpoints is not None
        return self.checkpoints.part(f"trial-{number}")

    def _identity(self, recipe: Recipe) -> dict[str, Any]:
        return {**self.training, "recipe": asdict(recipe)}


@dataclass
class SharedWork:
    """What the trials of one search share: the orders of every width, and the learned codes of the last one.

    Parameters
    ----------
    checkpoints : Checkpoints, optional
        Where the learning of codes leaves its checkpoints; those of a width go when the next one is begun.
    """

    checkpoints: Checkpoints | None = None
    orders: dict[int, Any] = field(default_factory=dict)
    _codes: dict[int, Any] = field(default_factory=dict)
    _width: int | None = None

    def checkpoints_of(self, width: int, number: int) -> Checkpoints | None:
        """Where the learning of a member of this width leaves its checkpoints."""
        return None if self.checkpoints is None else self.checkpoints.part(f"width-{width}").part(f"code-{number}")

    def code(self, width: int, number: int, learn: Callable[[], T]) -> T:
        """A member of this width, learned unless it is known.

        Parameters
        ----------
        width : int
        number : int
            Which member.
        learn : callable

        Returns
        -------
        object
            What ``learn`` returned.
        """
        if width != self._width:
            if self.checkpoints is not None and self._width is not None:
                self.checkpoints.part(f"width-{self._width}").clear()
            self._codes, self._width = {}, width
        if number not in self._codes:
            self._codes[number] = learn()
        return cast("T", self._codes[number])


def vector_bytes(X: Any, class_index: IntArray, n_classes: int) -> int | None:
    """What the class vectors of sparse samples take at most; None for dense ones and two classes, not re-ranked here.

    Parameters
    ----------
    X : {array, sparse matrix}
    class_index : array of shape (n_samples,)
    n_classes : int

    Returns
    -------
    int or None
    """
    if not hasattr(X, "nnz") or n_classes <= 2:
        return None
    ones = np.ones(len(class_index), dtype=np.float32)
    members = sparse.csr_array((ones, (class_index, np.arange(len(class_index)))), shape=(n_classes, len(class_index)))
    n_entries = int((members @ abs(X)).nnz)
    n_bridges = n_classes * (int(X.shape[1]) // LARGEST_GAP)
    return BYTES_PER_ENTRY * (n_entries + n_bridges) + 8 * n_classes


def recipes_within(task: Task, limits: Limits) -> Plan:
    """Recipes to try for a budget, each chosen by what those before it were worth.

    Parameters
    ----------
    task : Task
    limits : Limits

    Yields
    ------
    Recipe
    """
    widths = tuple(dict.fromkeys(min(width, task.n_classes) for width in task.choices("width", WIDTHS)))
    left = available_memory()
    teachable = [w for w in widths if left is None or BYTES_IN_TRAINING * task.n_weights(w) <= left]
    first, *others = teachable or [min(widths)]
    n_members, *more_members = task.choices("n_members", (1, 2))
    kinds = task.choices("rerank", (None,) if task.n_vector_bytes is None else (None, "learned"))
    best_kind, *richer_kinds = kinds
    trial = yield task.recipe(first, n_members, best_kind, limits)
    if not trial.fits and limits.allow(trial.n_bytes):
        # Too slow: more bits, codes or looks would be slower.
        others, more_members, richer_kinds = [width for width in others if width < first], [], []
    for kind in richer_kinds:
        if task.room(first, n_members, kind, limits) > 0:
            trial = yield task.recipe(first, n_members, kind, limits)
            best_kind = kind if trial.fits else best_kind
    for width, n in [*((first, n) for n in more_members), *((width, n_members) for width in others)]:
        if task.room(width, n, best_kind, limits) > 0:
            yield task.recipe(width, n, best_kind, limits)


def best_within(
    fit: Callable[[Recipe, int], Any],
    plan: Plan,
    X: Any,
    class_index: IntArray,
    limits: Limits,
    *,
    bytes_of: Callable[[Any, int], int],
    records: Records,
) -> tuple[Any, tuple[Trial, ...]]:
    """Fit one recipe after the other and keep the model within the limits that is right most often.

    Parameters
    ----------
    fit : callable
        Takes a recipe and its number, returns a fitted classifier.
    plan : Plan
        At most five recipes are tried once one is within the limits.
    X : {array, sparse matrix}
        Validation samples.
    class_index : array
        Their classes, -1 where they are not known.
    limits : Limits
    bytes_of : callable
        Takes a fitted classifier and a number of trials that it will tell of, returns its bytes on disk.
    records : Records
        Where trials are noted. A recipe whose worth is known from there is fitted again only if it is the best one.

    Returns
    -------
    classifier
    trials : tuple of Trial
    """
    started = perf_counter()
    trials: list[Trial] = []
    best, winner = None, None
    recipe = next(plan, None)
    while recipe is not None:
        number = len(trials)
        trial, classifier = records.found(number, recipe), None
        if trial is None:
            begin = perf_counter()
            classifier = fit(recipe, number)
            seconds = perf_counter() - begin
            tell(f"trial {number + 1}: measuring accuracy, size and speed")
            n_bytes, microseconds = bytes_of(classifier, 2 * MAX_TRIALS), microseconds_of(classifier.model_, X)
            accuracy = float((classifier.model_.predict(X) == class_index).mean())
            is_within = limits.allow(n_bytes, microseconds)
            trial = Trial(recipe, accuracy, n_bytes, round(microseconds, 2), round(seconds, 1), is_within)
            records.note(number, trial)
        trials.append(trial)
        if trial.fits and (best is None or (-trial.accuracy, trial.n_bytes) < (-best.accuracy, best.n_bytes)):
            best, winner = trial, classifier
        longest = max(trial.seconds for trial in trials)
        is_late = limits.seconds is not None and perf_counter() - started + longest > limits.seconds
        if best is not None and (len(trials) >= MAX_TRIALS or is_late):
            break
        try:
            recipe = plan.send(trial)
        except StopIteration:
            break
    if best is None:
        smallest, fastest = (min(getattr(trial, name) for trial in trials) for name in ("n_bytes", "microseconds"))
        raise ValueError(
            f"There is no model within {limits}: the smallest model that was tried takes {in_units(smallest)}, the "
            f"fastest {fastest:.2g} us. Allow more."
        )
    if winner is None:
        winner = fit(best.recipe, trials.index(best))
    return winner, tuple(trials)
