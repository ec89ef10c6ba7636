"""Explanations of predictions: what each feature contributes to the score of a class."""

from codekin.explaining.contributions import Explanation

__all__ = ["Explanation"]
