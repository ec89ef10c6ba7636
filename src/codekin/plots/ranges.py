"""Ranges side by side, each with its mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from codekin.plots.style import INK, PALETTE, figure_style, new_panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Range:
    """The smallest, mean and largest value of something."""

    low: float
    mean: float
    high: float


@figure_style()
def draw_ranges(ranges: Sequence[Range], *, title: str, given: Sequence[float | None] = ()) -> Figure:
    """One vertical line per range, with horizontal lines at the ``given`` values to compare with, except None.

    The y axis is test accuracy in percent.
    """
    figure, axes = new_panel(3.4, title=title, x_label="codebooks", y_label="test accuracy, %", grid="y")
    places = range(1, len(ranges) + 1)
    axes.vlines(places, [one.low for one in ranges], [one.high for one in ranges], color=PALETTE["blue"], linewidth=2.5)
    axes.plot(places, [one.mean for one in ranges], "o", color=PALETTE["orange"], markersize=5)
    for value in given:
        if value is not None:
            axes.axhline(value, color=INK, linestyle="--", linewidth=1)
    axes.set_xticks([])
    return figure
