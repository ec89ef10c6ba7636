"""Distances that know the learner: which classes a linear learner can keep apart, found without training a bit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from codekin.class_distances.projections import leading_directions, random_directions
from codekin.class_distances.samples import ClassSamples, class_samples, stratified_folds
from codekin.coding import FloatArray, IntArray
from codekin.distances import MAX_DENSE_CLASSES, ClassDistances, DenseDistances, ProductDistances

Projection = Literal["svd", "random"]

MAX_EXACT_FEATURES = 3_000
"""Least squares is solved in all features where there are no more than this."""

DEFAULT_COMPONENTS = 1_000
"""How many components stand for more features than that."""

_BLOCK_ENTRIES = 8_000_000
"""How many numbers are made at once from samples that are sparse, projected, or of a narrow type."""


def learnability_distances(
    X: Any,
    class_index: ArrayLike,
    *,
    n_classes: int | None = None,
    sample_weight: ArrayLike | None = None,
    rng: np.random.Generator | int | None = None,
    ridge: float = 0.1,
    n_components: int | None = None,
    projection: Projection = "svd",
    held_out: bool = False,
    n_folds: int = 5,
) -> ClassDistances:
    r"""Signed distances whose best preserving assignment has the bits that least squares learns best.

    Least squares with an intercept learns a bit :math:`y \in \{-1, +1\}^K` with a mean squared training error of
    exactly :math:`y^\top R y`, where

    .. math:: R = \operatorname{diag}(\pi) - \pi \pi^\top - Z^\top (\Sigma + \lambda I)^{-1} Z,
        \qquad Z = [\pi_k (\mu_k - \mu)]_{k},

    :math:`\pi` are the class frequencies, :math:`\mu_k` the class means, :math:`\mu` and :math:`\Sigma` the mean and
    the covariance of all samples (a positive :math:`\lambda` adds the penalty to the error). The rows of :math:`R` add
    up to zero, so the mean error over the :math:`\ell` bits of a coding matrix without zeros is :math:`-2F / \ell`,
    where :math:`F` is the sum over pairs of :math:`R_{uv}` times the distance of their codewords. Preserving these
    distances, that is, making :math:`F` large, makes the bits easy. The diagonal of :math:`R` meets only distances
    that are zero; it is left out here, and :func:`learnability_matrix` puts it back.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples.
    class_index : array-like of int of shape (n_samples,)
        The class of each sample, numbered from 0.
    n_classes : int, optional
        How many classes there are, where ``class_index`` does not show it.
    sample_weight : array-like of shape (n_samples,), optional
        How much each sample counts.
    rng : numpy.random.Generator or int, optional
        Drives the projection, where there is one, and deals out the folds.
    ridge : float, default=0.1
        The penalty :math:`\lambda` on squared weights, in units of the mean variance of a feature.
    n_components : int, optional
        Project the samples to this many dimensions first. When left out, 1,000 for more than 3,000 features, and no
        projection for fewer.
    projection : {"svd", "random"}, default="svd"
        How to project: onto the leading singular directions of X, or onto random ones, which takes less time and
        more components.
    held_out : bool, default=False
        Take the errors of samples that were not learned from, for at most 5,000 classes.
    n_folds : int, default=5
        How many folds there are, each left out once; used when ``held_out=True``.

    Returns
    -------
    DenseDistances or ProductDistances
        Signed; in factored form for more than 5,000 classes.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> distances = learnability_distances(X, y, ridge=1e-9)
    >>> bit = np.where(np.arange(10) < 5, 1, -1)  # digits below five against the others
    >>> error = -2 * distances.inner_product(bit[:, None])
    >>> from sklearn.linear_model import LinearRegression
    >>> residuals = bit[y] - LinearRegression().fit(X, bit[y]).predict(X)
    >>> bool(np.isclose(error, np.mean(residuals**2)))
    True
    """
    samples = class_samples(X, class_index, n_classes=n_classes, sample_weight=sample_weight)
    if ridge < 0:
        raise ValueError(f"The 'ridge' parameter must not be negative. Got {ridge} instead.")
    generator = np.random.default_rng(rng)
    features = _features(samples, n_components, projection, generator)
    everything = _statistics(features, samples, np.arange(len(samples.class_index)))
    penalty = ridge * _total_variance(samples) / samples.X.shape[1]
    if held_out:
        if samples.n_classes > MAX_DENSE_CLASSES:
            raise ValueError(
                f"Held-out errors are taken for at most {MAX_DENSE_CLASSES} classes. Got {samples.n_classes}. "
                "Use held_out=False."
            )
        if not 2 <= n_folds <= len(samples.class_index):
            raise ValueError(
                f"'n_folds' must be at least 2 and at most the number of samples, {len(samples.class_index)}. "
                f"Got {n_folds} instead."
            )
        matrix = _held_out_matrix(features, everything, penalty, n_folds, generator)
        np.fill_diagonal(matrix, 0.0)
        return DenseDistances(matrix, signed=True)
    factored = ProductDistances(_factors(everything, penalty))
    if samples.n_classes > MAX_DENSE_CLASSES:
        return factored
    return DenseDistances(factored.matrix(), signed=True)


def learnability_matrix(distances: ClassDistances) -> FloatArray:
    r"""The matrix :math:`R`, with the diagonal that makes its rows add up to zero.

    Parameters
    ----------
    distances : ClassDistances
        What :func:`learnability_distances` returned.

    Returns
    -------
    ndarray of shape (n_classes, n_classes)
        ``y @ R @ y`` is the mean squared error of bit ``y``.
    """
    return distances.matrix() - np.diag(distances.row_sums())


@dataclass(frozen=True, eq=False)
class _Features:
    """The samples as least squares sees them: as they are, or in the coordinates of ``basis``."""

    samples: ClassSamples
    basis: np.ndarray | None

    @property
    def n_dimensions(self) -> int:
        return int(self.samples.X.shape[1] if self.basis is None else self.basis.shape[1])

    @property
    def stay_sparse(self) -> bool:
        return self.basis is None and self.samples.is_sparse

    @cached_property
    def origin(self) -> Any:
        """What is taken off all samples, so that little is lost to rounding: their mean, if that fills no zeros."""
        mean = self.samples.class_weight @ self.samples.class_means / self.samples.class_weight.sum()
        return 0.0 if self.stay_sparse else mean if self.basis is None else mean @ self.basis

    def of(self, X: Any) -> FloatArray:
        """Rows of X, or means of rows, as a dense array."""
        dense = X @ self.basis if self.basis is not None else X.toarray() if self.samples.is_sparse else X
        return np.asarray(dense - self.origin, dtype=np.float64)

    def blocks(self, rows: IntArray, n_columns: int) -> Iterator[tuple[IntArray, FloatArray]]:
        """Some of the samples at a time; ``n_columns`` says how many numbers the caller makes of each."""
        step = max(1, _BLOCK_ENTRIES // n_columns)
        for start in range(0, len(rows), step):
            index = rows[start : start + step]
            yield index, self.of(self.samples.X[index])


@dataclass(frozen=True, eq=False)
class _Statistics:
    """Sums over samples, from which least squares follows; those of a part can be taken from those of the whole."""

    class_weight: FloatArray  # (n_classes,)
    class_sums: FloatArray  # (n_classes, n_dimensions)
    second_moment: FloatArray  # (n_dimensions, n_dimensions)

    def without(self, part: _Statistics) -> _Statistics:
        return _Statistics(
            self.class_weight - part.class_weight,
            self.class_sums - part.class_sums,
            self.second_moment - part.second_moment,
        )

    @property
    def frequency(self) -> FloatArray:
        return np.asarray(self.class_weight / self.class_weight.sum())

    @property
    def mean(self) -> FloatArray:
        return np.asarray(self.class_sums.sum(axis=0) / self.class_weight.sum())

    @property
    def covariance(self) -> FloatArray:
        return np.asarray(self.second_moment / self.class_weight.sum() - np.outer(self.mean, self.mean))

    @property
    def deviations(self) -> FloatArray:
        """Row ``k`` is the frequency of class ``k`` times how far its mean is from the mean of all."""
        return np.asarray(self.class_sums / self.class_weight.sum() - np.outer(self.frequency, self.mean))


def _factors(statistics: _Statistics, penalty: float) -> FloatArray:
    """Vectors whose inner products are ``diag(frequency) - R``."""
    return np.column_stack([statistics.frequency, statistics.deviations @ _whitening(statistics, penalty)])


def _whitening(statistics: _Statistics, penalty: float) -> FloatArray:
    """A matrix ``W`` with ``W W' = (covariance + penalty)^-1`` on the directions in which samples vary."""
    variances, directions = linalg.eigh(statistics.covariance)
    # Samples do not vary along the rest, so neither do class means; what is there is rounding.
    varies = variances > 1e-12 * max(float(variances[-1]), np.finfo(np.float64).tiny)
    return np.asarray(directions[:, varies] / np.sqrt(variances[varies] + penalty))


