"""A page about a model: its coding matrix, classes, bits and predictions, in one HTML file."""

from codekin.deploy.explore.page import ExplorerPage

__all__ = ["ExplorerPage"]
