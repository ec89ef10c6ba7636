"""Names for array types."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

CodingMatrix = NDArray[np.int8]
IntArray = NDArray[np.intp]
FloatArray = NDArray[np.float64]
Margins = NDArray[np.floating[Any]]

AnyArray = TypeVar("AnyArray", bound=NDArray[Any])


def frozen(array: AnyArray) -> AnyArray:
    """The same array, which can no longer be written to."""
    array.flags.writeable = False
    return array