def _held_out_matrix(
    features: _Features, everything: _Statistics, penalty: float, n_folds: int, rng: np.random.Generator
) -> FloatArray:
    """The products of the errors of one-hot targets, each predicted from the folds it is not in.

    Least squares is linear in its targets, so the errors of a bit are a combination of those of the one-hot targets.
    """
    samples = features.samples
    fold = stratified_folds(samples.class_index, n_folds, rng)
    matrix = np.zeros((samples.n_classes, samples.n_classes))
    for k in range(n_folds):
        left_out = np.flatnonzero(fold == k)
        learned = everything.without(_statistics(features, samples.of(left_out), left_out))
        whitening = _whitening(learned, penalty)
        weights = whitening @ (learned.deviations @ whitening).T
        for rows, block in features.blocks(left_out, samples.n_classes + features.n_dimensions):
            errors = -learned.frequency - (block - learned.mean) @ weights
            errors[np.arange(len(rows)), samples.class_index[rows]] += 1
            errors *= np.sqrt(samples.sample_weight[rows])[:, None]
            matrix += errors.T @ errors
    return np.asarray(matrix / samples.sample_weight.sum())


def _statistics(features: _Features, part: ClassSamples, rows: IntArray) -> _Statistics:
    """Those of ``part``, which are the samples at ``rows``."""
    if features.stay_sparse:
        second_moment = (part.X.multiply(part.sample_weight[:, None]).T @ part.X).toarray()
    else:
        second_moment = np.zeros((features.n_dimensions, features.n_dimensions))
        for index, block in features.blocks(rows, features.n_dimensions):
            second_moment += (block * features.samples.sample_weight[index][:, None]).T @ block
    class_sums = features.of(part.class_means) * part.class_weight[:, None]
    return _Statistics(part.class_weight, class_sums, second_moment)


