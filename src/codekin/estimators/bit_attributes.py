"""Attributes of the fitted learners, stacked bit by bit under the names that scikit-learn's tools look for."""

from __future__ import annotations

from typing import Any

import numpy as np

from codekin.code import FloatArray
from codekin.learners.independent import ConstantBit
from codekin.learners.linear import LinearBits
from codekin.model import Model


class BitAttributes:
    """Weights and importances of features, if the learners of the bits have them."""

    model_: Model

    @property
    def coef_(self) -> FloatArray:
        """The weights of linear bits, of shape (n_bits, n_features); zeros for constant bits."""
        return self._stacked("coef_")

    @property
    def intercept_(self) -> FloatArray:
        """The intercepts of linear bits, of shape (n_bits,)."""
        return self._stacked("intercept_")[:, 0]

    @property
    def feature_importances_(self) -> FloatArray:
        """The mean importance of each feature over the bits that were trained, of shape (n_features,)."""
        importances = self._stacked("feature_importances_")
        is_learned = [not isinstance(predictor, ConstantBit) for predictor in self._predictors()]
        return np.asarray(importances[is_learned].mean(axis=0))

    def _predictors(self) -> list[Any]:
        """The fitted learners, one per bit."""
        bits: Any = self.model_.bits
        return list(getattr(bits, "bits", bits).predictors)

    def _stacked(self, name: str) -> FloatArray:
        """One row per bit; raises AttributeError if a learner has no such attribute."""
        if "model_" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted.")
        bits: Any = self.model_.bits
        if isinstance(bits, LinearBits):
            of_linear = {"coef_": bits.weights.T, "intercept_": bits.bias[:, None]}
            if name in of_linear:
                return np.asarray(of_linear[name], dtype=np.float64)
        if getattr(getattr(bits, "bits", bits), "symbols", None) is not None and name != "feature_importances_":
            raise AttributeError(f"Each column with more than two symbols has its own {name}; see estimators_.")
        if not hasattr(getattr(bits, "bits", bits), "predictors"):
            raise AttributeError(f"The bits of this {type(self).__name__} have no {name}.")
        predictors = self._predictors()
        rows = {bit: _row(one, name) for bit, one in enumerate(predictors) if not isinstance(one, ConstantBit)}
        if not rows:
            raise AttributeError(f"No bit was trained, so there is no {name}.")
        stacked = np.zeros((len(predictors), len(next(iter(rows.values())))))
        for bit, one in enumerate(predictors):
            if bit in rows:
                stacked[bit] = rows[bit]
            elif name == "intercept_":
                stacked[bit] = one.margins(1)
        return stacked


def _row(predictor: Any, name: str) -> FloatArray:
    if not hasattr(predictor, name):
        raise AttributeError(f"The estimator {type(predictor).__name__} has no {name}.")
    value = getattr(predictor, name)
    return np.ravel(value.toarray() if hasattr(value, "toarray") else np.asarray(value, dtype=np.float64))
