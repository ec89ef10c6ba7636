"""Ridge regression of one-hot targets, from sums over the samples or by conjugate gradients.

The targets are the columns of ``[y_i = k]``. With ``pi`` the class frequencies, ``mu_k`` the class means, ``mu`` and
``Sigma`` the mean and the covariance of all samples, the coefficients are ``(Sigma + penalty I)^-1 Z`` with
``Z = [pi_k (mu_k - mu)]``, and the variance they explain is ``Z' (Sigma + penalty I)^-1 Z``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from codekin._system.memory import require_memory
from codekin._system.rows import blocks_of
from codekin.classes.samples import ClassSamples
from codekin.code import FloatArray, IntArray
from codekin.progress import report

_BLOCK_ENTRIES = 8_000_000
"""How many numbers are computed at once from samples that are sparse, projected, or of a narrow type."""

ROWS_AT_ONCE = 256
"""Of a sparse matrix that is added to a dense one."""

TOLERANCE, MAX_ITERATIONS = 1e-4, 1_000
"""Of conjugate gradients: that of the residuals is relative to the right-hand sides."""

_LEAST_PIVOT: dict[type[np.floating], float] = {np.float32: 1e-2, np.float64: 1e-3}
"""If the smallest pivot is below this share of the largest, a triangular factor of that type is too inexact."""
_LEAST_COLUMN_PIVOT = 0.03
"""A column of length one this close to the span of earlier ones still has three digits in float32."""


class OneHotRidge(NamedTuple):
    """A fitted regression: sample ``x`` is predicted to be ``intercept + x @ coefficients``."""

    intercept: FloatArray  # (n_classes,)
    coefficients: FloatArray  # (n_features, n_classes)
    explained: FloatArray  # (n_classes, n_classes)


@dataclass(frozen=True, eq=False)
class Coordinates:
    """The samples as a regression sees them: as they are, or in the directions of ``basis``."""

    samples: ClassSamples
    basis: np.ndarray | None = None

    @property
    def n_dimensions(self) -> int:
        """The number of coordinates of a sample."""
        return int(self.samples.X.shape[1] if self.basis is None else self.basis.shape[1])

    @property
    def stay_sparse(self) -> bool:
        """Whether sums over samples can be computed without filling in zeros."""
        return self.basis is None and self.samples.is_sparse

    @cached_property
    def origin(self) -> Any:
        """Subtracted from all samples to reduce rounding errors: their mean, if that does not fill in zeros."""
        mean = overall_mean(self.samples)
        return 0.0 if self.stay_sparse else mean if self.basis is None else mean @ self.basis

    def of(self, X: Any) -> FloatArray:
        """Rows of X, or means of rows, as a dense array; in float32 if they are projected from it."""
        if self.basis is not None:
            projected = np.asarray(X @ self.basis)
            projected -= np.asarray(self.origin, dtype=projected.dtype)
            return projected
        dense = X.toarray() if self.samples.is_sparse else X
        return np.asarray(dense - self.origin, dtype=np.float64)

    def product(self, X: Any, coefficients: FloatArray) -> FloatArray:
        """``self.of(X) @ coefficients``, without filling in zeros."""
        return np.asarray((X if self.stay_sparse else self.of(X)) @ coefficients)

    def blocks(self, rows: IntArray, n_columns: int) -> Iterator[tuple[IntArray, FloatArray]]:
        """Blocks of samples; ``n_columns`` is how many numbers the caller computes per sample."""
        for index in row_blocks(rows, n_columns):
            yield index, self.of(self.samples.X[index])


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over samples, from which regressions are computed; sums over a part can be subtracted."""

    class_weight: FloatArray  # (n_classes,)
    class_sums: FloatArray  # (n_classes, n_dimensions)
    second_moment: FloatArray  # (n_dimensions, n_dimensions)

    @classmethod
    def over(cls, coordinates: Coordinates, rows: IntArray | None = None) -> Sums:
        """Over the samples at ``rows``, or over all."""
        samples = coordinates.samples
        part = samples if rows is None else samples.of(rows)
        rows = np.arange(len(samples.class_index)) if rows is None else rows
        class_sums = coordinates.of(part.class_means) * part.class_weight[:, None]
        return cls(part.class_weight, class_sums, _second_moment(coordinates, rows))

    def without(self, part: Sums) -> Sums:
        """The sums over the rest of the samples."""
        return Sums(
            self.class_weight - part.class_weight,
            self.class_sums - part.class_sums,
            self.second_moment - part.second_moment,
        )


