"""One order of the classes laid onto one order of the codewords, for any number of them.

Neighbours in a good order of the classes are similar, and so are neighbours in a good order of the codewords. Laying
the one onto the other preserves similarity with next to no computation. To break it, neighbouring classes are sent as
far apart as an order allows: the codewords are taken in bit-reversed order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from codekin.assignments.budget import Budget
from codekin.assignments.dense import check_sense, evaluated, is_blind, unsearched
from codekin.assignments.result import AssignmentResult, ProgressCallback, Sense
from codekin.assignments.scores import AssignmentProblem
from codekin.assignments.seriation import codeword_order, spectral_class_order
from codekin.class_trees import ClassTree
from codekin.coding import Assignment, Codebook, IntArray
from codekin.distances import ClassDistances


def ordered(
    codebook: Codebook,
    class_distances: ClassDistances | ClassTree | ArrayLike,
    *,
    sense: Sense = "preserving",
    rng: np.random.Generator | int | None = None,  # noqa: ARG001 -- all solvers take it; nothing here is random
    time_limit: float | None = None,
    n_restarts: int = 1,
    progress: ProgressCallback | None = None,
) -> AssignmentResult:
    """The paper's naive algorithm: the depth-first order of the class tree, laid onto the order of the codewords.

    The paths of a trellis are numbered in depth-first order, so neighbouring codewords share most of their edges. The
    codewords of another codebook are taken in the order of their leading principal component.

    Parameters
    ----------
    codebook : Codebook
        The codewords, any number of them.
    class_distances : ClassDistances or ClassTree
        Class distances that have a tree.
    sense : "preserving" or "breaking", default="preserving"
        Whether similar classes are to get similar codewords, or dissimilar ones.
    rng : numpy.random.Generator, int or None
        Not consulted: chance plays no part.
    time_limit : float, optional
        Never reached.
    n_restarts : int, default=1
        More starts would end the same.
    progress : callable, optional
        Called once, with the result's score.

    Returns
    -------
    AssignmentResult

    Examples
    --------
    >>> from codekin.class_trees import ClassTree
    >>> from codekin.coding import Codebook
    >>> tree = ClassTree.from_nested({"animal": ["dog", "cat"], "vehicle": ["van", "car"]})
    >>> codebook = Codebook([[1, 1, 1], [1, 1, -1], [1, -1, -1], [-1, -1, -1]])
    >>> ordered(codebook, tree).score < ordered(codebook, tree, sense="breaking").score
    True
    """
    problem = AssignmentProblem.of(codebook, class_distances)
    budget = Budget("ordered", time_limit, n_restarts, progress)
    tree = problem.class_distances.tree
    if tree is None:
        raise ValueError(
            "The method 'ordered' needs class distances that come from a tree. "
            f"Got {problem.class_distances!r}; use 'spectral', which finds an order of its own."
        )
    return _laid_onto(problem, tree.class_order(), "ordered", sense, budget)


def spectral(
    codebook: Codebook,
    class_distances: ClassDistances | ClassTree | ArrayLike,
    *,
    sense: Sense = "preserving",
    rng: np.random.Generator | int | None = None,  # noqa: ARG001 -- all solvers take it; nothing here is random
    time_limit: float | None = None,
    n_restarts: int = 1,
    progress: ProgressCallback | None = None,
) -> AssignmentResult:
    """The classes in spectral order, laid onto the order of the codewords: for distances without a tree.

    Spectral seriation (Atkins et al., 1998) orders the classes by the Fiedler vector of their similarities,
    ``max A - A``. For more than 5,000 classes given as vectors, their leading principal component takes its place.

    Parameters
    ----------
    codebook : Codebook
        The codewords, any number of them.
    class_distances : ClassDistances, ClassTree or array-like of shape (n_classes, n_classes)
        How far apart the classes are. Those of more than 5,000 classes must come from vectors, or from a tree, whose
        order is then taken.
    sense : "preserving" or "breaking", default="preserving"
        Whether similar classes are to get similar codewords, or dissimilar ones.
    rng : numpy.random.Generator, int or None
        Not consulted: chance plays no part.
    time_limit : float, optional
        Never reached.
    n_restarts : int, default=1
        More starts would end the same.
    progress : callable, optional
        Called once, with the result's score.

    Returns
    -------
    AssignmentResult

    References
    ----------
    J. Atkins, E. Boman and B. Hendrickson, "A spectral algorithm for seriation and the consecutive ones problem",
    SIAM Journal on Computing 28, 1998.

    Examples
    --------
    >>> from codekin.coding import Codebook
    >>> codebook = Codebook([[1, 1, 1], [1, 1, -1], [-1, -1, -1], [1, -1, -1]])
    >>> spectral(codebook, [[0, 3, 1, 2], [3, 0, 2, 1], [1, 2, 0, 1], [2, 1, 1, 0]]).score
    0.0
    """
    problem = AssignmentProblem.of(codebook, class_distances)
    budget = Budget("spectral", time_limit, n_restarts, progress)
    return _laid_onto(problem, spectral_class_order(problem.class_distances), "spectral", sense, budget)


def _laid_onto(
    problem: AssignmentProblem, class_order: IntArray, method: str, sense: Sense, budget: Budget
) -> AssignmentResult:
    check_sense(sense)
    if is_blind(problem.codebook):
        return unsearched(problem, method, sense, budget)
    codeword_of_class = np.empty(problem.n_classes, dtype=np.intp)
    codeword_of_class[class_order] = codeword_order(problem.codebook, problem.n_classes, sense)
    return evaluated(problem, Assignment(codeword_of_class, method), sense, budget)
