"""What an assignment does to a coding matrix, as pictures.

The classes are put in an order in which neighbours are alike. Under a preserving assignment neighbouring rows of the
coding matrix then look alike as well, and the distances between codewords grow with those between classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from codekin.coding import CodingMatrix, FloatArray, IntArray, codeword_distances
from codekin.plots.style import PALETTE, POLICY_COLOURS, bit_colours, figure_style, new_figure, without_frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class AssignmentViews:
    """The same classes under several assignments, all in one order of the classes.

    Parameters
    ----------
    class_names : tuple of str
        In the order drawn.
    class_distances : ndarray of shape (n_classes, n_classes)
        In this order.
    coding_matrices : dict from str to ndarray of shape (n_classes, n_bits)
        By assignment; rows in this order. Columns are sorted from smooth to rough and each begins with +1, which
        changes no classifier.
    codeword_distances : dict from str to ndarray of shape (n_classes, n_classes)
        By assignment, in this order.
    n_changes : dict from str to int
        By assignment: how many bits differ between neighbours, over all pairs of neighbours.
    correlations : dict from str to float
        By assignment: between the distances of classes and those of their codewords, over all pairs of classes; NaN
        where one of the two is the same for all pairs.
    """

    class_names: tuple[str, ...]
    class_distances: FloatArray
    coding_matrices: dict[str, CodingMatrix]
    codeword_distances: dict[str, FloatArray]
    n_changes: dict[str, int]
    correlations: dict[str, float]


def assignment_views(
    class_distances: ArrayLike, coding_matrices: Mapping[str, CodingMatrix], class_names: Sequence[str]
) -> AssignmentViews:
    """The numbers behind the pictures of this module.

    Parameters
    ----------
    class_distances : array-like of shape (n_classes, n_classes)
        How far apart classes are.
    coding_matrices : mapping from str to array of shape (n_classes, n_bits)
        One coding matrix per assignment.
    class_names : sequence of str
        Of the rows of ``class_distances``.

    Returns
    -------
    AssignmentViews

    Examples
    --------
    >>> line = np.abs(np.subtract.outer([0, 2, 1, 3], [0, 2, 1, 3]))
    >>> codes = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]], dtype=np.int8)
    >>> assignment_views(line, {"given": codes}, "acbd").class_names
    ('a', 'b', 'c', 'd')
    """
    distances = np.asarray(class_distances, dtype=np.float64)
    order = similarity_order(distances)
    ordered = {name: _readable_columns(matrix[order]) for name, matrix in coding_matrices.items()}
    of_classes = distances[np.ix_(order, order)]
    of_codewords = {name: codeword_distances(matrix, matrix) for name, matrix in ordered.items()}
    return AssignmentViews(
        class_names=tuple(str(class_names[k]) for k in order),
        class_distances=of_classes,
        coding_matrices=ordered,
        codeword_distances=of_codewords,
        n_changes={name: int((matrix[1:] != matrix[:-1]).sum()) for name, matrix in ordered.items()},
        correlations={name: _correlation(of_classes, between) for name, between in of_codewords.items()},
    )


def similarity_order(class_distances: FloatArray) -> IntArray:
    """The classes in an order in which neighbours are alike.

    Leaves of the average-linkage tree, its branches turned so that the sum of distances between neighbours is as
    small as this tree allows (Bar-Joseph et al. 2001).

    Parameters
    ----------
    class_distances : ndarray of shape (n_classes, n_classes)

    Returns
    -------
    ndarray of shape (n_classes,)
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(class_distances) < 3:
        return np.arange(len(class_distances))
    pairs = squareform((class_distances + class_distances.T) / 2, checks=False)
    order = leaves_list(linkage(pairs, "average", optimal_ordering=True))
    # An order and its reverse are the same; this one starts with the smaller class.
    return np.asarray(order if order[0] < order[-1] else order[::-1], dtype=np.intp)


