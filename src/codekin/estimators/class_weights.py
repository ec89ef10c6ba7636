"""Class weights, applied as sample weights: a learner's own ``class_weight`` sees the sides of a bit, not classes."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metadata_routing import _routing_enabled
from sklearn.utils.validation import has_fit_parameter

from codekin._system.magnitudes import MAX_SINGLE
from codekin._system.names import suggestion
from codekin.coding import FloatArray, IntArray

SIDES = {0, 1}
"""The labels of the two sides of a bit, as learners see them."""


def weights_by_class(choice: Any, labels: NDArray[Any], class_index: IntArray) -> FloatArray:
    """The weight of each sample according to its class.

    "balanced" gives all classes the same total weight, as in scikit-learn: each weight is the number of samples divided
    by the number of classes and by the samples of its class. Labels that are missing in a mapping have the weight 1.

    Examples
    --------
    >>> weights_by_class("balanced", np.array(["cat", "dog"]), np.array([0, 0, 0, 1]))
    array([0.66666667, 0.66666667, 0.66666667, 2.        ])
    >>> weights_by_class({"dog": 5}, np.array(["cat", "dog"]), np.array([0, 1]))
    array([1., 5.])
    """
    if isinstance(choice, str):
        counts = np.bincount(class_index, minlength=len(labels))
        return np.asarray(len(class_index) / (len(labels) * counts[class_index]), dtype=np.float64)
    place = {label: k for k, label in enumerate(labels.tolist())}
    of_class = np.ones(len(labels))
    for label, weight in choice.items():
        if label not in place:
            raise ValueError(
                f"The 'class_weight' parameter has a weight for {label!r}, which is not among the labels."
                f"{suggestion(label, [name for name in place if isinstance(name, str)])}"
            )
        if not isinstance(weight, Real) or not 0 <= float(weight) <= MAX_SINGLE:
            raise ValueError(
                f"The 'class_weight' parameter must give weights from 0 to {MAX_SINGLE:g}. "
                f"Got {weight!r} for the label {label!r}."
            )
        of_class[place[label]] = weight
    return of_class[class_index]


def with_class_weight(
    owner: Any, class_index: IntArray, weights: FloatArray | None, params: Mapping[str, Any], learner: Any
) -> tuple[FloatArray | None, dict[str, Any]]:
    """Sample weights and the arguments of the learner's ``fit``, both multiplied by the owner's ``class_weight``.

    ``learner`` is None if bits are learned together.
    """
    if owner.class_weight is None:
        return weights, dict(params)
    name = "sample_weight" if learner is None else weight_parameter(learner)
    by_class = weights_by_class(owner.class_weight, owner.classes_, class_index)
    of_learner = np.asarray(params.get(name, 1.0)) * by_class
    return by_class if weights is None else weights * by_class, {**params, name: of_learner}


def weight_parameter(learner: Any) -> str:
    """The name of the sample weights in a learner's ``fit``; for a pipeline, in that of its last step."""
    if has_fit_parameter(learner, "sample_weight"):
        return "sample_weight"
    if hasattr(learner, "steps") and has_fit_parameter(learner.steps[-1][1], "sample_weight"):
        return "sample_weight" if _routing_enabled() else f"{learner.steps[-1][0]}__sample_weight"
    raise ValueError(
        f"The 'class_weight' parameter needs a learner that takes sample weights. {type(learner).__name__} takes none."
    )


def check_weights_of_learner(learner: Any) -> None:
    """Raise if a learner has weights by label: it only sees the two sides of a bit."""
    params: Mapping[str, Any] = learner.get_params(deep=True) if hasattr(learner, "get_params") else {}
    for name, value in params.items():
        if name.split("__")[-1] == "class_weight" and isinstance(value, Mapping) and not set(value) <= SIDES:
            raise ValueError(
                f"The learner's {name}={value!r} has labels, but a bit has two sides, 0 and 1. "
                "Use ECOCClassifier(class_weight=...) instead."
            )
