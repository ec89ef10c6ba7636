"""Matching an order of the classes to an order of the codewords, for any number of them.

Neighbours in a good order of the classes are similar, and so are neighbours in a good order of the codewords. Matching
the two orders preserves similarity with next to no computation. To break it, the codewords are taken in bit-reversed
order, which puts neighbouring classes far apart.
"""

from __future__ import annotations

import numpy as np

from codekin.assignments._solver import SearchTask
from codekin.assignments.dense import evaluated
from codekin.assignments.result import AssignmentResult
from codekin.assignments.seriation import codeword_order, spectral_class_order
from codekin.coding import Assignment, IntArray


def solve_by_tree_order(task: SearchTask) -> AssignmentResult:
    """The paper's naive algorithm: the depth-first order of the class tree, matched to the order of the codewords.

    The paths of a trellis are numbered in depth-first order, so neighbouring codewords share most of their edges. The
    codewords of another codebook are taken in the order of their leading principal component.
    """
    tree = task.problem.class_distances.tree
    assert tree is not None
    return _laid_onto(task, tree.class_order())


def solve_by_spectral_order(task: SearchTask) -> AssignmentResult:
    """The classes in spectral order, matched to the order of the codewords: for distances without a tree.

    Spectral seriation (Atkins et al., 1998) orders the classes by the Fiedler vector of their similarities,
    ``max A - A``. For more than 5,000 classes given as vectors, their leading principal component is used instead;
    other distances of so many classes must come from a tree, whose order is used.

    References
    ----------
    J. Atkins, E. Boman and B. Hendrickson, "A spectral algorithm for seriation and the consecutive ones problem",
    SIAM Journal on Computing 28, 1998.
    """
    return _laid_onto(task, spectral_class_order(task.problem.class_distances))


def _laid_onto(task: SearchTask, class_order: IntArray) -> AssignmentResult:
    problem = task.problem
    codeword_of_class = np.empty(problem.n_classes, dtype=np.intp)
    codeword_of_class[class_order] = codeword_order(problem.codebook, problem.n_classes, task.sense)
    return evaluated(task, Assignment(codeword_of_class, task.budget.method))
