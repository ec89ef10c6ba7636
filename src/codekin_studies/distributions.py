"""Distributions over very many assignments, of one quantity or of two together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from codekin.code import FloatArray
from codekin.plots.code_displays import draw_heat_map
from codekin.plots.style import INK, PALETTE, figure_style, new_panel, new_panels, settle

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

N_CELLS = 180
MASSES = (0.999, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
"""Shares of the points inside the contours."""


@dataclass(frozen=True, eq=False)
class Variation:
    """How a quantity varies.

    ``density`` is smoothed, on ``grid``, and has a maximum of 1; the other numbers are those of the values themselves.
    """

    name: str
    grid: FloatArray
    density: FloatArray
    worst: float
    lower_quartile: float
    median: float
    upper_quartile: float
    best: float
    mean: float


def variation(name: str, values: ArrayLike) -> Variation:
    """The numbers of a violin.

    >>> one = variation("dense", [80.0, 81.0, 81.0, 84.0])
    >>> one.worst, one.median, one.best
    (80.0, 81.0, 84.0)
    """
    array = np.asarray(values, dtype=np.float64)
    low, high = float(array.min()), float(array.max())
    grid, density = np.array([low]), np.ones(1)
    if _varies(array):
        counts, edges = np.histogram(array, bins=N_CELLS, range=(low, high))
        grid = (edges[1:] + edges[:-1]) / 2
        density = _smoothed(counts.astype(np.float64), [_bandwidth(array) / (edges[1] - edges[0])])
    lower, median, upper = (float(quantile) for quantile in np.quantile(array, [0.25, 0.5, 0.75]))
    return Variation(name, grid, density / density.max(), low, lower, median, upper, high, float(array.mean()))


@dataclass(frozen=True, eq=False)
class JointDensity:
    """How two quantities vary together.

    ``x`` and ``y`` are the centres of cells, ``density`` (n_y, n_x) is their smoothed density. The cells above each of
    the increasing ``levels`` hold the shares ``MASSES`` of all points. ``points`` (n_points, 2) are the least likely
    thousandth of the points. ``slope`` and ``intercept`` are those of the least-squares line through all points;
    ``r_squared`` is NaN if one of the two quantities does not vary.
    """

    x: FloatArray
    y: FloatArray
    density: FloatArray
    levels: FloatArray
    points: FloatArray
    slope: float
    intercept: float
    r_squared: float


def joint_density(x: ArrayLike, y: ArrayLike) -> JointDensity:
    """The numbers behind a figure of two quantities.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=10_000)
    >>> found = joint_density(x, 2 * x + 1)
    >>> round(found.slope, 6), round(found.intercept, 6), round(found.r_squared, 6), len(found.points)
    (2.0, 1.0, 1.0, 10)
    """
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    ends = [(values.min(), values.max(), _varies(values)) for values in (a, b)]
    pads = [0.04 * (high - low) if varies else max(abs(high), 1.0) * 1e-3 for low, high, varies in ends]
    ranges = [(low - pad, high + pad) for (low, high, _), pad in zip(ends, pads, strict=True)]
    counts, x_edges, y_edges = np.histogram2d(a, b, bins=N_CELLS, range=ranges)
    sizes = [edges[1] - edges[0] for edges in (x_edges, y_edges)]
    density = _smoothed(counts, [_bandwidth(v) / size for v, size in zip((a, b), sizes, strict=True)])
    descending = np.sort(density.ravel())[::-1]
    mass = np.cumsum(descending) / descending.sum()
    levels = np.unique([descending[np.searchsorted(mass, share)] for share in MASSES])
    # The density at a point is that of its cell.
    cells = [
        np.clip(((v - edges[0]) / size).astype(np.intp), 0, N_CELLS - 1)
        for v, edges, size in zip((a, b), (x_edges, y_edges), sizes, strict=True)
    ]
    n_points = max(1, len(a) // 1000)
    rare = np.argpartition(density[cells[0], cells[1]], n_points - 1)[:n_points]
    x_centres, y_centres = ((edges[1:] + edges[:-1]) / 2 for edges in (x_edges, y_edges))
    points = np.column_stack([a[rare], b[rare]])
    return JointDensity(x_centres, y_centres, density.T, levels, points, *regression(a, b))


def regression(x: ArrayLike, y: ArrayLike) -> tuple[float, float, float]:
    """The least-squares line and its coefficient of determination.

    Returns slope, intercept and r squared: NaN, the mean of ``y`` and NaN if ``x`` does not vary; r squared is NaN if
    ``y`` does not vary.
    """
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    from_mean, of_y = a - a.mean(), b - b.mean()
    variance, covariance = float(from_mean @ from_mean), float(from_mean @ of_y)
    if not _varies(a):
        return float("nan"), float(b.mean()), float("nan")
    slope = covariance / variance
    r_squared = covariance**2 / (variance * float(of_y @ of_y)) if _varies(b) else float("nan")
    return slope, float(b.mean() - slope * a.mean()), r_squared


def r_squared(x: ArrayLike, y: ArrayLike) -> float | None:
    """The coefficient of determination; None if one of the two does not vary."""
    found = regression(x, y)[2]
    return None if np.isnan(found) else float(found)


@figure_style()
def draw_variations(variations: Sequence[Variation], *, title: str) -> Figure:
    """Violins with quartiles, below each other."""
    figure, axes = new_panel(1.1 + 0.62 * len(variations), title=title, x_label="test accuracy, %", grid="x")
    for row, one in enumerate(variations):
        height = 0.36 * one.density
        axes.fill_between(one.grid, row - height, row + height, color=PALETTE["sky"], alpha=0.75, linewidth=0)
        for value, style in ((one.lower_quartile, ":"), (one.median, "--"), (one.upper_quartile, ":")):
            reach = 0.36 * float(np.interp(value, one.grid, one.density))
            axes.plot([value, value], [row - reach, row + reach], style, color=PALETTE["blue"], linewidth=1.1)
        axes.plot([one.worst, one.best], [row, row], "|", color=INK, markersize=10)
        for value, side, sign in ((one.worst, "right", -1), (one.best, "left", 1)):
            axes.annotate(
                f"{value:.1f}", (value, row), (4 * sign, 0), textcoords="offset points", ha=side, va="center", size=8.5
            )
    axes.set_yticks(range(len(variations)), [one.name for one in variations])
    axes.set_ylim(len(variations) - 0.45, -0.55)
    axes.margins(x=0.17)  # room for the numbers at both ends
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    return figure


@figure_style()
def draw_joint_densities(densities: Mapping[str, JointDensity], *, title: str) -> Figure:
    """Contours with a tenth of the points between neighbouring ones, the rarest points, and least-squares lines.

    Keys are the labels of the x axes; the y axis is test accuracy. There are two panels to a row.
    """
    figure, panels = new_panels(len(densities), 2, 2.35, title=title, sharey=True)
    for axes, (name, found) in zip(panels.ravel(), densities.items(), strict=False):
        _draw_density(axes, found)
        axes.set_xlabel(name, size=9)
        axes.locator_params(axis="x", nbins=4)
        r_squared = "no variation" if np.isnan(found.r_squared) else f"r² = {found.r_squared:.2f}"
        axes.annotate(r_squared, (0.97, 0.96), xycoords="axes fraction", ha="right", va="top", size=9, weight="bold")
    for row in panels:
        row[0].set_ylabel("test accuracy, %", size=9)
    return figure


def _draw_density(axes: Axes, found: JointDensity) -> None:
    axes.scatter(
        found.points[:, 0], found.points[:, 1], s=1.5, color=PALETTE["blue"], alpha=0.5, linewidths=0, rasterized=True
    )
    levels = np.append(found.levels, found.density.max() * 1.001)
    axes.contourf(found.x, found.y, found.density, levels=np.unique(levels), cmap="Blues")
    if np.isfinite(found.slope):
        ends = np.array([found.points[:, 0].min(), found.points[:, 0].max()])
        axes.plot(ends, found.intercept + found.slope * ends, color=PALETTE["orange"])


@figure_style()
def draw_class_distances(matrices: Mapping[str, FloatArray], class_names: Sequence[str], *, title: str) -> Figure:
    """Distances between classes as heat maps: the darker, the closer."""
    figure, panels = new_panels(len(matrices), 2, 2.4, title=title, sharey=True)
    settle(figure)
    for axes, (name, matrix) in zip(panels.ravel(), matrices.items(), strict=False):
        draw_heat_map(axes, matrix, class_names)
        axes.set_title(name, size=9.5)
    return figure


def _varies(values: FloatArray) -> bool:
    """Whether values differ by more than rounding errors."""
    return bool(np.ptp(values) > 1e-12 * np.abs(values).max())


def _bandwidth(values: FloatArray) -> float:
    """Wide enough to close the gaps between accuracies, which are multiples of one sample's share."""
    return 0.15 * float(values.std())


def _smoothed(counts: FloatArray, cells: Sequence[float]) -> FloatArray:
    from scipy.ndimage import gaussian_filter

    return np.asarray(gaussian_filter(counts, [max(size, 0.5) for size in cells], mode="constant"))
