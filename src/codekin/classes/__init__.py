"""What is known of the classes: trees with the classes on their nodes, and how far apart classes are.

Distances are values that can be summed against codewords without making a K x K matrix. One interface,
:class:`ClassDistances`, and one implementation per form in which distances are known: a matrix, path lengths in a tree,
vectors, inner products, and any of them for some of the classes only.
"""

from numpy.typing import ArrayLike

from codekin.classes.dense import DenseDistances
from codekin.classes.interface import ClassDistances
from codekin.classes.tree import ClassTree
from codekin.classes.tree_distances import TreeDistances

__all__ = ["ClassDistances", "ClassTree", "DenseDistances"]


def as_class_distances(value: ClassDistances | ClassTree | ArrayLike) -> ClassDistances:
    """Class distances from whatever can stand for them.

    ``value``: a tree stands for its path lengths; a matrix is checked.

    >>> as_class_distances([[0, 1], [1, 0]])
    <DenseDistances: 2 classes>
    """
    if isinstance(value, ClassTree):
        return TreeDistances(value)
    if isinstance(value, ClassDistances):
        return value
    return DenseDistances(value)
