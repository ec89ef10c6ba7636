"""Compare what all assignments get right under each condition with clean samples; compare assignments of equal loss.

Where all assignments are examined nothing about them is uncertain; what is drawn are the test samples. Errors are
therefore those of resampled test samples, on some assignments whose answers are known one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.code import Codebook, FloatArray, IntArray
from codekin_studies.distributions import r_squared, regression
from codekin_studies.engine.workspace import Outcome, Task, Workspace
from codekin_studies.robustness import sweeping
from codekin_studies.splits.sweeps import average_losses, spread_of

COMPARE, PAIRS = "robustness.compare", "robustness.pairs"

N_PAIRS = 5
"""How many pairs of classes count as the most confusable ones."""

N_BINS = 4_000
MAX_DIFFERENCE = 0.01
"""Assignments are matched within this many bins of equal size by training loss; of each, the one of the lowest and the
one of the highest score, unless their losses differ by more than this share of the standard deviation."""

N_RESAMPLES = 200

RELATIONS = ("difference", "per_sd", "slope", "at_equal_accuracy")
"""The tenth with the lowest scores minus the tenth with the highest ones, in points; points per standard deviation of
the score; points per point of clean accuracy; points per standard deviation of the score in a regression on both."""


def confusable_pairs(confusion: FloatArray) -> list[tuple[int, int]]:
    """The pairs of classes that are confused most, either way."""
    both = np.triu(confusion + confusion.T, k=1)
    order = np.argsort(-both, axis=None, kind="stable")[:N_PAIRS]
    return [(int(first), int(second)) for first, second in zip(*np.unravel_index(order, both.shape), strict=True)]


def run_compare(task: Task, workspace: Workspace) -> Outcome:
    """Relate accuracies under every condition to clean ones, scores and learnability; divide the errors."""
    given = task.parameters
    codebook = sweeping.codebook_of(given, workspace)
    scores = sweeping.scores_of(given, workspace)
    responses = sweeping.respond_task(given)
    learnability = average_losses(codebook, np.array(workspace.load(responses, "squares")))
    y = np.array(workspace.load(responses, "y"))
    pairs = confusable_pairs(sweeping.plain_confusion(given, workspace))
    swept = {name: Task(sweeping.SWEEP, {**given, "condition": name}) for name in sweeping.conditions(given)}
    clean = sweeping.accuracies_of(swept[sweeping.CLEAN], workspace)
    clean_predicted = np.array(workspace.load(swept[sweeping.CLEAN], "predicted"))
    found: dict[str, Any] = {}
    for name, sweep in swept.items():
        accuracies, ranks = sweeping.accuracies_of(sweep, workspace), np.array(workspace.load(sweep, "ranks"))
        predicted = np.array(workspace.load(sweep, "predicted"))
        predictors = {"score": scores, "learnability": learnability, "clean": clean}
        found[name] = {
            **_spread(accuracies, scores),
            "r_squared": {key: r_squared(values, accuracies) for key, values in predictors.items()},
            **with_errors(relations(accuracies, clean, scores), predicted == y, clean_predicted == y, scores[ranks]),
            "errors": divided_errors(predicted, y, pairs),
        }
    known = {"n_test": len(y), "n_bits": codebook.n_bits, "min_distance": codebook.min_distance}
    return Outcome({**known, "pairs": pairs, "conditions": found})


def _spread(accuracies: FloatArray, scores: FloatArray) -> dict[str, float]:
    """The mean, ends and standard deviation of accuracies, and the means of both tenths by score."""
    tenth = max(1, len(scores) // 10)
    order = np.argpartition(scores, [tenth - 1, len(scores) - tenth])
    means = {"preserving": accuracies[order[:tenth]].mean(), "breaking": accuracies[order[-tenth:]].mean()}
    return {**spread_of(accuracies), **{name: float(value) for name, value in means.items()}}


def divided_errors(predicted: NDArray[np.uint8], y: IntArray, pairs: list[tuple[int, int]]) -> dict[str, Any]:
    """Errors in percent within the most confusable pairs and beyond, by tenths of the score.

    ``predicted`` (n_assignments, n_samples) has assignments of rising score. The difference is that of the tenth of
    the lowest scores minus that of the highest, with its standard error over samples.
    """
    n_classes = int(max(y.max(), predicted.max())) + 1
    is_pair = np.zeros((n_classes, n_classes), dtype=np.bool_)
    for first, second in pairs:
        is_pair[first, second] = is_pair[second, first] = True
    tenth = max(1, len(predicted) // 10)
    is_wrong, is_within = predicted != y, is_pair[y[None, :], predicted]
    found = {}
    for name, chosen in (("within", is_wrong & is_within), ("beyond", is_wrong & ~is_within)):
        of_samples = [100 * part.mean(axis=0) for part in (chosen[:tenth], chosen, chosen[-tenth:])]
        difference = of_samples[0] - of_samples[2]
        found[name] = {
            **{
                key: float(part.mean()) for key, part in zip(("preserving", "all", "breaking"), of_samples, strict=True)
            },
            "difference": [float(difference.mean()), float(difference.std() / np.sqrt(len(y)))],
        }
    return found


def run_pairs(task: Task, workspace: Workspace) -> Outcome:
    """Compare the clean accuracies of assignments with equal training losses and different scores.

    The loss is the average hinge loss of the bits on training samples. Each pair has the assignment of the lower score
    first. Errors are over test samples, on at most ``n_checked`` of the pairs.
    """
    given = task.parameters
    codebook = sweeping.codebook_of(given, workspace)
    scores, responses = sweeping.scores_of(given, workspace), sweeping.respond_task(given)
    losses = average_losses(codebook, np.array(workspace.load(responses, "hinge")))
    clean = sweeping.accuracies_of(Task(sweeping.SWEEP, {**given, "condition": sweeping.CLEAN}), workspace)
    pairs, n_bins = matched_pairs(losses, scores)
    if not len(pairs):
        return Outcome({"n_pairs": 0, "n_bins": n_bins})
    of_scores = (scores[pairs[:, 1]] - scores[pairs[:, 0]]) / scores.std()
    differences = clean[pairs[:, 0]] - clean[pairs[:, 1]]
    some = pairs[np.linspace(0, len(pairs) - 1, min(given["n_checked"], len(pairs))).astype(np.int64)]
    error = _error_of_pairs(codebook, some, given, workspace)
    slope = regression(losses, clean)[0]
    result = {
        "n_pairs": len(pairs),
        "n_bins": n_bins,
        "loss_difference": float((losses[pairs[:, 0]] - losses[pairs[:, 1]]).mean()),
        "loss_sd": float(losses.std()),
        "score_difference": float(of_scores.mean()),
        "points": [float(differences.mean()), error],
        "share_better": 100 * float((differences > 0).mean() + (differences == 0).mean() / 2),
        "per_loss_sd": None if np.isnan(slope) else float(slope * losses.std()),
        "r_squared_loss": r_squared(losses, clean),
    }
    return Outcome(result, {"pairs": pairs})


def matched_pairs(losses: FloatArray, scores: FloatArray) -> tuple[IntArray, int]:
    """Ranks (n_pairs, 2) of assignments with equal losses, the lower score first, and the number of bins."""
    order = np.lexsort((scores, losses))
    n_bins = min(N_BINS, max(1, len(order) // 4))
    pairs, most = [], MAX_DIFFERENCE * losses.std()
    for chosen in np.array_split(order, n_bins):
        low, high = chosen[scores[chosen].argmin()], chosen[scores[chosen].argmax()]
        if scores[low] < scores[high] and abs(losses[low] - losses[high]) <= most:
            pairs.append((low, high))
    return np.array(pairs, dtype=np.int64).reshape(-1, 2), n_bins


def _error_of_pairs(codebook: Codebook, pairs: IntArray, given: Mapping[str, Any], workspace: Workspace) -> float:
    """The standard error of the mean difference of accuracies, in points, over test samples."""
    margins = sweeping.margins_under(sweeping.CLEAN, given, workspace)
    y = np.array(workspace.load(sweeping.respond_task(given), "y"))
    is_right = [sweeping.decoded(codebook, pairs[:, side], margins) == y for side in range(2)]
    of_samples = is_right[0].mean(axis=0) - is_right[1].mean(axis=0)
    return 100 * float(of_samples.std() / np.sqrt(len(y)))


def relations(accuracies: FloatArray, clean: FloatArray, scores: FloatArray) -> dict[str, Any]:
    """The relations of accuracies (..., n_assignments) to clean ones of the same shape and scores (n_assignments,).

    NaN where clean accuracies, or scores, do not vary.
    """
    tenth = max(1, len(scores) // 10)
    order = np.argpartition(scores, [tenth - 1, len(scores) - tenth])
    z = _from_mean(scores)
    z = z / z.std() if z.std() > 0 else np.full(len(z), np.nan)
    a, c = _from_mean(accuracies), _from_mean(clean)
    n = len(scores)
    cc, cz, ac, az = (c * c).sum(-1) / n, c @ z / n, (a * c).sum(-1) / n, a @ z / n
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(cc > 0, ac / cc, np.nan)
        partial = np.where(cc - cz**2 > 1e-9 * cc, (az * cc - ac * cz) / (cc - cz**2), np.nan)
    lowest, highest = (accuracies[..., chosen].mean(axis=-1) for chosen in (order[:tenth], order[-tenth:]))
    return {"difference": lowest - highest, "per_sd": az, "slope": slope, "at_equal_accuracy": partial}


def _from_mean(values: FloatArray) -> FloatArray:
    return np.asarray(values - values.mean(axis=-1, keepdims=True))


def standard_errors(
    is_right: NDArray[np.bool_], is_right_clean: NDArray[np.bool_], scores: FloatArray, seed: int
) -> dict[str, float]:
    """The standard errors of the relations, by resampling the samples of (n_assignments, n_samples)."""
    n = is_right.shape[1]
    counts = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=N_RESAMPLES).astype(np.float32)
    drawn = [100 / n * (counts @ right.T.astype(np.float32)).astype(np.float64) for right in (is_right, is_right_clean)]
    return {name: _deviation(values) for name, values in relations(drawn[0], drawn[1], scores).items()}


def _deviation(values: FloatArray) -> float:
    """The standard deviation of the numbers among values; NaN if fewer than half of them are."""
    known = values[np.isfinite(values)]
    return float(known.std()) if 2 * len(known) >= len(values) else float("nan")


def with_errors(
    values: Mapping[str, Any], is_right: NDArray[np.bool_], is_right_clean: NDArray[np.bool_], scores: FloatArray
) -> dict[str, list[float] | None]:
    """Relations as pairs of the value and its standard error; None where there is none."""
    errors = standard_errors(is_right, is_right_clean, scores, seed=0)
    return {
        name: [float(values[name]), errors[name]] if np.isfinite([values[name], errors[name]]).all() else None
        for name in RELATIONS
    }
