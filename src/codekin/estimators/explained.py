"""Explanations of the scores of a coded classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin.explaining import Explanation
from codekin.explaining.explain import contributions_to
from codekin.model import Model


class Explained:
    """A classifier whose scores can be divided among the features."""

    model_: Model
    classes_: NDArray[Any]

    def explain(self, X: Any, labels: ArrayLike | None = None) -> Explanation:
        """What each feature contributes to the score of a class: contributions that add up to it.

        The bits must be linear in the features. Where a score is not linear in the margins, a feature gets its
        integrated gradient along the straight line from a sample whose features are all zero. The class vectors of a
        re-ranking are included. The difference of two explanations says why one class rather than another.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Whatever ``fit`` takes.
        labels : array-like of shape (n_samples,) or a single label, default=None
            The class to explain for each sample, or for all; by default the predicted one.

        Returns
        -------
        Explanation
        """
        self._check_is_fitted()  # type: ignore[attr-defined]
        samples = self._validated_samples(X)  # type: ignore[attr-defined]
        n_samples = samples.shape[0] if hasattr(samples, "shape") else len(samples)
        if labels is None:
            class_index = self.model_.predict(samples)
        else:
            given = np.asarray(labels)
            every = np.full(n_samples, given) if given.ndim == 0 else given
            if every.shape != (n_samples,):
                raise ValueError(f"There are {n_samples} samples. Got labels of shape {every.shape}.")
            class_index = self._known_class_index(every)  # type: ignore[attr-defined]
        contributions, bias, other, scores = contributions_to(self.model_, samples, class_index)
        names = getattr(self, "feature_names_in_", None)
        named = None if names is None else tuple(str(name) for name in names)
        return Explanation(self.classes_[class_index], scores, contributions, bias, other, named)
