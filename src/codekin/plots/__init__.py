"""Figures: a function that computes the numbers and one that draws them."""
