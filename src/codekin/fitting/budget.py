"""The search for the most accurate model within a budget of bytes and microseconds.

A wide, heavily pruned code is smaller and better than a narrow one with all its weights. So the search starts with the
code of the default, pruned as far as necessary, with a re-ranking if the budget allows it and without, and goes on with
a wider one, two codes and narrower ones while the search takes at most three times as long as one fit. Trials of one
width share what was learned.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from time import perf_counter
from typing import Any, cast

import numpy as np

from codekin._system.arrays import in_single_precision
from codekin._system.memory import available_memory, in_units
from codekin._system.rows import StoredRows
from codekin.code.codebook import GraphCodebook
from codekin.code.tree import label_tree
from codekin.codebooks import trellis_codebook
from codekin.fitting.codes import SharedWork
from codekin.fitting.defaults import GENTLE_PRUNING, FitSettings, candidate_source, has_vectors, with_learner
from codekin.fitting.fit import FitResult, fit_model
from codekin.fitting.footprint import (
    BYTES_PER_ENTRY,
    BYTES_PER_KEPT_WEIGHT,
    BYTES_PER_STORED_ENTRY,
    MAX_TRIALS,
    SizeAhead,
    bytes_on_disk,
)
from codekin.fitting.orders import RepeatedOrderError
from codekin.fitting.plan import extreme_plan
from codekin.fitting.temperature import fit_temperature
from codekin.fitting.trial import TO_FIT, Recipe, Trial, hold_out_samples, microseconds_of
from codekin.learners.training import Callbacks
from codekin.learners.tree_samples import BYTES_PER_WEIGHT
from codekin.progress import report, stage
from codekin.samples import Samples
from codekin.states import SavedClassifier

CODES = {"trellis": trellis_codebook, "tree": label_tree}
MOST_WORK = 2.7
"""The most work of a search compared with one fit, so that it takes at most three times as long."""
WORK_OF_VECTORS = 500
"""Learning class vectors, and listing the classes to separate, takes as long as this many bits."""
WORK_OF_MEASURING = 300
"""Pruning, fitting the temperature and measuring, in every trial."""

Recipes = Generator[Recipe, Trial, None]
"""Yields recipes to try, and is sent the result of each; None if further codes would repeat the first."""


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


@dataclass(frozen=True)
class Task:
    """What the sizes of recipes depend on.

    - ``settings``: of a :class:`Recipe`, "auto" if open.
    - ``size``: of what is saved besides weights.
    - ``default_width``: without a budget.
    - ``max_memory``: how many bytes learning may take, if that is limited.
    """

    settings: dict[str, Any]
    n_classes: int
    n_features: int
    size: SizeAhead
    default_width: int = 10
    max_memory: int | None = None

    def choices(self, name: str, options: tuple[Any, ...]) -> tuple[Any, ...]:
        """The options of an open setting, or its fixed value."""
        return options if self.settings[name] == "auto" else (self.settings[name],)

    def codebook(self, width: int) -> GraphCodebook:
        return cast("GraphCodebook", CODES[self.settings["code"]](self.n_classes, width))

    def memory(self, width: int, n_codes: int = 1) -> int:
        """The memory of the last of several codes in training and of the finished ones, as far as it is known."""
        n_weights = self.n_features * (self.codebook(width).weights_per_feature or 0)
        return n_weights * (BYTES_PER_WEIGHT + BYTES_PER_KEPT_WEIGHT["float32"] * (n_codes - 1))

    def recipe(self, width: int, n_codes: int, rerank: Any, limits: Limits) -> Recipe:
        """A recipe with all weights if they are known to fit, and pruned otherwise."""
        (precision,) = self.choices("precision", ("int8",))
        per_feature = self.codebook(width).weights_per_feature
        left = self.bytes_left(width, n_codes, rerank, limits)
        fits = per_feature is not None and self.n_features * per_feature * BYTES_PER_KEPT_WEIGHT[precision] <= left
        (prune,) = self.choices("prune", (None if fits else TO_FIT,))
        code = self.settings["code"]
        (candidates,) = self.choices("candidates", (candidate_source(code, rerank, width, self.n_classes),))
        return Recipe(width, n_codes, rerank, precision, prune, code, candidates)

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
            n_codes[recipe.width] = max(n_codes.get(recipe.width, 0), recipe.n_codes)
        of_codes = sum(n * self.codebook(width).n_bits for width, n in n_codes.items())
        n_ranked = sum(recipe.rerank is not None for recipe in recipes)
        return of_codes + WORK_OF_VECTORS * n_ranked + WORK_OF_MEASURING * len(recipes)

    def is_possible(self, width: int, n_codes: int, rerank: Any, limits: Limits) -> bool:
        """Whether there are bytes left for weights."""
        least = self.codebook(width).least_bytes(self.n_features)
        return self.bytes_left(width, n_codes, rerank, limits) > least

    def bytes_left(self, width: int, n_codes: int, rerank: Any, limits: Limits) -> float:
        """How many bytes each code may take, besides everything else that is saved."""
        if limits.n_bytes is None:
            return np.inf
        besides = self.size.besides_weights(self.codebook(width), n_codes, has_vectors=rerank is not None)
        return (limits.n_bytes - besides) / n_codes


def recipes_within(task: Task, limits: Limits) -> Recipes:
    """Recipes to try for a budget, in the order of their promise, each chosen by the results of those before it.

    The first is the default, pruned as far as necessary; the second the same code without a re-ranking, which shares
    what is learned and leaves all bytes to the code. All of them together are at most three times the work of the
    first.
    """
    possible = (task.default_width, *task.codebook(task.default_width).widths_to_try)
    widths = tuple(dict.fromkeys(min(width, task.n_classes) for width in task.choices("width", possible)))
    memory = min((limit for limit in (task.max_memory, available_memory()) if limit is not None), default=np.inf)
    teachable = [width for width in widths if task.memory(width) <= memory]
    first, *others = teachable or [min(widths)]
    n_codes, *more_codes = task.choices("n_codes", (1, 2))
    n_vectors = task.size.n_vectors
    learns_vectors = n_vectors is not None and n_vectors * BYTES_PER_ENTRY / BYTES_PER_STORED_ENTRY <= memory
    *ranked, plain = task.choices("rerank", ("learned", None) if learns_vectors else (None,))
    tried: list[Trial] = []
    for kind in [*(kind for kind in ranked if task.is_possible(first, n_codes, kind, limits)), plain]:
        tried.append((yield task.recipe(first, n_codes, kind, limits)))
        trial = tried[-1]
        is_open = task.settings["candidates"] == "auto" and trial.recipe.candidates != "code"
        if is_open and not trial.fits and limits.allow(trial.n_bytes):
            # The code may list its candidates faster than an index.
            tried.append((yield replace(trial.recipe, candidates="code")))
    best = max(tried, key=lambda trial: (trial.fits, trial.accuracy))
    if not best.fits and limits.allow(tried[-1].n_bytes):
        # Too slow: more bits or codes would be slower still.
        others, more_codes = [width for width in others if width < first], []
    following = [*((width, n_codes) for width in others if width > first), *((first, n) for n in more_codes)]
    for width, n in [*following, *((width, n_codes) for width in others if width < first)]:
        kind = best.recipe.rerank if best.fits else plain
        if task.memory(width, n) > memory:
            continue  # the codes that are learned already are kept meanwhile
        recipe = task.recipe(width, n, kind, limits)
        if task.is_possible(width, n, kind, limits) and task.is_worthwhile(recipe, tried):
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

    Models learn from ``samples`` and are compared on ``held_out``. ``parts`` is what is saved with a model;
    ``reserved_bytes`` are for other files in its folder.
    """

    settings: FitSettings
    limits: Limits
    samples: Samples
    held_out: Samples
    callbacks: Callbacks
    parts: SavedClassifier
    reserved_bytes: int

    def __post_init__(self) -> None:
        """Measure what does not depend on the recipe."""
        settings, n_features = self.settings, int(self.samples.X.shape[1])
        size = SizeAhead.of(self.samples, self.parts, settings.estimator, settings.n_reserved)
        size = size._replace(n_fixed=size.n_fixed + self.reserved_bytes)
        given = {setting.name: settings.settled(setting.name) for setting in fields(Recipe)}
        width, max_memory = min(settings.width, settings.n_classes), getattr(settings.estimator, "max_memory", None)
        self.task = Task(given, settings.n_classes, n_features, size, width, max_memory)
        n_least = size.n_fixed + self.task.codebook(width).least_bytes(n_features)
        if not self.limits.allow(n_least):
            needs = f"labels and everything else besides the weights take {in_units(n_least)}. Allow more."
            raise NothingFitsError(f"There is no model within {self.limits}: {needs}", ())
        self.shared = SharedWork(self.callbacks.checkpoints)

    def best(self) -> FitResult:
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
            trial, fit = self._recorded(len(trials), recipe), None
            try:
                if trial is None:
                    trial, fit = self._tried(recipe, trials)
            except RepeatedOrderError:
                if self.settings.given["n_codes"] != "auto":
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
        usual = getattr(winner.plan.learner, "usual_temperature", None)
        temperature = fit_temperature(winner.model, self.held_out, usual)
        model = replace(winner.model, temperature=temperature.value, marginals=temperature.marginals)
        return replace(winner, model=model, temperature=temperature, trials=tuple(trials), budget=str(self.limits))

    def _tried(self, recipe: Recipe, before: list[Trial]) -> tuple[Trial, FitResult]:
        begin, number = perf_counter(), len(before)
        fit = self._fit(recipe, before)
        seconds = perf_counter() - begin
        report(f"trial {number + 1}: measuring accuracy, size and speed")
        X = self.held_out.X
        n_bytes = self._bytes_of(fit)
        accuracy = self.held_out._share_of_hits(fit.model.predict(X))
        microseconds = microseconds_of(fit.model.predict, X)
        is_within = self.limits.allow(n_bytes, microseconds)
        trial = Trial(recipe, accuracy, n_bytes, round(microseconds, 2), round(seconds, 1), is_within)
        if self.callbacks.checkpoints is not None:
            own = self.callbacks.checkpoints.part(f"trial-{number}")
            own.save({**self._identity, "recipe": asdict(recipe)}, asdict(trial), {})
        return trial, fit

    def _recorded(self, number: int, recipe: Recipe) -> Trial | None:
        """The result of a recipe that was tried before an interruption, if there was one."""
        if self.callbacks.checkpoints is None:
            return None
        own = self.callbacks.checkpoints.part(f"trial-{number}")
        found = own.found({**self._identity, "recipe": asdict(recipe)})
        return None if found is None else Trial.from_dict(found.progress)

    def _fit(self, recipe: Recipe, before: list[Trial]) -> FitResult:
        settings = self.settings
        order = settings.given["assignment"]
        is_open = isinstance(order, str) and order == "auto"
        if is_open and recipe.width != self.task.default_width and any(trial.fits for trial in before):
            # A search for a better order would take longer than several trials.
            settings = settings.with_given(assignment="preserving")
        given, most = asdict(recipe), None
        if recipe.prune == TO_FIT:
            most = self.task.bytes_left(recipe.width, recipe.n_codes, recipe.rerank, self.limits)
            given["prune"] = GENTLE_PRUNING
        plan, alternatives = extreme_plan(settings.with_given(**given))
        with stage(f"trial {len(before) + 1} ({recipe})"):
            fit = fit_model(
                replace(plan, max_bytes=most),
                self.samples,
                held_out=self.held_out,
                alternatives=alternatives,
                callbacks=self.callbacks,
                shared=self.shared,
                with_temperature=False,  # only the best one needs it
            )
        if self.limits.allow(self._bytes_of(fit)):
            return fit
        # Predictions do without the class tree, which can be larger than everything else.
        return replace(fit, class_distances=None)

    def _bytes_of(self, fit: FitResult) -> int:
        distances = fit.class_distances
        tree = None if distances is None else distances.tree
        parts = replace(self.parts, learner=fit.plan.learner, class_tree=tree, plan=fit.plan.as_dict())
        return self.reserved_bytes + bytes_on_disk(fit.model, fit.loss, parts)

    @cached_property
    def _identity(self) -> dict[str, Any]:
        """What identifies this search, as JSON."""
        plain = str | bool | int | float | None
        given = {name: value for name, value in self.settings.given.items() if isinstance(value, plain)}
        given.pop("n_jobs", None)  # may be another one afterwards: nothing depends on it
        return {
            **given,
            "n_classes": self.settings.n_classes,
            "seed": list(self.settings.seed),
            "learner": repr(self.settings.estimator),
            "reserved_bytes": self.reserved_bytes,
            "samples_checksum": self.samples.checksum,
            "validation_checksum": self.held_out.checksum,
        }


