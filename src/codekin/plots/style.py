"""The style of all figures: one palette, one font, sizes that stay readable on a phone.

The ``draw_`` functions of this folder return a ``matplotlib.figure.Figure`` that pyplot does not know, so drawing
needs no screen and leaves no figure open. Figures are `COLUMN_WIDTH` inches wide, one column of a page; at that width
the letters are still readable on a phone.
"""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from codekin._system.extras import not_installed
from codekin._system.files import whole_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure

COLUMN_WIDTH = 4.6
"""The width of one column of a page, in inches."""

PALETTE = {
    "black": "#1b1b1b",
    "blue": "#0072b2",
    "orange": "#d55e00",
    "green": "#009e73",
    "purple": "#cc79a7",
    "sky": "#56b4e9",
    "yellow": "#e69f00",
    "grey": "#8a8a8a",
}
"""Colours after Okabe and Ito, distinguishable with any kind of colour vision."""

POLICY_COLOURS = {"random": PALETTE["grey"], "preserving": PALETTE["blue"], "breaking": PALETTE["orange"]}
"""Each assignment policy has the same colour in every figure."""

POLICY_MARKERS = {"random": "o", "preserving": "D", "breaking": "s"}
"""Each has the same marker as well, for printing in grey."""

KEEPS_COLOUR = "keeps its colour"
"""The ``gid`` of letters on cells, whose colour suits the cell and not the paper (see ``codekin.plots.dark``)."""

INK = "#333333"
RULE = "#d9d9d9"

RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so it is the same on every machine
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 10,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.edgecolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": RULE,
    "grid.linewidth": 0.7,
    "lines.linewidth": 1.6,
    "lines.markersize": 6,
    "figure.facecolor": "white",
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "savefig.facecolor": "white",
    "svg.fonttype": "path",  # pages look the same without the font
    "svg.hashsalt": "codekin",  # the same numbers give the same file
}


@contextmanager
def figure_style() -> Iterator[None]:
    """Draw in codekin's style within the block."""
    require_matplotlib()
    import matplotlib as mpl

    with mpl.rc_context(RC):
        yield


def require_matplotlib() -> None:
    """Raise ImportError with the remedy if matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        raise not_installed("Drawing figures", "plots")


def new_figure(height: float) -> Figure:
    """An empty figure of this height in inches, with automatic layout."""
    from matplotlib.figure import Figure

    with figure_style():
        return Figure(figsize=(COLUMN_WIDTH, height), layout="constrained")


def new_panel(
    height: float, *, title: str = "", x_label: str = "", y_label: str = "", grid: Literal["both", "x", "y"] = "both"
) -> tuple[Figure, Axes]:
    """A figure of this height in inches with one panel, and that panel."""
    figure = new_figure(height)
    axes = figure.subplots()
    axes.set(title=title, xlabel=x_label, ylabel=y_label)
    axes.grid(visible=True, axis=grid)
    return figure, axes


def new_panels(
    n_panels: int, n_columns: int, height: float, *, title: str = "", tallest: float = float("inf"), **shared: Any
) -> tuple[Figure, Any]:
    """A figure with an array of panels in rows of this height in inches; surplus panels are invisible."""
    n_rows = -(-n_panels // n_columns)
    figure = new_figure((0.5 if title else 0.3) + min(height * n_rows, tallest))
    panels = figure.subplots(n_rows, n_columns, squeeze=False, **shared)
    for axes in panels.ravel()[n_panels:]:
        axes.set_visible(False)
    if title:
        figure.suptitle(title, x=0.02, ha="left", size=10.5, weight="bold")
    return figure, panels


def matrix_height(n_rows: int) -> float:
    """The height of a drawn matrix in inches: less per row the more rows there are, and at most a page."""
    return min(0.22 * n_rows, 4.2 + 0.058 * n_rows, 10.0)


def save_figure(figure: Figure, path: str | Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Write a figure once per format; each file appears whole or not at all. Returns the paths of the files.

    ``path`` has no suffix; its folder is created if necessary. ``formats`` are matplotlib's, and the suffixes of the
    files.
    """
    stem = Path(path)
    stem.parent.mkdir(parents=True, exist_ok=True)
    written = []
    for suffix in formats:
        drawn = io.BytesIO()
        with figure_style():
            # A date in the file would make every run differ.
            figure.savefig(drawn, format=suffix, metadata={"Date": None} if suffix == "svg" else None)
        target = stem.with_name(f"{stem.name}.{suffix}")
        with whole_file(target) as stream:
            stream.write(drawn.getvalue())
        written.append(target)
    return written


def bit_colours() -> ListedColormap:
    """The colours of the bits -1, 0 and +1, in this order."""
    from matplotlib.colors import ListedColormap

    return ListedColormap(["#f3c98b", "#f4f4f4", "#1f5a8a"], name="bits")


def symbol_colours(n_symbols: int) -> ListedColormap:
    """The colour of "not used", and those of the symbols 0, 1 and so on from dark to light."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap, to_hex

    shades = [to_hex(colormaps["viridis"](symbol / (n_symbols - 1))) for symbol in range(n_symbols)]
    return ListedColormap(["#f4f4f4", *shades], name="symbols")


def without_frame(axes: Axes) -> None:
    """Remove the frame and the tick marks, as suits a matrix."""
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
