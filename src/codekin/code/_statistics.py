"""The codewords as a matrix, and what follows from it: distances of the rows, correlations of the columns."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin._system.messages import plural
from codekin.code.geometry import MAX_DENSE_CODEWORDS, codeword_distances
from codekin.code.types import CodingMatrix, FloatArray, IntArray

if TYPE_CHECKING:
    from codekin.code.code import Assignment

ROWS_AT_ONCE = 256
"""How many codewords are compared with all others at a time if no such array is needed."""


class EquidistantCodebookWarning(UserWarning):
    """All codewords are equally far apart, so that all assignments have the same class-codeword score."""


class CodewordStatistics:
    """How far the codewords of a codebook are apart, and how alike its columns are."""

    name: str
    n_codewords: int
    n_bits: int
    _matrix: CodingMatrix
    unit: ClassVar[str] = "bit"
    """What a column is called."""
    zeros: ClassVar[str] = "zeros"
    """What entries are called that ignore a class."""

    @property
    def matrix(self) -> CodingMatrix:
        """The codewords as rows, (n_codewords, n_bits), read-only: int8, or float64 if they are real."""
        return self._matrix

    @cached_property
    def indicators(self) -> CodingMatrix:
        """What margins are multiplied by, (n_codewords, n_margins): the matrix itself for two symbols.

        With more symbols, each column becomes one per symbol, 1 for the codewords that have it and 0 elsewhere, so that
        half the L1 distance of two rows is the number of columns in which they differ, as for two symbols.
        """
        return self.indicators_of(self.matrix)

    def indicators_of(self, codewords: CodingMatrix) -> CodingMatrix:
        """The indicators of codewords of this codebook, (n, n_bits), as rows, (n, n_margins)."""
        return codewords

    def indicators_at(self, indices: ArrayLike) -> CodingMatrix:
        """The indicators of the codewords at ``indices``."""
        return self.indicators_of(self.codewords(indices))

    def codewords(self, indices: ArrayLike) -> CodingMatrix:
        """The codewords at ``indices``, without computing the others of a graph."""
        return self.matrix[np.asarray(indices, dtype=np.intp)]

    @cached_property
    def is_ternary(self) -> bool:
        """Whether some bits ignore some classes: entries are 0, or -1 with more than two symbols."""
        return not self._are_used(self.matrix).all()

    def is_used(self, indices: ArrayLike) -> NDArray[np.bool_]:
        """Which bits do not ignore the codewords at ``indices``, (n, n_bits)."""
        return self._are_used(self.codewords(indices))

    def _are_used(self, codewords: CodingMatrix) -> NDArray[np.bool_]:
        """Which entries do not ignore their class."""
        return np.asarray(codewords != 0)

    def constant_bits(self, assignment: Assignment) -> NDArray[np.bool_]:
        """Which bits have the same sign for all classes that they use, so that they separate none."""
        codewords = self.coding_matrix(assignment)
        return np.asarray(~((codewords > 0).any(axis=0) & (codewords < 0).any(axis=0)))

    def coding_matrix(self, assignment: Assignment) -> CodingMatrix:
        """Row ``k`` is the codeword of class ``k``."""
        if assignment.n_classes and int(assignment.codeword_of_class.max()) >= self.n_codewords:
            raise ValueError(
                f"The assignment uses codeword {int(assignment.codeword_of_class.max())}, but this codebook has "
                f"{self.n_codewords} codewords, numbered from 0."
            )
        return self.codewords(assignment.codeword_of_class)

    def row_distances(self, *, zero_pair: float = 0.0) -> FloatArray:
        """Distances between all pairs of codewords: the number of bits that differ; if one of them is 0, one half.

        That is ``||a - b||_1 / 2`` for -1, 0 and +1, and for the indicators of more symbols. Of real codewords it is
        ``||a - b||_2^2 / 4``, which for -1 and +1 is the same.

        Parameters
        ----------
        zero_pair : float, default=0.0
            What a bit that is zero in both codewords adds: 0 in half the L1 distance (the paper's), 1/2 in the
            distance of Allwein et al. (2000), whose error bound needs it. They differ only for ternary codes; real
            codewords have no such bits.

        Returns
        -------
        ndarray of shape (n_codewords, n_codewords)
        """
        self._check_pairs()
        return codeword_distances(self.matrix, self.matrix, zero_pair=zero_pair)

    def _check_pairs(self) -> None:
        """Raise unless there are few enough codewords to compare all pairs."""
        if self.n_codewords > MAX_DENSE_CODEWORDS:
            raise ValueError(
                f"Distances between all pairs of {self.n_codewords} codewords would take "
                f"{self.n_codewords**2 * 8 / 2**30:.1f} GiB; the limit is {MAX_DENSE_CODEWORDS} codewords."
            )

    def _distances_to_others(self) -> Iterator[FloatArray]:
        """The distances from some codewords at a time to all others."""
        self._check_pairs()
        words = self.indicators
        for start in range(0, self.n_codewords, ROWS_AT_ONCE):
            some = words[start : start + ROWS_AT_ONCE]
            distances = codeword_distances(some, words)
            is_other = ~np.eye(len(some), self.n_codewords, k=start, dtype=bool)
            yield distances[is_other]

    @cached_property
    def min_distance(self) -> float:
        """The minimum distance rho between two codewords (infinite for a single codeword)."""
        return float(min((apart.min(initial=np.inf) for apart in self._distances_to_others()), default=np.inf))

    @cached_property
    def is_equidistant(self) -> bool:
        """Whether all codewords are equally far apart, so that all assignments have the same class-codeword score."""
        if self.n_codewords > MAX_DENSE_CODEWORDS:
            return False
        if self.n_codewords == 1:
            return True
        first = next(self._distances_to_others())[0]
        return all(self._are_close(apart, first) for apart in self._distances_to_others())

    def _are_close(self, distances: FloatArray, other: float) -> bool:
        """Whether all these distances are equal to another one."""
        return bool((distances == other).all())

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether every assignment gives the same classifier, as in one-vs-rest and the exhaustive code.

        True if swapping any two rows only reorders the columns or renames their symbols; the codewords are then
        equidistant. Real codewords that are can be rotated into each other, which makes no difference to least squares.
        """
        if self.n_codewords > MAX_DENSE_CODEWORDS:
            return False
        # Swaps of the first row with each other row generate all permutations. Columns in which the two rows agree stay
        # as they are.
        for other in range(1, self.n_codewords):
            columns = self.matrix[:, self.matrix[0] != self.matrix[other]]
            swapped = columns.copy()
            swapped[[0, other]] = swapped[[other, 0]]
            if self._canonical(swapped) != self._canonical(columns):
                return False
        return True

    def _has_equal_assignments(self) -> bool:
        """Whether all assignments have the same score; warns unless they all give the same classifier."""
        if self.is_symmetric:
            return True
        if self.is_equidistant:
            warnings.warn(
                "All codewords of this codebook are equally far apart, so no assignment is more informed than another, "
                "and none was searched for. Use another codebook, or the assignment 'random'.",
                EquidistantCodebookWarning,
                stacklevel=3,
            )
        return self.is_equidistant

    def _canonical(self, matrix: CodingMatrix) -> list[bytes]:
        """The columns as sorted bytes, each with its first non-zero entry made positive."""
        columns = np.ascontiguousarray(matrix.T)
        first = (columns != 0).argmax(axis=1)
        signs = np.sign(columns[np.arange(len(columns)), first])
        signs[signs == 0] = 1
        # Adding 0 makes negative zeros positive.
        return sorted(row.tobytes() for row in (columns * signs[:, None] + 0).astype(matrix.dtype))

    @cached_property
    def column_correlations(self) -> FloatArray:
        """Pearson correlations between the columns, (n_bits, n_bits); 0 if a column is constant.

        With more than two symbols, Cramér's V over the classes that neither ignores, which for two symbols is the
        absolute correlation.
        """
        centred = self.matrix - self.matrix.mean(axis=0)
        norms = np.sqrt((centred**2).sum(axis=0))
        norms[norms == 0] = np.inf
        return np.asarray((centred / norms).T @ (centred / norms), dtype=np.float64)

    @property
    def max_column_correlation(self) -> float:
        """The largest absolute correlation between two different columns."""
        return float(np.abs(_upper(self.column_correlations)).max(initial=0.0))

    @property
    def mean_column_correlation(self) -> float:
        """The mean absolute correlation between two different columns."""
        upper = np.abs(_upper(self.column_correlations))
        return float(upper.mean()) if upper.size else 0.0

    @property
    def sparsity(self) -> float:
        """The share of entries that ignore a class (the zeros of a ternary code)."""
        return float((~self._are_used(self.matrix)).mean())

    @property
    def balance(self) -> FloatArray:
        """For each bit, the share of the smallest side among the classes that the bit does not ignore.

        1/2 is balanced, and 1/q for q symbols. The sides of real bits are the signs.
        """
        counts = self._symbol_counts
        return np.asarray(counts.min(axis=1) / np.maximum(counts.sum(axis=1), 1), dtype=np.float64)

    @property
    def _symbol_counts(self) -> IntArray:
        """How many codewords have each symbol of each bit, (n_bits, n_symbols)."""
        return np.stack([(self.matrix < 0).sum(axis=0), (self.matrix > 0).sum(axis=0)], axis=1)

    @property
    def n_constant_columns(self) -> int:
        """The number of columns with only one symbol, or one real number, which need no learner."""
        return int(((self._symbol_counts > 0).sum(axis=1) < 2).sum())

    @property
    def has_distinct_columns(self) -> bool:
        """Whether no column equals another one, up to the names of its symbols."""
        return len(set(self._canonical(self.matrix))) == self.n_bits

    def error_bound(self, average_loss: float, loss: Callable[[Any], Any]) -> float:
        """The bound ``n_bits * epsilon / (rho * L(0))`` on the training error (Eq. 4; Allwein et al. 2000, Theorem 1).

        Here ``rho`` is the minimum distance in which a pair of zeros counts one half; only codewords that classes use
        matter. The bound holds for convex losses (and some others). Above 1 it says nothing; if ``L(0)`` is 0, it is
        infinite.

        For more than two symbols ``L(0)`` is ``log 2``: in a column in which two codewords differ, the probabilities of
        their symbols add up to at most 1, so that one of them has a loss of at least ``log 2``.

        For real codewords it follows from the triangle inequality: margins that are nearer to another codeword than to
        their own are at least half as far from their own as the two codewords are from each other, and the square of
        that half is the distance of the codewords here.

        Parameters
        ----------
        average_loss : float
            Epsilon, the mean of the losses of all bits.
        loss : callable
            The loss of the bits.

        Returns
        -------
        float
        """
        rho, at_zero = self.min_distance, float(loss(np.zeros(1))[0])
        if self.is_ternary:
            distances = self.row_distances(zero_pair=0.5)
            rho = float(distances[~np.eye(len(distances), dtype=bool)].min())
        return self.n_bits * average_loss / (rho * at_zero) if at_zero > 0 else float("inf")

    def properties(self) -> dict[str, float | int | bool | str]:
        """All of the above that are single numbers, for tables and reports."""
        return {
            "name": self.name,
            "n_codewords": self.n_codewords,
            "n_bits": self.n_bits,
            "min_distance": self.min_distance,
            "is_equidistant": self.is_equidistant,
            "mean_column_correlation": self.mean_column_correlation,
            "max_column_correlation": self.max_column_correlation,
            "sparsity": self.sparsity,
            "mean_balance": float(self.balance.mean()),
            "n_constant_columns": self.n_constant_columns,
            "has_distinct_columns": self.has_distinct_columns,
        }

    def text(self, codeword: ArrayLike) -> str:
        """A codeword as plus and minus signs, 0 for a bit that ignores the class; with more symbols, their numbers.

        Real numbers are written with all their digits.

        Parameters
        ----------
        codeword : array-like of shape (n_bits,)

        Returns
        -------
        str

        Examples
        --------
        >>> from codekin.code import Codebook
        >>> Codebook([[1, -1, 0], [1, 1, 0]]).text([1, -1, 0])
        '+-0'
        >>> Codebook([[12, 0, -1], [1, 1, 0]], n_symbols=20).text([12, 0, -1])
        '12 0 -'
        >>> Codebook([[0.5, -2.0], [0.0, 1.0]], is_real=True).text([0.5, -2.0])
        '0.5 -2.0'
        """
        return "".join("-0+"[int(entry) + 1] for entry in np.asarray(codeword))

    @classmethod
    def entries(cls, text: str) -> list[Any]:
        """The codeword of a text, as a list of numbers: the inverse of :meth:`text`."""
        return [{"-": -1, "0": 0, "+": 1}[sign] for sign in text]

    def check_growth(self) -> None:
        """Raise unless free codewords can be given to classes that were not there when the bits were learned."""

    def __repr__(self) -> str:
        """One line: the name, the shape and what matters for decoding."""
        return f"<Codebook {self.name}: {self._shape_text()}{self._distance_text()}>"

    def _shape_text(self) -> str:
        counts = (self.n_codewords, "codeword"), (self.n_bits, self.unit)
        return " x ".join(f"{n} {plural(n, what)}" for n, what in counts)

    def _distance_text(self) -> str:
        if self.n_codewords > MAX_DENSE_CODEWORDS:
            return ""
        text = f", minimum distance {self.min_distance:g}"
        text += f", {self.sparsity:.0%} {self.zeros}" if self.is_ternary else ""
        return text + (", equidistant" if self.is_equidistant and self.n_codewords > 2 else "")


def _upper(square: FloatArray) -> FloatArray:
    return square[np.triu_indices(len(square), k=1)]
