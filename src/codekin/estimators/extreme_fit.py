"""What an ExtremeClassifier fits and answers, for programs that need nothing else of scikit-learn.

Its import takes a second and 130 MB, of which a training or a prediction uses nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin._system.arrays import are_plain, check_single_precision, in_single_precision
from codekin._system.parallel import with_workers
from codekin.code import FloatArray
from codekin.estimators.base import CodedClassifier
from codekin.estimators.inputs import as_class_tree, training_samples, validated_numbers
from codekin.fitting.budget import fit_within_budget
from codekin.fitting.defaults import FitSettings, has_vectors, with_learner
from codekin.fitting.fit import FitResult, fit_model
from codekin.fitting.orders import RepeatedOrderError
from codekin.fitting.plan import extreme_plan
from codekin.fitting.setting import check_settings, is_auto
from codekin.fitting.settings import EXTREME_SETTINGS
from codekin.fitting.trial import Recipe, Trial
from codekin.learners import LEARNERS, Checkpoints, EpochReport, Learner, learner_name, learner_of
from codekin.learners.training import Callbacks
from codekin.model import Model
from codekin.progress import Progress, subscribe
from codekin.samples import EncodedLabels, EncodedLabelSets, Samples
from codekin.states import SavedClassifier


class ExtremeFit(CodedClassifier):
    """All of an :class:`ExtremeClassifier` but what makes it an estimator of scikit-learn; settings as there."""

    _kind = "ExtremeClassifier"
    _table = EXTREME_SETTINGS
    learner_: Learner
    recipe_: Recipe
    trials_: tuple[Trial, ...]
    candidates: Any
    code: Any
    estimator: Any
    max_model_bytes: int | None
    max_microseconds: float | None
    n_codes: Any
    n_jobs: int | None
    rerank: Any
    taxonomy: Any
    width: Any

    def __init__(self, **settings: Any) -> None:
        self.__dict__.update({name: setting.default for name, setting in self._table.items()} | settings)

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        validation: tuple[Any, ArrayLike] | None = None,
        on_epoch: Callable[[EpochReport], None] | None = None,
        progress: Callable[[Progress], None] | None = None,
        checkpoints: Checkpoints | None = None,
        reserved_bytes: int = 0,
        rerank_only: NDArray[np.bool_] | None = None,
    ) -> Self:
        """Choose the paths of the classes and learn the bits.

        Parameters
        ----------
        X : {array-like, sparse matrix, StoredRows} of shape (n_samples, n_features)
            Samples on disk, from :func:`codekin.data.cached_data`, are processed block by block.
        y : array-like or EncodedLabels of shape (n_samples,), or several labels per sample
            Labels of any type. If samples may have several, a list of lists or sets of labels, or a table of zeros and
            ones, sparse or dense, with at least two columns.
        sample_weight : array-like of shape (n_samples,), default=None
            None of them negative. A label whose samples all have weight zero is left out, as if it were not in ``y``.
        validation : tuple (X, y), default=None
            Samples on which the best pass, the re-ranking and the temperature are chosen. Labels that are not in ``y``
            count as mistakes, with a warning; it is an error if none is in it. Without validation samples, a re-ranking
            is chosen by a trial, on trees with some of the classes, and everything is then trained on all samples.
        on_epoch : callable, default=None
            Called with an ``EpochReport`` after each pass over the samples. Several trellises learn at the same time;
            then it is called from their threads, for one pass at a time.
        progress : callable, default=None
            Called with a :class:`codekin.progress.Progress` at every stage and repeatedly within it.
        checkpoints : Checkpoints, default=None
            Where to save what is needed to resume after an interruption: see :class:`codekin.learners.Checkpoints`.
            With the same samples, parameters and ``random_state``, a resumed fit gives the same result.
        reserved_bytes : int, default=0
            How much of ``max_model_bytes`` is for what is saved with the model, such as the vocabulary of texts.
        rerank_only : array of shape (n_features,), bool, default=None
            Features of sparse samples that only the re-ranking learns from, if there is one: predictions then take less
            time.

        Returns
        -------
        ExtremeFit
            Itself.
        """
        self._validate_params()
        samples = training_samples(self, X, y, sample_weight)
        has_sets = samples.labels is not None
        held_out = self._held_out(validation, has_sets=has_sets)
        samples = replace(samples, rerank_only=rerank_only)
        settings, callbacks = self._settings(samples.X, held_out), Callbacks(on_epoch, checkpoints)
        settings = replace(settings, has_sets=has_sets)
        if rerank_only is not None and is_auto(settings.settled("rerank")):
            settings = settings.with_given(rerank="learned")
        with with_workers(self.n_jobs), subscribe(progress):
            if self.max_model_bytes is not None or self.max_microseconds is not None:
                parts = self._parts_around({})
                fit = fit_within_budget(
                    settings, samples, held_out, callbacks=callbacks, parts=parts, reserved_bytes=reserved_bytes
                )
            else:
                plan, alternatives = extreme_plan(with_learner(settings))
                if not getattr(plan.learner, "has_vectors", False):
                    samples = replace(samples, X=in_single_precision(samples.X))
                options: Any = {"held_out": held_out, "alternatives": alternatives, "callbacks": callbacks}
                try:
                    fit = fit_model(plan, samples, **options)
                except RepeatedOrderError:
                    if self.n_codes != "auto":
                        raise
                    fit = fit_model(replace(plan, n_codes=1), samples, **options)
        return self._take(fit)

    def _validate_params(self) -> None:
        for name in ("width", "estimator"):
            given = getattr(self, name)
            if hasattr(given, "fit") and learner_of(given) is None:
                raise ValueError(
                    f"{self._kind} learns its bits with {sorted(LEARNERS)} or another Learner of codekin. "
                    f"Got {name}={given!r}; use ECOCClassifier({type(given).__name__}(...)) instead."
                )

    def _held_out(self, validation: Any, *, has_sets: bool) -> Samples | None:
        """Checked samples from the ``validation`` parameter of :meth:`fit`, perhaps with several labels."""
        if validation is None:
            return None
        if not isinstance(validation, tuple | list) or len(validation) != 2:
            got = f"{len(validation)} values" if isinstance(validation, tuple | list) else type(validation).__name__
            raise ValueError(f"The 'validation' parameter must be two values, samples and labels: (X, y). Got {got}.")
        if has_sets:
            sets = EncodedLabelSets.of(validation[1], is_several=True)
            X = self._validated_samples(validation[0])
            if X.shape[0] != len(sets):
                raise ValueError(f"There are {X.shape[0]} validation samples. Got labels of {len(sets)}.")
            return Samples.of_sets(X, sets.of_classes(self.classes_))
        labels = validation[1] if isinstance(validation[1], EncodedLabels) else np.asarray(validation[1])
        X, class_index = self._validated_samples(validation[0]), self._class_index(labels)
        if X.shape[0] != len(class_index):
            raise ValueError(f"There are {X.shape[0]} validation samples. Got {len(class_index)} labels.")
        unknown = np.flatnonzero(class_index < 0)
        shown = repr(np.asarray(labels)[unknown[:1]].tolist()[0]) if len(unknown) else ""
        if len(unknown) == len(class_index) > 0:  # all choices would be equally bad
            raise ValueError(
                f"None of the {len(class_index):,} validation samples has a label of the training samples. "
                f"Got {shown}, for example."
            )
        if len(unknown):
            warnings.warn(
                f"{len(unknown):,} of the {len(class_index):,} validation samples have labels that no training sample "
                f"has, {shown} for example; they count as errors.",
                stacklevel=3,
            )
        return Samples(X, class_index)

    def _settings(self, X: Any, held_out: Samples | None = None) -> FitSettings:
        given, n_classes, seed = self._choices()
        check_settings(EXTREME_SETTINGS, {**given, "validation": held_out})
        tree = None if self.taxonomy is None else as_class_tree(self.taxonomy, self.classes_)
        return FitSettings(EXTREME_SETTINGS, given, n_classes, seed, X, tree, held_out)

    def _take(self, fit: FitResult) -> Self:
        """Set the fitted attributes."""
        self._take_parts(fit)
        self.recipe_ = Recipe.of(fit.plan)
        self.learner_, self.trials_ = fit.plan.learner, fit.trials
        self._report_facts["learner"] = learner_name(fit.plan.learner)
        return self

    @property
    def temperature_(self) -> float:
        """What losses are divided by to get probabilities."""
        self._check_is_fitted()
        return self.model_.temperature

    def log_proba(self, X: Any, labels: ArrayLike) -> FloatArray:
        """The logarithm of the probability of one label per sample, normalised exactly over all classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        labels : array-like of shape (n_samples,)
            The labels whose probabilities to return.

        Returns
        -------
        ndarray of shape (n_samples,)
            Minus infinity for labels that were not seen in ``fit``.
        """
        self._check_is_fitted()
        return self.model_.log_proba(self._validated_samples(X), self._class_index(labels))

    def _validated_samples(self, X: Any) -> Any:
        if are_plain(X, self.n_features_in_) and not hasattr(self, "feature_names_in_"):
            return X
        X, _ = validated_numbers(self, X, reset=False)
        check_single_precision(X, is_to_learn_from=False)
        return X if has_vectors(getattr(self, "learner_", None)) else in_single_precision(X)

    def _with_learner(self, parts: SavedClassifier) -> SavedClassifier:
        is_given = self.learner_ is self.estimator
        return replace(parts, learner=self.learner_, is_learner_given=is_given, temperature=self.model_.temperature)

    @classmethod
    def _from_stored(cls, model: Model, parts: SavedClassifier) -> Self:
        learner = {"estimator": parts.learner} if parts.is_learner_given else {}
        classifier = cls(**{"assignment": model.assignment, **parts.params, **learner})
        if parts.learner is not None:
            classifier.learner_ = parts.learner
        return classifier._restore(model, parts)
