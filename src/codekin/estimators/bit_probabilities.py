"""Probabilities of the classes from the log-odds of the bits."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from sklearn.utils.validation import _num_samples

from codekin.coding import CodingMatrix, FloatArray, IntArray
from codekin.decoding import MinimumLossDecoder
from codekin.decoding.decoder import Decoder
from codekin.decoding.minimum_loss import check_k
from codekin.estimators.coded import CodedClassifier
from codekin.learners import learner_of
from codekin.model.prediction_sets import as_scores
from codekin.model.probabilities import losses_of_probabilities
from codekin.samples import rows_at

NUMBERS_AT_ONCE = 1 << 20
"""How many probabilities are held at once where those of all classes are needed."""


class BitProbabilities(CodedClassifier, ABC):
    """A coded classifier whose margins are treated as log-odds."""

    estimator: Any
    weighted_decoding: bool
    coding_matrix_: CodingMatrix

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the classes: the softmax of minus the logistic losses of the margins.

        With a learned decoder they are the softmax of its scores, and calibrated. Otherwise margins are treated as
        log-odds, which ``calibrate`` makes them; the most probable class is then the one that ``predict`` gives under
        the logistic loss. Softmax was trained with the linear loss, which differs from the logistic one only in codes
        with zeros, and uses that. For columns with more than two symbols, the probabilities of the symbols are
        multiplied, and the most probable class is always the one that ``predict`` gives. So it is for real bits, whose
        probabilities without a learned decoder are the softmax of minus the squared distances to the targets: a
        ranking, not calibrated.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return np.asarray(softmax(-self._probability_losses(X), axis=1))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """The logarithms of the probabilities of :meth:`predict_proba`; finite even where those are rounded to 0.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return np.asarray(log_softmax(-self._probability_losses(X), axis=1))

    def top_k_proba(self, X: Any, k: int) -> tuple[NDArray[Any], FloatArray]:
        """The k most probable labels and their probabilities as in :meth:`predict_proba`, largest first.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
        k : int
            At least 1 and at most the number of classes.

        Returns
        -------
        labels : ndarray of shape (n_samples, k)
        probabilities : ndarray of shape (n_samples, k)
        """
        self._check_is_fitted()
        check_k(k, len(self.classes_))
        probabilities = self.predict_proba(X)
        best = np.argsort(-probabilities, axis=1, kind="stable")[:, :k]
        return self.classes_[best], np.take_along_axis(probabilities, best, axis=1)

    def _log_probabilities_of(self, X: Any, class_index: IntArray) -> FloatArray:
        own = [
            np.take_along_axis(logs, np.maximum(class_index[rows, None], 0), axis=1)[:, 0]
            for rows, logs in self._all_log_probabilities(X)
        ]
        return np.where(class_index >= 0, np.concatenate(own), -np.inf)

    def _likely_classes(self, X: Any, largest: np.float32) -> Iterator[IntArray]:
        for _, logs in self._all_log_probabilities(X):
            order = np.argsort(-logs, axis=1, kind="stable")
            is_in = as_scores(np.take_along_axis(logs, order, axis=1)) <= largest
            is_in[:, 0] = True
            yield from (classes[kept] for classes, kept in zip(order, is_in, strict=True))

    def _all_log_probabilities(self, X: Any) -> Iterator[tuple[IntArray, FloatArray]]:
        """Blocks of few enough samples to hold a number for each class, and their log-probabilities."""
        decoder, n_samples = self._decoder_of_probabilities(), _num_samples(X)
        step = max(NUMBERS_AT_ONCE // len(self.classes_), 1)
        for start in range(0, n_samples, step):
            rows = np.arange(start, min(start + step, n_samples))
            yield rows, log_softmax(-losses_of_probabilities(self.model_, decoder, rows_at(X, rows)), axis=1)

    def _probability_losses(self, X: Any) -> FloatArray:
        """The losses whose negatives have the probabilities as their softmax."""
        self._check_is_fitted()
        return losses_of_probabilities(self.model_, self._decoder_of_probabilities(), self._validated_samples(X))

    def _decoder_of_probabilities(self) -> Decoder:
        """What makes these losses of margins."""
        if self.model_.decoder.is_learned or self.codebook_.n_symbols > 2 or self.codebook_.is_real:
            return self.model_.decoder
        learner = learner_of(self.estimator)
        loss = "linear" if learner is not None and learner.learns_probabilities else "logistic"
        return MinimumLossDecoder(self.coding_matrix_, loss, self.weighted_decoding)
