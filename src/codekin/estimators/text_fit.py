"""What a TextClassifier fits and answers, for programs that need nothing else of scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin._system.messages import counted
from codekin.code import IntArray
from codekin.data.columns import samples_of
from codekin.data.datasets import USES, TableColumns, TextData
from codekin.data.recipes import AUTO, FIND_WORDS, VERSION, NoFeaturesError
from codekin.data.row_features import Features, FittedRows, is_weight
from codekin.data.training_samples import held_back, vocabulary_within
from codekin.data.vectorizers import TextVectorizer
from codekin.estimators.base import random_state_of
from codekin.estimators.extreme_fit import ExtremeFit
from codekin.estimators.text_predictions import TextPredictions, encoded_labels
from codekin.fitting.defaults import may_be_flat, with_less_memory
from codekin.fitting.setting import is_auto
from codekin.fitting.settings import EXTREME_SETTINGS
from codekin.fitting.trial import HELD_OUT_OF_SOME_CLASSES, SEED, neighbouring_classes
from codekin.learners import Checkpoints, EpochReport
from codekin.measures.label_sets import LabelEvaluation
from codekin.measures.predictions import N_BEST, Baselines, Evaluation, evaluated
from codekin.model.probabilities import evaluated_sets
from codekin.progress import Progress, report, reported, subscribe
from codekin.samples import EncodedLabelSets, Labels, Samples
from codekin.states import input_bytes

MOST_MEASURED = 1_000
"""The bits and the time of a prediction are measured on at most this many training samples."""
TRIED = ("words", "words+prefixes", "words+prefixes+trigrams", "words+trigrams")
"""The recipes in the order of the time that a prediction takes."""
WITHIN_BUDGETS = TRIED[:2]
"""What is tried where bytes or time are limited."""
RERANKED = TRIED[2]
"""Trigrams for the re-ranking alone, which few classes do without."""
WITHOUT_TRIAL, IN_BATCHES = "words+trigrams", "words+prefixes"
"""What few samples get, which a trial could not choose for, and what a first batch of several gets."""
FEWEST, SOME_SAMPLES = 2_000, 10_000
"""Fewer samples get no trial; the classes of a trial have about 10,000 samples."""
MANY_CLASSES = 5_000
"""With more classes trigrams for everything are not tried: on 6,287 and 12,582 classes they are no better than for the
re-ranking alone, in 1.5 to 2 times the time."""
MOST_UNKNOWN, SOME_TEXTS = 0.2, 2_000
"""Characters alone are tried if a larger share of the words of held-out texts is new."""

FeatureMaker = Callable[[TextVectorizer, Sequence[Any]], Features]


class TextFit(TextPredictions):
    """All of a :class:`TextClassifier` but what makes it an estimator of scikit-learn; settings as there."""

    _of_features: ClassVar[Any] = ExtremeFit
    """The classifier of the features."""
    features: Any
    text: Any
    numbers: Any
    categories: Any
    embeddings: Any
    estimator: Any
    max_model_bytes: int | None
    rerank: Any
    random_state: Any

    def __init__(self, **settings: Any) -> None:
        given = {"features": AUTO} | dict.fromkeys(USES) | settings
        self.__dict__.update({name: setting.default for name, setting in EXTREME_SETTINGS.items()} | given)

    def fit(
        self,
        texts: Any,
        labels: ArrayLike,
        *,
        validation: tuple[Any, ArrayLike] | float | None = None,
        sample_weight: ArrayLike | None = None,
        on_epoch: Callable[[EpochReport], None] | None = None,
        progress: Callable[[Progress], None] | None = None,
        checkpoints: Checkpoints | None = None,
    ) -> Self:
        """Learn to classify texts.

        Parameters
        ----------
        texts : sequence of str, Series, data frame, list of dict or TextData
            Texts, or rows with the columns that were named. None and NaN count as empty texts. What
            :func:`codekin.data.read_data` read from a table has its own columns.
        labels : array-like of shape (n_samples,)
            Their labels: texts or numbers.
        validation : tuple (texts, labels) or float, default=None
            Texts on which all that is open is chosen, and which :meth:`report` is measured on. A number such as 0.1 is
            a share of the samples to hold back for that, at random; every class keeps at least one sample to learn
            from. By default the model learns from all samples, and nothing is measured.
        sample_weight : array-like of shape (n_samples,), default=None
            None of them negative.
        on_epoch, progress, checkpoints
            As in :meth:`ExtremeClassifier.fit`.

        Returns
        -------
        TextClassifier
            Itself.
        """
        self._validate_params()
        self._columns = self._chosen_columns(texts, labels)
        given, y, weights, held_out = self._split(texts, labels, validation, sample_weight)
        with subscribe(progress):
            X = self._fit_features(given, y, held_out)
            held_out_X = None if held_out is None else self.vectorizer_.transform(held_out[0])
            report(f"training on {len(given):,} samples x {X.shape[1]:,} features, {len(y.classes):,} classes")
            self.classifier_ = self._new_classifier(X, held_out_X).fit(
                X,
                y,
                weights,
                validation=None if held_out is None else (held_out_X, held_out[1]),
                on_epoch=on_epoch,
                checkpoints=checkpoints,
                reserved_bytes=0 if self.max_model_bytes is None else input_bytes(self.model_input_),
                rerank_only=self.vectorizer_.rerank_only,
            )
            self._measure(given, X, y)
            if held_out is not None:
                report(f"predicting {counted(len(held_out[0]), 'validation sample')}")
                self._evaluation = self._evaluated(held_out_X, held_out[1], held_out[0])
        return self

    def _validate_params(self) -> None:
        """Settings are checked where they come from."""

    def _labelled(self, texts: Any, labels: Any, what: str = "text") -> tuple[list[Any], Labels]:
        """Samples and their labels. Raises ValueError unless there are as many of both."""
        samples, y = samples_of(texts, self._columns, what), encoded_labels(labels)
        if len(samples) != len(y):
            raise ValueError(f"There are {counted(len(samples), what)}. Got {counted(len(y), 'label')}.")
        return samples, y

    def _split(
        self, texts: Any, labels: ArrayLike, validation: Any, sample_weight: ArrayLike | None
    ) -> tuple[list[Any], Labels, Any, tuple[list[Any], Labels] | None]:
        """Texts, labels and weights to learn from, and held-out texts with labels, if there are any."""
        given, y = self._labelled(texts, labels)
        if validation is None or isinstance(validation, tuple | list):
            if validation is None:
                return given, y, sample_weight, None
            if len(validation) != 2:
                raise ValueError(
                    "The 'validation' parameter must be two values, (texts, labels), or a share of the samples. "
                    f"Got {len(validation)} values."
                )
            return given, y, sample_weight, self._labelled(validation[0], validation[1], "validation text")
        kept, held = held_back(y.class_index, validation, random_state_of(self.random_state))
        weights = None if sample_weight is None else np.asarray(sample_weight)[kept]
        (own, of_own), held_out = (([given[i] for i in rows.tolist()], y.at(rows)) for rows in (kept, held))
        return own, of_own, weights, held_out

    def _chosen_columns(self, samples: Any, labels: Any) -> TableColumns | None:
        """The columns of a table that samples are made of; None if they are texts."""
        if self.text is None and not self.embeddings:
            if self.numbers or self.categories:
                raise ValueError("The 'numbers' and 'categories' of TextClassifier need 'text', too. Got None.")
            return samples.table if isinstance(samples, TextData) else None
        for name, weight in self._column_weights.items():
            if not is_weight(weight):
                raise ValueError(f"The weight of column {name!r} must be from 1e-6 to 1e6. Got {weight!r} instead.")
        uses: dict[str, Any] = {}
        for use in USES:
            given = getattr(self, use) or ()
            uses[use] = (given,) if isinstance(given, str) else tuple(given)
            is_missing = use == "text" and self.text is not None and not uses[use]
            if not all(isinstance(name, str) for name in uses[use]) or is_missing:
                raise ValueError(f"The '{use}' of TextClassifier must be names of columns. Got {given!r} instead.")
        if isinstance(samples, TextData) and samples.table is not None:
            return replace(samples.table, **uses)
        label = getattr(labels, "name", None)
        columns = TableColumns(label=label if isinstance(label, str) else None, **uses)
        if len(set(columns.names)) < len(columns.names):
            raise ValueError(f"Every column has one use. Got {', '.join(columns.names)}.")
        return columns

    @property
    def _column_weights(self) -> dict[str, float]:
        """The weights of columns that were given."""
        given = [own for own in (self.text, self.embeddings) if isinstance(own, Mapping)]
        return {name: weight for own in given for name, weight in own.items()}

    def _fit_features(
        self,
        samples: list[Any],
        y: Labels,
        held_out: tuple[list[Any], Labels] | None = None,
        *,
        in_batches: bool = False,
    ) -> Any:
        """Choose features and learn the vocabulary, as much as a budget allows; returns the features of the samples."""
        chosen = TextVectorizer(self.features) if isinstance(self.features, str) else self.features
        weights, settings = self._column_weights, {name: getattr(self, name) for name in EXTREME_SETTINGS}
        has_reranking = not in_batches and self.rerank is not None
        if self._columns is not None and self._columns.embeddings and has_reranking:
            has_reranking = not may_be_flat(settings, len(y.classes))

        def make(vectorizer: TextVectorizer, own: Sequence[Any]) -> Any:
            return _fitted_features(vectorizer, self._columns, weights, own, do_vectors_rerank=has_reranking)

        if chosen.features == AUTO and (in_batches or (self._columns is not None and not self._columns.text)):
            chosen = replace(chosen, features=IN_BATCHES)  # also where there are no texts to try anything with
        trial: Any = {"samples": samples, "held_out": held_out, "make": make}
        if self._columns is not None and self._columns.embeddings and chosen.features == AUTO:
            trial = self._without_vectors(samples, held_out)  # features of texts are those that texts alone would get
        chosen, tried = chosen_features(chosen, y=y, settings=settings, **trial)
        fitted = make(chosen, samples)
        if tried:
            fitted = fitted.with_trial(tried)
        if self.max_model_bytes is not None:
            fitted = vocabulary_within(fitted, self.max_model_bytes, samples, y)
        self.vectorizer_ = fitted
        X = fitted.transform(reported(samples, "making features of texts", unit="texts"))
        if not np.any(X.data):
            raise NoFeaturesError(f"None of the {len(samples):,} samples has any feature to learn from.")
        return X

    def _without_vectors(self, samples: list[Any], held_out: Any) -> dict[str, Any]:
        """The samples of a trial, and what makes features of them, as if there were no vectors."""
        assert self._columns is not None
        columns, n = replace(self._columns, embeddings=()), self._columns.places("embeddings").start

        def cut(rows: list[Any]) -> list[Any]:
            return [row[0] if columns.is_one_text else row[:n] for row in rows]

        def make(vectorizer: TextVectorizer, own: Sequence[Any]) -> Any:
            return _fitted_features(vectorizer, columns, self._column_weights, own)

        others = None if held_out is None else (cut(held_out[0]), held_out[1])
        return {"samples": cut(samples), "held_out": others, "make": make}

    def _new_classifier(self, *samples: Any) -> Any:
        """A classifier of features with these settings; memory that its learner is allowed is for the samples, too."""
        settings = {name: getattr(self, name) for name in EXTREME_SETTINGS}
        given = [[X] if isinstance(X, np.ndarray) else [X.data, X.indices, X.indptr] for X in samples if X is not None]
        n_bytes = sum(array.nbytes for arrays in given for array in arrays)
        settings["estimator"] = with_less_memory(self.estimator, n_bytes)
        return self._of_features(**settings)

    # ----- measuring ------------------------------------------------------------------------------------------------

    def evaluate(self, texts: Any, labels: ArrayLike) -> Evaluation | LabelEvaluation:
        """How good predictions are on some texts, and which classes are the worst.

        Take texts that the model has not learned from. The comparisons, with the most frequent class and with the
        nearest class mean, need the training samples. A model that was loaded does not have these; its are None.

        Parameters
        ----------
        texts : as in :meth:`TextClassifier.fit`
        labels : array-like of shape (n_samples,)
            Their labels; those that are not in ``classes_`` count as errors.

        Returns
        -------
        Evaluation, or LabelEvaluation if samples have several labels
            Prints as lines for people.
        """
        self._check_is_fitted()
        given, y = self._labelled(texts, labels)
        return self._evaluated(self.vectorizer_.transform(given), y, given)

    def _evaluated(self, X: Any, labels: Labels, texts: list[Any]) -> Evaluation | LabelEvaluation:
        """The measures of one label per sample, or those of several; what the model does not know comes last."""
        model, classes = self.classifier_.model_, self.classifier_.classes_
        if model.marginals is not None:
            return evaluated_sets(model, X, EncodedLabelSets.of(labels, is_several=True).of_all(classes))
        best, _ = model.top_k(X, min(N_BEST, len(classes)))
        return evaluated(best, self.classifier_._class_index(labels), classes, self._baselines, X, texts=texts)

    def _measure(self, texts: list[Any], X: Any, y: Labels) -> None:
        """Keep what reports need of the training samples."""
        rows = np.arange(0, len(texts), -(-len(texts) // MOST_MEASURED))
        report(f"measuring the bits on {counted(len(rows), 'training sample')}")
        self.classifier_.report(X[rows], y.at(rows))
        each = self.classifier_._samples(X, y).of_each_label()  # some classes may have had no weight
        known = np.flatnonzero(each.class_index >= 0)
        self._baselines = Baselines.of(each.X[known], each.class_index[known], len(self.classifier_.classes_))
        self._evaluation, self._n_samples, self._some_texts = None, len(texts), [texts[row] for row in rows.tolist()]


def _fitted_features(
    vectorizer: TextVectorizer,
    columns: TableColumns | None,
    weights: Mapping[str, float],
    samples: Sequence[Any],
    *,
    do_vectors_rerank: bool = True,
) -> Features:
    """What makes features of texts, or of rows where there is more than one column, learned from samples."""
    if columns is None or columns.is_one_text:
        return vectorizer.fit(samples)
    return replace(FittedRows.fit(vectorizer, columns, weights, samples), do_vectors_rerank=do_vectors_rerank)


# ----- the choice of what is counted in texts: a trial of some recipes, on some of the samples ----------------------


def chosen_features(
    vectorizer: TextVectorizer,
    samples: Sequence[Any],
    y: Labels,
    *,
    held_out: tuple[Sequence[Any], Labels] | None,
    make: FeatureMaker,
    settings: dict[str, Any],
) -> tuple[TextVectorizer, dict[str, float]]:
    """The vectorizer with the features that are right most often, and how often each of those tried is.

    - ``vectorizer``: if its features are chosen already, it is returned as it is.
    - ``held_out``: validation samples and their labels, which are used if there are few samples to learn from.
    - ``make``: fits a vectorizer to samples.
    - ``settings``: of the classifier; those that limit its bytes or its time restrict the choice.
    """
    if vectorizer.features != AUTO:
        return vectorizer, {}
    is_limited = settings["max_model_bytes"] is not None or settings["max_microseconds"] is not None
    if len(samples) < FEWEST:
        return replace(vectorizer, features=WITHIN_BUDGETS[-1] if is_limited else WITHOUT_TRIAL), {}
    words = replace(vectorizer, features=TRIED[0])
    kept, held = _parts(y.samples(make(words, samples).transform(samples)), len(y.classes))
    given: Sequence[Any] = [samples[i] for i in kept.tolist()]
    labels = y.some(kept)
    if held_out is not None and len(kept) + len(held) == len(samples):
        given, labels, others = samples, y.some(slice(None)), held_out
    else:
        others = [samples[i] for i in held.tolist()], y.at(held)
    open_ones = {"taxonomy": None, "assignment": "auto", "n_codes": 1, "random_state": SEED}
    is_flat = may_be_flat(settings, len(y.classes))
    if not is_flat and is_auto(settings["rerank"]) and not settings["n_reserved"]:
        open_ones["rerank"] = "learned"  # fewer classes would do without
    limits = dict.fromkeys(("max_model_bytes", "max_microseconds", "time_limit"))

    def is_right(name: str) -> NDArray[np.bool_]:
        fitted = make(replace(vectorizer, features=name), given)
        X, X_others = fitted.transform(given), fitted.transform(others[0])
        classifier = ExtremeFit(**{**settings, **open_ones, **limits})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit after the trial has the same warnings
            classifier.fit(X, labels, validation=(X_others, others[1]), rerank_only=fitted.rerank_only)
        return classifier._samples(X_others, others[1]).is_label(classifier.model_.predict(X_others)[:, None])[:, 0]

    tried: tuple[str, ...] = WITHIN_BUDGETS if is_limited else TRIED
    if len(y.classes) > MANY_CLASSES:
        tried = tuple(name for name in tried if name != WITHOUT_TRIAL)
    elif is_flat:
        tried = tuple(name for name in tried if name != RERANKED)
    if not is_limited and vectorizer.word_ngrams == (1, 2) and _are_words_new(given, others[0]):
        tried = (*tried, "characters")
    right: dict[str, NDArray[np.bool_]] = {}
    for name in tried:
        report(f"trying features: {name}")
        with subscribe(lambda _: None):  # the stages of a small fit are over in a moment
            right[name] = is_right(name)
    found = {name: float(own.mean()) for name, own in right.items()}
    best = max(found, key=lambda name: found[name])
    cheapest = next(name for name in tried if _are_alike(right[name], right[best]))
    return replace(vectorizer, features=cheapest), found


def _are_alike(is_right: NDArray[np.bool_], is_best: NDArray[np.bool_]) -> bool:
    """Whether the accuracy is within one standard error of the best, of the difference on the same samples."""
    difference = is_best.astype(np.int8) - is_right
    return bool(difference.sum() <= np.sqrt((difference != 0).sum()))


def _parts(samples: Samples, n_classes: int) -> tuple[IntArray, IntArray]:
    """The rows of samples of some classes, to learn from and to choose by; every class keeps one to learn from."""
    rng, class_index = np.random.default_rng(SEED), samples.class_index
    is_chosen = neighbouring_classes(samples.of_each_label(), n_classes, SOME_SAMPLES, rng)
    rows = np.flatnonzero(samples._has_any_of(is_chosen))
    if len(rows) > 2 * SOME_SAMPLES:
        rows = np.sort(rng.permutation(rows)[: 2 * SOME_SAMPLES])
    is_held = rng.random(len(rows)) < HELD_OUT_OF_SOME_CLASSES
    is_held[np.unique(class_index[rows], return_index=True)[1]] = False
    return rows[~is_held], rows[is_held]


def _are_words_new(samples: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether many words of other samples are not in these, as in languages that do not separate or repeat words."""

    def words(sample: Any) -> list[str]:
        texts = [sample] if isinstance(sample, str) else [cell for cell in sample if isinstance(cell, str)]
        return FIND_WORDS[VERSION](" ".join(texts).lower())

    known = {word for sample in samples for word in words(sample)}
    asked = [word in known for sample in others[:SOME_TEXTS] for word in words(sample)]
    return bool(asked) and float(np.mean(asked)) < 1 - MOST_UNKNOWN
