"""Probabilities of the classes from the losses of paths, normalised exactly over all classes."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin.coding import FloatArray, IntArray
from codekin.decoding.minimum_loss import check_k
from codekin.estimators.coded import CodedClassifier
from codekin.model.prediction_sets import likely_classes
from codekin.model.probabilities import all_log_probabilities, log_probabilities_of, top_k_probabilities


class PathProbabilities(CodedClassifier, ABC):
    """A coded classifier whose codewords are paths of a trellis."""

    temperature_: float

    def top_k_proba(self, X: Any, k: int) -> tuple[NDArray[Any], FloatArray]:
        """The k most probable labels and their probabilities, normalised exactly over all classes.

        The probability of a class is proportional to ``exp(-loss / temperature_)``. The sum over all paths is computed
        by the forward recursion in time O(n_bits), without an array of all classes. A re-ranking keeps the total
        probability of its candidates and redistributes it; several codes give the mean of their probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        k : int
            At least 1 and at most the number of classes.

        Returns
        -------
        labels : ndarray of shape (n_samples, k)
        probabilities : ndarray of shape (n_samples, k)
        """
        self._check_is_fitted()
        check_k(k, len(self.classes_))
        classes, probabilities = top_k_probabilities(self.model_, self._validated_samples(X), k, self.temperature_)
        return self.classes_[classes], probabilities

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
        class_index = self._class_index(labels)
        return log_probabilities_of(self.model_, self._validated_samples(X), class_index, self.temperature_)

    def predict_proba(self, X: Any) -> FloatArray:
        """The probabilities of all classes; with very many classes use :meth:`top_k_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        self._check_is_fitted()
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """The logarithms of the probabilities of all classes; see :meth:`log_proba` for one label per sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        self._check_is_fitted()
        return all_log_probabilities(self.model_, self._validated_samples(X), self.temperature_)

    def _log_probabilities_of(self, X: Any, class_index: IntArray) -> FloatArray:
        return log_probabilities_of(self.model_, X, class_index, self.temperature_)

    def _likely_classes(self, X: Any, largest: np.float32) -> Iterator[IntArray]:
        return likely_classes(self.model_, X, largest, self.temperature_)

    def __sklearn_tags__(self) -> Any:
        """Sparse rows are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
