"""The bound on the training error (Eq. 4) against that error, and equidistance against variation (Sec. 2, 4.1.1)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from codekin.assignments import assign, class_codeword_score
from codekin.assignments.exhaustive import all_scores
from codekin.class_distances import mean_distances
from codekin.decoding import LOSSES, MinimumLossDecoder
from codekin.decoding.losses import get_loss
from codekin.model.measuring import binary_losses, multiclass_error_bound
from codekin_studies.configuration import Study, data_among
from codekin_studies.engine.runner import Outcome
from codekin_studies.engine.schema import Entries, ListOf, OneOf, Table
from codekin_studies.engine.task import Stage, Task
from codekin_studies.engine.workspace import Workspace
from codekin_studies.entries import check_entries, make_codebook
from codekin_studies.fields import (
    CODEBOOK_NAME,
    COUNT,
    HEAD,
    NUMBERED,
    SCALING,
    SEED,
    CodebookTable,
    DataName,
    learner_table,
)
from codekin_studies.splits.dichotomies import learned, problem_of, scaling_of

MEASURE = "bound.measure"
SCHEMA = Table(
    {
        **HEAD,
        "seed": SEED,
        "n_assignments": COUNT,
        "losses": ListOf(OneOf(LOSSES)),
        "data": Entries(
            Table({"name": DataName(most_classes=10), "learner": learner_table()}, {"n_test": COUNT, **SCALING})
        ),
        "codebooks": Entries(CodebookTable(CODEBOOK_NAME, class_distances=("means",))),
    },
    NUMBERED,
)
"""The keys of a configuration."""


def check(study: Study, data_names: list[str], data_home: Path | None) -> None:
    """Raise unless the samples and the codebooks are available."""
    check_entries(study, data_names, data_home)


def stages(study: Study, data_names: list[str]) -> list[Stage]:
    """One task per data set and codebook."""
    chosen, codebooks = data_among(study, data_names), study.option("codebooks")
    return [Stage("bounds and errors", [measure_task(study, data, code) for data in chosen for code in codebooks])]


def measure_task(study: Study, data: Mapping[str, Any], code: Mapping[str, Any]) -> Task:
    """Train a codebook with some random assignments; measure losses, bounds and errors."""
    parameters = {
        "data": data["name"],
        "n_test": data.get("n_test"),
        **scaling_of(data),
        "learner": dict(data["learner"]),
        "codebook": dict(code),
        **{name: study.option(name) for name in ("seed", "n_assignments", "losses")},
    }
    return Task(MEASURE, parameters, label=f"{data['name']}, {code['name']}")


def run_measure(task: Task, workspace: Workspace) -> Outcome:
    """The measures of one codebook on one data set."""
    given = task.parameters
    problem = problem_of(given, workspace.data_home)
    distances = mean_distances(problem.X_train, problem.y_train)
    codebook = make_codebook(given["codebook"], problem.n_classes, {"means": distances.matrix()})
    draws = []
    for draw in range(given["n_assignments"]):
        rng = np.random.default_rng([given["seed"], draw])
        assignment = assign(codebook, distances, "random", rng=rng).assignment
        coding_matrix = codebook.coding_matrix(assignment)
        train, test = (m.astype(np.float64) for m in learned(problem, coding_matrix, given["learner"], given["seed"]))
        measures = {}
        for name in given["losses"]:
            decoder, loss = MinimumLossDecoder(coding_matrix, name), get_loss(name)
            epsilon = float(binary_losses(train, problem.y_train, coding_matrix, loss).mean())
            measures[name] = {
                "epsilon": epsilon,
                "bound": multiclass_error_bound(epsilon, codebook, loss),
                "train_error": float((decoder.decode(train) != problem.y_train).mean()),
                "test_error": float((decoder.decode(test) != problem.y_test).mean()),
            }
        draws.append({"score": class_codeword_score(codebook, assignment, distances), "losses": measures})
    apart = codebook.row_distances()[np.triu_indices(codebook.n_codewords, k=1)]
    scores = all_scores(codebook, distances)
    result = {
        "n_bits": codebook.n_bits,
        "min_distance": float(codebook.min_distance),
        "is_equidistant": bool(codebook.is_equidistant),
        # How unequal the distances are: their standard deviation in units of their mean.
        "spread_of_distances": float(apart.std() / apart.mean()),
        "spread_of_scores": float(scores.std()),
        "draws": draws,
    }
    return Outcome(result)


FUNCTIONS = {MEASURE: run_measure}
