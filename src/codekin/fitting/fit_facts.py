"""What is chosen before bits are trained, and the result of a fit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from codekin.assignments import AssignmentResult
from codekin.classes import ClassDistances
from codekin.coding import Assignment, Code, Codebook
from codekin.decoding import Loss
from codekin.decoding.decoder_fit import DecoderFit
from codekin.fitting.order_choice import Orders
from codekin.fitting.plan import Plan
from codekin.fitting.recipe import Recipe, Trial
from codekin.learners import Learner
from codekin.model import Model
from codekin.model.temperature import Temperature


@dataclass(frozen=True, eq=False)
class Parts:
    """What is chosen before any bit is trained: codewords, their assignment and the class distances."""

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
    """A fitted model, and how it came about; ``trials`` are those of a search within ``budget``."""

    model: Model
    plan: Plan
    learner: Learner
    loss: Loss
    class_distances: ClassDistances | None
    assignment_result: AssignmentResult | None
    rng: np.random.Generator
    temperature: Temperature = field(default_factory=Temperature)
    trials: tuple[Trial, ...] = ()
    budget: str = ""
    decoder_fit: DecoderFit | None = None

    def told(self) -> tuple[dict[str, Any], Recipe, dict[str, Any]]:
        """All settings of the fit, those of a recipe, and facts for the report."""
        is_learned, found = self.model.decoder.is_learned, self.decoder_fit
        facts = {
            "decoding": "learned" if is_learned else "loss",
            "codebook_reason": self.plan.reason,
            "budget": self.budget,
            "trials": self.trials,
            **self.temperature.measures,
        }
        if found is not None:
            facts |= {"learned_accuracy": found.accuracy, "loss_accuracy": found.loss_based_accuracy}
            if is_learned:
                facts["decoder_strength"] = found.strength
        return self.plan.as_dict(), Recipe.of(self.plan), facts
