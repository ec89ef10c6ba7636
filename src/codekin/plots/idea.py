"""The picture that explains codekin: one codebook, dealt out by chance and on purpose, and how accurate each is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from codekin.plots.assignments import AssignmentViews, draw_matrix
from codekin.plots.style import POLICY_COLOURS, figure_style, new_figure
from codekin.plots.ticks import settle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADINGS = {"random": "codewords left to chance", "preserving": "similar classes,\nsimilar codewords"}
SIZE = 6.0, 3.7
"""Wider than a column: it opens a page. Letters of 11 points are still readable on a phone."""


@figure_style()
def draw_idea(views: AssignmentViews, accuracies: Mapping[str, float], *, class_label: str = "class") -> Figure:
    """The coding matrices under the policies of ``HEADINGS``, with the accuracy of each in large digits.

    Accuracies are in percent, by policy.
    """
    figure = new_figure(SIZE[1])
    figure.set_size_inches(*SIZE)
    figure.set_layout_engine("constrained", w_pad=0.1, wspace=0.1)
    panels = figure.subplots(1, len(HEADINGS))
    above: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "annotation_clip": False}
    for axes, (policy, heading) in zip(panels, HEADINGS.items(), strict=True):
        axes.set_title("\n\n\n", size=12)  # reserves the space
        accuracy = f"{accuracies[policy]:.1f} % right"
        axes.annotate(heading, (0, 1), (0, 32), size=11.5, va="bottom", **above)
        axes.annotate(accuracy, (0, 1), (0, 7), size=19, weight="bold", color=POLICY_COLOURS[policy], **above)
        axes.set_xlabel(f"{views.coding_matrices[policy].shape[1]} yes-or-no questions", size=11)
        axes.set_yticks([0.5], ["0"], size=11)
    panels[0].set_ylabel(f"{class_label} (neighbours are alike)", size=11)
    settle(figure)
    for axes, policy in zip(panels, HEADINGS, strict=True):
        matrix = views.coding_matrices[policy]
        draw_matrix(axes, matrix, views.bits[policy])
        axes.set_ylim(len(matrix), 0)
        axes.set_xticks([])
        axes.set_yticks([row + 0.5 for row in range(len(matrix))], views.class_names, size=11)
    return figure
