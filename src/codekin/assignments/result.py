"""What every search for an assignment returns, and how it tells of its progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from codekin.coding import Assignment, FloatArray, IntArray

Sense = Literal["preserving", "breaking"]
"""Whether similar classes are to get similar codewords, or dissimilar ones."""

SENSES: tuple[Sense, ...] = ("preserving", "breaking")


class EquidistantCodebookWarning(UserWarning):
    """The codewords are all equally far apart, so that the class-codeword score of all assignments is the same."""


@dataclass(frozen=True, eq=False)
class AssignmentResult:
    """An assignment, how good it is, and how it was found.

    Parameters
    ----------
    assignment : Assignment
        Which class gets which codeword.
    score : float
        Its class-codeword score (Eq. 5): low when similar classes have similar codewords.
    z : float
        How many standard deviations its score lies below the mean of random assignments; exact, not sampled.
    method : str
        The name of the solver.
    sense : "preserving" or "breaking"
        Whether a low or a high score was wanted.
    seed : int or None
        Passed as ``rng``, it gives this result again; None where chance plays no part.
    n_evaluations : int
        How many assignments were scored.
    seconds : float
        How long it took.
    bound : float or None
        The best score that any assignment can have, where that is known: the lowest one for "preserving", the highest
        one for "breaking".
    is_optimal : bool
        Whether it is certain that no assignment is better.
    history : ndarray of shape (n_points, 2)
        The best score so far (second column) after so many evaluations (first column), for a plot of convergence.
    """

    assignment: Assignment
    score: float
    z: float
    method: str
    sense: Sense
    seed: int | None
    n_evaluations: int
    seconds: float
    bound: float | None = None
    is_optimal: bool = False
    history: FloatArray = field(default_factory=lambda: np.empty((0, 2)), repr=False)

    @property
    def codeword_of_class(self) -> IntArray:
        """``codeword_of_class[k]`` is the row of the codebook that class ``k`` gets."""
        return self.assignment.codeword_of_class

    @property
    def gap(self) -> float | None:
        """By how much the score may still be improved, at most; None where no bound is known."""
        return None if self.bound is None else abs(self.score - self.bound)


@dataclass(frozen=True)
class SearchProgress:
    """What a search tells the function that was given as ``progress``.

    - ``seconds``: the time since the start.
    - ``n_evaluations``: how many assignments were scored so far.
    - ``score``: the best score so far; of a search on given matrices, the best objective.
    """

    method: str
    seconds: float
    n_evaluations: int
    score: float


ProgressCallback = Callable[[SearchProgress], None]
