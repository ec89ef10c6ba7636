"""Which codewords exist."""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from codekin._system.wording import plural
from codekin.coding.assignment import Assignment
from codekin.coding.types import CodingMatrix, FloatArray, IntArray

MAX_DENSE_CODEWORDS = 5_000
"""Nothing of size codewords x codewords is made for more codewords than this."""


class Trellis(Protocol):
    """What a codebook needs to know of a trellis; the graph itself lives in ``codekin.codebooks``."""

    @property
    def n_paths(self) -> int: ...
    @property
    def n_edges(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def digits(self) -> IntArray: ...
    @property
    def edge_offsets(self) -> IntArray: ...
    @property
    def min_distance(self) -> int: ...
    def unrank(self, ranks: ArrayLike) -> IntArray: ...
    def codewords(self, ranks: ArrayLike) -> CodingMatrix: ...


class Codebook:
    """A set of distinct codewords, the rows of a matrix with entries -1, 0 and +1.

    Parameters
    ----------
    matrix : array-like of shape (n_codewords, n_bits), optional
        The codewords. A zero means that the bit ignores the classes of this codeword. May be left out when
        ``trellis`` is given; the matrix is then made when somebody asks for it.
    name : str, default="given"
        What kind of codebook it is, for people.
    is_designed : bool, default=False
        Whether row ``k`` was made for class ``k`` (spectral, ordinal and tree codes). An assignment policy leaves
        such a codebook as it is; a search that is asked for by name does not.
    trellis : Trellis, optional
        The graph whose paths are the codewords. It only adds a faster decoder.

    Examples
    --------
    >>> codebook = Codebook([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], name="parity")
    >>> codebook
    <Codebook parity: 4 codewords x 3 bits, minimum distance 2, equidistant>
    >>> codebook.min_distance
    2.0
    """

    def __init__(
        self,
        matrix: ArrayLike | None = None,
        *,
        name: str = "given",
        is_designed: bool = False,
        trellis: Trellis | None = None,
    ) -> None:
        if (matrix is None) == (trellis is None):
            raise ValueError("A codebook is made from either a matrix or a trellis. Got both or neither.")
        self.name = name
        self.is_designed = is_designed
        self.trellis = trellis
        if matrix is not None:
            # cached_property reads the instance's dictionary first, so this is the same as having computed it.
            self.__dict__["matrix"] = _checked_matrix(matrix, name)

    @cached_property
    def matrix(self) -> CodingMatrix:
        """The codewords as rows, (n_codewords, n_bits) int8, read-only."""
        assert self.trellis is not None
        matrix = self.trellis.codewords(np.arange(self.trellis.n_paths, dtype=np.intp))
        matrix.flags.writeable = False
        return matrix

    @property
    def n_codewords(self) -> int:
        """How many codewords there are."""
        return self.trellis.n_paths if self.trellis is not None else len(self.matrix)

    @property
    def n_bits(self) -> int:
        """How many bits a codeword has; each needs one binary predictor."""
        return self.trellis.n_edges if self.trellis is not None else int(self.matrix.shape[1])

    def codewords(self, indices: ArrayLike) -> CodingMatrix:
        """The codewords at ``indices``, without making those of a trellis that nobody asked for."""
        ranks = np.asarray(indices, dtype=np.intp)
        if self.trellis is not None and "matrix" not in self.__dict__:
            return self.trellis.codewords(ranks)
        return self.matrix[ranks]

    def coding_matrix(self, assignment: Assignment) -> CodingMatrix:
        """Row ``k`` is the codeword of class ``k``."""
        if assignment.n_classes and int(assignment.codeword_of_class.max()) >= self.n_codewords:
            raise ValueError(
                f"The assignment uses codeword {int(assignment.codeword_of_class.max())}, but this codebook has "
                f"{self.n_codewords} codewords, numbered from 0."
            )
        return self.codewords(assignment.codeword_of_class)

    def row_distances(self, *, zero_pair: float = 0.0) -> FloatArray:
        """Distances between all pairs of codewords, ``||a - b||_1 / 2``: the Hamming distance where no bit is 0.

        Parameters
        ----------
        zero_pair : float, default=0.0
            What a bit that is zero in both codewords adds: 0 in half the L1 distance (the paper's), 1/2 in the
            distance of Allwein et al. (2000), whose error bound needs it. They differ for ternary codes only.

        Returns
        -------
        ndarray of shape (n_codewords, n_codewords)
        """
        if self.n_codewords > MAX_DENSE_CODEWORDS:
            raise ValueError(
                f"Distances between all pairs of {self.n_codewords} codewords would take "
                f"{self.n_codewords**2 * 8 / 2**30:.1f} GiB; they are made for at most {MAX_DENSE_CODEWORDS} codewords."
            )
        return codeword_distances(self.matrix, self.matrix, zero_pair=zero_pair)

    @cached_property
    def _off_diagonal_distances(self) -> FloatArray:
        distances = self.row_distances()
        return distances[~np.eye(self.n_codewords, dtype=bool)]

    @cached_property
    def min_distance(self) -> float:
        """The minimum distance rho between two codewords (infinite for a single codeword)."""
        if self.trellis is not None:
            return float(self.trellis.min_distance)
        return float(self._off_diagonal_distances.min(initial=np.inf))

    @cached_property
    def is_ternary(self) -> bool:
        """Whether some bits are zero, that is, ignore some classes."""
        return self.trellis is None and bool((self.matrix == 0).any())

    @cached_property
    def is_equidistant(self) -> bool:
        """Whether all codewords are equally far apart, so that the class-codeword score is blind."""
        if self.n_codewords > MAX_DENSE_CODEWORDS:
            return False
        return bool(np.ptp(self._off_diagonal_distances) == 0) if self.n_codewords > 1 else True

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether every assignment gives the same classifier, as in one-vs-rest and the exhaustive code.

        True when swapping any two rows only reorders the columns or flips their signs.
        """
        if not self.is_equidistant:
            return False
        columns = _canonical_columns(self.matrix)
        # Swaps of the first row with each other one generate all permutations.
        for other in range(1, self.n_codewords):
            swapped = self.matrix.copy()
            swapped[[0, other]] = swapped[[other, 0]]
            if _canonical_columns(swapped) != columns:
                return False
        return True

    @cached_property
    def column_correlations(self) -> FloatArray:
        """Pearson correlations between the columns, (n_bits, n_bits); 0 where a column is constant."""
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
        """The share of zeros."""
        return float((self.matrix == 0).mean())

    @property
    def balance(self) -> FloatArray:
        """For each bit, the smaller side's share of the classes that the bit does not ignore: 1/2 is balanced."""
        positive = (self.matrix > 0).sum(axis=0)
        negative = (self.matrix < 0).sum(axis=0)
        return np.asarray(np.minimum(positive, negative) / np.maximum(positive + negative, 1), dtype=np.float64)

    @property
    def n_constant_columns(self) -> int:
        """How many columns have one sign only and so need no learner."""
        has_both = (self.matrix > 0).any(axis=0) & (self.matrix < 0).any(axis=0)
        return int((~has_both).sum())

    @property
    def has_distinct_columns(self) -> bool:
        """Whether no column equals another one or its complement."""
        return len(set(_canonical_columns(self.matrix))) == self.n_bits

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

    def __repr__(self) -> str:
        """One line: the name, the shape and what matters for decoding."""
        counts = (self.n_codewords, "codeword"), (self.n_bits, "bit")
        text = f"<Codebook {self.name}: " + " x ".join(f"{n} {plural(n, what)}" for n, what in counts)
        if self.n_codewords <= MAX_DENSE_CODEWORDS or self.trellis is not None:
            text += f", minimum distance {self.min_distance:g}"
        if self.trellis is None and self.n_codewords <= MAX_DENSE_CODEWORDS:
            text += f", {self.sparsity:.0%} zeros" if self.is_ternary else ""
            text += ", equidistant" if self.is_equidistant and self.n_codewords > 2 else ""
        return text + ">"


def codeword_distances(a: CodingMatrix, b: CodingMatrix, *, zero_pair: float = 0.0) -> FloatArray:
    """Distances between the rows of ``a`` and those of ``b``: see :meth:`Codebook.row_distances`.

    ``zero_pair``: what a bit that is zero in both codewords adds.
    """
    a_float, b_float = a.astype(np.float32), b.astype(np.float32)
    a_used, b_used = np.abs(a_float), np.abs(b_float)
    # Exact in float32: sums of fewer than 2**24 terms of size one. With u = |M|, for entries in {-1, 0, 1}
    # |x - y| = u_x + u_y - u_x u_y - x y.
    distances = a_used.sum(1)[:, None] + b_used.sum(1)[None, :] - a_used @ b_used.T - a_float @ b_float.T
    if zero_pair:
        distances += 2 * zero_pair * ((1 - a_used) @ (1 - b_used).T)
    return np.asarray(distances / 2, dtype=np.float64)


def _checked_matrix(matrix: ArrayLike, name: str) -> CodingMatrix:
    given = np.asarray(matrix)
    if given.ndim != 2 or 0 in given.shape:
        raise ValueError(
            f"The matrix of a codebook must have two dimensions, none of them empty. Got shape {given.shape}."
        )
    outside = ~np.isin(given, (-1, 0, 1))
    if outside.any():
        row, column = (int(i) for i in np.argwhere(outside)[0])
        raise ValueError(
            f"The entries of a codebook must be -1, 0 or +1. Got {given[row, column]} in row {row}, column {column}."
        )
    frozen = np.array(given, dtype=np.int8, order="C")
    _, first, counts = np.unique(frozen, axis=0, return_index=True, return_counts=True)
    if (counts > 1).any():
        row = int(first[counts > 1].min())
        twins = np.flatnonzero((frozen == frozen[row]).all(axis=1))
        raise ValueError(
            f"The codewords of a codebook must be distinct. Rows {int(twins[0])} and {int(twins[1])} of this {name} "
            "codebook are equal."
        )
    if (frozen == 0).any() and not ((frozen > 0).any() and (frozen < 0).any()):
        raise ValueError(
            f"The entries of a codebook must have both signs, since a bit ignores classes where it is 0. Got only "
            f"{np.unique(frozen).tolist()}. Write a matrix of 0 and 1 as 2 * matrix - 1."
        )
    frozen.flags.writeable = False
    return frozen


def _canonical_columns(matrix: CodingMatrix) -> list[bytes]:
    """The columns as sorted bytes, each with its first non-zero entry made +1."""
    columns = np.ascontiguousarray(matrix.T)
    first = (columns != 0).argmax(axis=1)
    signs = columns[np.arange(len(columns)), first]
    signs[signs == 0] = 1
    return sorted(row.tobytes() for row in (columns * signs[:, None]).astype(np.int8))


def _upper(square: FloatArray) -> FloatArray:
    return square[np.triu_indices(len(square), k=1)]
