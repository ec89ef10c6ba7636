"""What people want to know after training: how good, how large and how fast the model is, and where it fails."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from codekin._system.memory import in_units
from codekin._system.messages import counted
from codekin.fitting.report import FitReport
from codekin.measures import Evaluation, evaluation_text


@dataclass(frozen=True, eq=False)
class TrainingReport:
    """How good a trained model is on held-out samples, how large and how fast; prints as lines for people.

    Parameters
    ----------
    n_samples : int or None
        How many samples the model has learned from; None if it was loaded or learns in batches.
    n_classes, n_features : int
        How many classes and features there are.
    features : str
        What the features are; empty if they were given as numbers.
    n_bytes : int
        The size of the model folder.
    microseconds : float or None
        The CPU time of a prediction on one thread, in large batches; of a text, from the text on. None without samples.
    evaluation : Evaluation or None
        What was measured on the validation samples; None without them.
    details : FitReport
        The same fit in the terms of the method: distances, losses of bits, likelihoods.
    """

    n_samples: int | None
    n_classes: int
    n_features: int
    features: str
    n_bytes: int
    microseconds: float | None
    evaluation: Evaluation | None
    details: FitReport = field(repr=False)

    def as_dict(self) -> dict[str, Any]:
        """All numbers as plain values for JSON; the details are those of ``details.as_dict()``."""
        evaluation = None if self.evaluation is None else self.evaluation.as_dict()
        return {**vars(self), "evaluation": evaluation, "details": self.details.as_dict()}

    def __str__(self) -> str:
        """Lines for people."""
        of_texts = f" of texts ({self.features})" if self.features else ""
        rows = {
            "model": f"{counted(self.n_classes, 'class')}, {counted(self.n_features, 'feature')}{of_texts}, "
            f"{in_units(self.n_bytes)}"
        }
        if self.n_samples is not None:
            rows["learned from"] = counted(self.n_samples, "sample")
        if self.microseconds is not None:
            begin = "text" if self.features else "features"
            rows["a prediction takes"] = f"{self.microseconds:.0f} microseconds from {begin} to class, on one thread"
        measured = f"{'accuracy':<32}not measured: no samples were held back for it"
        if self.evaluation is not None and self.details.budget:
            measured = evaluation_text(self.evaluation, "validation sample", ", which also chose the settings")
        elif self.evaluation is not None:
            measured = evaluation_text(self.evaluation, which=" that the model has not learned from")
        return "\n".join([measured, *(f"{name:<32}{value}" for name, value in rows.items())])
