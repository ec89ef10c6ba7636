"""The result of a search for an assignment, and its progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from codekin.coding import Assignment, FloatArray, IntArray

Sense = Literal["preserving", "breaking"]
"""Whether similar classes should get similar or dissimilar codewords."""

SENSES: tuple[Sense, ...] = ("preserving", "breaking")


class EquidistantCodebookWarning(UserWarning):
    """All codewords are equally far apart, so that all assignments have the same class-codeword score."""


@dataclass(frozen=True, eq=False)
class AssignmentResult:
    """An assignment, how good it is, and how it was found.

    Parameters
    ----------
    assignment : Assignment
        Which class gets which codeword.
    score : float
        Its class-codeword score (Eq. 5): low if similar classes have similar codewords.
    z : float
        How many standard deviations its score is below the mean of random assignments; exact, not sampled.
    method : str
        The name of the solver.
    sense : "preserving" or "breaking"
        Whether a low or a high score was wanted.
    seed : int or None
        Passed as ``rng``, it gives this result again; None if nothing is random.
    n_evaluations : int
        How many assignments were scored.
    seconds : float
        How long it took.
    bound : float or None
        A bound on the score of any assignment, if known: lower for "preserving", upper for "breaking".
    is_optimal : bool
        Whether no assignment is better for certain.
    history : ndarray of shape (n_points, 2)
        The number of evaluations and the best score so far, for a plot of convergence.
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
        """The most by which the score might still be improved; None without a bound."""
        return None if self.bound is None else abs(self.score - self.bound)


@dataclass(frozen=True)
class SearchProgress:
    """What a search passes to the ``progress`` function; ``score`` is the best one, or the best objective, so far."""

    method: str
    seconds: float
    n_evaluations: int
    score: float


ProgressCallback = Callable[[SearchProgress], None]
