"""Accuracy against class-codeword score, with the scores of random assignments on top."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from codekin.coding import FloatArray
from codekin.plots.style import PALETTE, POLICY_COLOURS, POLICY_MARKERS, figure_style, new_figure, without_frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@figure_style()
def draw_scores(points: Mapping[str, FloatArray], random_scores: FloatArray, *, title: str) -> Figure:
    """Test accuracies against scores, by policy, below a histogram of the scores of random assignments.

    ``points`` holds arrays of shape (n, 2) by policy: scores, and accuracies in percent.
    """
    figure = new_figure(3.8)
    top, axes = figure.subplots(2, 1, sharex=True, height_ratios=[1, 4])
    top.hist(random_scores, bins=60, color=POLICY_COLOURS["random"], density=True)
    top.set_yticks([])
    without_frame(top)
    top.tick_params(labelbottom=False)
    top.set_title(title)
    for policy, values in points.items():
        colour, marker = POLICY_COLOURS.get(policy, PALETTE["green"]), POLICY_MARKERS.get(policy, "^")
        outlined = {"s": 34, "alpha": 0.85, "linewidths": 0.5, "edgecolors": "white"}
        axes.scatter(values[:, 0], values[:, 1], color=colour, marker=marker, label=policy, **outlined)
    everything = np.concatenate(list(points.values()))
    if np.ptp(everything[:, 0]) > 0:
        slope, intercept = np.polyfit(everything[:, 0], everything[:, 1], 1)
        ends = np.array([everything[:, 0].min(), everything[:, 0].max()])
        axes.plot(ends, intercept + slope * ends, color=PALETTE["black"], linewidth=1, alpha=0.5, zorder=0)
    axes.set(xlabel="class-codeword score", ylabel="test accuracy, %")
    axes.grid()
    figure.legend(loc="outside lower center", ncols=len(points))
    return figure
