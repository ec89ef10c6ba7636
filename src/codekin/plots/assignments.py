"""Figures of what an assignment does to a coding matrix.

The classes are sorted so that neighbours are similar. Under a preserving assignment, neighbouring rows of the coding
matrix then look similar as well, and the distances between codewords grow with those between classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from codekin.classes import ClassDistances, ClassTree, as_class_distances
from codekin.coding import CodingMatrix, FloatArray, IntArray
from codekin.coding.geometry import codeword_distances
from codekin.plots.style import (
    COLUMN_WIDTH,
    INK,
    KEEPS_COLOUR,
    PALETTE,
    POLICY_COLOURS,
    bit_colours,
    figure_style,
    matrix_height,
    new_panels,
    symbol_colours,
    without_frame,
)
from codekin.plots.ticks import inches_of, name_rows, number_columns, settle, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

MAX_CLASSES_DRAWN = 1_000
"""With more classes, none can be made out."""

LUMINANCE = (0.2126, 0.7152, 0.0722)
"""The relative brightness of red, green and blue."""

SMALLEST_LETTERS = 5.0
"""In points; smaller ones are left out."""

TALLEST = 14.0
"""In inches; more rows of panels get lower panels, not a taller figure."""


@dataclass(frozen=True, eq=False)
class AssignmentViews:
    """The same classes under several assignments, all in one order of the classes.

    ``class_names`` and all arrays have the classes in the order drawn; all fields but the first two are keyed by
    assignment. The columns of the coding matrices are sorted by their number of changes and start with +1, which does
    not change the classifier; ``bits`` are their numbers in the code, from 0. ``n_changes``: how many bits differ
    between neighbours, in total. ``correlations``: between the distances of classes and those of their codewords, over
    all pairs of classes; NaN if either is the same for all pairs.
    """

    class_names: tuple[str, ...]
    class_distances: FloatArray
    coding_matrices: dict[str, CodingMatrix]
    bits: dict[str, IntArray]
    codeword_distances: dict[str, FloatArray]
    n_changes: dict[str, int]
    correlations: dict[str, float]


def assignment_views(
    class_distances: ClassDistances | ClassTree | ArrayLike,
    coding_matrices: Mapping[str, CodingMatrix],
    class_names: Sequence[object],
) -> AssignmentViews:
    """The numbers behind the figures of this module.

    ``class_distances`` is a form of class distances, a class tree or a matrix; entries may be negative, as with
    learnability. There is one coding matrix per assignment.

    >>> line = np.abs(np.subtract.outer([0, 2, 1, 3], [0, 2, 1, 3]))
    >>> codes = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]], dtype=np.int8)
    >>> assignment_views(line, {"given": codes}, "acbd").class_names
    ('a', 'b', 'c', 'd')
    """
    distances = drawn_distances(class_distances)
    order = similarity_order(distances)
    readable = {name: readable_columns(matrix[order]) for name, matrix in coding_matrices.items()}
    ordered = {name: matrix for name, (matrix, _) in readable.items()}
    of_classes = distances[np.ix_(order, order)]
    of_codewords = {name: codeword_distances(matrix, matrix) for name, matrix in ordered.items()}
    return AssignmentViews(
        class_names=tuple(str(class_names[k]) for k in order),
        class_distances=of_classes,
        coding_matrices=ordered,
        bits={name: bits for name, (_, bits) in readable.items()},
        codeword_distances=of_codewords,
        n_changes={name: int((matrix[1:] != matrix[:-1]).sum()) for name, matrix in ordered.items()},
        correlations={name: correlation(of_classes, between) for name, between in of_codewords.items()},
    )


def drawn_distances(class_distances: ClassDistances | ClassTree | ArrayLike) -> FloatArray:
    """Class distances as a matrix. Raises ValueError if there are too many classes to draw."""
    if isinstance(class_distances, ClassDistances | ClassTree):
        check_n_drawn(class_distances.n_classes)
        return as_class_distances(class_distances).matrix()
    matrix = np.asarray(class_distances, dtype=np.float64)
    check_n_drawn(len(matrix))
    return matrix


def check_n_drawn(n_classes: int) -> None:
    """Raise ValueError if there are too many classes to draw."""
    if n_classes > MAX_CLASSES_DRAWN:
        raise ValueError(f"Figures show at most {MAX_CLASSES_DRAWN:,} classes. Got {n_classes:,}.")


def similarity_order(class_distances: FloatArray) -> IntArray:
    """The classes in an order in which neighbours are similar.

    These are the leaves of the average-linkage tree, with its branches turned so that the sum of the distances between
    neighbours is minimal for this tree (Bar-Joseph et al. 2001).

    Distances may be negative: adding a number to all of them changes neither the tree nor the order.
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(class_distances) < 3:
        return np.arange(len(class_distances))
    pairs = squareform((class_distances + class_distances.T) / 2, checks=False)
    order = leaves_list(linkage(pairs - min(pairs.min(), 0.0), "average", optimal_ordering=True))
    # An order and its reverse are equally good; take the one that starts with the smaller class.
    return np.asarray(order if order[0] < order[-1] else order[::-1], dtype=np.intp)


