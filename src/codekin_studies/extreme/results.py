"""What a study of very many classes has found so far: accuracies and scores by width and order, gains, figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from codekin.code import FloatArray
from codekin.data import DATASETS
from codekin.pages.html import Cell
from codekin.plots.fit_displays import Mean
from codekin.plots.style import INK, PALETTE, figure_style, new_panel
from codekin_studies.configuration import Study
from codekin_studies.engine.workspace import Journal, Task, Workspace
from codekin_studies.extreme.orders import orders_of, trees_of
from codekin_studies.extreme.tasks import assign_task, fit_tasks, one_vs_rest_tasks

if TYPE_CHECKING:
    from matplotlib.figure import Figure


COLOURS = ("blue", "orange", "green", "purple", "yellow", "sky", "black", "grey")
NAMED_POINTS = tuple(zip(COLOURS, "os^DvPX*", strict=True))
"""Colour and marker of each data set."""

LINE_COLOURS = ("grey", "blue", "blue", "green", "green", "orange", "purple")
LINES = tuple(zip(LINE_COLOURS, "oDDss^v", "--:-:--", strict=True))
"""Colour, marker and style of each line."""

SHIFT = 1.015
"""The factor by which each line is shifted to the right of the previous one, so that their bars don't overlap."""


@dataclass(frozen=True)
class Runs:
    """The accuracy of several runs of one code.

    The mean is in percent. ``two_deviations`` are two standard deviations of the runs, not of their mean; NaN for a
    single run.
    """

    n_bits: int
    mean: float
    two_deviations: float

    @classmethod
    def of(cls, n_bits: int, accuracies: ArrayLike) -> Runs:
        """The mean and spread of some accuracies, in percent.

        >>> Runs.of(48, [75.0, 76.0, 77.0])
        Runs(n_bits=48, mean=76.0, two_deviations=2.0)
        """
        values = np.asarray(accuracies, dtype=np.float64)
        spread = 2 * float(values.std(ddof=1)) if len(values) > 1 else float("nan")
        return cls(n_bits, float(values.mean()), spread)

    def __str__(self) -> str:
        """Two digits after the point, ``75.61 ± 0.25``."""
        return f"{self.mean:.2f}" if np.isnan(self.two_deviations) else f"{self.mean:.2f} ± {self.two_deviations:.2f}"


@dataclass(frozen=True)
class SearchGain:
    """How the accuracy changed after a search that lowered the score.

    ``lowered``: by how many percent the score is below that of the depth-first order. ``gain``: by how many points the
    accuracy is above that of the depth-first order, on average over the runs; ``error`` is its standard error, NaN for
    a single run.
    """

    name: str
    lowered: float
    gain: float
    error: float


@dataclass(frozen=True, eq=False)
class Found:
    """What is finished of one data set.

    ``accuracies`` are given by width and order, only what has at least one run; ``assignments`` hold bits and scores
    likewise, of random assignments those of the first run. ``one_vs_rest`` has one predictor per class; ``oversample``:
    how often that one saw its positives.
    """

    data: Mapping[str, Any]
    accuracies: Mapping[tuple[int, str], FloatArray]
    assignments: Mapping[tuple[int, str], Mapping[str, Any]]
    one_vs_rest: Runs | None
    oversample: float | None

    @property
    def name(self) -> str:
        """The name of the data set."""
        return str(self.data["name"])

    @property
    def widths(self) -> list[int]:
        """The widths that have results."""
        return [width for width in self.data["widths"] if any(key[0] == width for key in self.accuracies)]

    def runs(self, width: int, order: str) -> Runs | None:
        """Mean and scatter of the runs of an order."""
        if (width, order) not in self.accuracies:
            return None
        return Runs.of(self.assignments[width, order]["n_bits"], self.accuracies[width, order])

    def gain(self, width: int, order: str, over: str) -> Mean | None:
        """By how many points an order beats another, run by run."""
        if (width, order) not in self.accuracies or (width, over) not in self.accuracies:
            return None
        return gain_of(self.accuracies[width, order], self.accuracies[width, over])

    def lowered(self, width: int, tree: str) -> float:
        """By how many percent the search lowered the score of the depth-first order of a class tree."""
        found, start = (self.assignments[width, order]["scores"][tree]["score"] for order in (f"{tree}-searched", tree))
        return float(100 * (1 - found / start))


def collect(study: Study, workspace: Workspace) -> list[Found]:
    """The results of all data sets that have some."""
    journal = workspace.journal
    everything = []
    for data in study.option("data"):
        accuracies, assignments = {}, {}
        for width in data["widths"]:
            for order in orders_of(data):
                done = finished(fit_tasks(study, data, width, order), journal)
                if done:
                    accuracies[width, order] = np.array([one["accuracy"] for one in done])
                    assignments[width, order] = journal.result(assign_task(data, width, order))
        rest = finished(one_vs_rest_tasks(study, data), journal) if data.get("oversample") else []
        n_classes = DATASETS[data["name"]].n_classes
        if accuracies:
            one_vs_rest = Runs.of(n_classes, [one["accuracy"] for one in rest]) if rest else None
            oversample = rest[0]["oversample"] if rest else None
            everything.append(Found(data, accuracies, assignments, one_vs_rest, oversample))
    return everything


