"""Names for array types, and what suits a kind of code."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

CodingMatrix = NDArray[np.int8 | np.float64]
IntArray = NDArray[np.intp]
FloatArray = NDArray[np.float64]
Margins = NDArray[np.floating[Any]]


class RankingConstants(NamedTuple):
    """What suits a re-ranking of the best paths, found on validation samples of several data sets.

    The numbers of candidates per code to try; from how many other candidates a sample's class is separated while class
    vectors are learned, how many codes list these (None means all), and the share of a Newton step; how much larger
    than the smallest loss that of a candidate may be, to try (none means no limit).
    """

    candidate_numbers: tuple[int, ...]
    n_confused: int
    n_confusing_codes: int | None
    rate: float
    loss_gaps: tuple[float, ...] = ()
