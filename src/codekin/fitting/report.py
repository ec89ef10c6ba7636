"""What a fit was worth: in the paper's own terms, and as people want to know it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from math import isnan, nan
from reprlib import repr as shortened
from typing import Any, NamedTuple, Self

import numpy as np

from codekin._system.memory import in_units
from codekin._system.messages import counted
from codekin._system.rows import StoredRows
from codekin._system.tables import html_of_lines
from codekin.assignments.scores import AssignmentProblem
from codekin.classes import ClassDistances
from codekin.code import FloatArray
from codekin.code.codebook import kind_of_matrix
from codekin.codebooks.symbols import NO_CODE
from codekin.decoding import Loss
from codekin.fitting.trial import Trial
from codekin.measures.label_sets import LabelEvaluation
from codekin.measures.predictions import Evaluation, evaluation_text
from codekin.model import Model
from codekin.samples import Samples, rows_at

MARGINS_PER_BLOCK = 1 << 19  # 4 MB in double precision, and there are several copies


class Words(NamedTuple):
    """What a column of a code is called, what is said of its symbols, and what the mean of its losses is called."""

    unit: str
    symbols: str
    average: str


WORDS = {
    "signs": Words("bit", "", "average binary loss epsilon"),
    "symbols": Words("column", " of {} symbols", "average loss of the columns"),
}


@dataclass(frozen=True, eq=False)
class FitReport:
    """The quantities that the paper judges a code by.

    The code, its distances and its score are known from the fit. What depends on samples is measured by
    ``report(X, y)``, and is NaN or empty until then.

    Parameters
    ----------
    n_classes, n_bits : int
        The shape of the coding matrix.
    codebook : str
        The name of the codebook.
    assignment : str
        How codewords were assigned to classes: what was asked for and, in brackets, the method that found it.
    loss : str
        The decoding loss.
    min_distance : float
        The minimum distance rho between codewords.
    class_codeword_score : float
        The distance between class distances and codeword distances (Eq. 5); smaller preserves similarity better. NaN
        without class distances.
    standard_deviations_below_random : float
        How far that score is below the mean over all assignments, in their standard deviations; NaN if all assignments
        have the same score.
    n_measured : int
        How many samples the next four fields were measured on.
    bit_losses : array of shape (n_bits,)
        The mean loss of each bit; empty if nothing was measured.
    average_binary_loss : float
        Epsilon, their mean (Eq. 3).
    error_bound : float
        The bound on the error on these samples (Eq. 4); NaN with a learned decoder.
    error : float
        The error itself: the share of these samples whose predicted class is wrong.
    learner : str, default=""
        The learner of the bits, if there was a choice.
    codebook_reason : str, default=""
        Why this codebook was chosen, if it was left open.
    decoding : {"loss", "learned"}
        Whether classes are decoded by the sum of the losses of the bits, or by learned weights.
    decoder_strength : float
        How strongly the weights of a learned decoder are pulled towards the coding matrix; NaN if they are the coding
        matrix, or if none was learned.
    learned_accuracy, loss_accuracy : float
        The share of held-out samples that either decoding gets right; NaN if nothing was compared.
    nll_before, nll : float
        The mean negative log-likelihood of the validation samples, or of 2,000 of them, at temperature 1 and at the
        one chosen by them; NaN without validation.
    ece_before, ece : float
        The expected calibration errors, likewise.
    n_codes : int
        How many codes there are; their bits are counted together.
    certified_share : float
        With several codes, the share of the measured samples whose class is provably the best of all classes.
    budget : str
        What the model was allowed to cost; empty without a budget.
    trials : tuple of Trial
        The recipes that were tried within it.
    n_symbols : int
        How many symbols a column may have.
    """

    n_classes: int
    n_bits: int
    codebook: str
    assignment: str
    loss: str
    min_distance: float
    class_codeword_score: float
    standard_deviations_below_random: float
    n_measured: int = 0
    bit_losses: FloatArray = field(default_factory=lambda: np.zeros(0), repr=False)
    average_binary_loss: float = nan
    error_bound: float = nan
    error: float = nan
    learner: str = ""
    codebook_reason: str = ""
    decoding: str = "loss"
    decoder_strength: float = nan
    learned_accuracy: float = nan
    loss_accuracy: float = nan
    nll_before: float = nan
    nll: float = nan
    ece_before: float = nan
    ece: float = nan
    n_codes: int = 1
    certified_share: float = nan
    budget: str = ""
    trials: tuple[Trial, ...] = ()
    n_symbols: int = 2

    def as_dict(self) -> dict[str, Any]:
        """All fields as plain values for JSON, None for numbers that are not finite.

        ``n_symbols`` is left out if it is the default.
        """
        plain = {**asdict(self), "bit_losses": [float(loss) for loss in self.bit_losses]}
        plain["trials"] = list(plain["trials"])
        if self.n_symbols == type(self).n_symbols:
            del plain["n_symbols"]
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
        return report_text(self)

    def _repr_html_(self) -> str:
        """The same for notebooks."""
        return html_of_lines(str(self))

    @property
    def _words(self) -> Words:
        return WORDS[kind_of_matrix(n_symbols=self.n_symbols)]

    def _measures(self, kind: str) -> list[str]:
        """Measurements on samples of some kind, for the terminal."""
        samples = f" on {counted(self.n_measured, kind)}" if self.n_measured else ""
        if not len(self.bit_losses) and not isnan(self.error):
            return [f"  error                          {self.error:.4f}{samples}"]
        if not len(self.bit_losses):
            what = f"losses of the {self._words.unit}s"
            return [f"  {what:<30} not measured; report(X, y) measures them on samples"]
        hardest = np.argsort(-self.bit_losses, kind="stable")[:3]
        lines = [
            f"  {self._words.average:<30} {self.average_binary_loss:.4f} ({self.loss} loss){samples}",
            f"  {f'hardest {self._words.unit}s':<30} " + ", ".join(f"{j} ({self.bit_losses[j]:.3f})" for j in hardest),
        ]
        if self.error_bound < 1:  # otherwise it says nothing
            lines.append(f"  bound on the error             {self.error_bound:.4f}")
        lines.append(f"  error                          {self.error:.4f}")
        if not isnan(self.certified_share):
            lines.append(f"  certified predictions          {self.certified_share:.4f}")
        return lines

    def _choice(self) -> list[str]:
        """What was tried within the budget, for the terminal."""
        if not self.trials:
            return []
        chosen = min((trial for trial in self.trials if trial.fits), key=lambda trial: (-trial.accuracy, trial.n_bytes))
        return [
            f"  chosen within {self.budget}: the most accurate of {len(self.trials)} on the validation samples",
            *(f"  {'*' if trial is chosen else ' '} {trial}" for trial in self.trials),
        ]


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
    evaluation: Evaluation | LabelEvaluation | None
    details: FitReport = field(repr=False)

    def as_dict(self) -> dict[str, Any]:
        """All numbers as plain values for JSON; the details are those of ``details.as_dict()``."""
        evaluation = None if self.evaluation is None else self.evaluation.as_dict()
        return {**vars(self), "evaluation": evaluation, "details": self.details.as_dict()}

    def _repr_html_(self) -> str:
        """The same for notebooks, with the tables of the classes."""
        brief = getattr(self.evaluation, "_without_worst", self.evaluation)
        return html_of_lines(str(replace(self, evaluation=brief))) + getattr(self.evaluation, "_tables_html", "")

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


def report_text(report: FitReport, measured_on: str = "sample") -> str:
    """A report for the terminal; ``measured_on`` is what to call a sample that it was measured on."""
    of_codes = f" of {counted(report.n_codes, 'code')}" if report.n_codes > 1 else ""
    learner = f", {report.learner} learner" if report.learner else ""
    columns = counted(report.n_bits, report._words.unit) + report._words.symbols.format(report.n_symbols)
    rows = {}
    code = f"{columns}{of_codes}: {report.codebook} codebook, {report.assignment} assignment{learner}"
    if report.codebook == NO_CODE:
        code = "no code: the learner as it is"
        rows["chosen since"] = report.codebook_reason
    else:
        if report.codebook_reason:
            rows["codebook chosen since"] = report.codebook_reason
        rows["minimum distance rho"] = f"{report.min_distance:g}"
    of_samples = {}
    if not isnan(report.class_codeword_score):
        spread = report.standard_deviations_below_random
        place = f"{abs(spread):.1f} standard deviations {'below' if spread >= 0 else 'above'} a random assignment's"
        place = "the same for every assignment" if isnan(spread) else place
        of_samples["class-codeword score"] = f"{report.class_codeword_score:.4f}, {place}"
    if not isnan(report.learned_accuracy):
        of_samples["decoding"] = (
            f"{'learned' if report.decoding == 'learned' else 'by the loss'} "
            f"(held-out accuracy: learned {report.learned_accuracy:.4f}, by the loss {report.loss_accuracy:.4f})"
        )
    if not isnan(report.nll):
        of_samples["validation NLL and ECE"] = (
            f"{report.nll:.4f} and {report.ece:.4f} "
            f"(at temperature 1: {report.nll_before:.4f} and {report.ece_before:.4f})"
        )
    return "\n".join(
        [
            f"{counted(report.n_classes, 'class')}, {code}",
            *(f"  {name:<30} {value}" for name, value in rows.items()),
            *report._measures(measured_on),
            *(f"  {name:<30} {value}" for name, value in of_samples.items()),
            *report._choice(),
        ]
    )


def fit_report(
    model: Model,
    loss: Loss,
    class_distances: ClassDistances | None,
    facts: Mapping[str, Any],
    *,
    known: FitReport | None = None,
    samples: Samples | None = None,
) -> FitReport:
    """The report of a fitted model, with measurements on samples if there are any.

    - ``class_distances``: without them there is no class-codeword score.
    - ``facts``: what the fit reports besides the properties of the code.
    - ``known``: an earlier report.
    """
    if known is None:
        score, z, code = nan, nan, model.codes[0].code
        codebook, assignment = code.codebook, code.assignment
        if class_distances is not None and codebook.takes_searches:
            score, z = AssignmentProblem.of(codebook, class_distances).score_and_z(assignment)
            if codebook.is_equidistant:
                z = nan  # every assignment has this score
        known = FitReport(
            n_classes=code.n_classes,
            n_bits=model.n_bits,
            codebook=codebook.name,
            assignment=assignment.kind,
            loss=loss.name,
            min_distance=codebook.min_distance,
            class_codeword_score=score,
            standard_deviations_below_random=z,
            n_codes=len(model.codes),
            n_symbols=codebook.n_symbols,
            **facts,
        )
    return known if samples is None else replace(known, **measured(model, loss, samples))


def restored(values: Mapping[str, Any], model: Model) -> FitReport:
    """The report of a stored model. Raises ValueError if it is invalid or of another model."""
    report = FitReport.from_dict(values)
    shape = (model.n_classes, model.n_bits)
    if (report.n_classes, report.n_bits) != shape or report.bit_losses.shape not in (shape[1:], (0,)):
        raise ValueError(f"the report is not of {model.n_classes} classes and {model.n_bits} bits.")
    kinds: dict[Any, Any] = {"int": int, "float": int | float, "str": str}
    for field_ in fields(report):
        value = getattr(report, field_.name)
        if field_.type in kinds and not isinstance(value, kinds[field_.type]):
            raise ValueError(f"'{field_.name}' of the report must be of type {field_.type}. Got {shortened(value)}.")
    report._choice()  # fails if a trial cannot be shown
    return report


def measured(model: Model, loss: Loss, samples: Samples) -> dict[str, Any]:
    """The fields of a report that depend on samples, only the error if margins are lazy; ``loss`` is that of the bits.

    Samples of class -1, which the model does not know, are errors; bits have no losses for them.
    """
    class_index, n_samples, codebook = samples.class_index, len(samples.class_index), model.codes[0].code.codebook
    if codebook.is_lazy or samples.labels is not None:
        predicted = np.concatenate([model.predict(block) for _, block in _blocks(samples.X, n_samples, 4096)])
        return {"n_measured": n_samples, "error": float((~samples.is_label(predicted[:, None])).mean())}
    total, n_wrong, n_certified = np.zeros(model.n_bits), 0, 0
    step = max(MARGINS_PER_BLOCK // (model.n_bits * codebook.n_symbols // 2), 256)
    for rows, block in _blocks(samples.X, n_samples, step):
        margins, known = model.margins(block), np.flatnonzero(class_index[rows] >= 0)
        own = margins if len(known) == len(margins) else margins[known]
        if len(known):
            losses = codebook.bit_losses(own, model.coding_matrix, class_index[rows][known], loss)
            total += losses * len(known)
        if model.ranking is not None:
            best = model.ranked.candidates(block, np.split(margins, len(model.codes), axis=1), 1, model.ranking)
            n_wrong += int((best.classes[:, 0] != class_index[rows]).sum())
            n_certified += int(best.is_certified.sum())
        else:
            n_wrong += int((model.decoder.decode(margins) != class_index[rows]).sum())
    n_known = int((class_index >= 0).sum())
    bit_losses = total / n_known if n_known else np.zeros(0)
    epsilon = float(bit_losses.mean()) if n_known else nan
    bound = nan if model.decoder.is_learned else codebook.error_bound(epsilon, loss)
    return {
        "n_measured": n_samples,
        "bit_losses": bit_losses,
        "average_binary_loss": epsilon,
        "error_bound": (bound * n_known + n_samples - n_known) / n_samples,
        "error": n_wrong / n_samples,
        "certified_share": n_certified / n_samples if len(model.codes) > 1 else nan,
    }


def _blocks(X: Any, n_samples: int, step: int) -> Iterator[tuple[slice, Any]]:
    """The samples in blocks of about ``step``, with their rows."""
    if isinstance(X, StoredRows):
        step = min(step, X.rows_at_once)
    for start in range(0, n_samples, step):
        rows = slice(start, start + step)
        yield rows, rows_at(X, rows)
