r"""How well an assignment keeps similar classes similar, and how well a random one would.

With ``A`` the class distances and ``D`` the codeword distances, the class-codeword score of the paper (Eq. 5) is

    ``s = || A / |A| - P D P' / |D| ||``,    ``s^2 = 2 - 2 F / (|A| |D|)``,    ``F = sum_uv A_uv D_p(u)p(v)``

so that minimising the score means maximising the sum ``F``. Everything here is computed from ``F`` and three sums over
each matrix, without a matrix of all pairs: the score of 100,000 classes takes less than a second.

If a codebook has spare codewords, the score is that of the codewords in use, whose norm ``|D|`` depends on the choice.
Searches maximise the *alignment* instead, ``sum_uv (A_uv - mean A) D_p(u)p(v)``: pairs of classes that are closer than
most should have close codewords, the others distant ones. If every codeword is in use, the alignment is ``F`` minus a
constant, and a higher alignment means a lower score; otherwise this holds to first order in the deviations of codeword
distances from their mean. Unlike ``F`` it does not simply prefer codewords that are far from all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from codekin.classes import ClassDistances, ClassTree, DenseDistances, as_class_distances
from codekin.code import Assignment, Code, Codebook
from codekin.code.geometry import MAX_DENSE_CODEWORDS, DistanceMoments, codeword_distances, codeword_moments


@dataclass(frozen=True, eq=False)
class AssignmentProblem:
    """A codebook and class distances, with what all scores share computed once.

    >>> codebook = Codebook([[1, 1, 1], [1, 1, -1], [-1, -1, 1]])
    >>> problem = AssignmentProblem.of(codebook, [[0, 3, 1], [3, 0, 2], [1, 2, 0]])
    >>> problem.score_and_z(Assignment([1, 2, 0]))
    (0.0, 1.414213562373095)
    """

    codebook: Codebook
    class_distances: ClassDistances

    @classmethod
    def of(cls, codebook: Codebook, class_distances: ClassDistances | ClassTree | ArrayLike) -> AssignmentProblem:
        """The problem, after checking that there is a codeword for every class."""
        distances = as_class_distances(class_distances)
        if codebook.n_codewords < distances.n_classes:
            raise ValueError(
                f"Every class needs its own codeword. Got {codebook.n_codewords} codewords for "
                f"{distances.n_classes} classes."
            )
        return cls(codebook, distances)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.class_distances.n_classes

    @property
    def n_codewords(self) -> int:
        """The number of codewords to choose from."""
        return self.codebook.n_codewords

    @cached_property
    def class_moments(self) -> DistanceMoments:
        """Sums over the class distances."""
        return self.class_distances.moments()

    @cached_property
    def codeword_moments(self) -> DistanceMoments:
        """Sums over the distances between all codewords."""
        # Those of a graph are made for this alone: as the codebook's own matrix they would stay.
        return codeword_moments(self.codebook.indicators_at(np.arange(self.n_codewords)))

    @property
    def mean_class_distance(self) -> float:
        """The mean distance between two different classes."""
        return self.class_moments.total / max(self.n_classes * (self.n_classes - 1), 1)

    @cached_property
    def alignment_spread(self) -> float:
        """The standard deviation of the alignment over all assignments, whose mean is 0, in closed form.

        Two ordered pairs of classes share both classes, one or none: the terms are sums of ``A_uv^2``, of ``A_uv A_uw``
        over different u, v and w, and of ``A_uv A_wx`` over different u, v, w and x, times those of the codewords.
        """
        # Centring changes no variance and avoids differences of large numbers. Dummy classes are at distance 0 from all
        # others, which changes none of the sums over A.
        n = self.n_codewords
        (a, a_rows), (b, b_rows) = _centred(self.class_moments, self.n_classes), _centred(self.codeword_moments, n)
        variance = 0.0
        if n >= 2:
            variance += 2 * a * b / (n * (n - 1))
        if n >= 3:
            variance += 4 * (a_rows - a) * (b_rows - b) / (n * (n - 1) * (n - 2))
        if n >= 4:
            variance += (2 * a - 4 * a_rows) * (2 * b - 4 * b_rows) / (n * (n - 1) * (n - 2) * (n - 3))
        # For equal matrices the remainder is rounding.
        return sqrt(variance) if variance > 1e-22 * max(a * b, 1e-300) else 0.0

    def score(self, assignment: Assignment) -> float:
        """The class-codeword score, Eq. 5 of the paper."""
        return sqrt(self.evaluated(assignment).squared_score)

    def score_and_z(self, assignment: Assignment) -> tuple[float, float]:
        """The score, and how many standard deviations its square is below the mean of random assignments."""
        found = self.evaluated(assignment)
        z = found.alignment / self.alignment_spread if self.alignment_spread > 0 else 0.0
        return sqrt(found.squared_score), z

    def score_of_alignment(self, alignment: float) -> float:
        """The score of an assignment with this alignment; with spare codewords, if those in use are typical."""
        n_classes, n_codewords = self.n_classes, self.n_codewords
        share = n_classes * (n_classes - 1) / max(n_codewords * (n_codewords - 1), 1)
        norm = sqrt(self.class_moments.sum_of_squares * self.codeword_moments.sum_of_squares * share)
        inner_product = alignment + self.mean_class_distance * self.codeword_moments.total * share
        return sqrt(max(2 - 2 * inner_product / norm, 0.0)) if norm > 0 else float("nan")

    def evaluated(self, assignment: Assignment) -> Evaluation:
        """What all scores of an assignment are made of."""
        if assignment.n_classes != self.n_classes:
            raise ValueError(
                f"The assignment is for {assignment.n_classes} classes, the class distances are for {self.n_classes}."
            )
        used = Code(self.codebook, assignment).indicators
        moments = self.codeword_moments if self.n_codewords == self.n_classes else codeword_moments(used)
        inner_product = self.class_distances.inner_product(used)
        alignment = inner_product - self.mean_class_distance * moments.total
        squares = self.class_moments.sum_of_squares, moments.sum_of_squares
        if 0.0 in squares:
            return Evaluation(inner_product, alignment, float(squares[0] > 0) + float(squares[1] > 0))
        squared = 2 - 2 * inner_product / sqrt(squares[0] * squares[1])
        if squared < 1e-6 and self.n_classes <= MAX_DENSE_CODEWORDS:
            # Two matrices that almost agree: 2 - 2 F / (|A| |D|) has lost its digits.
            a, d = self.class_distances.matrix(), codeword_distances(used, used)
            squared = float(np.sum((a / np.linalg.norm(a) - d / np.linalg.norm(d)) ** 2))
        return Evaluation(inner_product, alignment, max(squared, 0.0))


class Evaluation(NamedTuple):
    """The sum ``F``, the sum with ``A_uv - mean A`` that searches maximise, and the square of the score."""

    inner_product: float
    alignment: float
    squared_score: float


def class_codeword_score(
    codebook: Codebook,
    assignment: Assignment,
    class_distances: ClassDistances | ClassTree | ArrayLike,
    *,
    squared: bool = False,
) -> float:
    r"""The class-codeword score: how far codeword distances are from being proportional to class distances.

    .. math:: s(P) = \left\lVert \frac{A}{\lVert A \rVert_F} - \frac{P D P^\top}{\lVert D \rVert_F} \right\rVert_F

    (Eq. 5 of Evron et al., 2023). Low scores belong to similarity-preserving assignments, high ones to
    similarity-breaking ones. Exact for any number of classes. The figures that the paper quotes for LSHTC1, 0.061 and
    0.049, are squares of it.

    Parameters
    ----------
    codebook : Codebook
        The codewords; their distances :math:`D` are half the L1 distances, Hamming distances if no bit is 0.
    assignment : Assignment
        Which class gets which codeword, the permutation :math:`P`.
    class_distances : ClassDistances, ClassTree or array-like of shape (n_classes, n_classes)
        The class distances :math:`A`.
    squared : bool, default=False
        Return :math:`s^2`.

    Returns
    -------
    float
        Between 0 and 2. A matrix of zeros is not divided by its norm.

    Examples
    --------
    >>> codebook = Codebook([[1, 1, 1], [1, 1, -1], [-1, -1, 1]])
    >>> class_distances = [[0, 3, 1], [3, 0, 2], [1, 2, 0]]
    >>> class_codeword_score(codebook, Assignment([1, 2, 0]), class_distances)
    0.0
    >>> round(class_codeword_score(codebook, Assignment([0, 1, 2]), class_distances), 3)
    0.655
    """
    squared_score = AssignmentProblem.of(codebook, class_distances).evaluated(assignment).squared_score
    return squared_score if squared else sqrt(squared_score)


def class_codeword_z(
    codebook: Codebook, assignment: Assignment, class_distances: ClassDistances | ClassTree | ArrayLike
) -> float:
    """How many standard deviations an assignment's squared score is below the mean of random assignments.

    Parameters
    ----------
    codebook : Codebook
        The codewords.
    assignment : Assignment
        Which class gets which codeword.
    class_distances : ClassDistances, ClassTree or array-like of shape (n_classes, n_classes)
        The class distances.

    Returns
    -------
    float
        Positive for a similarity-preserving assignment. Exact: nothing is sampled. With spare codewords, the sum of
        centred class distances times codeword distances is compared instead of the score. 0 if all assignments have the
        same score.

    Examples
    --------
    >>> codebook = Codebook([[1, 1, 1], [1, 1, -1], [-1, -1, 1]])
    >>> round(class_codeword_z(codebook, Assignment([0, 1, 2]), [[0, 3, 1], [3, 0, 2], [1, 2, 0]]), 3)
    -0.707
    """
    return AssignmentProblem.of(codebook, class_distances).score_and_z(assignment)[1]


def binary_loss_bound(codebook: Codebook, assignment: Assignment, learnability: ClassDistances | ArrayLike) -> float:
    r"""An upper bound on the average binary loss of ridge regression, known before any bit is trained.

    The least squares predictor of a bit :math:`y \in \{-1, +1\}^K` of the classes, with intercept and ridge penalty,
    has the penalised training error :math:`y^\top R y` with the learnability matrix :math:`R` (see
    :func:`codekin.classes.distances.learnability_matrix`). Its mean over the bits, the columns of :math:`P M`, is

    .. math:: \frac{1}{\ell} \langle R, P M M^\top P^\top \rangle = -\frac{2}{\ell} \langle R, P D P^\top \rangle

    since :math:`M M^\top = \ell \mathbf{1} - 2 D` and a constant bit has no error, so that the entries of
    :math:`R` add up to 0. Without the penalty this *is* the mean squared loss :math:`(1 - y f)^2` of the predictors,
    the lowest that linear predictors can have; with it, their loss is lower still. Minimising it over assignments means
    maximising the alignment with :math:`R` as the class distances. Multiplied by ``n_bits / min_distance`` of the
    codebook it bounds the multiclass training error (Allwein et al., 2000).

    A column of more than two symbols is learned by the least squares predictors of their indicators. The sum of their
    errors is the sum of :math:`R_{kk'}` over the pairs of classes that share a symbol, and its mean over the columns is
    :math:`-\frac{1}{\ell} \langle R, P D P^\top \rangle`: the same objective.

    Parameters
    ----------
    codebook : Codebook
        Without zeros: a bit that ignores some classes has its own matrix.
    assignment : Assignment
        Which class gets which codeword.
    learnability : ClassDistances or array-like of shape (n_classes, n_classes)
        The matrix :math:`R`. Only its off-diagonal entries matter.

    Returns
    -------
    float
        The mean over bits of the penalised squared error, between 0 and 1; with more than two symbols, of the sum over
        their indicators.

    Examples
    --------
    Two classes that no linear predictor can separate, and a third one that is easy to separate from them.

    >>> R = [[0.25, -0.25, 0.0], [-0.25, 0.25, 0.0], [0.0, 0.0, 0.0]]
    >>> codebook = Codebook([[1, 1], [1, -1], [-1, -1]])
    >>> binary_loss_bound(codebook, Assignment([0, 1, 2]), R)
    0.5
    >>> binary_loss_bound(codebook, Assignment([0, 2, 1]), R)
    1.0
    """
    if codebook.is_ternary:
        raise ValueError(
            "The learnability of a bit that ignores some classes does not follow from a single matrix. "
            f"Got {codebook!r}; use one without zeros."
        )
    if not isinstance(learnability, ClassDistances):
        given = np.array(learnability, dtype=np.float64)
        if given.ndim == 2:
            np.fill_diagonal(given, 0.0)
        learnability = DenseDistances(given, signed=True)
    inner_product = AssignmentProblem.of(codebook, learnability).evaluated(assignment).inner_product
    return -codebook.error_scale * inner_product / codebook.n_bits


def _centred(moments: DistanceMoments, n: int) -> tuple[float, float]:
    """The sums of squares and of squared row sums after subtracting the mean."""
    total = moments.total
    squares = moments.sum_of_squares - total**2 / max(n * (n - 1), 1)
    return squares, moments.sum_of_squared_row_sums - total**2 / max(n, 1)
