"""Checks of the validation samples that a user passes to an estimator."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.coding import IntArray
from codekin.samples import Samples


def as_pair(validation: Any) -> tuple[Any, NDArray[Any]]:
    """Samples and labels, from the ``validation`` parameter of ``fit``."""
    if not isinstance(validation, tuple | list) or len(validation) != 2:
        got = f"{len(validation)} values" if isinstance(validation, tuple | list) else type(validation).__name__
        raise ValueError(f"The 'validation' parameter must be two values, samples and labels: (X, y). Got {got}.")
    return validation[0], np.asarray(validation[1])


def check_known_labels(class_index: IntArray, labels: NDArray[Any]) -> None:
    """Raise if no label is known (all are -1), since all choices would be equally bad; warn if some are not."""
    unknown = np.flatnonzero(class_index < 0)
    if not len(unknown):
        return
    example = labels[unknown[0]]
    shown = repr(example.item() if isinstance(example, np.generic) else example)
    if len(unknown) == len(labels):
        raise ValueError(
            f"None of the {len(labels):,} validation samples has a label of the training samples. "
            f"Got {shown}, for example."
        )
    warnings.warn(
        f"{len(unknown):,} of the {len(labels):,} validation samples have labels that no training sample has, "
        f"{shown} for example; they count as errors.",
        stacklevel=5,
    )


def held_out_samples(owner: Any, validation: Any) -> Samples:
    """Checked samples from the ``validation`` parameter of a classifier's ``fit``."""
    X, labels = as_pair(validation)
    X, class_index = owner._validated_samples(X), owner._class_index(labels)
    if X.shape[0] != len(class_index):
        raise ValueError(f"There are {X.shape[0]} validation samples. Got {len(class_index)} labels.")
    check_known_labels(class_index, labels)
    return Samples(X, class_index)