def _second_moment(coordinates: Coordinates, rows: IntArray) -> FloatArray:
    """The weighted sum over samples of their outer products with themselves."""
    samples = coordinates.samples
    second_moment = np.zeros((coordinates.n_dimensions, coordinates.n_dimensions))
    if coordinates.stay_sparse:
        part = samples if len(rows) == len(samples.class_index) else samples.of(rows)
        for some, block in blocks_of(part.X):
            products = (block.multiply(part.sample_weight[some, None]).T @ block).tocsr()
            for start in range(0, len(second_moment), ROWS_AT_ONCE):
                # Without a second matrix of that size.
                second_moment[start : start + ROWS_AT_ONCE] += products[start : start + ROWS_AT_ONCE].toarray()
        return second_moment
    for index, block in coordinates.blocks(rows, coordinates.n_dimensions):
        weight = samples.sample_weight[index][:, None].astype(block.dtype)
        second_moment += (block * weight).T @ block
    return second_moment


def _whitening(covariance: FloatArray, penalty: float) -> FloatArray:
    """A matrix ``W`` with ``W W' = (Sigma + penalty)^-1`` on the directions in which samples vary."""
    variances, directions = linalg.eigh(covariance)
    # Samples, and so class means, do not vary along the rest; what is there is rounding.
    varies = variances > 1e-12 * max(float(variances[-1]), np.finfo(np.float64).tiny)
    return np.asarray(directions[:, varies] / np.sqrt(variances[varies] + penalty))


def whitened_deviations(coordinates: Coordinates, penalty: float) -> NDArray[np.floating]:
    """Row ``k`` is ``pi_k (mu_k - mu) W`` for some ``W`` with ``W W' = (Sigma + penalty)^-1``.

    A triangular ``W`` of the samples' type is fastest, and used if it is exact enough. Classes are computed in blocks.
    """
    samples = coordinates.samples
    total = samples.sample_weight.sum()
    frequency = samples.class_weight / total
    mean = overall_mean(samples) if coordinates.stay_sparse else np.zeros(coordinates.n_dimensions)
    covariance = _second_moment(coordinates, np.arange(len(samples.class_index)))
    covariance /= total
    # In place, without a second matrix of that size.
    covariance = linalg.blas.dger(-1.0, mean, mean, a=covariance.T, overwrite_a=1).T
    dtype = np.float32 if samples.X.dtype == np.float32 else np.float64
    turn = _triangular_whitening(covariance, penalty, dtype)
    if turn is None and dtype is np.float32:
        turn = _triangular_whitening(covariance, penalty, np.float64)
    turn = _whitening(covariance, penalty) if turn is None else turn
    del covariance
    turn = turn.astype(dtype, copy=False)
    whitened = np.empty((samples.n_classes, turn.shape[1]), dtype=turn.dtype)
    for classes in row_blocks(np.arange(samples.n_classes), coordinates.n_dimensions):
        report("measuring learnability", classes[0], samples.n_classes, unit="classes")
        deviations = frequency[classes, None] * (coordinates.of(samples.class_means[classes]) - mean)
        whitened[classes] = deviations.astype(turn.dtype) @ turn
    return whitened


