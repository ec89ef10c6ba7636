"""Displays of the code of a fitted classifier, like those of scikit-learn.

``CodingMatrixDisplay.from_estimator(classifier)`` computes the numbers and draws them. A display holds its numbers;
``plot`` draws them into given axes or a new figure, and stores these as ``ax_`` and ``figure_``. Figures are created
with pyplot, so notebooks and ``plt.show()`` show them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin._system.messages import counted
from codekin.classes import ClassDistances, ClassTree
from codekin.code import Code, CodingMatrix, FloatArray, entry_for
from codekin.code.geometry import codeword_distances
from codekin.plots.assignments import (
    ENTRIES,
    check_n_drawn,
    correlation,
    distance_word,
    draw_matrix,
    draw_pairs,
    drawn_distances,
    entries_of,
    readable_columns,
    similarity_order,
    write_titles,
)
from codekin.plots.style import (
    COLUMN_WIDTH,
    POLICY_COLOURS,
    figure_style,
    matrix_height,
    name_columns,
    name_rows,
    new_figure,
    settle,
    without_frame,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import Figure, SubFigure

MOST_HANDLES = 5
"""Entries in a row of a legend."""

HEADINGS = {"random": "codewords left to chance", "preserving": "similar classes,\nsimilar codewords"}
SIZE_OF_IDEA = 6.0, 3.7
"""Wider than a column: it opens a page. Letters of 11 points are still readable on a phone."""


class Display(ABC):
    """The base class of all displays."""

    ax_: Axes
    figure_: Figure | SubFigure
    _size: tuple[float, float] = (COLUMN_WIDTH, 3.1)
    """Width and height of a new figure, in inches."""

    @figure_style()
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the display into the given axes or a new figure, and store them as ``ax_`` and ``figure_``."""
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.figure(figsize=self._size, layout="constrained").subplots()
        self.ax_, self.figure_ = ax, ax.figure
        self._draw()
        return self

    @abstractmethod
    def _draw(self) -> None:
        """Draw into ``ax_``."""


def code_of(estimator: Any) -> Code:
    """The code of a fitted classifier."""
    if not hasattr(estimator, "model_"):
        raise ValueError(f"This {type(estimator).__name__} is not fitted yet. Call fit first.")
    check_n_drawn(len(estimator.classes_))
    code: Code = estimator.model_.code
    entry_for(ENTRIES, code.codebook)
    return code


def distances_of(estimator: Any, given: Any) -> Any:
    """The given class distances, or those of the fitted classifier if none are given."""
    known = getattr(estimator, "class_distances_", None) if given is None else given
    if known is None:
        raise ValueError(
            f"This {type(estimator).__name__} has no class distances: it is not fitted, did not need them, or was "
            "loaded from disk. Give class_distances."
        )
    return known


def names_of(estimator: Any, given: Sequence[Any] | None) -> Sequence[Any]:
    """The given names of the classes, or their labels if none are given."""
    names: Sequence[Any] = estimator.classes_ if given is None else given
    if len(names) != len(estimator.classes_):
        raise ValueError(f"There are {len(estimator.classes_)} classes. Got {len(names)} class names.")
    return names


