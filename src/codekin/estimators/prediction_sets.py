"""Prediction sets of a coded classifier, calibrated on held-out samples."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _num_samples

from codekin.coding import FloatArray, IntArray
from codekin.model.prediction_sets import SetCalibration


class PredictionSets:
    """A classifier that returns sets of labels with a coverage that was asked for."""

    classes_: NDArray[Any]
    set_calibration_: SetCalibration

    def calibrate_sets(self, X: Any, y: ArrayLike) -> Self:
        """Find out on held-out samples how probable a label must be to belong to a prediction set.

        Any coverage can be asked for afterwards. What was found is saved with the model, and lost when the model learns
        or gets classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples that played no part in ``fit``, neither for training nor for validation.
        y : array-like of shape (n_samples,)
            Their labels. Those that are not in ``classes_`` count: no set can have them.

        Returns
        -------
        CodedClassifier
            Itself.
        """
        self._check_is_fitted()  # type: ignore[attr-defined]
        samples = self._validated_samples(X)  # type: ignore[attr-defined]
        class_index: IntArray = self._class_index(y)  # type: ignore[attr-defined]
        if class_index.shape != (_num_samples(samples),):
            raise ValueError(f"There are {_num_samples(samples)} samples. Got labels of shape {class_index.shape}.")
        self.set_calibration_ = SetCalibration.of(self._log_probabilities_of(samples, class_index))
        return self

    def predict_sets(self, X: Any, coverage: float = 0.9) -> list[NDArray[Any]]:
        """A set of labels for each sample that holds the true one as often as asked: conformal prediction.

        The guarantee is for new samples from the source of those that :meth:`calibrate_sets` got, on average over them.
        Sets are small where the classifier is sure and large where it is not. A set is never empty: if ``predict`` is
        right more often than the coverage, so are the sets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Whatever ``fit`` takes.
        coverage : float, default=0.9
            The share of samples whose true label is in its set, between 0 and 1.

        Returns
        -------
        list of ndarray
            The labels of each sample, best first.
        """
        self._check_is_fitted()  # type: ignore[attr-defined]
        if not hasattr(self, "set_calibration_"):
            raise ValueError("Prediction sets need held-out samples first; call calibrate_sets(X, y).")
        largest = self.set_calibration_.largest_score(coverage)
        samples = self._validated_samples(X)  # type: ignore[attr-defined]
        return [self.classes_[classes] for classes in self._likely_classes(samples, largest)]

    @abstractmethod
    def _log_probabilities_of(self, X: Any, class_index: IntArray) -> FloatArray:
        """The logarithm of the probability of one class per sample; minus infinity for class -1."""

    @abstractmethod
    def _likely_classes(self, X: Any, largest: np.float32) -> Iterator[IntArray]:
        """The classes of each sample whose scores are at most the largest, best first, and at least the best one."""
