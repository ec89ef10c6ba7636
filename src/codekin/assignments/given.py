"""Assignments that need no search: class k gets codeword k, or chance decides."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from codekin.assignments.budget import Budget, seed_of
from codekin.assignments.dense import check_sense, evaluated
from codekin.assignments.result import AssignmentResult, ProgressCallback, Sense
from codekin.assignments.scores import AssignmentProblem
from codekin.class_trees import ClassTree
from codekin.coding import Assignment, Codebook
from codekin.distances import ClassDistances


def identity(
    codebook: Codebook,
    class_distances: ClassDistances | ClassTree | ArrayLike,
    *,
    sense: Sense = "preserving",
    rng: np.random.Generator | int | None = None,  # noqa: ARG001 -- all solvers take it; nothing here is random
    time_limit: float | None = None,
    n_restarts: int = 1,
    progress: ProgressCallback | None = None,
) -> AssignmentResult:
    """Class ``k`` gets codeword ``k``: for codebooks whose rows were made for their classes.

    Parameters
    ----------
    codebook : Codebook
        The codewords.
    class_distances : ClassDistances, ClassTree or array-like of shape (n_classes, n_classes)
        How far apart the classes are; only the score depends on it.
    sense : "preserving" or "breaking", default="preserving"
        Noted in the result; there is nothing to prefer.
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
    >>> from codekin.coding import Codebook
    >>> identity(Codebook([[1, 1], [1, -1], [-1, -1]]), [[0, 1, 2], [1, 0, 1], [2, 1, 0]]).score
    0.0
    """
    problem = AssignmentProblem.of(codebook, class_distances)
    check_sense(sense)
    budget = Budget("identity", time_limit, n_restarts, progress)
    return evaluated(problem, Assignment.identity(problem.n_classes), sense, budget)


def random(
    codebook: Codebook,
    class_distances: ClassDistances | ClassTree | ArrayLike,
    *,
    sense: Sense = "preserving",
    rng: np.random.Generator | int | None = None,
    time_limit: float | None = None,
    n_restarts: int = 1,
    progress: ProgressCallback | None = None,
) -> AssignmentResult:
    """An assignment drawn at random, or the best of several.

    Parameters
    ----------
    codebook : Codebook
        The codewords.
    class_distances : ClassDistances, ClassTree or array-like of shape (n_classes, n_classes)
        How far apart the classes are.
    sense : "preserving" or "breaking", default="preserving"
        What the best of several assignments is.
    rng : numpy.random.Generator, int or None
        The source of randomness.
    time_limit : float, optional
        Seconds after which no further assignment is drawn.
    n_restarts : int, default=1
        How many assignments to draw.
    progress : callable, optional
        Called with a :class:`SearchProgress` after every assignment.

    Returns
    -------
    AssignmentResult

    Examples
    --------
    >>> from codekin.coding import Codebook
    >>> random(Codebook([[1, 1], [1, -1], [-1, -1]]), [[0, 1, 2], [1, 0, 1], [2, 1, 0]], rng=0).codeword_of_class
    array([2, 0, 1])
    """
    problem = AssignmentProblem.of(codebook, class_distances)
    check_sense(sense)
    seed = seed_of(rng)
    generator = np.random.default_rng(seed)
    budget = Budget("random", time_limit, n_restarts, progress)
    sign = 1.0 if sense == "preserving" else -1.0
    best: AssignmentResult | None = None
    history: list[tuple[int, float]] = []
    for drawn in range(1, n_restarts + 1):
        order = generator.permutation(problem.n_codewords)[: problem.n_classes]
        result = evaluated(problem, Assignment(order, "random"), sense, budget, seed=seed)
        if best is None or sign * result.z > sign * best.z:
            best = result
            history.append((drawn, result.score))
        if budget.is_spent:
            break
    assert best is not None
    return AssignmentResult(
        assignment=best.assignment,
        score=best.score,
        z=best.z,
        method="random",
        sense=sense,
        seed=seed,
        n_evaluations=drawn,
        seconds=budget.seconds,
        history=np.array(history, dtype=np.float64),
    )
