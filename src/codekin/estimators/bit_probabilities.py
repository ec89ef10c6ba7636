"""Probabilities of the classes from the log-odds of the bits."""

from __future__ import annotations

from abc import ABC
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from codekin.coding import CodingMatrix, FloatArray
from codekin.decoding import Decoder, MinimumLossDecoder
from codekin.decoding.minimum_loss import check_k
from codekin.estimators.coded import CodedClassifier
from codekin.learners import learner_of


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
        multiplied, and the most probable class is always the one that ``predict`` gives.

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

    def _probability_losses(self, X: Any) -> FloatArray:
        """The losses whose negatives have the probabilities as their softmax."""
        margins = self.bit_margins(X)  # checks that there is a model
        return self._decoder_of_probabilities().class_losses(margins)

    def _decoder_of_probabilities(self) -> Decoder:
        """What makes these losses of margins."""
        if self.model_.decoder.is_learned or self.codebook_.n_symbols > 2:
            return self.model_.decoder
        learner = learner_of(self.estimator)
        loss = "linear" if learner is not None and learner.learns_probabilities else "logistic"
        return MinimumLossDecoder(self.coding_matrix_, loss, self.weighted_decoding)
