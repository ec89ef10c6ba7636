"""Every assignment of small codebooks with a decoder that is learned by least squares: the tasks of a study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import linalg

from codekin.assignments.exhaustive import all_scores, nth_assignment
from codekin.class_distances import mean_distances
from codekin.coding import Codebook, FloatArray, IntArray
from codekin.plots.distributions import regression
from codekin_studies.configuration import Study, data_among
from codekin_studies.decoding.spans import RELATIVE_ZERO, Outputs, spans_of_assignments
from codekin_studies.engine.runner import Outcome
from codekin_studies.engine.schema import POSITIVE, Entries, Table
from codekin_studies.engine.task import Stage, Task
from codekin_studies.engine.workspace import Workspace
from codekin_studies.entries import check_entries, make_codebook
from codekin_studies.fields import CODEBOOK_NAME, COUNT, HEAD, NUMBERED, SCALING, SEED, CodebookTable, DataName
from codekin_studies.splits.dichotomies import (
    Problem,
    least_squares,
    n_splits,
    problem_of,
    scaling_of,
    split_signs,
)
from codekin_studies.splits.sample_blocks import rounded_margins
from codekin_studies.splits.sweeps import average_losses, count_correct, lexicographic_rank

SWEEP, TRAIN = "decoding.sweep", "decoding.train"

MAX_BITS = 15
"""Margins are rounded so that codebooks of up to this many bits are exact."""

MAX_ROWS = 5_000
"""The most training samples for a multinomial decoder."""

SCHEMA = Table(
    {
        **HEAD,
        "seed": SEED,
        "n_spans": COUNT,
        "n_trained": COUNT,
        "n_multinomial": COUNT,
        "data": Entries(Table({"name": DataName(most_classes=10), "ridge": POSITIVE}, {"n_test": COUNT, **SCALING})),
        "codebooks": Entries(CodebookTable(CODEBOOK_NAME, class_distances=("means",))),
    },
    NUMBERED,
)
"""The keys of a configuration."""


def check(study: Study, data_names: list[str], data_home: Path | None) -> None:
    """Raise unless the samples and the codebooks are available."""
    check_entries(study, data_names, data_home, most_bits=MAX_BITS)


def stages(study: Study, data_names: list[str]) -> list[Stage]:
    """A sweep per data set and codebook, and some assignments trained in full for comparison."""
    chosen, codebooks = data_among(study, data_names), study.option("codebooks")
    pairs = [(data, code) for data in chosen for code in codebooks]
    return [
        Stage("sweeping all assignments", [sweep_task(study, data, code) for data, code in pairs]),
        Stage("training some in full", [train_task(study, data, code) for data, code in pairs]),
    ]


def sweep_task(study: Study, data: Mapping[str, Any], code: Mapping[str, Any]) -> Task:
    """Test all assignments of a codebook on a data set."""
    return Task(SWEEP, _parameters(study, data, code, "n_spans"), label=f"{data['name']}, {code['name']}", weight=5.0)


def train_task(study: Study, data: Mapping[str, Any], code: Mapping[str, Any]) -> Task:
    """Train some assignments of a codebook bit by bit, and their decoders on the margins."""
    parameters = _parameters(study, data, code, "n_trained", "n_multinomial")
    return Task(TRAIN, parameters, label=f"{data['name']}, {code['name']}, in full", weight=5.0)


def _parameters(study: Study, data: Mapping[str, Any], code: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {
        "data": data["name"],
        "n_test": data.get("n_test"),
        **scaling_of(data),
        "ridge": data["ridge"],
        "codebook": dict(code),
        **{name: study.option(name) for name in ("seed", *names)},
    }


def _made(task: Task, workspace: Workspace) -> tuple[Problem, Codebook, FloatArray]:
    """The samples, the codebook and the distances of class means."""
    given = task.parameters
    problem = problem_of(given, workspace.data_home)
    # Features that hardly vary would be lost to rounding in single precision.
    problem = replace(problem, X_train=problem.X_train.astype(np.float64), X_test=problem.X_test.astype(np.float64))
    distances = mean_distances(problem.X_train, problem.y_train).matrix()
    return problem, make_codebook(given["codebook"], problem.n_classes, {"means": distances}), distances


def _one_hot_outputs(problem: Problem, ridge: float) -> tuple[FloatArray, FloatArray]:
    """The outputs of least squares for one-hot targets, on training and test samples."""
    signs = 2 * np.eye(problem.n_classes, dtype=np.int8) - 1
    train, test = ((1 + m.astype(np.float64)) / 2 for m in least_squares(problem, signs, 0, ridge=ridge))
    return train, test


def run_sweep(task: Task, workspace: Workspace) -> Outcome:
    """Count what every assignment gets right, with the hinge loss of its margins and with its learned decoder.

    If there are more spans than ``n_spans``, learned decoders are evaluated for that many random assignments.
    """
    given = task.parameters
    problem, codebook, distances = _made(task, workspace)
    train, test = _one_hot_outputs(problem, given["ridge"])
    outputs = Outputs.of(train, problem.y_train, test)
    every_split = np.arange(n_splits(problem.n_classes) + 1)
    signs = split_signs(every_split, problem.n_classes)
    margins = rounded_margins(signs.T @ test.T, MAX_BITS)
    by_loss = count_correct(codebook, margins, problem.y_test)
    first, span_of_rank = spans_of_assignments(codebook)
    tested, examined, place = first, np.arange(len(by_loss)), span_of_rank
    if len(first) > given["n_spans"]:
        drawn = np.random.default_rng(given["seed"]).choice(len(by_loss), given["n_spans"], replace=False)
        tested = examined = np.sort(drawn)
        place = np.arange(len(drawn))
    n_right, everything = outputs.judged(np.eye(problem.n_classes), problem.y_test)
    found = np.array([_judged(outputs, codebook, int(rank), problem.y_test) for rank in tested])
    errors = np.eye(problem.n_classes)[problem.y_train] - train
    split_losses = np.einsum("ks,kc,cs->s", signs, errors.T @ errors / len(errors), signs)
    arrays = {
        "ranks": examined,
        "by_loss": by_loss[examined],
        "learned": found[place, 0].astype(np.int32),
        "explained": found[place, 1] / everything,
        "learnability": average_losses(codebook, split_losses)[examined],
        "means": all_scores(codebook, distances)[examined],
    }
    result = {
        "n_assignments": len(by_loss),
        "n_spans": len(first),
        "n_examined": len(examined),
        "n_bits": codebook.n_bits,
        "codewords": codebook.matrix.tolist(),
        "n_test": len(problem.y_test),
        "all_outputs": 100 * n_right / len(problem.y_test),
        **_summary(arrays, len(problem.y_test), codebook.n_codewords),
    }
    return Outcome(result, arrays)


def _judged(outputs: Outputs, codebook: Codebook, rank: int, y: IntArray) -> tuple[int, float]:
    """How many test samples an assignment gets right with its decoder, and the variance it explains."""
    n = codebook.n_codewords
    return outputs.judged(codebook.matrix[nth_assignment(rank, n, n)].astype(np.float64), y)


def _summary(arrays: Mapping[str, Any], n_test: int, n_classes: int) -> dict[str, Any]:
    """The numbers of both decoders for tables, and what predicts the learned one."""
    summary: dict[str, Any] = {}
    for name in ("by_loss", "learned"):
        accuracies = arrays[name] * (100 / n_test)
        best = int(arrays["ranks"][accuracies.argmax()])
        summary[name] = {
            **{which: float(getattr(accuracies, which)()) for which in ("min", "mean", "max", "std")},
            "best_assignment": nth_assignment(best, n_classes, n_classes).tolist(),
        }
    learned = arrays["learned"] * (100 / n_test)
    summary["of_best_by_loss"] = float(learned[arrays["by_loss"].argmax()])
    summary["chosen"] = {
        name: float(learned[(-arrays[name] if name == "explained" else arrays[name]).argmin()])
        for name in ("explained", "learnability", "means")
    }
    r_squared = {name: regression(arrays[name], learned)[2] for name in ("by_loss", *summary["chosen"])}
    summary["r_squared"] = {name: None if np.isnan(value) else float(value) for name, value in r_squared.items()}
    return summary


def run_train(task: Task, workspace: Workspace) -> Outcome:
    """Train all splits on their own targets, and decoders of random assignments on the margins themselves."""
    given = task.parameters
    problem, codebook, _ = _made(task, workspace)
    n_classes, rng = problem.n_classes, np.random.default_rng([given["seed"], 1])
    every_split = np.arange(1, n_splits(n_classes) + 1)
    train, test = least_squares(problem, split_signs(every_split, n_classes), 0, ridge=given["ridge"])
    train, test = np.ascontiguousarray(train.T), np.ascontiguousarray(test.T)
    one_hot = np.eye(n_classes)[problem.y_train]
    rows = rng.permutation(len(one_hot))[:MAX_ROWS]
    orders = [rng.permutation(n_classes) for _ in range(given["n_trained"])]
    n_correct = np.full((len(orders), 2), -1)
    for number, order in enumerate(orders):
        bits = _splits_of(codebook.matrix[order]) - 1
        known, new = (np.column_stack([np.ones(m.shape[1]), m[bits].T.astype(np.float64)]) for m in (train, test))
        weights = linalg.pinvh(known.T @ known, rtol=RELATIVE_ZERO) @ known.T @ one_hot
        n_correct[number, 0] = ((new @ weights).argmax(axis=1) == problem.y_test).sum()
        if number < given["n_multinomial"]:
            n_correct[number, 1] = _multinomial_correct(known[rows, 1:], new[:, 1:], problem, rows)
    ranks = np.array([lexicographic_rank(order) for order in orders])
    return Outcome({"n_test": len(problem.y_test)}, {"ranks": ranks, "n_correct": n_correct})


def _splits_of(coding_matrix: Any) -> IntArray:
    """The number of the split of each column."""
    is_positive = (coding_matrix > 0) ^ (coding_matrix[-1] > 0)
    return np.asarray((is_positive << np.arange(len(coding_matrix))[:, None]).sum(axis=0))


def _multinomial_correct(known: FloatArray, new: FloatArray, problem: Problem, rows: IntArray) -> int:
    """How many test samples a multinomial logistic decoder gets right."""
    from sklearn.linear_model import LogisticRegression

    decoder = LogisticRegression(C=100.0, max_iter=300).fit(known, problem.y_train[rows])
    return int((decoder.predict(new) == problem.y_test).sum())


FUNCTIONS = {SWEEP: run_sweep, TRAIN: run_train}
