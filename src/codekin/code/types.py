"""Names for array types."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

CodingMatrix = NDArray[np.int8 | np.float64]
IntArray = NDArray[np.intp]
FloatArray = NDArray[np.float64]
Margins = NDArray[np.floating[Any]]