@figure_style()
def draw_coding_matrices(views: AssignmentViews, *, class_label: str = "class") -> Figure:
    """The coding matrices side by side.

    Parameters
    ----------
    views : AssignmentViews
        What to draw.
    class_label : str, default="class"
        What the rows are called.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.patches import Patch

    n_classes = len(views.class_names)
    figure = new_figure(1.3 + 0.22 * n_classes)
    panels = figure.subplots(1, len(views.coding_matrices), sharey=True, squeeze=False)[0]
    colours = bit_colours()
    for axes, (name, matrix) in zip(panels, views.coding_matrices.items(), strict=True):
        n_bits = matrix.shape[1]
        axes.pcolormesh(matrix, cmap=colours, vmin=-1, vmax=1, edgecolors="white", linewidth=1.2)
        axes.set_title(f"{name}\n", color="none")
        axes.annotate(name, (0, 1), (0, 18), "axes fraction", "offset points", weight="bold", size=10.5)
        axes.annotate(
            f"{views.n_changes[name]} changes down the columns",
            (0, 1),
            (0, 5),
            "axes fraction",
            "offset points",
            size=8.5,
        )
        axes.set_xticks(np.arange(n_bits) + 0.5, [str(bit + 1) for bit in range(n_bits)], size=8)
        axes.set_xlabel("bit")
        without_frame(axes)
    panels[0].set_yticks(np.arange(n_classes) + 0.5, views.class_names)
    panels[0].set_ylabel(f"{class_label} (neighbours are alike)")
    panels[0].invert_yaxis()
    signs = {int(bit) for matrix in views.coding_matrices.values() for bit in np.unique(matrix)}
    legend = {1: "+1", 0: "0 (class not used)", -1: "−1"}
    handles = [Patch(color=colours((sign + 1) / 2), label=text) for sign, text in legend.items() if sign in signs]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), handlelength=1, handleheight=1)
    return figure


@figure_style()
def draw_distances(views: AssignmentViews) -> Figure:
    """How many bits the codewords of two classes differ in, against how far apart the classes are.

    A dot is a pair of classes; the closest pair is named. ``r`` is the correlation.

    Parameters
    ----------
    views : AssignmentViews
        What to draw.

    Returns
    -------
    matplotlib.figure.Figure
    """
    u, v = np.triu_indices(len(views.class_names), k=1)
    apart = views.class_distances[u, v]
    closest = int(apart.argmin())
    white = {"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.8}
    figure = new_figure(2.9)
    panels = figure.subplots(1, len(views.codeword_distances), sharex=True, sharey=True, squeeze=False)[0]
    for axes, (name, distances) in zip(panels, views.codeword_distances.items(), strict=True):
        differing = distances[u, v]
        colour = POLICY_COLOURS.get(name, PALETTE["black"])
        axes.scatter(apart, differing, s=26, color=colour, alpha=0.6, edgecolor="white", linewidth=0.5)
        if np.isfinite(views.correlations[name]):
            slope, intercept = np.polyfit(apart, differing, 1)
            ends = np.array([apart.min(), apart.max()])
            axes.plot(ends, intercept + slope * ends, color=colour)
        label = f"{views.class_names[u[closest]]} and {views.class_names[v[closest]]}"
        place = (apart[closest], differing[closest])
        axes.annotate(label, place, (5, 5), textcoords="offset points", size=8, bbox=white)
        title = f"{name}, r = {views.correlations[name]:.2f}".replace("-", "−")
        axes.set_title(title, size=9.5)
        axes.set_xlabel("distance of the classes")
        axes.grid()
    panels[0].set_ylabel("bits that differ")
    panels[0].locator_params(axis="y", integer=True)
    return figure


def _correlation(a: FloatArray, b: FloatArray) -> float:
    pairs = np.triu_indices(len(a), k=1)
    if len(a) < 3 or np.ptp(a[pairs]) == 0 or np.ptp(b[pairs]) == 0:
        return float("nan")
    return float(np.corrcoef(a[pairs], b[pairs])[0, 1])


def _readable_columns(matrix: CodingMatrix) -> CodingMatrix:
    """Begin every column with +1 and put the columns with the fewest changes first."""
    first = matrix[(matrix != 0).argmax(axis=0), np.arange(matrix.shape[1])]
    begun = np.where(first < 0, -matrix, matrix)
    n_changes = (begun[1:] != begun[:-1]).sum(axis=0)
    first_change = (begun != begun[:1]).argmax(axis=0)
    return np.asarray(begun[:, np.lexsort((first_change, n_changes))], dtype=np.int8)
