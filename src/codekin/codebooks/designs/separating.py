"""Columns for a learned decoder, which separate the classes in the span of linear bits. Experimental."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from codekin.classes.learnability import ClassMoments
from codekin.code import Codebook, FloatArray
from codekin.codebooks.classic import checked_n_bits, checked_n_codewords, fewest_bits, n_binary_columns
from codekin.codebooks.designs.columns import with_distinct_rows

LEAST_SPREAD = 1e-2
"""The least spread of a class as a share of that of all samples: with few samples it is underestimated."""

MAX_EXACT_CLASSES = 32
"""Up to this many classes the effect of every flip is computed; beyond, only of the best by a quadratic form."""

N_STARTS = 5
"""Random starts besides the greedy one, up to that many classes."""

MAX_SWEEPS = 5
"""How often each column is optimised again given all others; once beyond 200 classes."""


def separating(
    n_codewords: int,
    n_bits: int | None = None,
    *,
    class_moments: ClassMoments,
    rng: np.random.Generator | int | None = None,
) -> Codebook:
    r"""Columns with which a learned decoder separates the classes best, chosen without training any bit.

    The margins of least-squares bits are :math:`M^\top p(x)`, where :math:`p(x)` are the ``K`` outputs of least squares
    on one-hot targets. A learned linear decoder uses any combination of them, so only the span of the columns counts:
    the pipeline is a regression of reduced rank. If the samples of all classes have the covariance ``W`` around their
    means, the best decoder errs no more often than the sum over pairs of their Bhattacharyya bounds,

    .. math:: \sum_{u < v} \sqrt{\pi_u \pi_v}\, e^{-d_{uv}^2 / 8}, \qquad
        d_{uv}^2 = (\mu_u - \mu_v)^\top C (C^\top W C)^{-1} C^\top (\mu_u - \mu_v), \qquad C = \Sigma^{-1} Z M,

    which depends only on the class moments. It is minimised by flipping single entries of one column after the other,
    starting with columns that were added one by one and, for few classes, with random ones.

    Parameters
    ----------
    n_codewords : int
        The number of codewords ``K``, at least 2; row ``k`` is for class ``k``.
    n_bits : int, optional
        The number of bits, at most the rank of the explained covariance: more linear bits add no information. By
        default half the number of classes.
    class_moments : ClassMoments
        Class frequencies and what least squares explains of the classes, from
        ``codekin.classes.learnability.class_moments(X, class_index)``; :class:`codekin.ECOCClassifier` fills
        it in.
    rng : numpy.random.Generator or int, optional
        For the random starts.

    Returns
    -------
    Codebook

    Notes
    -----
    Reduced-rank regression itself would maximise the explained variance,
    :math:`\operatorname{tr} E M (M^\top E M)^{-1} M^\top E`. Its best columns are less accurate than an informed
    assignment of random ones: they miss the directions that separate a few similar classes.

    References
    ----------
    A. J. Izenman, "Reduced-rank regression for the multivariate linear model", Journal of Multivariate Analysis 5,
    1975. T. Kailath, "The Divergence and Bhattacharyya Distance Measures in Signal Selection", IEEE Transactions on
    Communication Technology 15(1), 1967. M. Loog, R. P. W. Duin and R. Haeb-Umbach, "Multiclass Linear Dimension
    Reduction by Weighted Pairwise Fisher Criteria", IEEE TPAMI 23(7), 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from codekin.classes.learnability import class_moments
    >>> moments = class_moments(*load_digits(return_X_y=True))
    >>> separating(10, 5, class_moments=moments, rng=0)
    <Codebook separating: 10 codewords x 5 bits, minimum distance 1>
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="separating")
    class_moments.check(n_codewords)
    space = Space.of(class_moments)
    fewest = fewest_bits(n_codewords)
    if fewest > space.n_dimensions:
        raise ValueError(
            f"These samples allow at most {space.n_dimensions} independent linear bits, but {n_codewords} codewords "
            f"need {fewest} bits. Use another codebook."
        )
    n_bits = min(max(fewest, -(-n_codewords // 2)), space.n_dimensions) if n_bits is None else n_bits
    n_bits = checked_n_bits(n_bits, n_codewords, n_columns=n_binary_columns(n_codewords))
    if n_bits > space.n_dimensions:
        raise ValueError(
            f"These samples allow at most {space.n_dimensions} independent linear bits; n_bits of the separating "
            f"codebook must not be greater. Got {n_bits}."
        )
    starts = [_greedy_columns(space, n_bits)]
    if n_codewords <= MAX_EXACT_CLASSES:
        generator = np.random.default_rng(rng)
        starts += list(generator.choice([-1.0, 1.0], (N_STARTS, n_codewords, n_bits)))
    improved = [_improved(space, start) for start in starts]
    found = [with_distinct_rows(columns.astype(np.int8), _costs_of_flips(space, columns)) for columns in improved]
    matrix = _lowest(found, lambda columns: space.bound(columns.astype(np.float64)))
    return Codebook(matrix, name="separating", is_designed=True)


@dataclass(frozen=True, eq=False)
class Space:
    """The classes in coordinates in which the covariance within classes is the identity.

    A column ``m`` adds the direction ``m @ steps``; distances of classes are those of ``means`` projected onto the span
    of all directions.
    """

    frequency: FloatArray
    means: FloatArray  # (n_classes, n_dimensions)
    steps: FloatArray  # (n_classes, n_dimensions)

    @classmethod
    def of(cls, moments: ClassMoments) -> Space:
        """The space of some class moments."""
        variances, vectors = linalg.eigh(moments.explained)
        is_there = variances > 1e-9 * max(float(variances[-1]), np.finfo(np.float64).tiny)
        whitened = vectors[:, is_there] * np.sqrt(variances[is_there])
        means = whitened / moments.frequency[:, None]
        within, turn = linalg.eigh(np.eye(whitened.shape[1]) - means.T @ whitened)
        deviation = np.sqrt(np.maximum(within, LEAST_SPREAD))
        return cls(moments.frequency, means @ (turn / deviation), whitened @ (turn * deviation))

    @property
    def n_dimensions(self) -> int:
        """The number of directions."""
        return int(self.means.shape[1])

    @property
    def floor(self) -> float:
        """Added to squared lengths to avoid division by zero."""
        return 1e-9 * float((self.steps**2).sum())

    def basis(self, columns: FloatArray) -> FloatArray:
        """Orthonormal directions that span those of some columns."""
        if not columns.shape[1]:
            return np.zeros((self.n_dimensions, 0))
        return np.asarray(linalg.orth(self.steps.T @ columns, rcond=1e-7))

    def overlaps(self, columns: FloatArray) -> FloatArray:
        """The bound on the error of each pair of classes; 0 on the diagonal."""
        places = self.means @ self.basis(columns)
        squares = (places**2).sum(axis=1)
        apart = np.maximum(squares[:, None] + squares - 2 * places @ places.T, 0)
        overlaps = np.sqrt(np.outer(self.frequency, self.frequency)) * np.exp(-apart / 8)
        np.fill_diagonal(overlaps, 0.0)
        return np.asarray(overlaps)

    def bound(self, columns: FloatArray) -> float:
        """The bound on the error of a learned decoder with these columns."""
        return float(self.overlaps(columns).sum() / 2)


@dataclass(frozen=True, eq=False)
class Remainder:
    """What one more column can add to some others.

    Column ``m`` puts class ``k`` at ``places[k] @ m / sqrt(m @ lengths @ m)`` on a new axis. To second order this
    lowers the bound by ``m @ gains @ m / (8 m @ lengths @ m)``.
    """

    overlaps: FloatArray
    places: FloatArray
    lengths: FloatArray
    gains: FloatArray

    @classmethod
    def of(cls, space: Space, columns: FloatArray) -> Remainder:
        """What can be added to some columns."""
        basis = space.basis(columns)
        steps = space.steps - (space.steps @ basis) @ basis.T
        overlaps, places = space.overlaps(columns), space.means @ steps.T
        laplacian = np.diag(overlaps.sum(axis=1)) - overlaps
        lengths = steps @ steps.T
        lengths.flat[:: len(lengths) + 1] += space.floor / len(lengths)
        return cls(overlaps, places, lengths, places.T @ laplacian @ places)

    def bound(self, column: FloatArray) -> float:
        """The bound with one more column."""
        places = self.places @ column / np.sqrt(column @ self.lengths @ column)
        return float((self.overlaps * np.exp(-((places[:, None] - places) ** 2) / 8)).sum() / 2)

    def ratios_after_flips(self, column: FloatArray) -> FloatArray:
        """The quadratic form after flipping each entry."""
        return _after_flips(self.gains, column) / _after_flips(self.lengths, column)

    def bounds_after_flips(self, column: FloatArray) -> FloatArray:
        """The bound after flipping each entry."""
        places = (self.places @ column)[:, None] - 2 * self.places * column
        places /= np.sqrt(_after_flips(self.lengths, column))
        apart = places[:, None, :] - places[None, :, :]
        return np.asarray(np.einsum("uv,uvk->k", self.overlaps, np.exp(-(apart**2) / 8)) / 2)

    def climbed(self, column: FloatArray) -> FloatArray:
        """Flip the entry that raises the quadratic form the most, as long as there is one."""
        column = column.copy()
        gained, length = self.gains @ column, self.lengths @ column
        own = self.gains.diagonal(), self.lengths.diagonal()
        worth, square = float(column @ gained), float(column @ length)
        while True:
            worths = worth + 4 * (own[0] - column * gained)
            squares = square + 4 * (own[1] - column * length)
            entry = int((worths / squares).argmax())
            if not worths[entry] * square > worth * squares[entry] * (1 + 1e-9):
                return column
            worth, square = float(worths[entry]), float(squares[entry])
            gained -= 2 * column[entry] * self.gains[entry]
            length -= 2 * column[entry] * self.lengths[entry]
            column[entry] = -column[entry]

    def descended(self, column: FloatArray) -> FloatArray:
        """Flip the entry that lowers the bound the most, as long as there is one."""
        column, bound = column.copy(), self.bound(column)
        while True:
            bounds = self.bounds_after_flips(column)
            entry = int(bounds.argmin())
            if not bounds[entry] < bound * (1 - 1e-9):
                return column
            bound = float(bounds[entry])
            column[entry] = -column[entry]

    def leading_signs(self, n_vectors: int) -> FloatArray:
        """The signs of the leading eigenvectors of the gains as columns, largest eigenvalue first; class 0 has +1."""
        n_classes = len(self.gains)
        vectors = linalg.eigh(self.gains, subset_by_index=(max(0, n_classes - n_vectors), n_classes - 1))[1][:, ::-1]
        return np.where(vectors * np.where(vectors[0] < 0, -1.0, 1.0) < 0, -1.0, 1.0)


def _after_flips(form: FloatArray, column: FloatArray) -> FloatArray:
    """The value of a quadratic form after flipping each entry of a column."""
    image = form @ column
    return np.asarray(column @ image - 4 * column * image + 4 * form.diagonal())


def _lowest(candidates: Sequence[NDArray[Any]], bound: Callable[[NDArray[Any]], float]) -> NDArray[Any]:
    """The candidate with the lowest bound; the first of those that differ only by rounding."""
    best, lowest = candidates[0], bound(candidates[0])
    for candidate in candidates[1:]:
        if (found := bound(candidate)) < lowest * (1 - 1e-6):
            best, lowest = candidate, found
    return best


def _greedy_columns(space: Space, n_bits: int) -> FloatArray:
    """Columns that are added one by one, each the best that was found."""
    columns = np.zeros((len(space.means), 0))
    for _ in range(n_bits):
        rest = Remainder.of(space, columns)
        candidates = [rest.climbed(start) for start in rest.leading_signs(3).T]
        columns = np.column_stack([columns, _lowest(candidates, rest.bound)])
    return columns


def _improved(space: Space, columns: FloatArray) -> FloatArray:
    """Columns that are optimised again one after the other, given all others."""
    columns, bound = columns.copy(), space.bound(columns)
    is_exact = len(columns) <= MAX_EXACT_CLASSES
    for _ in range(MAX_SWEEPS if len(columns) <= 200 else 1):
        for bit in range(columns.shape[1]):
            rest, present = Remainder.of(space, np.delete(columns, bit, axis=1)), columns[:, bit]
            candidates = [present, rest.climbed(present)] + ([rest.descended(present)] if is_exact else [])
            columns[:, bit] = _lowest(candidates, rest.bound)
        before, bound = bound, space.bound(columns)
        if not bound < before * (1 - 1e-4):
            break
    return columns


def _costs_of_flips(space: Space, columns: FloatArray) -> FloatArray:
    """How much flipping each entry lowers the quadratic form of its column, at least 0."""
    costs = np.empty(columns.shape)
    for bit in range(columns.shape[1]):
        rest, column = Remainder.of(space, np.delete(columns, bit, axis=1)), columns[:, bit]
        present = (column @ rest.gains @ column) / (column @ rest.lengths @ column)
        costs[:, bit] = np.maximum(present - rest.ratios_after_flips(column), 0)
    return costs
