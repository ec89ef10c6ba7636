"""The features of one text, without the matrices that scikit-learn makes for many: the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

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
    ([1, 2], [0.509, 0.861])
    """
    if fitted.idf is None:
        return lambda text: _row(fitted, text)
    analyze, column_of = fitted.analyzer(), fitted.columns
    idf = fitted.idf.tolist()
    # Logarithms as NumPy computes them.
    sublinear = (np.log(np.arange(1, MOST_COMMON, dtype=np.float64)) + 1).tolist()

    def features(text: str) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        counts: dict[int, int] = {}
        for term in analyze(text):
            column = column_of.get(term)
            if column is not None:
                counts[column] = counts.get(column, 0) + 1
        columns = sorted(counts)
        values = []
        total = 0.0
        for column in columns:
            count = counts[column]
            value = idf[column] if count == 1 else _tf(sublinear, count) * idf[column]
            total += value * value
            values.append(value)
        length = sqrt(total)
        if length > 0:
            values = [value / length for value in values]
        return np.array(columns, dtype=np.int32), np.array(values, dtype=np.float32)

    return features


def _tf(sublinear: list[float], count: int) -> float:
    return sublinear[count - 1] if count < MOST_COMMON else float(np.log(np.float64(count)) + 1)


def _row(fitted: FittedVectorizer, text: str) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    X = fitted.transform([text])
    return X.indices.astype(np.int32), X.data