def fit_within_budget(
    settings: FitSettings,
    samples: Samples,
    held_out: Samples | None,
    *,
    callbacks: Callbacks,
    parts: SavedClassifier,
    reserved_bytes: int = 0,
) -> FitResult:
    """The most accurate model that a search finds within the limits; without validation samples, some are held out.

    If vectors, which nobody asked for, are too large or too slow, the search goes on with other codes.
    """
    if isinstance(samples.X, StoredRows):
        raise ValueError("A budget needs samples in memory. Find the recipe with a part of the samples.")
    usual, settings = settings, with_learner(settings)
    limits = Limits(settings.max_model_bytes, settings.max_microseconds, settings.time_limit)

    def found(settings: FitSettings, samples: Samples) -> FitResult:
        own = held_out
        if own is None:
            trial = hold_out_samples(samples, np.random.default_rng(settings.seed).spawn(1)[0])
            samples, own = trial.samples, trial.held_out
        settings, common = replace(settings, held_out=own), (limits, samples, own)
        try:
            return Search(settings.with_given(code=settings.code), *common, callbacks, parts, reserved_bytes).best()
        except NothingFitsError as failure:
            if settings.given["code"] != "auto" or settings.code != "tree":
                raise
            tried = failure.trials
        # A narrow trellis can be smaller and faster than any tree.
        checkpoints = None if callbacks.checkpoints is None else callbacks.checkpoints.part("trellis")
        of_trellis = settings.with_given(code="trellis"), *common, replace(callbacks, checkpoints=checkpoints)
        best = Search(*of_trellis, parts, reserved_bytes).best()
        return replace(best, trials=(*tried, *best.trials))

    if has_vectors(settings.given["estimator"]) and not has_vectors(usual.given["estimator"]):
        try:
            return found(settings, samples)
        except NothingFitsError:
            settings = usual
    return found(settings, replace(samples, X=in_single_precision(samples.X)))
