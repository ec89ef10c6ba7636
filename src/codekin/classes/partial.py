"""Distances that are known only for some of the classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from codekin.classes.interface import ClassDistances, refuse_too_many
from codekin.classes.tree import ClassTree
from codekin.coding import FloatArray, IntArray
from codekin.coding.geometry import DistanceMoments, total_codeword_distance


class PartialDistances:
    """Distances of some classes, and their mean for every pair in which one is unknown.

    An unknown class is thus as far from all others as classes are on average, so that it prefers no codeword.

    >>> from codekin.classes import DenseDistances
    >>> PartialDistances(DenseDistances([[0, 5], [5, 0]]), [0, 2], n_classes=3).matrix()
    array([[0., 5., 5.],
           [5., 0., 5.],
           [5., 5., 0.]])
    """

    tree: ClassTree | None = None

    def __init__(self, known: ClassDistances, classes: ArrayLike, *, n_classes: int) -> None:
        self.known = known
        self.classes: IntArray = np.array(classes, dtype=np.intp)
        self._n_classes = n_classes
        if self.classes.shape != (known.n_classes,):
            raise ValueError(
                f"The distances are between {known.n_classes} classes. Got {self.classes.size} known classes."
            )
        if self.classes.min() < 0 or self.classes.max() >= n_classes or len(np.unique(self.classes)) < known.n_classes:
            raise ValueError(f"Known classes are different numbers from 0 to {n_classes - 1}. Got {self.classes}.")
        n_pairs = known.n_classes * (known.n_classes - 1)
        # A single known class has no distances: any constant is right.
        self.mean = known.moments().total / n_pairs if n_pairs else 1.0
        self._rank = np.full(n_classes, -1, dtype=np.intp)
        self._rank[self.classes] = np.arange(known.n_classes)

    @property
    def n_classes(self) -> int:
        """The number of classes, known or not."""
        return self._n_classes

    def matrix(self) -> FloatArray:
        """All distances; an error for more than 5,000 classes."""
        refuse_too_many(self.n_classes)
        matrix = np.full((self.n_classes, self.n_classes), self.mean)
        matrix[np.ix_(self.classes, self.classes)] = self.known.matrix()
        np.fill_diagonal(matrix, 0.0)
        return matrix

    def between(self, u: ArrayLike, v: ArrayLike) -> FloatArray:
        """The distances between classes ``u`` and ``v``, arrays that broadcast against each other."""
        first, second = np.broadcast_arrays(np.asarray(u, dtype=np.intp), np.asarray(v, dtype=np.intp))
        rank_u, rank_v = self._rank[first], self._rank[second]
        known = self.known.between(np.maximum(rank_u, 0), np.maximum(rank_v, 0))
        return np.where(first == second, 0.0, np.where((rank_u >= 0) & (rank_v >= 0), known, self.mean))

    def row_sums(self) -> FloatArray:
        """The sum of the distances of each class to all others."""
        n_unknown = self.n_classes - self.known.n_classes
        sums = np.full(self.n_classes, (self.n_classes - 1) * self.mean)
        sums[self.classes] = self.known.row_sums() + n_unknown * self.mean
        return sums

    def moments(self) -> DistanceMoments:
        """The sums over all pairs."""
        n_known = self.known.n_classes
        n_filled = self.n_classes * (self.n_classes - 1) - n_known * (n_known - 1)
        row_sums = self.row_sums()
        sum_of_squares = self.known.moments().sum_of_squares + n_filled * self.mean**2
        return DistanceMoments(float(row_sums.sum()), sum_of_squares, float(row_sums @ row_sums))

    def inner_product(self, coding_matrix: ArrayLike) -> float:
        """The sum over all ordered pairs of class distance times codeword distance."""
        M = np.asarray(coding_matrix)
        if M.ndim != 2 or len(M) != self.n_classes:
            raise ValueError(f"The coding matrix needs one row per class, {self.n_classes}. Got shape {M.shape}.")
        of_known = M[self.classes]
        filled = total_codeword_distance(M) - total_codeword_distance(of_known)
        return self.known.inner_product(of_known) + self.mean * filled

    def __repr__(self) -> str:
        """One line."""
        return f"<PartialDistances: {self.n_classes} classes, {self.known.n_classes} known: {self.known!r}>"
