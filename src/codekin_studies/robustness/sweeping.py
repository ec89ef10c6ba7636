"""Count what every assignment gets right under one condition, and check the count against the decoder."""

from __future__ import annotations

from collections.abc import Mapping
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.assignments.exhaustive import all_scores, nth_assignment
from codekin.class_distances import confusion_distances
from codekin.coding import Codebook, CodingMatrix, FloatArray, IntArray
from codekin.decoding import MinimumLossDecoder
from codekin_studies.engine.runner import Outcome
from codekin_studies.engine.task import Task
from codekin_studies.engine.workspace import Workspace
from codekin_studies.entries import make_codebook
from codekin_studies.robustness.corruptions import PICTURE_CORRUPTIONS, flipped_code_bits
from codekin_studies.robustness.responses import FLIPS, respond_task, transfer_name
from codekin_studies.splits.dichotomies import split_signs
from codekin_studies.splits.sample_blocks import rounded_margins
from codekin_studies.splits.sweeps import count_correct

SCORE, SWEEP = "robustness.score", "robustness.sweep"

MAX_BITS = 15
"""Margins are rounded so that codebooks of up to this many bits are exact."""

CLEAN = "clean"


def conditions(given: Mapping[str, Any]) -> list[str]:
    """The names of all conditions that assignments are swept under, the clean one first."""
    transferred = [transfer_name(radius) for radius in given["transfer"]]
    return [CLEAN, *PICTURE_CORRUPTIONS, "code_bits", "weight_bits", *transferred]


def codebook_of(given: Mapping[str, Any], workspace: Workspace) -> Codebook:
    """The codebook of a task."""
    return make_codebook(given["codebook"], len(plain_confusion(given, workspace)), {})


def plain_confusion(given: Mapping[str, Any], workspace: Workspace) -> FloatArray:
    """How often one-vs-rest least squares of the plain features confuses training samples; rows are true classes."""
    return np.array(workspace.load(respond_task(given, features=0), "confusion"))


def score_task(given: Mapping[str, Any]) -> Task:
    """The task that scores all assignments of the codebook of another task."""
    return Task(SCORE, {**respond_task(given, features=0).parameters, "codebook": given["codebook"]})


def run_score(task: Task, workspace: Workspace) -> Outcome:
    """Score all assignments by the confusion of the plain features, whatever the capacity; order them by that."""
    given = task.parameters
    scores = all_scores(codebook_of(given, workspace), confusion_distances(plain_confusion(given, workspace)))
    return Outcome({}, {"scores": scores, "order": np.argsort(scores, kind="stable").astype(np.uint32)})


def scores_of(given: Mapping[str, Any], workspace: Workspace) -> FloatArray:
    """The class-codeword scores of all assignments of the codebook of a task."""
    return np.array(workspace.load(score_task(given), "scores"))


def strata_of(given: Mapping[str, Any], n: int, workspace: Workspace) -> IntArray:
    """The ranks of ``n`` assignments of the codebook of a task, one of each stratum of the score."""
    return strata(workspace.load(score_task(given), "order"), n, given["seed"])


def strata(order: NDArray[Any], n: int, seed: int) -> IntArray:
    """The ranks of ``n`` assignments by rising score, one drawn from each of ``n`` strata of about the same size.

    ``order`` has all ranks by rising score. The first and the last are those of the lowest and the highest score.

    >>> strata(np.argsort([0.1, 0.9, 0.5, 0.4, 0.3, 0.8]), 3, 0)[[0, -1]].tolist()
    [0, 1]
    """
    n = min(n, len(order))
    ends = np.linspace(0, len(order), n + 1).astype(np.int64)
    drawn = np.random.default_rng(seed).integers(ends[:-1], ends[1:])
    drawn[0], drawn[-1] = 0, len(order) - 1
    return np.asarray(order[drawn], dtype=np.int64)


def margins_under(condition: str, given: Mapping[str, Any], workspace: Workspace) -> FloatArray:
    """The rounded margins (n_splits + 1, n_samples) of all splits under a condition; row 0 is not used."""
    task = respond_task(given)
    if condition == "weight_bits":
        return rounded_margins(workspace.load(task, "margins-weight_bits"), MAX_BITS)
    is_flipped = condition == "code_bits"
    outputs = np.array(workspace.load(task, f"outputs-{CLEAN if is_flipped else condition}"), dtype=np.float64)
    n_classes = outputs.shape[1]
    margins = split_signs(np.arange(2 ** (n_classes - 1)), n_classes).T @ outputs.T
    if is_flipped:
        rng = np.random.default_rng([given["seed"], FLIPS, 0])
        margins = flipped_code_bits(margins, given["corruptions"]["code_bits"], rng)
    return rounded_margins(margins, MAX_BITS)


def splits_of(coding_matrix: CodingMatrix) -> tuple[IntArray, IntArray]:
    """The number of the split of each column, and +1 or -1 for its side."""
    sides = -coding_matrix[-1].astype(np.int64)
    is_positive = coding_matrix * sides > 0
    return np.asarray((is_positive << np.arange(len(coding_matrix))[:, None]).sum(axis=0)), sides


def decoded(codebook: Codebook, ranks: IntArray, margins: FloatArray) -> NDArray[np.uint8]:
    """What some assignments take the samples for, by the decoder itself, (n_assignments, n_samples)."""
    n = codebook.n_codewords
    found = np.empty((len(ranks), margins.shape[1]), dtype=np.uint8)
    for place, rank in enumerate(ranks):
        coding_matrix = codebook.matrix[nth_assignment(int(rank), n, n)]
        splits, sides = splits_of(coding_matrix)
        found[place] = MinimumLossDecoder(coding_matrix, "hinge").decode((margins[splits] * sides[:, None]).T)
    return found


def run_sweep(task: Task, workspace: Workspace) -> Outcome:
    """Test every assignment of a codebook under a condition; decode some of them, one from each stratum of the score.

    Raises if the counts of the sweep differ from those of the decoder.
    """
    given = task.parameters
    codebook = codebook_of(given, workspace)
    margins = margins_under(given["condition"], given, workspace)
    y = np.array(workspace.load(respond_task(given), "y"))
    n_correct = count_correct(codebook, margins, y)
    ranks = strata_of(given, given["n_checked"], workspace)
    predicted = decoded(codebook, ranks, margins)
    n_different = int(((predicted == y).sum(axis=1) != n_correct[ranks]).sum())
    if n_different:
        raise ArithmeticError(
            f"{n_different} of {len(ranks)} counts of a sweep differ from the decoder's: {task.label}."
        )
    accuracies = n_correct * (100 / len(y))
    result = {
        "n_assignments": factorial(codebook.n_codewords),
        "n_test": len(y),
        "n_checked": len(ranks),
        "min_distance": codebook.min_distance,
        "n_bits": codebook.n_bits,
        **{name: float(getattr(accuracies, name)()) for name in ("min", "mean", "max", "std")},
    }
    arrays = {"n_correct": n_correct.astype(np.uint16 if len(y) < 2**16 else np.int32), "predicted": predicted}
    return Outcome(result, {**arrays, "ranks": ranks})
