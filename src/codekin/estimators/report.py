"""What a fit was worth, in the paper's own terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import nan
from typing import Any, Self

import numpy as np

from codekin.assignments import class_codeword_score, class_codeword_z
from codekin.coding import FloatArray, IntArray
from codekin.decoding import Loss
from codekin.distances import ClassDistances
from codekin.estimators.recipe import Trial
from codekin.measures import binary_losses, multiclass_error_bound
from codekin.model import CodedModel
from codekin.ranked_model import RankedModel
from codekin.stored_rows import StoredRows

MARGINS_PER_BLOCK = 1 << 19
"""How many margins are held at once: four megabytes, some times over."""


@dataclass(frozen=True, eq=False)
class FitReport:
    """The quantities that the paper judges a code by, measured on the training samples.

    Parameters
    ----------
    n_classes, n_bits : int
        The shape of the coding matrix.
    codebook : str
        The name of the codebook.
    assignment : str
        How codewords were assigned to classes.
    loss : str
        The decoding loss.
    min_distance : float
        The minimum distance rho between codewords.
    bit_losses : array of shape (n_bits,)
        The mean training loss of each bit.
    average_binary_loss : float
        Epsilon, their mean (Eq. 3).
    error_bound : float
        The bound on the multiclass training error (Eq. 4).
    training_error : float
        The training error itself.
    class_codeword_score : float
        The distance between class distances and codeword distances (Eq. 5); smaller preserves similarity better. NaN
        where there are no class distances.
    standard_deviations_below_random : float
        How far that score lies below the mean over all assignments, in their standard deviations; NaN where all
        assignments have the same score.
    learner : str, default=""
        Who learned the bits, where there was a choice.
    nll_before, nll : float
        The mean negative log-likelihood of the validation samples' classes, at temperature 1 and at the one that they
        chose; NaN without validation.
    ece_before, ece : float
        The expected calibration errors, likewise.
    n_members : int
        How many codes there are; their bits are counted together.
    certified_share : float
        With several codes, the share of training samples whose best class is certainly that of all classes.
    budget : str
        What the model was allowed to cost; empty where there was no budget.
    trials : tuple of Trial
        The recipes that were tried within it.
    """

    n_classes: int
    n_bits: int
    codebook: str
    assignment: str
    loss: str
    min_distance: float
    bit_losses: FloatArray = field(repr=False)
    average_binary_loss: float
    error_bound: float
    training_error: float
    class_codeword_score: float
    standard_deviations_below_random: float
    learner: str = ""
    nll_before: float = nan
    nll: float = nan
    ece_before: float = nan
    ece: float = nan
    n_members: int = 1
    certified_share: float = nan
    budget: str = ""
    trials: tuple[Trial, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """All fields, with plain Python types, as JSON wants them; None for what is not finite."""
        plain = {**asdict(self), "bit_losses": [float(loss) for loss in self.bit_losses]}
        plain["trials"] = [trial.as_dict() for trial in self.trials]
        return {
            key: None if isinstance(value, float) and not np.isfinite(value) else value for key, value in plain.items()
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The report whose ``as_dict`` this is."""
        numbers: dict[str, Any] = {key: float("nan") if value is None else value for key, value in values.items()}
        numbers["bit_losses"] = np.array(values["bit_losses"], dtype=np.float64)
        numbers["trials"] = tuple(Trial.from_dict(trial) for trial in values.get("trials", ()))
        return cls(**numbers)

    def __str__(self) -> str:
        """A few lines for the terminal."""
        hardest = np.argsort(-self.bit_losses)[:3]
        spread = self.standard_deviations_below_random
        place = (
            "the same for every assignment"
            if np.isnan(spread)
            else f"{abs(spread):.1f} standard deviations {'below' if spread >= 0 else 'above'} a random assignment's"
        )
        certified = f"  certified predictions          {self.certified_share:.4f}"
        score = f"  class-codeword score           {self.class_codeword_score:.4f}, {place}"
        likelihood = (
            f"  validation NLL and ECE         {self.nll:.4f} and {self.ece:.4f} "
            f"(at temperature 1: {self.nll_before:.4f} and {self.ece_before:.4f})"
        )
        learner = f", {self.learner} learner" if self.learner else ""
        return "\n".join(
            [
                f"{self.n_classes} classes, {self.n_bits} bits"
                + (f" of {self.n_members} codes" if self.n_members > 1 else "")
                + f": {self.codebook} codebook, {self.assignment} assignment"
                + learner,
                f"  minimum distance rho           {self.min_distance:g}",
                f"  average binary loss epsilon    {self.average_binary_loss:.4f} ({self.loss} loss)",
                "  hardest bits                   " + ", ".join(f"{j} ({self.bit_losses[j]:.3f})" for j in hardest),
                f"  bound on the training error    {self.error_bound:.4f}"
                + (" (says nothing)" * (self.error_bound >= 1)),
                f"  training error                 {self.training_error:.4f}",
            ]
            + ([] if np.isnan(self.class_codeword_score) else [score])
            + ([] if np.isnan(self.nll) else [likelihood])
            + ([] if np.isnan(self.certified_share) else [certified])
            + self._choice()
        )

    def _choice(self) -> list[str]:
        """What was tried within the budget, for the terminal."""
        if not self.trials:
            return []
        chosen = min((trial for trial in self.trials if trial.fits), key=lambda trial: (-trial.accuracy, trial.n_bytes))
        return [
            f"  chosen within {self.budget}: the most accurate of {len(self.trials)} on the validation samples",
            *(f"  {'*' if trial is chosen else ' '} {trial}" for trial in self.trials),
        ]