@figure_style()
def draw_coding_matrices(views: AssignmentViews, *, class_label: str = "class") -> Figure:
    """The coding matrices side by side."""
    n_classes, n_panels = len(views.class_names), len(views.coding_matrices)
    n_bits = max(matrix.shape[1] for matrix in views.coding_matrices.values())
    n_columns = _n_columns(n_panels, max(1.75, 0.07 * n_bits))
    height = 1.0 + matrix_height(n_classes)
    figure, panels = new_panels(n_panels, n_columns, height, tallest=TALLEST, sharey=True)
    for axes, name in zip(panels.ravel(), views.coding_matrices, strict=False):
        write_titles(axes, name, f"{views.n_changes[name]} changes down the columns")
    handles = bit_patches(np.concatenate([matrix.ravel() for matrix in views.coding_matrices.values()]))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), handlelength=1, handleheight=1)
    settle(figure)
    for axes, (name, matrix) in zip(panels.ravel(), views.coding_matrices.items(), strict=False):
        draw_matrix(axes, matrix, views.bits[name])
    for row in panels:
        row[0].set_ylabel(f"{class_label} (neighbours are alike)" if n_classes > 6 else class_label)
        name_rows(row[0], views.class_names)
    panels[0, 0].set_ylim(n_classes, 0)
    return figure


def write_titles(axes: Axes, title: str, subtitle: str, column: str = "bit") -> None:
    """Write two lines above a panel that shows a coding matrix."""
    axes.set_title(f"{title}\n", color="none")  # reserves the space
    above: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "annotation_clip": False}
    axes.annotate(title, (0, 1), (0, 18), weight="bold", size=10.5, **above)
    axes.annotate(subtitle, (0, 1), (0, 5), size=8.5, **above)
    axes.set_xlabel(column)


def draw_matrix(axes: Axes, matrix: CodingMatrix, bits: IntArray, n_symbols: int = 2) -> None:
    """Draw a coding matrix with the numbers of its columns. The layout of the figure must be settled."""
    width, height = inches_of(axes)
    cell = 72 * min(width / matrix.shape[1], height / matrix.shape[0])
    # Lines between very small cells would cover the cells.
    lines: dict[str, Any] = {"rasterized": True}
    if cell > 3:
        lines = {"edgecolors": "white", "linewidth": min(1.2, 0.1 * cell)}
    if n_symbols == 2:
        axes.pcolormesh(matrix, cmap=bit_colours(), vmin=-1, vmax=1, **lines)
    else:
        axes.pcolormesh(matrix, cmap=symbol_colours(n_symbols), vmin=-1.5, vmax=n_symbols - 0.5, **lines)
        _write_symbols(axes, matrix, n_symbols, size=min(8.5, 0.8 * cell))
    number_columns(axes, bits.tolist())
    without_frame(axes)


def _write_symbols(axes: Axes, matrix: CodingMatrix, n_symbols: int, *, size: float) -> None:
    """Write the symbols into their cells if there is room for readable letters."""
    if size < SMALLEST_LETTERS:
        return
    colours = symbol_colours(n_symbols)
    for row, column in np.argwhere(matrix >= 0):
        symbol = int(matrix[row, column])
        is_dark = np.dot(colours(symbol + 1)[:3], LUMINANCE) < 0.45
        place: dict[str, Any] = {"ha": "center", "va": "center_baseline", "size": size, "gid": KEEPS_COLOUR}
        axes.text(column + 0.5, row + 0.5, str(symbol), color="white" if is_dark else INK, **place)


def bit_patches(bits: CodingMatrix, n_symbols: int = 2) -> list[Patch]:
    """Legend entries for the bits that occur; with more symbols, for the first, the last and "not used"."""
    from matplotlib.patches import Patch

    if n_symbols > 2:
        of_symbols, last = symbol_colours(n_symbols), int(bits.max())
        shown = {0: "symbol 0", last: f"symbol {last}", **({-1: "class not used"} if (bits < 0).any() else {})}
        return [Patch(color=of_symbols(symbol + 1), label=text) for symbol, text in shown.items()]
    colours = bit_colours()
    texts = {1: "+1", 0: "0 (class not used)", -1: "−1"}
    occurring = {int(bit) for bit in np.unique(bits)}
    return [Patch(color=colours((bit + 1) / 2), label=text) for bit, text in texts.items() if bit in occurring]


