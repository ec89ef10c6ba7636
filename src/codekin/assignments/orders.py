"""One order of the classes laid onto one order of the codewords, for any number of them.

Neighbours in a good order of the classes are similar, and so are neighbours in a good order of the codewords. Laying
the one onto the other preserves similarity with next to no computation. To break it, neighbouring classes are sent as
far apart as an order allows: the codewords are taken in bit-reversed order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from codekin.assignments.budget import Budget
from codekin.assignments.dense import check_sense, evaluated, is_blind, unsearched
from codekin.assignments.result import AssignmentResult, ProgressCallback, Sense
from codekin.assignments.scores import AssignmentProblem
from codekin.class_trees import ClassTree
from codekin.coding import MAX_DENSE_CODEWORDS, Assignment, Codebook, FloatArray, IntArray
from codekin.distances import ClassDistances, EmbeddingDistances, ProductDistances

_MAX_DENSE_COVARIANCE = 2_000
"""Up to so many dimensions the covariance of vectors is made; beyond, it is only multiplied with."""


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


def codeword_order(codebook: Codebook, n_classes: int, sense: Sense) -> IntArray:
    """So many codewords in an order in which neighbours are similar or, to break similarity, dissimilar.

    Of more codewords than classes, evenly spread ones are taken.
    """
    n_codewords = codebook.n_codewords
    order = np.arange(n_codewords) if codebook.trellis is not None else _principal_order(codebook.matrix)
    chosen = order[np.arange(n_classes) * n_codewords // n_classes]
    return chosen if sense == "preserving" else chosen[bit_reversed(n_classes)]


def spectral_class_order(class_distances: ClassDistances) -> IntArray:
    """The classes in an order in which neighbours are similar."""
    n_classes = class_distances.n_classes
    if n_classes <= MAX_DENSE_CODEWORDS:
        return _fiedler_order(class_distances.matrix())
    if isinstance(class_distances, EmbeddingDistances):
        return _principal_order(class_distances.vectors)
    if isinstance(class_distances, ProductDistances):
        return _principal_order(class_distances.factors)
    if class_distances.tree is not None:
        return class_distances.tree.class_order()
    return _fiedler_order(class_distances.matrix())


def bit_reversed(n: int) -> IntArray:
    """``range(n)`` in bit-reversed order: neighbours are far apart, at every scale."""
    n_bits = max(int(n - 1).bit_length(), 1)
    numbers = np.arange(2**n_bits)
    reversed_numbers = np.zeros_like(numbers)
    for bit in range(n_bits):
        reversed_numbers |= ((numbers >> bit) & 1) << (n_bits - 1 - bit)
    return reversed_numbers[reversed_numbers < n]


def _laid_onto(
    problem: AssignmentProblem, class_order: IntArray, method: str, sense: Sense, budget: Budget
) -> AssignmentResult:
    check_sense(sense)
    if is_blind(problem.codebook):
        return unsearched(problem, method, sense, budget)
    codeword_of_class = np.empty(problem.n_classes, dtype=np.intp)
    codeword_of_class[class_order] = codeword_order(problem.codebook, problem.n_classes, sense)
    return evaluated(problem, Assignment(codeword_of_class, method), sense, budget)


def _fiedler_order(distances: FloatArray) -> IntArray:
    """Ascending along the eigenvector that belongs to the second smallest eigenvalue of the similarities' Laplacian."""
    from scipy.linalg import eigh

    n = len(distances)
    if n < 3:
        return np.arange(n)
    similarities = distances.max() - distances
    np.fill_diagonal(similarities, 0.0)
    laplacian = np.diag(similarities.sum(axis=1)) - similarities
    _, vectors = eigh(laplacian, subset_by_index=[1, 1])
    return _along(vectors[:, 0])


def _principal_order(vectors: Any) -> IntArray:
    """Ascending along the leading principal component of the rows of an array or a sparse matrix."""
    from scipy.linalg import eigh
    from scipy.sparse.linalg import LinearOperator, svds

    n, width = vectors.shape
    rows = vectors.astype(np.float64)
    mean = np.asarray(rows.mean(axis=0)).ravel()
    if width <= _MAX_DENSE_COVARIANCE:
        product = rows.T @ rows
        covariance = (product if isinstance(product, np.ndarray) else product.toarray()) - n * np.outer(mean, mean)
        _, directions = eigh(covariance, subset_by_index=[width - 1, width - 1])
        return _along(np.asarray(rows @ directions[:, 0]) - mean @ directions[:, 0])
    centred: Any = LinearOperator(
        (n, width),
        matvec=lambda x: rows @ x.ravel() - mean @ x.ravel(),
        rmatvec=lambda y: rows.T @ y.ravel() - mean * y.sum(),
        dtype=np.float64,
    )
    left, _, _ = svds(centred, k=1, v0=np.linspace(1.0, 2.0, min(n, width)))
    return _along(np.asarray(left)[:, 0])


def _along(component: FloatArray) -> IntArray:
    """The order along a vector whose sign means nothing: the first entry of the largest size is made positive."""
    sign = np.sign(component[np.abs(component).argmax()])
    # Rounded, so that entries that should be equal stay in their given order.
    scale = np.abs(component).max(initial=1e-300)
    return np.argsort(np.round(sign * component / scale, 9), kind="stable")
