"""The choice of what is counted in texts: a trial of some recipes, on some of the samples."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.code import IntArray
from codekin.data.recipes import AUTO, FIND_WORDS, VERSION
from codekin.data.row_features import Features
from codekin.data.vectorizers import TextVectorizer
from codekin.estimators.extreme_fit import ExtremeFit
from codekin.fitting.defaults import may_be_flat
from codekin.fitting.setting import is_auto
from codekin.fitting.trial import HELD_OUT_OF_SOME_CLASSES, SEED, neighbouring_classes
from codekin.progress import report, subscribe
from codekin.samples import EncodedLabels, Samples

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


def chosen_features(
    vectorizer: TextVectorizer,
    samples: Sequence[Any],
    y: EncodedLabels,
    *,
    held_out: tuple[Sequence[Any], EncodedLabels] | None,
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
    kept, held = _parts(make(words, samples).transform(samples), y.class_index, len(y.classes))
    given: Sequence[Any] = [samples[i] for i in kept.tolist()]
    labels = _some(y, kept)
    if held_out is not None and len(kept) + len(held) == len(samples):
        given, labels, others = samples, _some(y, slice(None)), (held_out[0], np.asarray(held_out[1]))
    else:
        others = [samples[i] for i in held.tolist()], y.classes[y.class_index[held]]
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
        return np.asarray(classifier.predict(X_others) == others[1])

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


def _some(y: EncodedLabels, rows: Any) -> EncodedLabels:
    """The labels of some samples, with no other classes."""
    used, class_index = np.unique(y.class_index[rows], return_inverse=True)
    return EncodedLabels(y.classes[used], class_index)


def _are_alike(is_right: NDArray[np.bool_], is_best: NDArray[np.bool_]) -> bool:
    """Whether the accuracy is within one standard error of the best, of the difference on the same samples."""
    difference = is_best.astype(np.int8) - is_right
    return bool(difference.sum() <= np.sqrt((difference != 0).sum()))


def _parts(X: Any, class_index: IntArray, n_classes: int) -> tuple[IntArray, IntArray]:
    """The rows of samples of some classes, to learn from and to choose by; every class keeps one to learn from."""
    rng = np.random.default_rng(SEED)
    is_chosen = neighbouring_classes(Samples(X, class_index), n_classes, SOME_SAMPLES, rng)
    rows = np.flatnonzero(is_chosen[class_index])
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