@figure_style()
def draw_distances(views: AssignmentViews) -> Figure:
    """The number of bits in which the codewords of two classes differ, against the distance of the classes.

    Each dot is a pair of classes; the closest pair is named. ``r`` is the correlation.
    """
    n_panels = len(views.codeword_distances)
    figure, panels = new_panels(n_panels, _n_columns(n_panels, 1.75), 2.6, sharex=True, sharey=True)
    for axes, (name, between) in zip(panels.ravel(), views.codeword_distances.items(), strict=False):
        colour = POLICY_COLOURS.get(name, PALETTE["black"])
        draw_pairs(axes, views.class_distances, between, views.class_names, colour=colour)
        r = views.correlations[name]
        axes.set_title(f"{name}, r = {r:.2f}".replace("-", "−") if np.isfinite(r) else name, size=9.5)
        axes.tick_params(labelbottom=True)
        axes.set_ylabel("bits that differ" if axes in panels[:, 0] else "")
    return figure


def draw_pairs(
    axes: Axes, of_classes: FloatArray, of_codewords: FloatArray, class_names: Sequence[object], *, colour: str
) -> None:
    """Plot the distances of codewords against those of their classes, a dot per pair, with a regression line.

    Both are distance matrices. The closest pair is named.
    """
    u, v = np.triu_indices(len(class_names), k=1)
    apart, differing = of_classes[u, v], of_codewords[u, v]
    # The more dots, the smaller and lighter: where they overlap, it gets darker.
    crowd = min(1.0, (150 / len(apart)) ** 0.5)
    axes.scatter(apart, differing, s=max(26 * crowd, 4), color=colour, alpha=max(0.6 * crowd, 0.2), linewidth=0)
    if np.isfinite(correlation(of_classes, of_codewords)):
        slope, intercept = np.polyfit(apart, differing, 1)
        ends = np.array([apart.min(), apart.max()])
        axes.plot(ends, intercept + slope * ends, color=PALETTE["black"] if crowd < 1 else colour)
    closest = int(apart.argmin())
    first, second = (shortened(class_names[k[closest]]) for k in (u, v))
    axes.annotate(
        f"{first}{' ' if len(first + second) < 14 else chr(10)}and {second}",
        (apart[closest], differing[closest]),
        (5, 5),
        textcoords="offset points",
        size=8,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.7},
    ).set_in_layout(False)
    axes.margins(y=0.12)
    if np.ptp(differing) == 0:
        axes.set_ylim(differing[0] - 1.5, differing[0] + 1.5)
    axes.set_xlabel(f"class {distance_word(apart)}", loc="left")
    axes.set_ylabel("bits that differ")
    axes.ticklabel_format(axis="x", scilimits=(-2, 3), useMathText=True)
    axes.locator_params(axis="x", nbins=4)
    axes.locator_params(axis="y", integer=True)
    axes.grid()


def distance_word(distances: FloatArray) -> str:
    """What to call them on an axis: a distance is not negative, as learnability may be."""
    return "distance" if distances.min() >= 0 else "dissimilarity"


def correlation(a: FloatArray, b: FloatArray) -> float:
    """The correlation of two distance matrices over all pairs; NaN if either is the same for all pairs."""
    pairs = np.triu_indices(len(a), k=1)
    if len(a) < 3 or np.ptp(a[pairs]) == 0 or np.ptp(b[pairs]) == 0:
        return float("nan")
    return float(np.corrcoef(a[pairs], b[pairs])[0, 1])


def _n_columns(n_panels: int, inches: float) -> int:
    """How many panels of at least this width fit side by side."""
    return min(n_panels, max(1, int((COLUMN_WIDTH - 0.6) / inches)))


def readable_columns(matrix: CodingMatrix, n_symbols: int = 2) -> tuple[CodingMatrix, IntArray]:
    """Columns that start with +1, or number symbols as they first occur, sorted by their changes; and their places."""
    if n_symbols > 2:
        begun = np.column_stack([_renumbered(column) for column in matrix.T])
    else:
        first = matrix[(matrix != 0).argmax(axis=0), np.arange(matrix.shape[1])]
        begun = np.where(first < 0, -matrix, matrix)
    n_changes = (begun[1:] != begun[:-1]).sum(axis=0)
    first_change = (begun != begun[:1]).argmax(axis=0)
    order = np.lexsort((first_change, n_changes))
    return np.asarray(begun[:, order], dtype=matrix.dtype), order


def _renumbered(column: CodingMatrix) -> CodingMatrix:
    """The symbols of a column, numbered in the order of their first occurrence; -1 stays."""
    number = {int(symbol): i for i, symbol in enumerate(dict.fromkeys(column[column >= 0].tolist()))} | {-1: -1}
    return np.array([number[int(symbol)] for symbol in column], dtype=column.dtype)