def finished(tasks: Sequence[Task], journal: Journal) -> list[Mapping[str, Any]]:
    """The results of the first tasks, up to one that is not finished: orders are compared run by run."""
    results = []
    for task in tasks:
        if task.key not in journal.records:
            break
        results.append(journal.result(task))
    return results


def search_gains(found: Found) -> list[SearchGain]:
    """The gains of searches over depth-first orders, for every width and class tree."""
    gains = []
    for width in found.widths:
        for tree in trees_of(found.data):
            gain = found.gain(width, f"{tree}-searched", tree)
            if gain is not None:
                gains.append(SearchGain(found.name, found.lowered(width, tree), gain.value, gain.error))
    return gains


def answer(gains: Sequence[SearchGain]) -> str:
    """Whether a better score than depth-first's gave better accuracy, in a sentence or two.

    >>> answer([SearchGain("a", 5.0, 0.8, 0.1), SearchGain("b", 4.0, -0.1, 0.1)])
    "A better score than depth-first's: lowered by 4 to 5 %, it made 1 of 2 codes more accurate by more than two \
standard errors and 0 less accurate; the mean change is +0.35 points."
    """
    if not gains:
        return "No search has been compared with its depth-first order yet."
    better = sum(gain.gain > 2 * gain.error for gain in gains)
    worse = sum(gain.gain < -2 * gain.error for gain in gains)
    lowered = [gain.lowered for gain in gains]
    return (
        f"A better score than depth-first's: lowered by {min(lowered):.0f} to {max(lowered):.0f} %, it made {better} "
        f"of {len(gains)} codes more accurate by more than two standard errors and {worse} less accurate; the mean "
        f"change is {signed(float(np.mean([gain.gain for gain in gains])))} points."
    )


def gain_of(own: FloatArray, others: FloatArray) -> Mean:
    """The mean difference of runs, one by one."""
    n_runs = min(len(own), len(others))
    return Mean.of(own[:n_runs] - others[:n_runs])


def gain_cell(gain: Mean | None) -> Cell | None:
    """A gain in a table, with its standard error; bold if it is more than two of these."""
    if gain is None:
        return None
    error = "" if np.isnan(gain.error) else f" ± {gain.error:.2f}"
    return Cell(signed(gain.value) + error, gain.value, is_strong=gain.is_positive)


def signed(value: float) -> str:
    """Two digits after the point, with the sign."""
    return f"{value:+.2f}".replace("-", "−")


@figure_style()
def draw_accuracy_by_bits(
    lines: Mapping[str, Sequence[Runs]], *, title: str, one_vs_rest: Runs | None = None
) -> Figure:
    """Mean accuracies with bars of two standard deviations, against the number of bits on a logarithmic scale.

    Lines are sorted by the number of bits. ``one_vs_rest``, one predictor per class, is a dashed line.
    """
    from matplotlib.ticker import FixedLocator, NullLocator

    figure, axes = new_panel(4.4, title=title, x_label="number of bits", y_label="test accuracy, %")
    middle = (len(lines) - 1) / 2
    for place, ((name, runs), (colour, marker, style)) in enumerate(zip(lines.items(), LINES, strict=False)):
        points = [(one.n_bits * SHIFT ** (place - middle), one.mean, one.two_deviations) for one in runs]
        inside = "white" if style == ":" else PALETTE[colour]
        looks = {"linestyle": style, "markersize": 5, "markerfacecolor": inside, "linewidth": 1.2}
        _draw_bars(axes, points, color=PALETTE[colour], marker=marker, label=name, **looks)
    if one_vs_rest is not None:
        label = f"one-vs-rest, {one_vs_rest.n_bits:,} bits"
        axes.axhline(one_vs_rest.mean, color=INK, linestyle="--", linewidth=1, label=label)
    bits = sorted({one.n_bits for runs in lines.values() for one in runs})
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(bits))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter("{x:.0f}")
    figure.legend(loc="outside lower center", ncols=2)
    return figure


@figure_style()
def draw_search_gains(gains: Sequence[SearchGain], *, title: str) -> Figure:
    """Gains in accuracy against how much lower the score is, with bars of two standard errors.

    One point per gain; points of one name share a colour.
    """
    x_label, y_label = "score below depth-first, %", "accuracy above depth-first, points"
    figure, axes = new_panel(3.6, title=title, x_label=x_label, y_label=y_label)
    axes.axhline(0, color=INK, linewidth=1)
    names = list(dict.fromkeys(one.name for one in gains))
    for name, (colour, marker) in zip(names, NAMED_POINTS, strict=False):
        points = [(one.lowered, one.gain, 2 * one.error) for one in gains if one.name == name]
        looks = {"linestyle": "none", "markersize": 6, "elinewidth": 1}
        _draw_bars(axes, points, color=PALETTE[colour], marker=marker, label=name, **looks)
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def _draw_bars(axes: Any, points: Sequence[tuple[float, float, float]], **looks: Any) -> None:
    """Points with vertical bars; none where their length is NaN."""
    x, y, lengths = zip(*points, strict=True)
    axes.errorbar(x, y, yerr=np.nan_to_num(lengths), capsize=2, **looks)
