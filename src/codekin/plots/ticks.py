"""Tick labels that fit: every class or bit is named if there is room, otherwise every second, fifth, tenth."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

LARGEST, SMALLEST = 9.0, 6.0
"""Font sizes, in points."""

LINE_HEIGHT = 1.17
"""The height of a line of text, in font sizes."""

LETTER_WIDTH = 0.66
"""The width of a digit with its spacing, in font sizes."""

LONGEST_NAME = 20
"""Names with more characters are cut."""


def shortened(name: object) -> str:
    """A name in at most ``LONGEST_NAME`` characters, on one line.

    >>> shortened("Enteropathogenic Escherichia coli infection")
    'Enteropathogenic Es…'
    """
    text = " ".join(str(name).split())
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1].rstrip() + "…"


def fitting_step(n_labels: int, inches: float, *, em: float = LINE_HEIGHT) -> tuple[int, float]:
    """How many of the labels fit on an axis, and how large.

    The axis has this length in ``inches``; a label takes ``em`` times its font size. Returns a step (1, 2, 5, 10, 20,
    50 and so on), where every ``step``-th label is shown, and the font size in points.

    >>> fitting_step(10, 3.0)
    (1, 9.0)
    >>> fitting_step(100, 3.0)
    (5, 9.0)
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
    """Label the columns of a symmetric matrix if all names are short; otherwise the labels of its rows suffice.

    Column ``k`` is between ``k`` and ``k + 1``.
    """
    longest = max(len(str(name)) for name in names)
    if longest > 3:
        axes.set_xticks([])
        return
    step, size = fitting_step(len(names), inches_of(axes)[0], em=0.5 + LETTER_WIDTH * longest)
    shown = range(0, len(names), step)
    axes.set_xticks(np.array(shown) + 0.5, [str(names[k]) for k in shown], size=size)


def number_columns(axes: Axes, numbers: Sequence[int]) -> None:
    """Label the columns of a matrix with their numbers. Column ``k`` is between ``k`` and ``k + 1``."""
    em = 0.5 + LETTER_WIDTH * len(str(max(numbers)))
    step, size = fitting_step(len(numbers), inches_of(axes)[0], em=em)
    shown = range(0, len(numbers), step)
    axes.set_xticks(np.array(shown) + 0.5, [str(numbers[k]) for k in shown], size=min(size, 8.5))


def settle(figure: Figure | SubFigure) -> None:
    """Run the layout of a figure, so that panels have the size that labels are fitted to.

    A figure without a layout engine, or inside another one, is left as it is.
    """
    from matplotlib.figure import Figure

    engine = figure.get_layout_engine()
    if engine is not None and isinstance(figure, Figure):
        engine.execute(figure)


def inches_of(axes: Axes) -> tuple[float, float]:
    """The current width and height of the inside of a panel, in inches."""
    return axes.bbox.width / axes.figure.dpi, axes.bbox.height / axes.figure.dpi
