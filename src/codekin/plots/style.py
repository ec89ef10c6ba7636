"""The style of all figures: one palette, one font, labels that fit, sizes that stay readable on a phone, dark pages.

The ``draw_`` functions of this folder return a ``matplotlib.figure.Figure`` that pyplot does not know, so drawing
needs no screen and leaves no figure open. Figures are `COLUMN_WIDTH` inches wide, one column of a page; at that width
the letters are still readable on a phone.
"""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from codekin._system.files import whole_file
from codekin._system.messages import not_installed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure, SubFigure

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
"""The ``gid`` of letters on cells, whose colour suits the cell and not the paper (see :func:`darken`)."""

INK = "#333333"
RULE = "#d9d9d9"

PAPER = "#131416"
"""The dark paper: lines between cells and boxes behind letters have its colour."""

IN_THE_DARK = {
    "#ffffff": PAPER,
    "#000000": "#e6e6e6",
    PALETTE["black"]: "#e6e6e6",
    INK: "#d2d2d2",
    RULE: "#3c4048",
    PALETTE["blue"]: "#2e97d8",  # as letters, the blue of white pages is too dark
}
"""What becomes of colours on dark paper; all others are kept."""

LARGEST, SMALLEST = 9.0, 6.0
"""Font sizes, in points."""

LINE_HEIGHT = 1.17
"""The height of a line of text, in font sizes."""

LETTER_WIDTH = 0.66
"""The width of a digit with its spacing, in font sizes."""

LONGEST_NAME = 20
"""Names with more characters are cut."""

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
    """Write a figure to ``path``, without its suffix, once per format of matplotlib; returns the paths of the files."""
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


def shortened(name: object) -> str:
    """A name in at most ``LONGEST_NAME`` characters, on one line."""
    text = " ".join(str(name).split())
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1].rstrip() + "…"


def fitting_step(n_labels: int, inches: float, *, em: float = LINE_HEIGHT) -> tuple[int, float]:
    """How many of the labels fit on an axis, and how large: every ``step``-th (1, 2, 5, 10, 20 ...), and the font size.

    The axis has this length in ``inches``; a label takes ``em`` times its font size.

    >>> fitting_step(10, 3.0), fitting_step(100, 3.0)
    ((1, 9.0), (5, 9.0))
    """
    steps = (digit * 10**power for power in count() for digit in (1, 2, 5))
    sizes = ((step, 72 * inches * step / (n_labels * em)) for step in steps)
    step, size = next(one for one in sizes if one[1] >= SMALLEST or one[0] >= n_labels)
    return step, round(min(size, LARGEST), 1)


def name_rows(axes: Axes, names: Sequence[object]) -> None:
    """Label the rows of a matrix. Row ``k`` is between ``k`` and ``k + 1``."""
    step, size = fitting_step(len(names), inches_of(axes)[1])
    shown = range(0, len(names), step)
    axes.set_yticks(np.array(shown) + 0.5, [shortened(names[k]) for k in shown], size=size)


def name_columns(axes: Axes, names: Sequence[object]) -> None:
    """Label the columns of a symmetric matrix if all names are short; otherwise the labels of its rows suffice."""
    if max(len(str(name)) for name in names) > 3:
        axes.set_xticks([])
    else:
        number_columns(axes, names, largest=LARGEST)


def number_columns(axes: Axes, names: Sequence[object], *, largest: float = 8.5) -> None:
    """Label the columns of a matrix with numbers or short names. Column ``k`` is between ``k`` and ``k + 1``."""
    em = 0.5 + LETTER_WIDTH * max(len(str(name)) for name in names)
    step, size = fitting_step(len(names), inches_of(axes)[0], em=em)
    shown = range(0, len(names), step)
    axes.set_xticks(np.array(shown) + 0.5, [str(names[k]) for k in shown], size=min(size, largest))


def settle(figure: Figure | SubFigure) -> None:
    """Run the layout of a figure, if it has one of its own, so that panels have the size that labels are fitted to."""
    from matplotlib.figure import Figure

    engine = figure.get_layout_engine()
    if engine is not None and isinstance(figure, Figure):
        engine.execute(figure)


def inches_of(axes: Axes) -> tuple[float, float]:
    """The current width and height of the inside of a panel, in inches."""
    return axes.bbox.width / axes.figure.dpi, axes.bbox.height / axes.figure.dpi


def darken(figure: Figure) -> None:
    """Recolour a figure, in place, for dark pages, except for letters whose ``gid`` is ``KEEPS_COLOUR``."""
    from matplotlib.collections import Collection
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.text import Text

    for artist in figure.findobj():
        if artist.get_gid() == KEEPS_COLOUR:
            continue
        if isinstance(artist, Line2D):
            _recolour(artist, "color", "markeredgecolor", "markerfacecolor")
        elif isinstance(artist, Patch):
            _recolour(artist, "facecolor", "edgecolor")
        elif isinstance(artist, Text):
            _recolour(artist, "color")
            for patch in (artist.get_bbox_patch(), getattr(artist, "arrow_patch", None)):
                if patch is not None:
                    _recolour(patch, "facecolor", "edgecolor")
        elif isinstance(artist, Collection):
            # Faces with an array of values follow their colour map.
            _recolour(artist, "edgecolor", *(["facecolor"] if artist.get_array() is None else []))
    for patch in (figure.patch, *(axes.patch for axes in figure.axes)):
        patch.set_facecolor("none")


def _recolour(artist: Any, *names: str) -> None:
    for name in names:
        colours = getattr(artist, f"get_{name}")()
        if isinstance(colours, str) and colours in ("auto", "face", "none"):
            continue
        is_many = not isinstance(colours, str | tuple) and getattr(colours, "ndim", 1) == 2
        getattr(artist, f"set_{name}")([_in_the_dark(one) for one in colours] if is_many else _in_the_dark(colours))


def _in_the_dark(colour: Any) -> tuple[float, float, float, float]:
    from matplotlib.colors import to_hex, to_rgba

    red, green, blue, alpha = to_rgba(colour)
    return to_rgba(IN_THE_DARK.get(to_hex((red, green, blue)), (red, green, blue)), alpha)
