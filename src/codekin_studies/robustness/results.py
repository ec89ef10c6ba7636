"""What a study of robustness has found so far, gathered from its tasks, and figures of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from codekin.code import FloatArray
from codekin.plots.style import INK, PALETTE, POLICY_COLOURS, POLICY_MARKERS, figure_style, new_panel, new_panels
from codekin_studies.configuration import Study
from codekin_studies.distributions import JointDensity, draw_variations, joint_density, r_squared, variation
from codekin_studies.engine.workspace import Task, Workspace
from codekin_studies.robustness.comparing import relations, with_errors
from codekin_studies.robustness.sweeping import CLEAN, accuracies_of, conditions, scores_of
from codekin_studies.robustness.tasks import Setting, settings_of
from codekin_studies.splits.sweeps import spread_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STRIDE = 11
"""Clouds are drawn from every assignment of this stride, which divides no number of permutations of ten."""

Z = 1.96
"""Half the width of a 95 % interval, in standard errors."""

POLICIES = {"preserving": "preserving", "random": "mean", "breaking": "breaking"}
"""Where results have the mean accuracy of a policy."""

TITLES = {"code_bits": "flipped bits", "weight_bits": "flipped weight bits"}

SERIES_COLOURS = tuple(PALETTE[name] for name in ("grey", "sky", "blue", "black", "orange"))
"""Of capacities, in rising order; the last is that of networks."""

SHOWN_LEVELS = (1, 5)
"""Which contours of a density are drawn: those around nine tenths and half of the points."""


@dataclass(frozen=True, eq=False)
class Answers:
    """What some assignments of rising score get right: (n_assignments, n_conditions or n_radii, n_samples)."""

    is_right: NDArray[np.bool_]
    scores: FloatArray
    names: Sequence[str]

    def accuracies(self, place: int) -> FloatArray:
        """The accuracy of each assignment, in percent."""
        return np.asarray(100 * self.is_right[:, place].mean(axis=1))

    @cached_property
    def by_name(self) -> dict[str, dict[str, Any]]:
        """What was found under every condition or radius, in the form that comparisons of all assignments have.

        The ends and means of accuracies, also of the tenths of the lowest and the highest scores; what predicts them;
        their relations to the first condition and to the scores, with standard errors.
        """
        tenth, clean, found = max(1, len(self.scores) // 10), self.accuracies(0), {}
        for place, name in enumerate(self.names):
            own = self.accuracies(place)
            related = relations(own, clean, self.scores)
            found[name] = {
                **spread_of(own),
                "preserving": float(own[:tenth].mean()),
                "breaking": float(own[-tenth:].mean()),
                "r_squared": {
                    "score": r_squared(self.scores, own),
                    "learnability": None,
                    "clean": r_squared(clean, own),
                },
                **with_errors(related, self.is_right[:, place], self.is_right[:, 0], self.scores),
            }
        return found


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

    @property
    def conditions(self) -> Mapping[str, Mapping[str, Any]]:
        """What was found under each condition: of all assignments, or of the networks."""
        if self.compared is not None:
            found: Mapping[str, Mapping[str, Any]] = self.compared["conditions"]
            return found
        return {} if self.under_conditions is None else self.under_conditions.by_name

    @property
    def attacks(self) -> Mapping[str, Mapping[str, Any]]:
        """What was found at each radius of an attack above 0."""
        found = {} if self.under_attack is None else self.under_attack.by_name
        return {name: one for name, one in found.items() if name != "0"}


def found_cases(study: Study, data: Mapping[str, Any], workspace: Workspace) -> dict[str, list[Case]]:
    """What is finished of a data set, by codebook: a case per capacity, the networks last."""
    found: dict[str, list[Case]] = {}
    for plain in settings_of(study, data):
        cases = [_ridge_case(replace(plain, capacity=capacity), workspace) for capacity in data["capacities"]]
        cases.append(_network_case(plain, workspace))
        if any(case.compared or case.under_attack for case in cases):
            found[plain.code["name"]] = [case for case in cases if case.compared or case.under_attack]
    return found


def _ridge_case(setting: Setting, workspace: Workspace) -> Case:
    tasks = {"compared": setting.compare(), "pairs": setting.pairs(), "stronger": setting.stronger()}
    results = workspace.results(tasks)
    responses = workspace.results({"fit": setting.respond()})
    features, n_samples = setting.capacity["features"], setting.capacity["n_samples"]
    return Case(
        f"{features:,} features" if features else "plain",
        setting.code["name"],
        compared=results.get("compared"),
        pairs=results.get("pairs"),
        stronger=results.get("stronger"),
        one_vs_rest=responses["fit"]["one_vs_rest"] if responses else None,
        swept=setting.sweeps() if "compared" in results else None,
        under_attack=_answers(setting.attacks(), "is_right", _radii(setting), n_samples, workspace),
    )


def _network_case(setting: Setting, workspace: Workspace) -> Case:
    tasks, n_samples = setting.networks(), setting.data["network"]["n_samples"]
    n_test = next(iter(workspace.results({"": tasks[0]}).values()), {"n_test": 0})["n_test"]
    return Case(
        "network",
        setting.code["name"],
        under_attack=_answers(tasks, "survived", _radii(setting), n_samples, workspace),
        under_conditions=_answers(tasks, "is_right", conditions(tasks[0].parameters), n_test, workspace),
    )


def _radii(setting: Setting) -> list[str]:
    return ["0", *(f"{radius:g}" for radius in setting.data["radii"])]


def _answers(
    tasks: Sequence[Task], array: str, names: Sequence[str], n_samples: int, workspace: Workspace
) -> Answers | None:
    """The answers of all tasks together; None unless all of them are finished."""
    if len(workspace.results({task.key: task for task in tasks})) < len(tasks):
        return None
    ranks, packed = (np.concatenate([workspace.load(task, name) for task in tasks]) for name in ("ranks", array))
    is_right = np.unpackbits(packed, axis=2, count=n_samples).astype(np.bool_)
    return Answers(is_right, scores_of(tasks[0].parameters, workspace)[ranks], names)


def condition_title(condition: str) -> str:
    """What pages call a condition."""
    return TITLES.get(condition, condition)


def _title(data: str, code: str, cases: Sequence[Case]) -> str:
    bits = next(((c.compared["n_bits"], c.compared["min_distance"]) for c in cases if c.compared), None)
    return f"{data}, {code}" if bits is None else f"{data}, {bits[0]} bits, ρ = {bits[1]:g}"


def capacity_figure(data: str, code: str, cases: Sequence[Case], workspace: Workspace) -> Figure | None:
    """Violins of the clean accuracies of all assignments, by capacity, and of the networks."""
    violins = []
    for case in cases:
        if case.swept is not None:
            violins.append(variation(case.capacity, accuracies_of(case.swept[CLEAN], workspace)))
        elif case.under_conditions is not None:
            violins.append(variation(case.capacity, case.under_conditions.accuracies(0)))
    return draw_variations(violins, title=_title(data, code, cases)) if violins else None


def difference_figure(data: str, code: str, cases: Sequence[Case]) -> Figure | None:
    """What preserving assignments gain over breaking ones, by condition, capacity and radius."""
    rows: dict[str, dict[str, Sequence[float] | None]] = {}
    for case in cases:
        found = {condition_title(name): one for name, one in case.conditions.items()}
        left = {name: one for name, one in case.attacks.items() if any(one[policy] > 1 for policy in POLICIES.values())}
        for name, one in {**found, **{f"attack {name}": one for name, one in left.items()}}.items():
            rows.setdefault(name, dict.fromkeys(each.capacity for each in cases))[case.capacity] = one["difference"]
    title = _title(data, code, cases)
    return draw_differences(rows, title=title, x_label="preserving minus breaking, points") if rows else None


def cloud_figure(data: str, code: str, cases: Sequence[Case], workspace: Workspace) -> Figure | None:
    """Contours of robust against clean accuracy, a panel per condition."""
    swept = {case.capacity: case.swept for case in cases if case.swept is not None}
    if not swept:
        return None
    clean = {capacity: accuracies_of(tasks[CLEAN], workspace)[::STRIDE] for capacity, tasks in swept.items()}
    conditions = [name for name in next(iter(swept.values())) if name != CLEAN]
    clouds = {
        condition_title(name): {
            capacity: joint_density(clean[capacity], accuracies_of(tasks[name], workspace)[::STRIDE])
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
    radii = [float(name) for name in next(iter(attacked.values())).names]
    curves = {
        capacity: {policy: [one[key] for one in answers.by_name.values()] for policy, key in POLICIES.items()}
        for capacity, answers in attacked.items()
    }
    return draw_attacks(curves, radii, title=_title(data, code, cases))


@figure_style()
def draw_clouds(clouds: Mapping[str, Mapping[str, JointDensity]], *, title: str) -> Figure:
    """Robust against clean accuracy, a panel per condition: the inner and outer contour of each series and its line.

    Keys are the conditions, and within them the series, the same in all.
    """
    figure, panels = new_panels(len(clouds), 2, 2.0, title=title, tallest=9.5)
    for axes, (condition, series) in zip(panels.ravel(), clouds.items(), strict=False):
        for colour, found in zip(SERIES_COLOURS, series.values(), strict=False):
            levels = found.levels[[at for at in SHOWN_LEVELS if at < len(found.levels)]]
            if len(levels):
                axes.contour(found.x, found.y, found.density, levels=np.unique(levels), colors=[colour], linewidths=0.9)
            if np.isfinite(found.slope):
                ends = np.array([found.points[:, 0].min(), found.points[:, 0].max()])
                axes.plot(ends, found.intercept + found.slope * ends, color=colour, linewidth=1.4)
        axes.set_title(condition, size=9.5)
        axes.tick_params(labelsize=8)
        axes.locator_params(nbins=4)
    names = list(next(iter(clouds.values())))
    _legend(figure, dict(zip(names, SERIES_COLOURS, strict=False)))
    _name_columns(panels, len(clouds), "clean accuracy, %")
    figure.supylabel("accuracy under the condition, %", size=9.5)
    return figure


@figure_style()
def draw_attacks(curves: Mapping[str, Mapping[str, Sequence[float]]], radii: Sequence[float], *, title: str) -> Figure:
    """Accuracy against the radius of an attack, a panel per key, a line per policy."""
    figure, panels = new_panels(len(curves), 2, 1.9, title=title, tallest=9.5, sharex=True, sharey=True)
    places = np.arange(len(radii))
    for axes, (name, policies) in zip(panels.ravel(), curves.items(), strict=False):
        for policy, accuracies in policies.items():
            style = {"color": POLICY_COLOURS[policy], "marker": POLICY_MARKERS[policy]}
            axes.plot(places, accuracies, **style, markersize=4, linewidth=1.3)
        axes.set_title(name, size=9.5)
        axes.set_ylim(-3, 103)
        axes.set_xticks(places, [f"{radius:g}" for radius in radii])
        axes.tick_params(labelsize=8)
        axes.tick_params(labelbottom=True)
    shown = list(next(iter(curves.values())))
    _legend(figure, {policy: POLICY_COLOURS[policy] for policy in shown})
    _name_columns(panels, len(curves), "largest change of a pixel")
    figure.supylabel("accuracy, %", size=9.5)
    return figure


@figure_style()
def draw_differences(
    differences: Mapping[str, Mapping[str, Sequence[float] | None]], *, title: str, x_label: str
) -> Figure:
    """Values and standard errors as 95 % intervals: a row per key, a colour per series, the same in all rows."""
    names = list(next(iter(differences.values())))
    height = 1.3 + len(differences) * (0.16 + 0.085 * len(names))
    figure, axes = new_panel(height, title=title, x_label=x_label, grid="x")
    offsets = 0.16 * (np.arange(len(names)) - (len(names) - 1) / 2)
    for row, series in enumerate(differences.values()):
        for offset, colour, found in zip(offsets, SERIES_COLOURS, series.values(), strict=False):
            if found is not None:
                ends = [found[0] - Z * found[1], found[0] + Z * found[1]]
                axes.plot(ends, [row + offset] * 2, color=colour, linewidth=1.6)
                axes.plot(found[0], row + offset, "o", color=colour, markersize=3.5)
    axes.axvline(0, color=INK, linewidth=0.9)
    axes.set_yticks(range(len(differences)), list(differences))
    axes.set_ylim(len(differences) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    _legend(figure, dict(zip(names, SERIES_COLOURS, strict=False)))
    return figure


def _name_columns(panels: Any, n_shown: int, label: str) -> None:
    """Name the x axis below the last panel of each column."""
    for axes in panels.ravel()[max(0, n_shown - panels.shape[1]) : n_shown]:
        axes.set_xlabel(label, size=9.5)


def _legend(figure: Figure, colours: Mapping[str, str]) -> None:
    """Name the colours below the figure."""
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], color=colour, linewidth=2) for colour in colours.values()]
    figure.legend(lines, list(colours), loc="outside lower center", ncols=3, fontsize=8.5, handlelength=1.4)