@dataclass(eq=False, repr=False)
class CodingMatrixDisplay(Display):
    """The codewords of the classes, similar classes next to each other.

    Parameters
    ----------
    coding_matrix : ndarray of shape (n_classes, n_bits)
        In the order drawn. ``from_estimator`` sorts rows so that neighbours are similar, sorts columns by their number
        of changes and starts each with +1, which does not change the classifier.
    class_names : sequence
        The names of the rows.
    n_symbols : int, default=2
        How many symbols a column may have. If more than two, the symbols are 0, 1 and so on, and -1 marks classes that
        a column ignores; ``from_estimator`` numbers them in the order in which they first occur in the column.
    bits : sequence of int, default=None
        The number of each column in the code, from 0; by default, their order.

    Attributes
    ----------
    n_changes : int
        How many entries differ between neighbouring rows, in total.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from codekin import ECOCClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> display = CodingMatrixDisplay.from_estimator(ECOCClassifier(random_state=0).fit(X, y))
    >>> display.coding_matrix.shape, display.n_changes
    ((3, 3), 4)
    """

    coding_matrix: CodingMatrix
    class_names: Sequence[Any]
    n_symbols: int = 2
    bits: Any = None

    def __post_init__(self) -> None:
        self.bits = np.arange(self.coding_matrix.shape[1]) if self.bits is None else np.asarray(self.bits)
        self.n_changes = int((self.coding_matrix[1:] != self.coding_matrix[:-1]).sum())

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, class_names: Sequence[Any] | None = None, ax: Axes | None = None
    ) -> Self:
        """Draw the coding matrix of a fitted classifier.

        Parameters
        ----------
        estimator : ECOCClassifier or ExtremeClassifier
            Fitted. Without class distances, classes are sorted by their codewords.
        class_names : sequence, default=None
            In the order of ``estimator.classes_``, which are the names by default.
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        CodingMatrixDisplay
        """
        code = code_of(estimator)
        known = getattr(estimator, "class_distances_", None)
        between = codeword_distances(code.indicators, code.indicators) if known is None else drawn_distances(known)
        order = similarity_order(between)
        names = names_of(estimator, class_names)
        matrix, bits = readable_columns(code.coding_matrix[order], entries_of(code.n_symbols))
        return cls(matrix, [names[k] for k in order], code.n_symbols, bits.tolist()).plot(ax)

    @property
    def _size(self) -> tuple[float, float]:  # type: ignore[override]
        n_classes, n_bits = self.coding_matrix.shape
        width = min(max(3.0, 1.5 + 0.24 * n_bits), max(COLUMN_WIDTH, min(1 + 0.05 * n_bits, 9)))
        return (width, 1.35 + matrix_height(n_classes))

    def _draw(self) -> None:
        from matplotlib.transforms import ScaledTranslation

        axes, (n_classes, n_bits), entries = self.ax_, self.coding_matrix.shape, entries_of(self.n_symbols)
        shape = f"{n_classes} classes, {counted(n_bits, entries.unit)}"
        write_titles(axes, shape, f"{self.n_changes} changes down the columns", entries.unit)
        axes.set_ylabel("class (neighbours are alike)" if n_classes > 6 else "class")
        below = axes.transAxes + ScaledTranslation(0, -32 / 72, axes.figure.dpi_scale_trans)
        handles = entries.patches(self.coding_matrix)
        look: Any = {"borderpad": 0, "ncols": min(len(handles), MOST_HANDLES), "handlelength": 1, "handleheight": 1}
        axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=below, **look)
        settle(self.figure_)
        draw_matrix(axes, self.coding_matrix, self.bits, entries)
        name_rows(axes, self.class_names)
        axes.set_ylim(n_classes, 0)


@figure_style()
def draw_idea(
    displays: Mapping[str, CodingMatrixDisplay], accuracies: Mapping[str, float], *, class_label: str = "class"
) -> Figure:
    """The picture that explains codekin: coding matrices, with the accuracy of each policy in large digits."""
    figure = new_figure(SIZE_OF_IDEA[1])
    figure.set_size_inches(*SIZE_OF_IDEA)
    figure.set_layout_engine("constrained", w_pad=0.1, wspace=0.1)
    panels = figure.subplots(1, len(HEADINGS))
    above: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "annotation_clip": False}
    for axes, (policy, heading) in zip(panels, HEADINGS.items(), strict=True):
        axes.set_title("\n\n\n", size=12)  # reserves the space
        accuracy = f"{accuracies[policy]:.1f} % right"
        axes.annotate(heading, (0, 1), (0, 32), size=11.5, va="bottom", **above)
        axes.annotate(accuracy, (0, 1), (0, 7), size=19, weight="bold", color=POLICY_COLOURS[policy], **above)
        axes.set_xlabel(f"{displays[policy].coding_matrix.shape[1]} yes-or-no questions", size=11)
        axes.set_yticks([0.5], ["0"], size=11)
    panels[0].set_ylabel(f"{class_label} (neighbours are alike)", size=11)
    settle(figure)
    for axes, policy in zip(panels, HEADINGS, strict=True):
        shown = displays[policy]
        draw_matrix(axes, shown.coding_matrix, shown.bits)
        axes.set_ylim(len(shown.class_names), 0)
        axes.set_xticks([])
        axes.set_yticks([row + 0.5 for row in range(len(shown.class_names))], shown.class_names, size=11)
    return figure


