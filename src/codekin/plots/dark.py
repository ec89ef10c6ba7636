"""Figures for dark pages: ink becomes light, paper becomes transparent, and the colours of the data stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codekin.plots.style import INK, KEEPS_COLOUR, PALETTE, RULE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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


def darken(figure: Figure) -> None:
    """Recolour a figure, in place, for dark pages.

    Letters that stand on the colours of data are marked with the ``gid`` ``KEEPS_COLOUR`` and stay as they are.

    >>> from matplotlib.colors import to_hex
    >>> from codekin.plots.style import new_panel
    >>> figure, axes = new_panel(2, title="a title")
    >>> axes.title.set_color(INK)
    >>> darken(figure)
    >>> to_hex(axes.title.get_color())
    '#d2d2d2'
    """
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
