"""What is chosen before bits are trained, and the result of a fit."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from codekin.assignments import AssignmentResult
from codekin.classes import ClassDistances
from codekin.coding import Assignment, Code, Codebook
from codekin.decoding import Loss
from codekin.decoding.decoder_fit import DecoderFit
from codekin.fitting.order_choice import Orders
from codekin.fitting.plan import Plan
from codekin.fitting.recipe import Trial
from codekin.learners import Learner
from codekin.model import Model
from codekin.model.temperature import Temperature


@dataclass(frozen=True, eq=False)
class Parts:
    """What is chosen before any bit is trained: codewords, their assignment, and how far apart the classes are."""

    codebook: Codebook
    orders: Orders
    class_distances: ClassDistances | None

    @property
    def assignment(self) -> Assignment:
        """Which class has which codeword in the first code."""
        return self.orders.first

    @property
    def code(self) -> Code:
        """The first code."""
        return Code(self.codebook, self.assignment)


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model, and how it came about."""

    model: Model
    plan: Plan
    learner: Learner
    loss: Loss
    class_distances: ClassDistances | None
    assignment_result: AssignmentResult | None
    rng: np.random.Generator
    temperature: Temperature = field(default_factory=Temperature)
    trials: tuple[Trial, ...] = ()
    decoder_fit: DecoderFit | None = None
