"""What is known about the classes: trees with the classes on their nodes, and how far apart classes are.

Sums over distances and codewords need no K x K matrix. There is one interface, :class:`ClassDistances`, and one
implementation per form of distances: a matrix, path lengths in a tree, vectors, inner products, and any of them for
only some of the classes.
"""

from numpy.typing import ArrayLike

from codekin.classes.interface import ClassDistances, DenseDistances
from codekin.classes.tree import ClassTree
from codekin.classes.tree_distances import TreeDistances

__all__ = ["ClassDistances", "ClassTree", "DenseDistances"]


def as_class_distances(value: ClassDistances | ClassTree | ArrayLike) -> ClassDistances:
    """Class distances from distances, a tree (its path lengths) or a matrix, which is checked.

    >>> as_class_distances([[0, 1], [1, 0]])
    <DenseDistances: 2 classes>
    """
    if isinstance(value, ClassTree):
        return TreeDistances(value)
    if isinstance(value, ClassDistances):
        return value
    return DenseDistances(value)
