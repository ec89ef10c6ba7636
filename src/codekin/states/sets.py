"""What held-out samples said about prediction sets and about when to answer, as a state."""

from __future__ import annotations

from reprlib import repr as shortened
from typing import Any

import numpy as np

from codekin._system.arrays import Arrays
from codekin.model.prediction_sets import SetCalibration
from codekin.states.values import Json

VERSION = 1
"""Later versions may store something else."""
PROMISE = ("min_probability", "min_precision")


def describe_sets(calibration: SetCalibration, arrays: Arrays) -> Json:
    """A calibration as JSON and arrays, which are added to the given ones."""
    arrays["set_scores"] = calibration.scores
    promise = {name: getattr(calibration, name) for name in PROMISE if calibration.min_precision}
    return {"version": VERSION, "score": "log_probability", **promise}


def restore_sets(description: Any, arrays: Arrays) -> SetCalibration | None:
    """What :func:`describe_sets` described."""
    if description is None:
        return None
    if not isinstance(description, dict) or description.get("version") != VERSION:
        raise ValueError(f"'prediction_sets' must have the version {VERSION}. Got {shortened(description)}.")
    return SetCalibration(np.array(arrays["set_scores"]), *(description.get(name, 0.0) for name in PROMISE))
