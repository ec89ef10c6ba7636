"""The search for the most accurate model within a budget of bytes and microseconds.

A wide, heavily pruned code is smaller and better than a narrow one with all its weights. So the search starts with the
code of the default, pruned as far as necessary, with a re-ranking if there is room for that and without, and goes on
with a wider one, two codes and narrower ones while the search takes at most three times as long as one fit. Trials of
one width share what was learned.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import asdict, dataclass, fields, replace
from time import perf_counter
from typing import Any

import numpy as np

from codekin._system.memory import available_memory, in_units
from codekin._system.stored_rows import StoredRows
from codekin.codebooks import trellis_codebook
from codekin.coding import IntArray
from codekin.fitting.fit import fit_model
from codekin.fitting.fit_facts import Fit
from codekin.fitting.learner_choice import memory_limit
from codekin.fitting.memory_needs import BYTES_PER_ENTRY as BYTES_PER_ENTRY_IN_TRAINING
from codekin.fitting.order_choice import RepeatedOrderError
from codekin.fitting.plan import Watch
from codekin.fitting.ranked import holdout, temperature_of
from codekin.fitting.recipe import Limits, Recipe, Trial, microseconds_of
from codekin.fitting.shared_work import SharedWork
from codekin.fitting.size import BYTES_PER_TRIAL, bytes_besides_weights, bytes_of_fit, fixed_bytes
from codekin.fitting.trellis_settings import TrellisSettings, candidate_source
from codekin.learners import Checkpoints
from codekin.model.class_vectors import LARGEST_GAP, n_class_entries
from codekin.model.prior import ClassPrior
from codekin.progress import tell, within
from codekin.samples import Samples
from codekin.storage.classifier_parts import ClassifierParts

WIDTHS = (10, 20, 5, 3, 2)
"""In the order in which they are tried."""
MAX_TRIALS = 5
MOST_WORK = 2.7
"""How many times as much work as one fit a search may be, so that it takes at most three times as long."""
WORK_OF_VECTORS = 500
"""Learning class vectors, and listing the classes to tell apart, takes as long as this many bits."""
WORK_OF_TREE = 500
"""Learning a tree takes as long as this many bits."""
WORK_OF_JUDGING = 300
"""Pruning, fitting the temperature and measuring: what every trial takes."""
BYTES_PER_WEIGHT = {"float32": 4, "float16": 2, "int8": 1}
BYTES_PER_ENTRY = 3
BYTES_IN_TRAINING = 8
"""Per weight."""

Recipes = Generator[Recipe, Trial, None]
"""Yields recipes to try, and is sent the result of each; None if further members would repeat the first."""


@dataclass(frozen=True)
class Task:
    """What the sizes of recipes depend on.

    - ``settings``: of a :class:`Recipe`, "auto" if open.
    - ``n_fixed_bytes``: what every model with one code takes, regardless of the recipe.
    - ``n_vector_bytes``: what class vectors take at most; None without re-ranking.
    - ``n_least_bytes``: what a code keeps even if no weight is left.
    - ``default_width``: without a budget.
    - ``max_memory``: how many bytes learning may take, if that is limited.
    """

    settings: dict[str, Any]
    n_classes: int
    n_features: int
    n_fixed_bytes: int
    n_vector_bytes: int | None
    default_width: int = WIDTHS[0]
    max_memory: int | None = None
    n_least_bytes: int = 0

    def choices(self, name: str, options: tuple[Any, ...]) -> tuple[Any, ...]:
        """The options of an open setting, or its fixed value."""
        return options if self.settings[name] == "auto" else (self.settings[name],)

    @property
    def has_tree(self) -> bool:
        """Whether the codes are trees, which have few weights, how many is known only after learning."""
        return bool(self.settings["code"] == "tree")

    def n_weights(self, width: int) -> int:
        """How many weights a code on a trellis has before any is dropped."""
        return trellis_codebook(self.n_classes, width).n_bits * self.n_features

    def recipe(self, width: int, n_members: int, rerank: Any, limits: Limits) -> Recipe:
        """A recipe with all weights if they fit, and pruned otherwise."""
        (precision,) = self.choices("precision", ("int8",))
        room = self.room(width, n_members, rerank, limits)
        fits = not self.has_tree and self.n_weights(width) * BYTES_PER_WEIGHT[precision] <= room
        (prune,) = self.choices("prune", (None if fits else "to fit",))
        code = self.settings["code"]
        (candidates,) = self.choices("candidates", (candidate_source(code, rerank, width, self.n_classes),))
        return Recipe(width, n_members, rerank, precision, prune, code, candidates)

    def is_worthwhile(self, recipe: Recipe, tried: list[Trial]) -> bool:
        """Whether all trials including this one take at most three times the work of the first one alone.

        The first one is as much work as a fit without a budget. Nothing is too much work before a model fits.
        """
        if not any(trial.fits for trial in tried):
            return True
        recipes = [*(trial.recipe for trial in tried), recipe]
        return self._work(recipes) <= MOST_WORK * self._work(recipes[:1])

    def _work(self, recipes: list[Recipe]) -> int:
        """The work of several fits, in passes over a bit; recipes of one width share their codes."""
        n_codes: dict[int, int] = {}
        for recipe in recipes:
            n_codes[recipe.width] = max(n_codes.get(recipe.width, 0), recipe.n_members)
        of_code = {w: WORK_OF_TREE if self.has_tree else trellis_codebook(self.n_classes, w).n_bits for w in n_codes}
        of_codes = sum(n * of_code[width] for width, n in n_codes.items())
        n_ranked = sum(recipe.rerank is not None for recipe in recipes)
        return of_codes + WORK_OF_VECTORS * n_ranked + WORK_OF_JUDGING * len(recipes)

    def room(self, width: int, n_members: int, rerank: Any, limits: Limits) -> float:
        """How many bytes each code may take, beyond everything else that is saved."""
        if limits.n_bytes is None:
            return np.inf
        # The losses of a tree's bits are not measured.
        n_bits = 0 if self.has_tree else n_members * trellis_codebook(self.n_classes, width).n_bits
        left = limits.n_bytes - self.n_fixed_bytes - bytes_besides_weights(n_bits, n_members, self.n_classes)
        left -= 2 * MAX_TRIALS * BYTES_PER_TRIAL
        return (left - (0 if rerank is None else self.n_vector_bytes or 0)) / n_members


@dataclass(frozen=True)
class Records:
    """The results of recipes, for a search that resumes after an interruption.

    - ``checkpoints``: where to save them.
    - ``training``: what identifies this search, as JSON.
    """

    checkpoints: Checkpoints | None
    training: dict[str, Any]

    def found(self, number: int, recipe: Recipe) -> Trial | None:
        """The result of a recipe that was tried before the interruption, or None."""
        if self.checkpoints is None:
            return None
        found = self._of(number).found(self._identity(recipe))
        return None if found is None else Trial.from_dict(found.progress)

    def note(self, number: int, trial: Trial) -> None:
        """Save the result of a recipe."""
        if self.checkpoints is not None:
            self._of(number).save(self._identity(trial.recipe), trial.as_dict(), {})

    def _of(self, number: int) -> Checkpoints:
        assert self.checkpoints is not None
        return self.checkpoints.part(f"trial-{number}")

    def _identity(self, recipe: Recipe) -> dict[str, Any]:
        return {**self.training, "recipe": asdict(recipe)}


def vector_bytes(X: Any, class_index: IntArray, n_classes: int) -> int | None:
    """What class vectors take at most; None for dense samples and for two classes, which are not re-ranked here."""
    if not hasattr(X, "nnz") or n_classes <= 2:
        return None
    n_entries = n_class_entries(X, class_index, n_classes)
    n_bridges = n_classes * (int(X.shape[1]) // LARGEST_GAP)
    return BYTES_PER_ENTRY * (n_entries + n_bridges) + 8 * n_classes


def recipes_within(task: Task, limits: Limits) -> Recipes:
    """Recipes to try for a budget, in the order of their promise, each chosen by the results of those before it.

    The first is the default, pruned as far as necessary; the second the same code without a re-ranking, which shares
    what is learned and leaves all bytes to the code. All of them together are at most three times the work of the
    first.
    """
    possible = (task.default_width, *(() if task.has_tree else WIDTHS))
    widths = tuple(dict.fromkeys(min(width, task.n_classes) for width in task.choices("width", possible)))
    memory = min((limit for limit in (task.max_memory, available_memory()) if limit is not None), default=np.inf)
    teachable = [w for w in widths if task.has_tree or BYTES_IN_TRAINING * task.n_weights(w) <= memory]
    first, *others = teachable or [min(widths)]
    n_members, *more_members = task.choices("n_members", (1, 2))
    learns_vectors = (
        task.n_vector_bytes is not None
        and task.n_vector_bytes / BYTES_PER_ENTRY * BYTES_PER_ENTRY_IN_TRAINING <= memory
    )
    *ranked, plain = task.choices("rerank", ("learned", None) if learns_vectors else (None,))
    tried: list[Trial] = []
    for kind in [*(kind for kind in ranked if task.room(first, n_members, kind, limits) > task.n_least_bytes), plain]:
        tried.append((yield task.recipe(first, n_members, kind, limits)))
        trial = tried[-1]
        is_open = task.settings["candidates"] == "auto" and trial.recipe.candidates != "code"
        if is_open and not trial.fits and limits.allow(trial.n_bytes):
            # The code may list its candidates faster than an index.
            tried.append((yield replace(trial.recipe, candidates="code")))
    best = max(tried, key=lambda trial: (trial.fits, trial.accuracy))
    if not best.fits and limits.allow(tried[-1].n_bytes):
        # Too slow: more bits or codes would be slower still.
        others, more_members = [width for width in others if width < first], []
    following = [*((width, n_members) for width in others if width > first), *((first, n) for n in more_members)]
    for width, n in [*following, *((width, n_members) for width in others if width < first)]:
        kind = best.recipe.rerank if best.fits else plain
        if (
            not task.has_tree
            and task.n_weights(width) * (BYTES_IN_TRAINING + BYTES_PER_WEIGHT["float32"] * (n - 1)) > memory
        ):
            continue  # the codes that are learned already are kept meanwhile
        recipe = task.recipe(width, n, kind, limits)
        if task.room(width, n, kind, limits) > task.n_least_bytes and task.is_worthwhile(recipe, tried):
            found: Trial | None = yield recipe
            tried += [] if found is None else [found]
            best = max(best, tried[-1], key=lambda trial: (trial.fits, trial.accuracy))


class NothingFitsError(ValueError):
    """No recipe that was tried is within the limits."""

    def __init__(self, message: str, trials: tuple[Trial, ...]) -> None:
        super().__init__(message)
        self.trials = trials


@dataclass
class Search:
    """The trials of a search within limits, and the best model so far.

    Models learn from ``samples`` and are judged by ``held_out``. ``parts`` is what is saved with a model;
    ``reserved_bytes`` are for other files in its folder.
    """

    settings: TrellisSettings
    limits: Limits
    samples: Samples
    held_out: Samples
    watch: Watch
    parts: ClassifierParts
    reserved_bytes: int

    def __post_init__(self) -> None:
        """Measure what does not depend on the recipe."""
        X, n_classes = self.samples.X, self.settings.n_classes
        prior = ClassPrior.of(self.samples, n_classes)
        n_prior = 0 if prior is None else prior.sizes.nbytes
        n_fixed = self.reserved_bytes + fixed_bytes(self.parts, self.settings) + n_prior
        # A tree has a bias for every class, and counts the weights of every feature.
        n_least = 4 * n_classes + X.shape[1] if self.settings.code == "tree" else 0
        if not self.limits.allow(n_fixed + n_least):
            needs = f"labels and everything else besides the weights take {in_units(n_fixed + n_least)}. Allow more."
            raise NothingFitsError(f"There is no model within {self.limits}: {needs}", ())
        vectors = vector_bytes(X, self.samples.class_index, n_classes)
        default, limit = self.settings.default_recipe(X), memory_limit(self.settings.learner)
        self.task = Task(self.settings.open, n_classes, X.shape[1], n_fixed, vectors, default.width, limit, n_least)
        self.shared = SharedWork(self.watch.checkpoints)
        self.records = Records(self.watch.checkpoints, self._identity())

    def best(self) -> Fit:
        """Fit one recipe after the other and keep the most accurate model within the limits.

        Once one is within the limits, at most five recipes are tried. A recipe whose result is known from before an
        interruption is fitted again only if it is the best one.
        """
        started = perf_counter()
        trials: list[Trial] = []
        best, winner = None, None
        recipes = recipes_within(self.task, self.limits)
        recipe = next(recipes, None)
        while recipe is not None:
            trial, fit = self.records.found(len(trials), recipe), None
            try:
                if trial is None:
                    trial, fit = self._tried(recipe, trials)
            except RepeatedOrderError:
                if self.settings.n_members != "auto":
                    raise
                recipe = next(recipes, None)
                continue
            trials.append(trial)
            if trial.fits and (best is None or (-trial.accuracy, trial.n_bytes) < (-best.accuracy, best.n_bytes)):
                best, winner = trial, fit
            longest = max(trial.seconds for trial in trials)
            is_late = perf_counter() - started + longest > (self.limits.seconds or np.inf)
            if best is not None and (len(trials) >= MAX_TRIALS or is_late):
                break
            try:
                recipe = recipes.send(trial)
            except StopIteration:
                break
        if best is None:
            smallest, fastest = (min(getattr(trial, name) for trial in trials) for name in ("n_bytes", "microseconds"))
            raise NothingFitsError(
                f"There is no model within {self.limits}: the smallest model tried takes "
                f"{in_units(smallest)}, the fastest {fastest:.2g} us. Allow more.",
                tuple(trials),
            )
        if winner is None:
            winner = self._fit(best.recipe, trials[: trials.index(best)])
        temperature = temperature_of(winner.model, self.held_out)
        return replace(winner, temperature=temperature, trials=tuple(trials), budget=str(self.limits))

    def _tried(self, recipe: Recipe, before: list[Trial]) -> tuple[Trial, Fit]:
        begin, number = perf_counter(), len(before)
        fit = self._fit(recipe, before)
        seconds = perf_counter() - begin
        tell(f"trial {number + 1}: measuring accuracy, size and speed")
        X, class_index = self.held_out.X, self.held_out.class_index
        n_bytes = self.reserved_bytes + bytes_of_fit(fit, self.parts, 2 * MAX_TRIALS)
        accuracy = float((fit.model.predict(X) == class_index).mean())
        microseconds = microseconds_of(fit.model, X)
        is_within = self.limits.allow(n_bytes, microseconds)
        trial = Trial(recipe, accuracy, n_bytes, round(microseconds, 2), round(seconds, 1), is_within)
        self.records.note(number, trial)
        return trial, fit

    def _fit(self, recipe: Recipe, before: list[Trial]) -> Fit:
        settings = self.settings
        is_open = isinstance(settings.assignment, str) and settings.assignment == "auto" and not self.task.has_tree
        if is_open and recipe.width != self.task.default_width and any(trial.fits for trial in before):
            # A search for a better order would take longer than several trials.
            settings = replace(settings, assignment="preserving")
        plan = settings.plan(recipe, has_validation=True)
        room = self.task.room(recipe.width, recipe.n_members, recipe.rerank, self.limits)
        with within(f"trial {len(before) + 1} ({recipe})"):
            return fit_model(
                plan,
                self.samples,
                held_out=self.held_out,
                watch=self.watch,
                shared=self.shared,
                max_bytes=room,
                with_temperature=False,  # only the best one needs it
            )

    def _identity(self) -> dict[str, Any]:
        """What identifies this search, as JSON."""
        plain = str | bool | int | float | None
        values = {setting.name: getattr(self.settings, setting.name) for setting in fields(self.settings)}
        return {
            **{name: value for name, value in values.items() if isinstance(value, plain)},
            "seed": list(self.settings.seed),
            "learner": repr(self.settings.learner),
            "reserved_bytes": self.reserved_bytes,
            "samples_checksum": self.samples.checksum,
            "validation_checksum": self.held_out.checksum,
        }


def fit_within_budget(
    settings: TrellisSettings,
    samples: Samples,
    held_out: Samples | None,
    *,
    watch: Watch,
    parts: ClassifierParts,
    reserved_bytes: int = 0,
) -> Fit:
    """The most accurate model that a search finds within the limits; without validation samples, some are held out."""
    limits, with_code = settings.limits, settings.of_code(samples.X)
    assert limits is not None
    if isinstance(samples.X, StoredRows):
        raise ValueError("A budget needs samples in memory. Find the recipe with a part of the samples.")
    if held_out is None:
        kept, held = holdout(samples.class_index, np.random.default_rng(settings.seed).spawn(1)[0])
        samples, held_out = samples.at(kept), samples.at(held if len(held) else kept)
    common = limits, samples, held_out
    try:
        return Search(with_code, *common, watch, parts, reserved_bytes).best()
    except NothingFitsError as failure:
        if settings.code != "auto" or with_code.code != "tree":
            raise
        tried = failure.trials
    # A narrow trellis can be smaller and faster than any tree.
    own = None if watch.checkpoints is None else watch.checkpoints.part("trellis")
    settings = replace(settings, code="trellis")
    found = Search(settings, *common, replace(watch, checkpoints=own), parts, reserved_bytes).best()
    return replace(found, trials=(*tried, *found.trials))