def _triangular_whitening(
    covariance: FloatArray, penalty: float, dtype: type[np.floating]
) -> NDArray[np.floating] | None:
    """The inverse of the Cholesky factor of ``covariance + penalty``, transposed, unless too many digits are lost."""
    # Column-major, as LAPACK needs it, so that there is only one copy.
    penalised = np.array(covariance, dtype=dtype, order="F")
    penalised.flat[:: len(penalised) + 1] += penalty
    try:
        root = linalg.cholesky(penalised, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    pivots = np.diag(root)
    if not pivots.min() > _LEAST_PIVOT[dtype] * pivots.max():
        return None
    invert = linalg.lapack.strtri if dtype is np.float32 else linalg.lapack.dtrtri
    return np.asarray(invert(root, lower=1, overwrite_c=1)[0].T)


def ridge_from_sums(sums: Sums, penalty: float) -> OneHotRidge:
    """The regression from sums over the training samples; ``penalty`` is relative to the mean squared error."""
    total = sums.class_weight.sum()
    frequency, mean = sums.class_weight / total, sums.class_sums.sum(axis=0) / total
    whitening = _whitening(sums.second_moment / total - np.outer(mean, mean), penalty)
    # Frequencies times the differences of the means of classes and that of all.
    whitened = (sums.class_sums / total - np.outer(frequency, mean)) @ whitening
    coefficients = whitening @ whitened.T
    return OneHotRidge(frequency - mean @ coefficients, coefficients, whitened @ whitened.T)


def ridge_by_conjugate_gradients(coordinates: Coordinates, penalty: float, rows: IntArray | None = None) -> OneHotRidge:
    """The regression on all features, however many, without a basis: only products of X with some vectors per class."""
    samples = coordinates.samples if rows is None else coordinates.samples.of(rows)
    X: Any = samples.X.astype(np.float64) if samples.is_sparse else coordinates.of(samples.X)
    weight = samples.sample_weight / samples.sample_weight.sum()
    frequency = samples.class_weight / samples.class_weight.sum()
    class_means = samples.class_means - coordinates.origin if not samples.is_sparse else samples.class_means
    mean = np.asarray(frequency @ class_means).ravel()
    variances = np.asarray(weight @ (X * X)).ravel() - mean**2
    # Scaled to unit diagonal (Jacobi), so that rare and frequent features converge equally fast.
    scale = np.maximum(variances, 0) + penalty
    scale[scale == 0] = 1.0
    transposed = X.T.tocsr() if samples.is_sparse else X.T

    def covariance_times(V: FloatArray) -> FloatArray:
        product = transposed @ (weight[:, None] * (X @ V))
        return np.asarray(product - np.outer(mean, mean @ V) + penalty * V)

    coefficients = np.zeros((X.shape[1], samples.n_classes))
    for classes in row_blocks(np.arange(samples.n_classes), X.shape[0] + 4 * X.shape[1]):
        some_means = class_means[classes].toarray() if samples.is_sparse else class_means[classes]
        targets = (some_means - mean).T * frequency[classes]
        coefficients[:, classes] = _solved(covariance_times, targets, scale)
    explained = frequency[:, None] * (np.asarray(class_means @ coefficients) - mean @ coefficients)
    return OneHotRidge(frequency - mean @ coefficients, coefficients, (explained + explained.T) / 2)


def _solved(times: Callable[[FloatArray], FloatArray], targets: FloatArray, scale: FloatArray) -> FloatArray:
    """Preconditioned conjugate gradients (Hestenes and Stiefel 1952), one system per column."""
    solution = np.zeros_like(targets)
    residuals = targets.copy()
    scaled = residuals / scale[:, None]
    directions = scaled.copy()
    size = np.einsum("fk,fk->k", residuals, scaled)
    enough = TOLERANCE**2 * size
    for _ in range(MAX_ITERATIONS):
        if (size <= enough).all():
            break
        image = times(directions)
        curvature = np.einsum("fk,fk->k", directions, image)
        step = np.divide(size, curvature, out=np.zeros_like(size), where=curvature > 0)
        solution += step * directions
        residuals -= step * image
        scaled = residuals / scale[:, None]
        new_size = np.einsum("fk,fk->k", residuals, scaled)
        directions *= np.divide(new_size, size, out=np.zeros_like(size), where=size > 0)
        directions += scaled
        size = new_size
    return solution


def overall_mean(samples: ClassSamples) -> FloatArray:
    """The weighted mean of all samples, (n_features,)."""
    return np.asarray(samples.class_weight @ samples.class_means / samples.class_weight.sum()).ravel()


def feature_variances(samples: ClassSamples) -> FloatArray:
    """The variance of each feature, (n_features,)."""
    weight = samples.sample_weight / samples.sample_weight.sum()
    if samples.is_sparse:
        squares = sum(weight[rows] @ block.multiply(block) for rows, block in blocks_of(samples.X))
        return np.asarray(squares).ravel() - overall_mean(samples) ** 2
    variances = np.zeros(samples.X.shape[1])
    for index, block in Coordinates(samples).blocks(np.arange(len(weight)), samples.X.shape[1]):
        variances += weight[index] @ block**2
    return variances


def row_blocks(rows: IntArray, n_columns: int) -> Iterator[IntArray]:
    """Consecutive parts of ``rows`` with some millions of numbers each, at ``n_columns`` per row."""
    step = max(1, _BLOCK_ENTRIES // n_columns)
    for start in range(0, len(rows), step):
        yield rows[start : start + step]


def random_directions(n_features: int, n_components: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Random directions that preserve lengths on average, (n_features, n_components)."""
    # The directions, a block of them, and the result of the next step.
    require_memory(
        3 * 4 * n_features * n_components,
        f"Learning class distances from {n_features:,} features",
        "Give a taxonomy or assignment='random', use fewer features (hash them) or more memory.",
    )
    return rng.standard_normal((n_features, n_components), dtype=np.float32) / np.float32(n_components**0.5)


def leading_directions(X: Any, n_components: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """An orthonormal basis of nearly the leading right singular vectors of X.

    Subspace iteration (Halko, Martinsson and Tropp 2011, algorithm 4.4) in the space of features: two multiplications
    by ``X' X``. Distances and least squares do not depend on the basis of the subspace, so no decomposition follows.
    """
    n_samples, n_features = X.shape
    basis = random_directions(n_features, min(n_components, n_samples, n_features), rng)
    step = max(1, _BLOCK_ENTRIES // basis.shape[1])
    for _ in range(2):
        product = np.zeros_like(basis)
        for start in range(0, n_samples, step):
            block = X[start : start + step].astype(np.float32)
            product += block.T @ (block @ basis)
        basis = _orthonormal(product)
    return basis


def _orthonormal(columns: NDArray[np.float32]) -> NDArray[np.float32]:
    """An orthonormal basis of the span of ``columns``, from their inner products.

    That is many times faster here than a QR decomposition, but squares the condition number. If float32 is not enough,
    they are summed in float64, and a second round removes the remaining error.
    """
    inner = _inner_products(columns, np.float32)
    length = np.sqrt(np.maximum(np.diag(inner), np.finfo(np.float32).tiny))
    try:
        factor = linalg.cholesky(inner / np.outer(length, length))
    except linalg.LinAlgError:
        pass
    else:
        if np.diag(factor).min() > _LEAST_COLUMN_PIVOT:
            return _turned(columns, linalg.solve_triangular(factor, np.eye(len(factor))) / length[:, None], np.float32)
    for _ in range(2):
        squares, directions = linalg.eigh(_inner_products(columns, np.float64))
        spans = squares > 1e-13 * squares[-1]
        columns = _turned(columns, directions[:, spans] / np.sqrt(squares[spans]), np.float64)
    return columns


def _blocks(columns: NDArray[np.float32], dtype: type) -> Iterator[tuple[slice, NDArray[Any]]]:
    step = max(1, _BLOCK_ENTRIES // columns.shape[1])
    for start in range(0, len(columns), step):
        rows = slice(start, start + step)
        yield rows, columns[rows].astype(dtype, copy=False)


def _inner_products(columns: NDArray[np.float32], dtype: type) -> FloatArray:
    inner = np.zeros((columns.shape[1], columns.shape[1]))
    for _, block in _blocks(columns, dtype):
        inner += block.T @ block
    return inner


def _turned(columns: NDArray[np.float32], turn: FloatArray, dtype: type) -> NDArray[np.float32]:
    turned = np.empty((len(columns), turn.shape[1]), dtype=np.float32)
    matrix: NDArray[Any] = turn.astype(dtype)
    for rows, block in _blocks(columns, dtype):
        turned[rows] = block @ matrix
    return turned
