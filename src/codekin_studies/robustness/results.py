"""What a study of robustness has found so far, gathered from its tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.coding import FloatArray
from codekin_studies.configuration import Study
from codekin_studies.engine.task import Task
from codekin_studies.engine.workspace import Workspace
from codekin_studies.robustness.relations import relations, with_errors
from codekin_studies.robustness.sweeping import conditions, scores_of
from codekin_studies.robustness.tasks import (
    attack_tasks,
    codebooks_of,
    compare_task,
    network_tasks,
    pairs_task,
    respond_task,
    stronger_task,
    sweep_tasks,
)

NETWORK_NAME = "network"


@dataclass(frozen=True, eq=False)
class Answers:
    """What some assignments of rising score get right: (n_assignments, n_conditions or n_radii, n_samples)."""

    is_right: NDArray[np.bool_]
    scores: FloatArray
    names: Sequence[str]

    def accuracies(self, place: int) -> FloatArray:
        """The accuracy of each assignment, in percent."""
        return np.asarray(100 * self.is_right[:, place].mean(axis=1))

    def policies(self, place: int) -> dict[str, float]:
        """The mean accuracies of the tenth of the lowest scores, of all, and of the tenth of the highest."""
        accuracies, tenth = self.accuracies(place), max(1, len(self.scores) // 10)
        parts = {"preserving": accuracies[:tenth], "random": accuracies, "breaking": accuracies[-tenth:]}
        return {name: float(part.mean()) for name, part in parts.items()}

    def relations(self, place: int) -> dict[str, list[float] | None]:
        """The relations to the first condition and to the scores, with their standard errors."""
        values = relations(self.accuracies(place), self.accuracies(0), self.scores)
        return with_errors(values, self.is_right[:, place], self.is_right[:, 0], self.scores)


@dataclass(frozen=True, eq=False)
class Case:
    """One capacity and one codebook: the results of its tasks, those that are finished.

    ``under_attack``: by radius, the first is 0. ``under_conditions``: of networks, whose sweeps are not possible.
    """

    capacity: str
    codebook: str
    compared: Mapping[str, Any] | None = None
    pairs: Mapping[str, Any] | None = None
    stronger: Mapping[str, Any] | None = None
    one_vs_rest: Mapping[str, float] | None = None
    swept: Mapping[str, Task] | None = None
    under_attack: Answers | None = None
    under_conditions: Answers | None = None


def capacity_name(features: int) -> str:
    """What pages call a number of random features."""
    return f"{features:,} features" if features else "plain"


def found_cases(study: Study, data: Mapping[str, Any], workspace: Workspace) -> dict[str, list[Case]]:
    """What is finished of a data set, by codebook: a case per capacity, the networks last."""
    found: dict[str, list[Case]] = {}
    for code in codebooks_of(study, data):
        cases = [_ridge_case(study, data, capacity, code, workspace) for capacity in data["capacities"]]
        cases.append(_network_case(study, data, code, workspace))
        if any(case.compared or case.under_attack for case in cases):
            found[code["name"]] = [case for case in cases if case.compared or case.under_attack]
    return found


def _ridge_case(
    study: Study, data: Mapping[str, Any], capacity: Mapping[str, Any], code: Mapping[str, Any], workspace: Workspace
) -> Case:
    coded = study, data, capacity, code
    makers = {"compared": compare_task, "pairs": pairs_task, "stronger": stronger_task}
    results = workspace.results({name: make(*coded) for name, make in makers.items()})
    responses = workspace.results({"fit": respond_task(study, data, capacity)})
    attacks = attack_tasks(*coded)
    names = ["0", *(f"{radius:g}" for radius in data["radii"])]
    return Case(
        capacity_name(capacity["features"]),
        code["name"],
        compared=results.get("compared"),
        pairs=results.get("pairs"),
        stronger=results.get("stronger"),
        one_vs_rest=responses["fit"]["one_vs_rest"] if responses else None,
        swept=sweep_tasks(*coded) if "compared" in results else None,
        under_attack=_answers(attacks, "is_right", names, capacity["n_samples"], workspace),
    )


def _network_case(study: Study, data: Mapping[str, Any], code: Mapping[str, Any], workspace: Workspace) -> Case:
    tasks = network_tasks(study, data, code)
    names = ["0", *(f"{radius:g}" for radius in data["radii"])]
    under = conditions(tasks[0].parameters)
    n_test = next(iter(workspace.results({"": tasks[0]}).values()), {"n_test": 0})["n_test"]
    return Case(
        NETWORK_NAME,
        code["name"],
        under_attack=_answers(tasks, "survived", names, data["network"]["n_samples"], workspace),
        under_conditions=_answers(tasks, "is_right", under, n_test, workspace),
    )


def _answers(
    tasks: Sequence[Task], array: str, names: Sequence[str], n_samples: int, workspace: Workspace
) -> Answers | None:
    """The answers of all tasks together; None unless all of them are finished."""
    if len(workspace.results({task.key: task for task in tasks})) < len(tasks):
        return None
    ranks, packed = (np.concatenate([workspace.load(task, name) for task in tasks]) for name in ("ranks", array))
    is_right = np.unpackbits(packed, axis=2, count=n_samples).astype(np.bool_)
    return Answers(is_right, scores_of(tasks[0].parameters, workspace)[ranks], names)
