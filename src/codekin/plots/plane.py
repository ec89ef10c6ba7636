"""Classes in the plane, the linear bits learned there, and a histogram."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from codekin.coding import CodingMatrix, FloatArray, IntArray
from codekin.plots.style import (
    INK,
    PALETTE,
    bit_colours,
    figure_style,
    new_figure,
    new_panel,
    new_panels,
    without_frame,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = ("o", "s", "^", "D", "v", "P")


@figure_style()
def draw_plane_classes(X: FloatArray, y: IntArray, *, title: str) -> Figure:
    """Samples in the plane, a colour and a marker per class, with the numbers of the classes."""
    figure = new_figure(3.9)
    axes = figure.subplots()
    colours = [PALETTE[name] for name in ("blue", "orange", "green", "purple", "sky", "yellow")]
    for k in range(int(y.max()) + 1):
        colour, marker = colours[k % len(colours)], MARKERS[k % len(MARKERS)]
        axes.scatter(X[y == k, 0], X[y == k, 1], s=12, alpha=0.75, linewidths=0, color=colour, marker=marker)
    _number_classes(axes, X, y)
    _square(axes)
    axes.set_title(title)
    return figure


@figure_style()
def draw_subproblems(
    X: FloatArray, y: IntArray, coding_matrix: CodingMatrix, lines: FloatArray, *, title: str
) -> Figure:
    """A coding matrix, and for each bit the samples of both sides with the learned line.

    ``lines`` (n_bits, 3) holds two weights and a bias per bit.
    """
    n_classes, n_bits = coding_matrix.shape
    figure, grid = new_panels(n_bits + 1, 2, 2.3, title=title)
    panels = grid.ravel()
    colours = bit_colours()
    panels[0].pcolormesh(coding_matrix, cmap=colours, vmin=-1, vmax=1, edgecolors="white", linewidth=1.5)
    panels[0].set_yticks(np.arange(n_classes) + 0.5, [str(k + 1) for k in range(n_classes)])
    panels[0].set_xticks(np.arange(n_bits) + 0.5, range(n_bits))
    panels[0].set(xlabel="bit", ylabel="class")
    panels[0].invert_yaxis()
    without_frame(panels[0])
    for j, axes in enumerate(panels[1 : n_bits + 1]):
        signs = coding_matrix[y, j]
        for sign, marker in ((-1, "o"), (1, "s")):
            chosen = X[signs == sign]
            axes.scatter(chosen[:, 0], chosen[:, 1], s=7, color=colours((sign + 1) / 2), marker=marker, linewidths=0)
        _draw_line(axes, lines[j])
        _number_classes(axes, X, y)
        _square(axes)
        n_wrong = int((signs * (X @ lines[j, :2] + lines[j, 2]) <= 0).sum())
        axes.set_title(f"bit {j}: {'no' if n_wrong == 0 else n_wrong} errors", size=9.5)
    return figure


@figure_style()
def draw_histogram(values: ArrayLike, *, title: str, label: str, marks: Sequence[tuple[float, str]] = ()) -> Figure:
    """A histogram over assignments; ``marks`` are vertical lines, each with its place and its text."""
    figure, axes = new_panel(3.0, title=title, x_label=label, y_label="assignments", grid="y")
    axes.hist(np.asarray(values, dtype=np.float64), bins=40, color=PALETTE["sky"], edgecolor="white", linewidth=0.4)
    for place, text in marks:
        axes.axvline(place, color=PALETTE["orange"], linestyle="--", linewidth=1.2)
        axes.annotate(
            text, (place, 0.97), (-4, 0), ("data", "axes fraction"), "offset points", ha="right", va="top", size=8.5
        )
    return figure


def _draw_line(axes: Axes, line: FloatArray) -> None:
    slope, bias = line[:2], float(line[2])
    length = float(np.hypot(*slope))
    if length < 1e-6 or abs(bias) > 1.6 * length:
        return  # the prediction is the same everywhere
    middle = -bias * slope / length**2
    along = np.array([-slope[1], slope[0]]) / length
    ends = middle + np.array([[-3.0], [3.0]]) * along
    axes.plot(ends[:, 0], ends[:, 1], color=PALETTE["orange"])


def _number_classes(axes: Axes, X: FloatArray, y: IntArray) -> None:
    for k in range(int(y.max()) + 1):
        across, up = X[y == k].mean(axis=0).tolist()
        axes.text(
            across,
            up,
            str(k + 1),
            ha="center",
            va="center",
            size=9,
            weight="bold",
            color=INK,
            bbox={"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85},
        )


def _square(axes: Axes) -> None:
    axes.set(aspect="equal", xlim=(-1.08, 1.08), ylim=(-1.08, 1.08), xticks=[], yticks=[])
    without_frame(axes)