@dataclass(eq=False, repr=False)
class CodewordDistanceDisplay(Display):
    """The number of bits, or columns, in which two codewords differ, against the distance of their classes.

    Each dot is a pair of classes, and the closest pair is named.

    Parameters
    ----------
    class_distances, codeword_distances : ndarray of shape (n_classes, n_classes)
        The distances between all classes, and between their codewords.
    class_names : sequence
        The names of the classes.
    n_symbols : int, default=2
        How many symbols a column may have.

    Attributes
    ----------
    correlation : float
        The correlation of the two distances over all pairs of classes; NaN if either is the same for all pairs.
    """

    class_distances: FloatArray
    codeword_distances: FloatArray
    class_names: Sequence[Any]
    n_symbols: int = 2

    def __post_init__(self) -> None:
        self.correlation = correlation(self.class_distances, self.codeword_distances)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        class_distances: ClassDistances | ClassTree | ArrayLike | None = None,
        class_names: Sequence[Any] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the distances between the codewords of a fitted classifier against those of its classes.

        Parameters
        ----------
        estimator : ECOCClassifier or ExtremeClassifier
            Fitted.
        class_distances : ClassDistances, ClassTree or array-like of shape (n_classes, n_classes), default=None
            Those of the classifier by default.
        class_names : sequence, default=None
            In the order of ``estimator.classes_``, which are the names by default.
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        CodewordDistanceDisplay
        """
        code = code_of(estimator)
        of_classes = drawn_distances(distances_of(estimator, class_distances))
        between = codeword_distances(code.indicators, code.indicators)
        return cls(of_classes, between, names_of(estimator, class_names), code.n_symbols).plot(ax)

    def _draw(self) -> None:
        colour = POLICY_COLOURS["preserving"]
        draw_pairs(self.ax_, self.class_distances, self.codeword_distances, self.class_names, colour=colour)
        self.ax_.set_ylabel(f"{entries_of(self.n_symbols).unit}s that differ")
        if np.isfinite(self.correlation):
            self.ax_.set_title(f"correlation r = {self.correlation:.2f}".replace("-", "−"))


@dataclass(eq=False, repr=False)
class ClassDistanceDisplay(Display):
    """How far apart classes are, as a heat map: the darker, the closer.

    Parameters
    ----------
    class_distances : ndarray of shape (n_classes, n_classes)
        In the order drawn; ``from_estimator`` puts similar classes next to each other.
    class_names : sequence
        The names of the rows.
    """

    class_distances: FloatArray
    class_names: Sequence[Any]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        class_distances: ClassDistances | ClassTree | ArrayLike | None = None,
        class_names: Sequence[Any] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the class distances that a fitted classifier used.

        Parameters
        ----------
        estimator : ECOCClassifier or ExtremeClassifier
            Fitted.
        class_distances : ClassDistances, ClassTree or array-like of shape (n_classes, n_classes), default=None
            Those of the classifier by default.
        class_names : sequence, default=None
            In the order of ``estimator.classes_``, which are the names by default.
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        ClassDistanceDisplay
        """
        distances = drawn_distances(distances_of(estimator, class_distances))
        names = names_of(estimator, class_names)
        order = similarity_order(distances)
        return cls(distances[np.ix_(order, order)], [names[k] for k in order]).plot(ax)

    @property
    def _size(self) -> tuple[float, float]:  # type: ignore[override]
        side = min(max(2.2, 0.2 * len(self.class_names)), 5 + 0.035 * len(self.class_names), 10.0)
        return (1.8 + 0.9 * side, 0.5 + side)

    def _draw(self) -> None:
        settle(self.figure_)
        mesh = draw_heat_map(self.ax_, self.class_distances, self.class_names)
        bar = self.figure_.colorbar(mesh, ax=self.ax_, label=distance_word(self.class_distances), shrink=0.8, aspect=18)
        bar.ax.ticklabel_format(axis="y", scilimits=(-2, 3), useMathText=True)
        bar.ax.yaxis.get_offset_text().set_horizontalalignment("left")


def draw_heat_map(axes: Axes, matrix: FloatArray, class_names: Sequence[object]) -> QuadMesh:
    """Draw distances between classes as a heat map: the darker, the closer. Returns what a colour bar needs."""
    shown: NDArray[np.float64] = np.array(matrix, dtype=np.float64)
    np.fill_diagonal(shown, np.nan)
    mesh = axes.pcolormesh(shown, cmap="viridis", rasterized=len(shown) > 40)
    name_columns(axes, class_names)
    name_rows(axes, class_names)
    axes.set_ylim(len(shown), 0)
    without_frame(axes)
    return mesh
