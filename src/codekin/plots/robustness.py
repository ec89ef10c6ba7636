"""Clean against robust accuracy, accuracy under attack, and what preserving assignments gain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from codekin.plots.distributions import JointDensity
from codekin.plots.style import INK, PALETTE, POLICY_COLOURS, POLICY_MARKERS, figure_style, new_panel, new_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SERIES_COLOURS = tuple(PALETTE[name] for name in ("grey", "sky", "blue", "black", "orange"))
"""Of capacities, in rising order; the last is that of networks."""

SHOWN_LEVELS = (1, 5)
"""Which contours of a density are drawn: those around nine tenths and half of the points."""


@dataclass(frozen=True)
class Interval:
    """A value with the ends of its confidence interval."""

    value: float
    low: float
    high: float


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
def draw_differences(differences: Mapping[str, Mapping[str, Interval | None]], *, title: str, x_label: str) -> Figure:
    """Values with their intervals: a row per key, a colour per series, the same in all rows."""
    names = list(next(iter(differences.values())))
    height = 1.3 + len(differences) * (0.16 + 0.085 * len(names))
    figure, axes = new_panel(height, title=title, x_label=x_label, grid="x")
    offsets = 0.16 * (np.arange(len(names)) - (len(names) - 1) / 2)
    for row, series in enumerate(differences.values()):
        for offset, colour, found in zip(offsets, SERIES_COLOURS, series.values(), strict=False):
            if found is not None:
                axes.plot([found.low, found.high], [row + offset] * 2, color=colour, linewidth=1.6)
                axes.plot(found.value, row + offset, "o", color=colour, markersize=3.5)
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