def _total_variance(samples: ClassSamples) -> float:
    """The sum of the variances of all features."""
    weight = samples.sample_weight / samples.sample_weight.sum()
    mean = np.asarray(samples.class_weight @ samples.class_means / samples.class_weight.sum()).ravel()
    if samples.is_sparse:
        squares = np.asarray(samples.X.multiply(samples.X).sum(axis=1)).ravel()
    else:
        squares = np.einsum("ij,ij->i", samples.X, samples.X, dtype=np.float64)
    return float(weight @ squares - mean @ mean)


def _features(
    samples: ClassSamples, n_components: int | None, projection: Projection, rng: np.random.Generator
) -> _Features:
    n_features = samples.X.shape[1]
    if projection not in ("svd", "random"):
        raise ValueError(f"'projection' must be 'svd' or 'random'. Got {projection!r} instead.")
    if n_components is None:
        if n_features <= MAX_EXACT_FEATURES:
            return _Features(samples, None)
        n_components = DEFAULT_COMPONENTS
    elif n_components < 1:
        raise ValueError(f"'n_components' must be at least 1. Got {n_components} instead.")
    if n_components >= n_features:
        return _Features(samples, None)
    if projection == "random":
        return _Features(samples, random_directions(n_features, n_components, rng))
    return _Features(samples, leading_directions(samples.X, n_components, rng))
