"""Figures: a function that computes the numbers and one that draws them; and displays of fitted classifiers."""

from codekin.plots.assignments import AssignmentViews, assignment_views, draw_coding_matrices, draw_distances
from codekin.plots.code_displays import ClassDistanceDisplay, CodewordDistanceDisplay, CodingMatrixDisplay
from codekin.plots.comparisons import Mean, PolicyComparison, draw_policy_comparison
from codekin.plots.distributions import (
    JointDensity,
    Variation,
    draw_class_distances,
    draw_joint_densities,
    draw_variations,
    joint_density,
    variation,
)
from codekin.plots.fit_displays import AssignmentScoreDisplay, BitErrorDisplay, PolicyComparisonDisplay
from codekin.plots.style import figure_style, new_figure, save_figure

__all__ = [
    "AssignmentScoreDisplay",
    "AssignmentViews",
    "BitErrorDisplay",
    "ClassDistanceDisplay",
    "CodewordDistanceDisplay",
    "CodingMatrixDisplay",
    "JointDensity",
    "Mean",
    "PolicyComparison",
    "PolicyComparisonDisplay",
    "Variation",
    "assignment_views",
    "draw_class_distances",
    "draw_coding_matrices",
    "draw_distances",
    "draw_joint_densities",
    "draw_policy_comparison",
    "draw_variations",
    "figure_style",
    "joint_density",
    "new_figure",
    "save_figure",
    "variation",
]
