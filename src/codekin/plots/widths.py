"""Accuracy against the number of bits, and what a lower score than that of the depth-first order gains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from codekin.plots.style import INK, PALETTE, figure_style, new_panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINES = (
    ("grey", "o", "-"),
    ("blue", "D", "-"),
    ("blue", "D", ":"),
    ("green", "s", "-"),
    ("green", "s", ":"),
    ("orange", "^", "-"),
    ("purple", "v", "-"),
)
"""Colour, marker and style of each line."""

NAMED_POINTS = (
    ("blue", "o"),
    ("orange", "s"),
    ("green", "^"),
    ("purple", "D"),
    ("yellow", "v"),
    ("sky", "P"),
    ("black", "X"),
    ("grey", "*"),
)
"""Colour and marker of each data set."""

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
        axes.errorbar(
            [one.n_bits * SHIFT ** (place - middle) for one in runs],
            [one.mean for one in runs],
            yerr=[0.0 if np.isnan(one.two_deviations) else one.two_deviations for one in runs],
            color=PALETTE[colour],
            marker=marker,
            linestyle=style,
            markersize=5,
            markerfacecolor="white" if style == ":" else PALETTE[colour],
            capsize=2,
            linewidth=1.2,
            label=name,
        )
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
        own = [one for one in gains if one.name == name]
        axes.errorbar(
            [one.lowered for one in own],
            [one.gain for one in own],
            yerr=[0.0 if np.isnan(one.error) else 2 * one.error for one in own],
            color=PALETTE[colour],
            marker=marker,
            markersize=6,
            linestyle="none",
            capsize=2,
            elinewidth=1,
            label=name,
        )
    figure.legend(loc="outside lower center", ncols=2)
    return figure
