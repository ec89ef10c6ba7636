"""Trees with the classes on their nodes: taxonomies that somebody gave, or that were learned by clustering."""

from codekin.class_trees.tree import ClassTree

__all__ = ["ClassTree"]
