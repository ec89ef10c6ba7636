"""The result of a search, and what an assignment did to classes and pairs of classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from codekin.classes import ClassDistances, ClassTree, as_class_distances
from codekin.classes.tree_distances import TreeDistances
from codekin.code import Assignment, Code, Codebook, FloatArray, IntArray
from codekin.code.geometry import MAX_DENSE_CODEWORDS, paired_distances, total_codeword_distance

Sense = Literal["preserving", "breaking"]
"""Whether similar classes should get similar or dissimilar codewords."""

POLICIES: tuple[Sense, ...] = get_args(Sense)
"""May be given instead of a method's name: the search is then chosen."""


COLUMNS = ("method", "sense", "score", "z", "bound", "is_optimal", "n_evaluations", "seconds")
"""The columns of a table of results."""
_NEIGHBOURS = 8
"""How many neighbours of a class are candidates for similar pairs."""
_PAIRS_AT_ONCE = 4_000_000


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


@dataclass(frozen=True, eq=False)
class AssignmentComparison:
    """A table of results, one row per method, in the given order.

    Parameters
    ----------
    results : tuple of AssignmentResult
        The rows.
    """

    results: tuple[AssignmentResult, ...]

    @property
    def best(self) -> AssignmentResult:
        """The result with the best score for its sense, the first among equals."""
        return max(self.results, key=lambda result: result.z if result.sense == "preserving" else -result.z)

    def rows(self) -> list[dict[str, Any]]:
        """The table as a list of dictionaries, ready for a data frame."""
        return [{name: getattr(result, name) for name in COLUMNS} for result in self.results]

    def __str__(self) -> str:
        """The table as text."""
        header = f"{'method':<17} {'score':>9} {'z':>9} {'evaluations':>13} {'seconds':>9}"
        lines = [
            f"{result.method:<17} {result.score:>9.5f} {result.z:>9.2f} {result.n_evaluations:>13,} "
            f"{result.seconds:>9.3f}{'  optimal' if result.is_optimal else ''}"
            for result in self.results
        ]
        return "\n".join([header, *lines])


@dataclass(frozen=True)
class ClassPair:
    """Two classes, how far apart they are, and how far apart their codewords are."""

    u: int
    v: int
    class_distance: float
    codeword_distance: float


def nearest_classes(
    class_distances: ClassDistances | ClassTree | ArrayLike, classes: ArrayLike, k: int = 5
) -> tuple[IntArray, FloatArray]:
    """At most k classes that are nearest to each of some classes, nearest and lowest first, and how near they are.

    >>> nearest_classes([[0, 3, 1], [3, 0, 2], [1, 2, 0]], [0, 1], k=1)[0].tolist()
    [[2], [2]]
    """
    distances = as_class_distances(class_distances)
    asked = np.asarray(classes, dtype=np.intp)
    k = min(k, distances.n_classes - 1)
    neighbours, how_near = np.empty((len(asked), k), dtype=np.intp), np.empty((len(asked), k))
    everyone = np.arange(distances.n_classes)
    n_rows = max(_PAIRS_AT_ONCE // distances.n_classes, 1)
    for start in range(0, len(asked), n_rows):
        some = asked[start : start + n_rows]
        of_some = np.array(distances.between(some[:, None], everyone))
        of_some[np.arange(len(some)), some] = np.inf
        best = np.argsort(of_some, axis=1, kind="stable")[:, :k]
        neighbours[start : start + n_rows] = best
        how_near[start : start + n_rows] = np.take_along_axis(of_some, best, axis=1)
    return neighbours, how_near


def torn_pairs(
    codebook: Codebook,
    assignment: Assignment,
    class_distances: ClassDistances | ClassTree | ArrayLike,
    *,
    n_pairs: int = 10,
) -> list[ClassPair]:
    """At most ``n_pairs`` pairs of similar classes whose codewords are far apart ("torn"), the worst first.

    Pairs are ranked by how much their codeword distance exceeds their class distance, both in units of their means.
    Candidates are a class and its nearest ones: of all classes up to 5,000, beyond that of neighbours in the tree's
    order or, without a tree, of 1,000 evenly spaced classes.

    >>> codebook = Codebook([[1, 1, 1], [1, 1, -1], [-1, -1, -1]])
    >>> torn_pairs(codebook, Assignment([0, 2, 1]), [[0, 1, 4], [1, 0, 4], [4, 4, 0]], n_pairs=1)
    [ClassPair(u=0, v=1, class_distance=1.0, codeword_distance=3.0)]
    """
    distances = as_class_distances(class_distances)
    pairs = _similar_pairs(distances)
    apart, n_rows = np.empty(len(pairs)), max(_PAIRS_AT_ONCE // codebook.n_margins, 1)
    for start in range(0, len(pairs), n_rows):
        first, second = assignment.codeword_of_class[pairs[start : start + n_rows]].T
        apart[start : start + n_rows] = paired_distances(codebook.indicators_at(first), codebook.indicators_at(second))
    near = distances.between(pairs[:, 0], pairs[:, 1])
    n_ordered = distances.n_classes * (distances.n_classes - 1)
    mean_near = distances.moments().total / n_ordered or 1.0
    mean_apart = total_codeword_distance(Code(codebook, assignment).indicators) / n_ordered or 1.0
    worst = np.lexsort([near, near / mean_near - apart / mean_apart])[:n_pairs]
    return [ClassPair(int(pairs[i, 0]), int(pairs[i, 1]), float(near[i]), float(apart[i])) for i in worst]


def _similar_pairs(distances: ClassDistances) -> IntArray:
    """Candidates ``u < v``, each once, (n, 2)."""
    n_classes = distances.n_classes
    if isinstance(distances, TreeDistances) and n_classes > MAX_DENSE_CODEWORDS:
        order = distances.tree.class_order()
        steps = range(1, min(_NEIGHBOURS, n_classes - 1) + 1)
        pairs = np.concatenate([np.column_stack([order[:-step], order[step:]]) for step in steps])
    else:
        is_small = n_classes <= MAX_DENSE_CODEWORDS
        asked = np.arange(n_classes) if is_small else np.linspace(0, n_classes - 1, 1_000).astype(np.intp)
        neighbours, _ = nearest_classes(distances, asked, k=_NEIGHBOURS)
        pairs = np.column_stack([np.repeat(asked, neighbours.shape[1]), neighbours.ravel()])
    return np.unique(np.sort(pairs, axis=1), axis=0)
