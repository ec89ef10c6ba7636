"""Error bounds against the errors themselves, and labelled points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from codekin.coding import FloatArray
from codekin.plots.style import INK, PALETTE, figure_style, new_panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("blue", "orange", "green", "purple")
MARKERS = ("o", "s", "^", "D")


@figure_style()
def draw_bounds(pairs: Mapping[str, FloatArray], *, title: str) -> Figure:
    """Bounds against errors, both on logarithmic scales; a bound holds above the diagonal.

    ``pairs`` holds arrays of shape (n, 2) by name: errors and bounds, in percent. Errors of zero are not drawn.
    """
    from matplotlib.ticker import LogLocator, NullFormatter

    figure, axes = new_panel(3.6, title=title, x_label="training error, %", y_label="bound of Eq. 4, %")
    shown = {name: values[values[:, 0] > 0] for name, values in pairs.items()}
    for (name, values), colour, marker in zip(shown.items(), COLOURS, MARKERS, strict=False):
        axes.scatter(
            values[:, 0], values[:, 1], s=16, alpha=0.6, linewidths=0, color=PALETTE[colour], marker=marker, label=name
        )
    drawn = np.concatenate([np.zeros((0, 2)), *shown.values()])
    low, high = (drawn.min(axis=0), drawn.max(axis=0)) if len(drawn) else (np.ones(2), np.full(2, 100.0))
    ends = [float(low.min()), float(high.max())]
    axes.plot(ends, ends, color=INK, linewidth=1)
    axes.axhline(100, color=PALETTE["grey"], linestyle=":", linewidth=1.2)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(low[0] / 1.15, high[0] * 1.15)
    # Include the diagonal: bounds are compared with it.
    axes.set_ylim(low[0] / 1.15, max(high[1], 100) * 1.3)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())
    end, below = (high[0], high[0]), (-4, -27)  # far enough below the line, which falls to the left
    axes.annotate("bound = error", end, below, textcoords="offset points", ha="right", va="top", size=8.5)
    figure.legend(loc="outside lower center", ncols=len(pairs))
    return figure


@figure_style()
def draw_named_points(points: Sequence[tuple[str, float, float]], *, title: str, x_label: str, y_label: str) -> Figure:
    """A few points with their names."""
    figure, axes = new_panel(3.2, title=title, x_label=x_label, y_label=y_label)
    middle = float(np.mean([x for _, x, _ in points]))
    for name, x, y in points:
        axes.plot(x, y, "o", color=PALETTE["blue"], markeredgecolor="white", markersize=8)
        side = ("left", 7) if x <= middle else ("right", -7)
        axes.annotate(name, (x, y), (side[1], 4), textcoords="offset points", ha=side[0], size=8.5)
    axes.margins(0.14)
    axes.set_ylim(bottom=0)
    return figure
