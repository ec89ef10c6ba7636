"""Figures: a function that computes the numbers and one that draws them."""

from codekin.plots.assignments import AssignmentViews, assignment_views, draw_coding_matrices, draw_distances
from codekin.plots.comparisons import Mean, PolicyComparison, draw_policy_comparison
from codekin.plots.style import figure_style, new_figure, save_figure

__all__ = [
    "AssignmentViews",
    "Mean",
    "PolicyComparison",
    "assignment_views",
    "draw_coding_matrices",
    "draw_distances",
    "draw_policy_comparison",
    "figure_style",
    "new_figure",
    "save_figure",
]
