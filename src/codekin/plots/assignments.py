"""What figures of codes are made of: the order of the classes, coding matrices, and pairs of classes.

The classes are sorted so that neighbours are similar. Under a preserving assignment, neighbouring rows of the coding
matrix then look similar as well, and the distances between codewords grow with those between classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin.classes import ClassDistances, ClassTree, as_class_distances
from codekin.code import CodingMatrix, FloatArray, IntArray, Margins
from codekin.code.codebook import kind_of_matrix
from codekin.plots.style import (
    INK,
    KEEPS_COLOUR,
    PALETTE,
    bit_colours,
    inches_of,
    number_columns,
    shortened,
    symbol_colours,
    without_frame,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

MAX_CLASSES_DRAWN = 1_000
"""With more classes, none can be made out."""

LUMINANCE = (0.2126, 0.7152, 0.0722)
"""The relative brightness of red, green and blue."""

SMALLEST_LETTERS = 5.0
"""In points; smaller ones are left out."""


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
    neighbours is minimal for this tree (Bar-Joseph et al. 2001). A shift of all distances, which may be negative,
    changes nothing.
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(class_distances) < 3:
        return np.arange(len(class_distances))
    pairs = squareform((class_distances + class_distances.T) / 2, checks=False)
    order = leaves_list(linkage(pairs - min(pairs.min(), 0.0), "average", optimal_ordering=True))
    # An order and its reverse are equally good; take the one that starts with the smaller class.
    return np.asarray(order if order[0] < order[-1] else order[::-1], dtype=np.intp)


def write_titles(axes: Axes, title: str, subtitle: str, column: str = "bit") -> None:
    """Write two lines above a panel that shows a coding matrix."""
    axes.set_title(f"{title}\n", color="none")  # reserves the space
    above: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "annotation_clip": False}
    axes.annotate(title, (0, 1), (0, 18), weight="bold", size=10.5, **above)
    axes.annotate(subtitle, (0, 1), (0, 5), size=8.5, **above)
    axes.set_xlabel(column)


def draw_matrix(axes: Axes, matrix: CodingMatrix, bits: IntArray, entries: BitEntries | None = None) -> None:
    """Draw a coding matrix with the numbers of its columns. The layout of the figure must be settled."""
    width, height = inches_of(axes)
    cell = 72 * min(width / matrix.shape[1], height / matrix.shape[0])
    # Lines between very small cells would cover the cells.
    lines: dict[str, Any] = {"rasterized": True}
    if cell > 3:
        lines = {"edgecolors": "white", "linewidth": min(1.2, 0.1 * cell)}
    (entries or BitEntries()).draw(axes, matrix, cell, lines)
    number_columns(axes, bits.tolist())
    without_frame(axes)


class BitEntries:
    """What the entries of a coding matrix look like, and what they mean: -1 and +1, and 0 for classes not used."""

    unit = "bit"

    def __init__(self, n_symbols: int = 2) -> None:
        self.n_symbols = n_symbols

    def draw(self, axes: Axes, matrix: CodingMatrix, cell: float, lines: dict[str, Any]) -> None:  # noqa: ARG002
        """Draw the cells, which have a size in points, with these lines between them."""
        axes.pcolormesh(matrix, cmap=bit_colours(), vmin=-1, vmax=1, **lines)

    def patches(self, matrix: CodingMatrix) -> list[Patch]:
        """Legend entries for what occurs."""
        from matplotlib.patches import Patch

        colours, texts = bit_colours(), {1: "+1", 0: "0 (class not used)", -1: "−1"}
        occurring = {int(bit) for bit in np.unique(matrix)}
        return [Patch(color=colours((bit + 1) / 2), label=text) for bit, text in texts.items() if bit in occurring]

    def begun(self, matrix: CodingMatrix) -> CodingMatrix:
        """The same classifier with columns that start with +1."""
        first = matrix[(matrix != 0).argmax(axis=0), np.arange(matrix.shape[1])]
        return np.where(first < 0, -matrix, matrix)

    def errors(self, margins: Margins, codewords: CodingMatrix) -> FloatArray:
        """For each column, the share of wrong answers among samples with these codewords, if they are used."""
        return _shares(codewords * margins <= 0, codewords != 0)


class SymbolEntries(BitEntries):
    """The symbols from 0 to ``n_symbols - 1``, and -1 for classes not used."""

    unit = "column"

    def draw(self, axes: Axes, matrix: CodingMatrix, cell: float, lines: dict[str, Any]) -> None:
        """Draw the cells, with the symbols in them if there is room for readable letters."""
        colours, size = symbol_colours(self.n_symbols), min(8.5, 0.8 * cell)
        axes.pcolormesh(matrix, cmap=colours, vmin=-1.5, vmax=self.n_symbols - 0.5, **lines)
        for row, column in np.argwhere(matrix >= 0) if size >= SMALLEST_LETTERS else ():
            symbol = int(matrix[row, column])
            is_dark = np.dot(colours(symbol + 1)[:3], LUMINANCE) < 0.45
            place: dict[str, Any] = {"ha": "center", "va": "center_baseline", "size": size, "gid": KEEPS_COLOUR}
            axes.text(column + 0.5, row + 0.5, str(symbol), color="white" if is_dark else INK, **place)

    def patches(self, matrix: CodingMatrix) -> list[Patch]:
        """Legend entries for the first and the last symbol, and for classes not used, if there are any."""
        from matplotlib.patches import Patch

        colours, last = symbol_colours(self.n_symbols), int(matrix.max())
        shown = {0: "symbol 0", last: f"symbol {last}", **({-1: "class not used"} if (matrix < 0).any() else {})}
        return [Patch(color=colours(symbol + 1), label=text) for symbol, text in shown.items()]

    def begun(self, matrix: CodingMatrix) -> CodingMatrix:
        """The same classifier with the symbols of each column numbered as they first occur; -1 stays."""
        columns = []
        for column in matrix.T:
            number = {symbol: i for i, symbol in enumerate(dict.fromkeys(column[column >= 0].tolist()))} | {-1: -1}
            columns.append([number[symbol] for symbol in column.tolist()])
        return np.array(columns, dtype=matrix.dtype).T

    def errors(self, margins: Margins, codewords: CodingMatrix) -> FloatArray:
        """The same; the answer is the symbol with the largest margin."""
        said = margins.reshape(*codewords.shape, self.n_symbols).argmax(axis=2)
        return _shares(said != codewords, codewords >= 0)


def _shares(wrong: NDArray[np.bool_], used: NDArray[np.bool_]) -> FloatArray:
    return np.asarray((wrong & used).sum(axis=0) / np.maximum(used.sum(axis=0), 1))


ENTRIES: dict[str, type[BitEntries] | str] = {
    "signs": BitEntries,
    "symbols": SymbolEntries,
    "targets": "Codewords of signs or symbols can be drawn.",
    "trellis": BitEntries,
    "tree": BitEntries,
}
"""Maps the kind of a codebook to what its entries look like."""


def entries_of(n_symbols: int) -> BitEntries:
    """The entries of a matrix of this many symbols."""
    made: Any = ENTRIES[kind_of_matrix(n_symbols=n_symbols)]
    return cast("BitEntries", made(n_symbols))


def draw_pairs(
    axes: Axes, of_classes: FloatArray, of_codewords: FloatArray, class_names: Sequence[object], *, colour: str
) -> None:
    """Plot the distances of codewords against those of their classes, a dot per pair, with a regression line."""
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
    named = f"{first}{' ' if len(first + second) < 14 else chr(10)}and {second}"
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.7}
    place: Any = {"xy": (apart[closest], differing[closest]), "xytext": (5, 5), "textcoords": "offset points"}
    axes.annotate(named, **place, size=8, bbox=box).set_in_layout(False)
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


def readable_columns(matrix: CodingMatrix, entries: BitEntries | None = None) -> tuple[CodingMatrix, IntArray]:
    """Columns that start alike, sorted by their number of changes, and their places."""
    begun = (entries or BitEntries()).begun(matrix)
    n_changes = (begun[1:] != begun[:-1]).sum(axis=0)
    first_change = (begun != begun[:1]).argmax(axis=0)
    order = np.lexsort((first_change, n_changes))
    return np.asarray(begun[:, order], dtype=matrix.dtype), order
