"""Learners of the bits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np

from codekin._system.checkpoints import CheckpointError, Checkpoints
from codekin.code import Code, Codebook, Margins
from codekin.learners.arow import AROW
from codekin.learners.independent import IndependentBits
from codekin.learners.softmax import Softmax
from codekin.learners.svm import LinearSVM
from codekin.learners.training import EpochReport
from codekin.learners.training_rows import Validation
from codekin.learners.vector_softmax import VectorSoftmax
from codekin.samples import Samples

__all__ = [
    "AROW",
    "LEARNERS",
    "CheckpointError",
    "Checkpoints",
    "EpochReport",
    "FittedBits",
    "IndependentBits",
    "Learner",
    "LinearSVM",
    "Softmax",
    "Validation",
    "VectorSoftmax",
]


LEARNERS: Mapping[str, type[AROW | Softmax | LinearSVM | VectorSoftmax]] = {
    "arow": AROW,
    "softmax": Softmax,
    "svm": LinearSVM,
    "vectors": VectorSoftmax,
}
"""codekin's learners by name, with their default settings."""


class FittedBits(Protocol):
    """Predictors of all bits of a code."""

    @property
    def n_bits(self) -> int:
        """The number of bits."""

    def margins(self, X: Any) -> Margins:
        """One column per bit, positive if the predictor says +1; (n_samples, n_bits).

        For a real bit it is the predicted number. With more than two symbols, one column for each symbol of every bit:
        (n_samples, n_bits * n_symbols).
        """


@runtime_checkable
class Learner(Protocol):
    """Learns the bits of a code. Holds only hyper-parameters; fitting returns a new object.

    A learner of single bits needs only the coding matrix of the code; one that learns all bits together also uses the
    codebook. With ``partial_fit(bits, samples, code, *, rng)`` it can also learn in batches. If it learns real bits, it
    says so by an attribute ``learns_targets``.
    """

    @property
    def learns_probabilities(self) -> bool:
        """Whether it learns probabilities of the classes, so that there is nothing to calibrate bit by bit."""

    def decoding_loss(self, codebook: Codebook) -> str:
        """The name of the default decoding loss of its margins."""

    def fit(self, samples: Samples, code: Code, *, rng: np.random.Generator) -> FittedBits:
        """Learn all bits of the code; samples whose bit is zero are left out of that bit."""


def learner_of(choice: Any) -> Learner | None:
    """The learner of a name from ``LEARNERS``, or a learner itself; None for scikit-learn's classifiers and others."""
    if isinstance(choice, str):
        return LEARNERS[choice]() if choice in LEARNERS else None
    return choice if isinstance(choice, Learner) and not isinstance(choice, type) else None


def is_named(learner: Any) -> bool:
    """Whether this is one of the named learners, which a model folder can describe."""
    return type(learner) in LEARNERS.values()


def learner_name(learner: Learner) -> str:
    """The name of a learner for display: that of the table, or of its type."""
    names = [name for name, kind in LEARNERS.items() if type(learner) is kind]
    return names[0] if names else type(learner).__name__
