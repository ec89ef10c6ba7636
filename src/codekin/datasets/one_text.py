"""The features of one text, without the matrices that scikit-learn makes for many: the same numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.datasets.vectorizers import FittedVectorizer

OneText = Callable[[str], tuple[NDArray[np.int32], NDArray[np.float32]]]

MOST_COMMON = 256
"""Up to this count the logarithms are looked up."""


def features_of_one_text(fitted: FittedVectorizer) -> OneText:
    """A function from a text to its features, in increasing order, and their values: a row of ``fitted.transform``.

    >>> from codekin.datasets import TextVectorizer
    >>> features = features_of_one_text(TextVectorizer(ngram_range=(1, 1)).fit(["a cat purrs", "a dog barks"]))
    >>> columns, values = features("Dog, dog, cat")
    >>> columns.tolist(), values.astype(float).round(3).tolist()
    ([2, 3], [0.509, 0.861])
    """
    if fitted.idf is None:
        return lambda text: _row(fitted, text)
    terms_of, column_of = _terms(fitted), fitted.columns.get
    idf = fitted.idf.tolist()
    # Logarithms as NumPy computes them.
    sublinear = (np.log(np.arange(1, MOST_COMMON, dtype=np.float64)) + 1).tolist()

    def features(text: str) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        known = [column for column in map(column_of, terms_of(text)) if column is not None]
        columns = sorted(set(known))
        if len(columns) == len(known):  # most texts repeat nothing
            values = [idf[column] for column in columns]
        else:
            counts = Counter(known)
            values = [_tf(sublinear, counts[column]) * idf[column] for column in columns]
        total = 0.0
        for value in values:
            total += value * value
        length = sqrt(total)
        if length > 0:
            values = [value / length for value in values]
        return np.array(columns, dtype=np.int32), np.array(values, dtype=np.float32)

    return features


def known_word_counter(fitted: FittedVectorizer | None) -> Callable[[Any], list[int]] | None:
    """A function from the features of texts to how many different words of each are known; None without texts."""
    if fitted is None:
        return None
    is_word = np.array([" " not in term for term in fitted.vocabulary])
    if not (fitted.vectorizer.analyzer == "word" and is_word.any()):  # then all features of a text count
        is_word = np.ones(fitted.n_features, bool)

    def known_words(X: Any) -> list[int]:
        n_before = np.concatenate([[0], np.cumsum(is_word[X.indices])])[X.indptr]
        return list(map(int, np.maximum(np.diff(n_before), np.diff(X.indptr) > 0)))

    return known_words


def _terms(fitted: FittedVectorizer) -> Callable[[str], list[str]]:
    """The terms of a text, in any order: what ``fitted.analyzer()`` gives, faster for words and pairs of words."""
    chosen = fitted.vectorizer
    if chosen.analyzer != "word" or chosen.ngram_range not in ((1, 1), (1, 2)):
        analyzer: Callable[[str], list[str]] = fitted.analyzer()
        return analyzer
    words_of, has_pairs = fitted.tokenizer(), chosen.ngram_range == (1, 2)

    def terms(text: str) -> list[str]:
        words: list[str] = words_of(text.lower())
        return words + [f"{a} {b}" for a, b in pairwise(words)] if has_pairs else words

    return terms


def _tf(sublinear: list[float], count: int) -> float:
    return sublinear[count - 1] if count < MOST_COMMON else float(np.log(np.float64(count)) + 1)


def _row(fitted: FittedVectorizer, text: str) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    X = fitted.transform([text])
    return X.indices.astype(np.int32), X.data
