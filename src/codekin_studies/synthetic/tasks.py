"""Six classes in the plane of which only one way to assign three bits makes sense (App. A and B).

Three lines cut the plane into seven regions; the six largest are the classes, and the sides of the lines are the
codewords. With this assignment, the three bits are learned without errors. All other assignments have bits that no line
can learn.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import factorial
from pathlib import Path
from typing import Any

import numpy as np

from codekin.assignments.exhaustive import nth_assignment
from codekin.coding import Codebook, CodingMatrix, FloatArray, IntArray
from codekin_studies.configuration import Study
from codekin_studies.engine.runner import Outcome
from codekin_studies.engine.schema import NOT_NEGATIVE, NUMBER, POSITIVE, Check, ListOf, Table, whole
from codekin_studies.engine.task import Stage, Task
from codekin_studies.engine.workspace import Workspace
from codekin_studies.fields import HEAD, NUMBERED, SEED
from codekin_studies.splits.dichotomies import n_splits, split_signs
from codekin_studies.splits.sample_blocks import rounded_margins
from codekin_studies.splits.svm import fit_svms
from codekin_studies.splits.sweeps import count_correct

SWEEP = "synthetic.sweep"
N_CLASSES = 6
OPTIONS: Mapping[str, Check] = {
    "seed": SEED,
    "n_per_class": whole(1, 10_000),
    "angles": ListOf(NUMBER, length=3),
    "offset": NUMBER,
    "gap": NOT_NEGATIVE,
    "C": POSITIVE,
    "one_vs_rest_C": ListOf(POSITIVE),
}
SCHEMA = Table({**HEAD, **OPTIONS}, NUMBERED)
"""The keys of a configuration."""


def check(study: Study, _data_names: list[str], _data_home: Path | None) -> None:
    """Raise unless the lines leave six regions with enough samples."""
    options = {name: study.option(name) for name in OPTIONS if name not in ("C", "one_vs_rest_C")}
    try:
        three_line_samples(**options)
    except ValueError as error:
        raise study.place.at("angles").error(f"'angles', 'offset' and 'gap' do not fit. {error}") from None


def stages(study: Study, _data_names: list[str]) -> list[Stage]:
    """The one task of the study."""
    return [Stage("all assignments of six classes", [sweep_task(study)])]


def sweep_task(study: Study) -> Task:
    """Make the samples, train all splits and test all assignments."""
    return Task(SWEEP, {name: study.option(name) for name in OPTIONS}, label="six classes")


def three_line_samples(
    n_per_class: int, *, angles: list[float], offset: float, gap: float, seed: int
) -> tuple[FloatArray, IntArray, CodingMatrix]:
    """Samples of the six largest regions that three lines leave of the unit disc.

    The lines have these angles, in degrees, and this offset from the middle; no sample is closer to one than ``gap``.
    Returns samples in the plane, their classes in the order of their angles, and codewords (6, 3): the sides of the
    lines on which each class lies.
    """
    rng = np.random.default_rng(seed)
    turns = np.deg2rad(angles)
    normals = np.column_stack([-np.sin(turns), np.cos(turns)])
    # Many more than needed: the smallest of six regions still has enough.
    points = rng.uniform(-1, 1, size=(400 * n_per_class, 2))
    heights = points @ normals.T - offset
    is_used = ((points**2).sum(axis=1) < 1) & (np.abs(heights) > gap).all(axis=1)
    points, sides = points[is_used], np.sign(heights[is_used]).astype(np.int8)
    codewords, region, sizes = np.unique(sides, axis=0, return_inverse=True, return_counts=True)
    largest = np.argsort(-sizes, kind="stable")[:N_CLASSES]
    if len(largest) < N_CLASSES or sizes[largest].min() < n_per_class:
        raise ValueError(f"The lines leave fewer than {N_CLASSES} regions with {n_per_class} samples. Use other lines.")
    middles = np.array([points[region == k].mean(axis=0) for k in largest])
    ordered = largest[np.argsort(np.arctan2(middles[:, 1], middles[:, 0]))]
    X = np.concatenate([points[region == k][:n_per_class] for k in ordered])
    return X, np.repeat(np.arange(N_CLASSES), n_per_class), codewords[ordered]


def run_sweep(task: Task, _workspace: Workspace) -> Outcome:
    """How many samples each of the 720 assignments fits, and how many one-vs-rest does."""
    given = task.parameters
    lines = {name: given[name] for name in ("angles", "offset", "gap", "seed")}
    X, y, codewords = three_line_samples(given["n_per_class"], **lines)
    # Shuffled: the identity must not be the answer.
    codebook = Codebook(codewords[np.random.default_rng(given["seed"]).permutation(N_CLASSES)])
    splits = np.arange(1, n_splits(N_CLASSES) + 1)
    fitted = fit_svms(X, split_signs(splits, N_CLASSES)[y], C=given["C"])
    margins = np.concatenate([np.zeros((1, len(X))), fitted.margins(X).T])
    n_correct = count_correct(codebook, rounded_margins(margins, codebook.n_bits), y)
    signs = np.where(y[:, None] == np.arange(N_CLASSES), 1, -1)
    one_vs_rest = [
        100 * float((fit_svms(X, signs, C=C).margins(X).argmax(axis=1) == y).mean()) for C in given["one_vs_rest_C"]
    ]
    result: dict[str, Any] = {
        "codewords": codebook.matrix.tolist(),
        "n_samples": len(X),
        "n_assignments": factorial(N_CLASSES),
        "n_perfect": int((n_correct == len(X)).sum()),
        "worst": 100 * float(n_correct.min()) / len(X),
        "second_best": 100 * float(n_correct[n_correct < n_correct.max()].max()) / len(X),
        "best": 100 * float(n_correct.max()) / len(X),
        "best_assignment": nth_assignment(int(n_correct.argmax()), N_CLASSES, N_CLASSES).tolist(),
        "worst_assignment": nth_assignment(int(n_correct.argmin()), N_CLASSES, N_CLASSES).tolist(),
        "one_vs_rest": max(one_vs_rest),
        "one_vs_rest_C": given["one_vs_rest_C"][int(np.argmax(one_vs_rest))],
    }
    lines_of_splits = np.column_stack([fitted.weights.T, fitted.bias])
    return Outcome(result, {"X": X, "y": y, "n_correct": n_correct, "lines": lines_of_splits})


FUNCTIONS = {SWEEP: run_sweep}


def lines_of_bits(coding_matrix: CodingMatrix, lines: FloatArray) -> FloatArray:
    """The predictors of the bits of a coding matrix, from those of all splits.

    ``lines`` (n_splits, 3) are weights and bias of the splits, from number 1 on. Returns shape (n_bits, 3).
    """
    masks = ((coding_matrix > 0) << np.arange(len(coding_matrix))[:, None]).sum(axis=0)
    everyone = (1 << len(coding_matrix)) - 1
    is_turned = coding_matrix[-1] > 0
    numbers = np.where(is_turned, everyone ^ masks, masks)
    return np.asarray(np.where(is_turned[:, None], -1, 1) * lines[numbers - 1])
