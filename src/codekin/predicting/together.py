"""Predictions of samples that came one by one and are decoded together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import get_tags

from codekin.datasets import FittedVectorizer
from codekin.datasets.one_text import known_word_counter
from codekin.model.single import Row
from codekin.predicting import Predictor
from codekin.predicting.answers import Best, best_labels


class Together:
    """The answers of a classifier to samples that are checked one by one; a sample alone takes the way of Predictor.

    Parameters
    ----------
    classifier : ECOCClassifier or TrellisClassifier
        Fitted.
    vectorizer : FittedVectorizer, optional
        Converts texts to features, for a classifier of texts.
    """

    def __init__(self, classifier: Any, *, vectorizer: FittedVectorizer | None = None) -> None:
        self.classifier = classifier
        self.predictor = Predictor(classifier, vectorizer=vectorizer)
        self.takes_sparse = bool(get_tags(classifier).input_tags.sparse)
        self.takes_texts = vectorizer is not None
        self._known_words = known_word_counter(vectorizer)
        self.n_classes, self.n_features = len(classifier.classes_), int(classifier.n_features_in_)

    def row(self, sample: str | NDArray[Any] | tuple[NDArray[Any], NDArray[Any]]) -> Row:
        """A text, the values of all features, or features and their values, checked; raises ValueError."""
        if not isinstance(sample, tuple):
            return self.predictor._row(sample)
        features, values = sample
        if not self.takes_sparse:
            dense = np.zeros(self.n_features)
            dense[features] = values
            return self.predictor._row(dense)
        order = np.argsort(features, kind="stable")
        return self.predictor._row(
            sparse.csr_array(
                (values[order], features[order], np.array([0, len(order)])), shape=(1, self.n_features), copy=False
            )
        )

    def best(self, rows: Sequence[Row], k: int, *, has_probabilities: bool) -> Best:
        """The k best labels of each row, best first, and their probabilities, if they are wanted."""
        if len(rows) == 1:
            return self._of_one(rows[0], k, has_probabilities)
        labels: list[list[Any]] = [[]] * len(rows)
        probabilities: list[list[float]] = [[]] * len(rows)
        is_dense = [isinstance(row.given, np.ndarray) for row in rows]
        for kind in set(is_dense):
            own = [i for i in range(len(rows)) if is_dense[i] is kind]
            found = best_labels(self.classifier, _stacked([rows[i] for i in own], kind), k, has_probabilities)
            for place, i in enumerate(own):
                labels[i] = found[0][place]
                probabilities[i] = [] if found[1] is None else found[1][place]
        return labels, probabilities if has_probabilities else None

    def known_words(self, rows: Sequence[Row]) -> list[int] | None:
        """How many words of each text are known; None for a model of features."""
        return None if self._known_words is None else [self._known_words(row)[0] for row in rows]

    def _of_one(self, row: Row, k: int, has_probabilities: bool) -> Best:
        if has_probabilities:
            labels, probabilities = self.predictor._most_probable(row, k)
            return [labels], [probabilities]
        return [[self.predictor._label(row)] if k == 1 else self.predictor._best(row, k)[0]], None


def _stacked(rows: list[Row], is_dense: bool) -> Any:
    """The rows as one matrix."""
    if is_dense:
        return np.vstack([row.given for row in rows])
    indptr = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row.indices) for row in rows], out=indptr[1:])
    indices = np.concatenate([row.indices for row in rows])
    # Learners of other libraries get the numbers as they were given.
    values = np.concatenate([row.values if row.given is None else row.given.data for row in rows])
    return sparse.csr_array((values, indices, indptr), shape=(len(rows), rows[0].n_features))
