"""Who learns the bits."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from codekin.coding import Assignment, Codebook, CodingMatrix, FloatArray, IntArray, Margins
from codekin.learners.arow import AROW
from codekin.learners.arow_state import AROWBits
from codekin.learners.calibration import CalibratedBits, calibrate_bits
from codekin.learners.checkpoints import CheckpointError, Checkpoints
from codekin.learners.compact import PRECISIONS, CompactLinearBits, CompactSparseLinearBits, compacted
from codekin.learners.independent import EstimatorBits, IndependentBits
from codekin.learners.linear import LinearBits, SparseLinearBits, Validation
from codekin.learners.softmax import Softmax
from codekin.learners.softmax_state import SoftmaxBits
from codekin.learners.training import EpochReport

__all__ = [
    "AROW",
    "PRECISIONS",
    "AROWBits",
    "BitLearner",
    "CalibratedBits",
    "CheckpointError",
    "Checkpoints",
    "CompactLinearBits",
    "CompactSparseLinearBits",
    "EpochReport",
    "EstimatorBits",
    "FittedBits",
    "IndependentBits",
    "JointLearner",
    "LinearBits",
    "Softmax",
    "SoftmaxBits",
    "SparseLinearBits",
    "Validation",
    "calibrate_bits",
    "compacted",
]


class FittedBits(Protocol):
    """Predictors of all bits of a code."""

    @property
    def n_bits(self) -> int:
        """How many bits there are."""

    def margins(self, X: Any) -> Margins:
        """One column per bit, positive where the predictor says +1; (n_samples, n_bits)."""


@runtime_checkable
class BitLearner(Protocol):
    """Holds hyper-parameters only; fitting returns a new object."""

    def fit_bits(
        self,
        X: Any,
        class_index: IntArray,
        coding_matrix: CodingMatrix,
        *,
        sample_weight: FloatArray | None = None,
        rng: np.random.Generator,
    ) -> FittedBits:
        """Learn every column of the coding matrix; samples whose bit is zero are left out of that bit."""


@runtime_checkable
class JointLearner(Protocol):
    """Learns all bits together and so needs to know the code itself; else like a :class:`BitLearner`."""

    def fit_code(
        self,
        X: Any,
        class_index: IntArray,
        codebook: Codebook,
        assignment: Assignment,
        *,
        sample_weight: FloatArray | None = None,
        rng: np.random.Generator,
    ) -> FittedBits:
        """Learn all bits of the codebook under the assignment."""
