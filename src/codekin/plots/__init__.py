"""Figures: functions that compute the numbers, functions that draw them, and displays of fitted classifiers."""

from codekin.plots.code_displays import ClassDistanceDisplay, CodewordDistanceDisplay, CodingMatrixDisplay
from codekin.plots.fit_displays import AssignmentScoreDisplay, BitErrorDisplay, PolicyComparisonDisplay

__all__ = [
    "AssignmentScoreDisplay",
    "BitErrorDisplay",
    "ClassDistanceDisplay",
    "CodewordDistanceDisplay",
    "CodingMatrixDisplay",
    "PolicyComparisonDisplay",
]