def make_report(
    model: CodedModel | RankedModel, loss: Loss, X: Any, class_index: IntArray, class_distances: ClassDistances | None
) -> FitReport:
    """Measure a fitted model on its training samples, some of them at a time.

    Parameters
    ----------
    model : CodedModel or RankedModel
    loss : Loss
        The decoding loss.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    class_index : array of shape (n_samples,)
    class_distances : ClassDistances or None
        Without them there is no class-codeword score.

    Returns
    -------
    FitReport
    """
    n_samples = len(class_index)
    total, n_wrong, n_certified = np.zeros(model.n_bits), 0, 0
    step = max(MARGINS_PER_BLOCK // model.n_bits, 256)
    if isinstance(X, StoredRows):
        step = min(step, X.rows_at_once)
    for start in range(0, n_samples, step):
        block = slice(start, start + step)
        # Input without rows that could be cut, such as text, is small enough to be taken whole.
        margins = model.margins(X[block] if hasattr(X, "dtype") else X)
        if not hasattr(X, "dtype"):
            margins = margins[block]
        total += binary_losses(margins, class_index[block], model.coding_matrix, loss) * len(margins)
        if isinstance(model, RankedModel):
            best = model.candidates(X[block], 1)
            n_wrong += int((best.classes[:, 0] != class_index[block]).sum())
            n_certified += int(best.is_certified.sum())
        else:
            n_wrong += int((model.decoder.decode(margins) != class_index[block]).sum())
    n_members = len(model.members) if isinstance(model, RankedModel) else 1
    bit_losses = total / n_samples
    epsilon = float(bit_losses.mean())
    score, z = float("nan"), float("nan")
    if class_distances is not None:
        score = class_codeword_score(model.codebook, model.assignment, class_distances)
        z = class_codeword_z(model.codebook, model.assignment, class_distances)
    return FitReport(
        n_classes=model.n_classes,
        n_bits=model.n_bits,
        codebook=model.codebook.name,
        assignment=model.assignment.method,
        loss=loss.name,
        min_distance=model.codebook.min_distance,
        bit_losses=bit_losses,
        average_binary_loss=epsilon,
        error_bound=multiclass_error_bound(epsilon, model.codebook, loss),
        training_error=n_wrong / n_samples,
        class_codeword_score=score,
        standard_deviations_below_random=z,
        n_members=n_members,
        certified_share=n_certified / n_samples if n_members > 1 else nan,
    )
