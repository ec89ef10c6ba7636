"""The figures of a study of robustness, from its cases; None where nothing is finished."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from codekin.coding import FloatArray
from codekin.plots.distributions import draw_variations, joint_density, variation
from codekin.plots.robustness import Interval, draw_attacks, draw_clouds, draw_differences
from codekin_studies.engine.task import Task
from codekin_studies.engine.workspace import Workspace
from codekin_studies.robustness.results import Case
from codekin_studies.robustness.sweeping import CLEAN

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STRIDE = 11
"""Clouds are drawn from every assignment of this stride, which divides no number of permutations of ten."""

Z = 1.96
"""Half the width of a 95 % interval, in standard errors."""

TITLES = {"code_bits": "flipped bits", "weight_bits": "flipped weight bits"}


def condition_title(condition: str) -> str:
    """What pages call a condition."""
    return TITLES.get(condition, condition)


def interval(found: Sequence[float] | None) -> Interval | None:
    """The 95 % interval of a value and its standard error."""
    return None if found is None else Interval(found[0], found[0] - Z * found[1], found[0] + Z * found[1])


def _title(data: str, code: str, cases: Sequence[Case]) -> str:
    bits = next(((c.compared["n_bits"], c.compared["min_distance"]) for c in cases if c.compared), None)
    return f"{data}, {code}" if bits is None else f"{data}, {bits[0]} bits, ρ = {bits[1]:g}"


def _accuracies(task: Task, workspace: Workspace, stride: int = 1) -> FloatArray:
    n_test = workspace.journal.result(task)["n_test"]
    return np.asarray(workspace.load(task, "n_correct")[::stride] * (100 / n_test))


def capacity_figure(data: str, code: str, cases: Sequence[Case], workspace: Workspace) -> Figure | None:
    """Violins of the clean accuracies of all assignments, by capacity, and of the networks."""
    violins = []
    for case in cases:
        if case.swept is not None:
            violins.append(variation(case.capacity, _accuracies(case.swept[CLEAN], workspace)))
        elif case.under_conditions is not None:
            violins.append(variation(case.capacity, case.under_conditions.accuracies(0)))
    return draw_variations(violins, title=_title(data, code, cases)) if violins else None


def difference_figure(data: str, code: str, cases: Sequence[Case]) -> Figure | None:
    """What preserving assignments gain over breaking ones, by condition, capacity and radius."""
    rows: dict[str, dict[str, Interval | None]] = {}
    for case in cases:
        for condition, found in condition_relations(case).items():
            rows.setdefault(condition_title(condition), {})[case.capacity] = interval(found["difference"])
        if case.under_attack is not None:
            for place, name in enumerate(case.under_attack.names):
                if place and any(policy > 1 for policy in case.under_attack.policies(place).values()):
                    found = case.under_attack.relations(place)
                    rows.setdefault(f"attack {name}", {})[case.capacity] = interval(found["difference"])
    if not rows:
        return None
    names = [case.capacity for case in cases]
    rows = {row: {name: series.get(name) for name in names} for row, series in rows.items()}
    return draw_differences(rows, title=_title(data, code, cases), x_label="preserving minus breaking, points")


def condition_relations(case: Case) -> dict[str, dict[str, list[float] | None]]:
    """The relations under each condition: of all assignments, or of the networks."""
    if case.compared is not None:
        found: dict[str, dict[str, list[float] | None]] = case.compared["conditions"]
        return found
    if case.under_conditions is None:
        return {}
    return {name: case.under_conditions.relations(place) for place, name in enumerate(case.under_conditions.names)}


def cloud_figure(data: str, code: str, cases: Sequence[Case], workspace: Workspace) -> Figure | None:
    """Contours of robust against clean accuracy, a panel per condition."""
    swept = {case.capacity: case.swept for case in cases if case.swept is not None}
    if not swept:
        return None
    clean = {capacity: _accuracies(tasks[CLEAN], workspace, STRIDE) for capacity, tasks in swept.items()}
    conditions = [name for name in next(iter(swept.values())) if name != CLEAN]
    clouds = {
        condition_title(name): {
            capacity: joint_density(clean[capacity], _accuracies(tasks[name], workspace, STRIDE))
            for capacity, tasks in swept.items()
        }
        for name in conditions
    }
    return draw_clouds(clouds, title=_title(data, code, cases))


def attack_figure(data: str, code: str, cases: Sequence[Case]) -> Figure | None:
    """Accuracy by radius and policy, a panel per capacity."""
    attacked = {case.capacity: case.under_attack for case in cases if case.under_attack is not None}
    if not attacked:
        return None
    first = next(iter(attacked.values()))
    curves = {}
    for capacity, answers in attacked.items():
        policies = [answers.policies(place) for place in range(len(answers.names))]
        curves[capacity] = {name: [one[name] for one in policies] for name in policies[0]}
    return draw_attacks(curves, [float(name) for name in first.names], title=_title(data, code, cases))
