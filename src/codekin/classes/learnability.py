"""Distances for linear learners: which classes they can separate, computed without training a bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from codekin._system.rows import StoredRows
from codekin.classes import ClassDistances, DenseDistances
from codekin.classes.interface import MAX_DENSE_CLASSES, refuse_too_many
from codekin.classes.least_squares import (
    Coordinates,
    OneHotRidge,
    Sums,
    feature_variances,
    leading_directions,
    random_directions,
    ridge_by_conjugate_gradients,
    ridge_from_sums,
    row_blocks,
    whitened_deviations,
)
from codekin.classes.samples import ClassSamples, class_samples
from codekin.classes.vectors import ProductDistances
from codekin.code import FloatArray, IntArray
from codekin.samples import stratified_folds

Projection = Literal["auto", "features", "svd", "random"]
Form = Literal["auto", "dense", "factored"]

MAX_COVARIANCE_FEATURES = 3_000
"""The most features of a covariance matrix."""

MAX_ITERATED_PRODUCTS = 100_000_000
"""With more features, all are used by conjugate gradients if entries of X times classes are at most this."""

DEFAULT_COMPONENTS = 1_000
"""The number of directions to project to otherwise; fewer if there are very many classes."""

MAX_FACTOR_ENTRIES = 50_000_000
"""By default, dimensions times classes are at most this: 200 MB."""


def learnability_distances(
    X: Any,
    class_index: ArrayLike,
    *,
    n_classes: int | None = None,
    sample_weight: ArrayLike | None = None,
    rng: np.random.Generator | int | None = None,
    ridge: float = 0.1,
    n_components: int | Literal["auto"] | None = "auto",
    projection: Projection = "auto",
    held_out: bool = False,
    n_folds: int = 5,
    form: Form = "auto",
) -> ClassDistances:
    r"""Signed distances whose best preserving assignment has the bits that are easiest for least squares.

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
        The number of classes, if it is not the largest ``class_index`` plus one.
    sample_weight : array-like of shape (n_samples,), optional
        How much each sample counts.
    rng : numpy.random.Generator or int, optional
        For the projection, if there is one, and the folds.
    ridge : float, default=0.1
        The penalty :math:`\lambda` on squared weights, in units of the mean variance of a feature.
    n_components : int, "auto" or None, default="auto"
        Project the samples to this many dimensions first; None uses all features, however long it takes. "auto" is
        explained below.
    projection : {"auto", "features", "svd", "random"}, default="auto"
        How to project: onto the features with the largest variance, the leading singular directions of X, or random
        ones. "auto" uses features for vectors and singular directions for a matrix.
    held_out : bool, default=False
        Use the errors of held-out samples, for at most 5,000 classes.
    n_folds : int, default=5
        The number of folds, each left out once; used with ``held_out=True``.
    form : {"auto", "dense", "factored"}, default="auto"
        Whether to compute a matrix of all pairs of classes, or a vector for each class with the same inner products.
        "auto" computes vectors for more than 5,000 classes.

    Returns
    -------
    DenseDistances or ProductDistances
        Signed.

    Notes
    -----
    For a matrix, the covariance of up to 3,000 features is inverted. With more of them the equations are solved by
    conjugate gradients, to four digits; "auto" does this if the non-zero entries of X times the number of classes are
    at most :math:`10^8` (some seconds), and projects to 1,000 directions otherwise. For vectors, "auto" uses the 3,000
    features with the largest variance, fewer beyond 16,667 classes: on texts they give better assignments than the
    singular directions that can be computed in the same time. Leaving features out always costs accuracy.

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
    if form not in ("auto", "dense", "factored"):
        raise ValueError(f"'form' must be 'auto', 'dense' or 'factored'. Got {form!r} instead.")
    if form == "dense":
        refuse_too_many(samples.n_classes)
    is_factored = form == "factored" or samples.n_classes > MAX_DENSE_CLASSES
    if held_out and is_factored:
        raise ValueError(
            f"Held-out errors need the dense form, for at most {MAX_DENSE_CLASSES} classes. "
            f"Got {samples.n_classes} classes and form={form!r}. Use held_out=False."
        )
    n_samples = len(samples.class_index)
    if held_out and not 2 <= n_folds <= n_samples:
        raise ValueError(
            f"'n_folds' must be at least 2 and at most the number of samples, {n_samples}. Got {n_folds} instead."
        )
    generator = np.random.default_rng(rng)
    coordinates = _coordinates(samples, n_components, projection, generator, is_factored=is_factored)
    penalty = ridge * float(feature_variances(samples).sum()) / samples.X.shape[1]
    if is_factored:
        return ProductDistances(_factors(coordinates, penalty))
    fitted = _regressions(coordinates, penalty)
    if held_out:
        folds = stratified_folds(samples.class_index, n_folds, generator)
        matrix = _held_out_matrix(coordinates, fitted, folds)
    else:
        frequency = samples.class_weight / samples.class_weight.sum()
        matrix = -fitted(None).explained - np.outer(frequency, frequency)
    np.fill_diagonal(matrix, 0.0)
    return DenseDistances(matrix, signed=True)


def class_moments(
    X: Any,
    class_index: ArrayLike,
    *,
    n_classes: int | None = None,
    sample_weight: ArrayLike | None = None,
    rng: np.random.Generator | int | None = None,
    ridge: float = 0.1,
) -> ClassMoments:
    """Class frequencies, and the part of the one-hot targets that least squares explains.

    >>> class_moments([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1], ridge=0).explained
    array([[ 0.2, -0.2],
           [-0.2,  0.2]])
    """
    samples = class_samples(X, class_index, n_classes=n_classes, sample_weight=sample_weight)
    if ridge < 0:
        raise ValueError(f"The 'ridge' parameter must not be negative. Got {ridge} instead.")
    refuse_too_many(samples.n_classes)
    coordinates = _coordinates(samples, "auto", "auto", np.random.default_rng(rng), is_factored=False)
    fitted = _regressions(coordinates, ridge * float(feature_variances(samples).sum()) / samples.X.shape[1])(None)
    return ClassMoments(samples.class_weight / samples.class_weight.sum(), fitted.explained)


def learnability_matrix(distances: ClassDistances) -> FloatArray:
    r"""The matrix :math:`R` of learnability distances, with the diagonal that makes its rows add up to zero.

    ``y @ R @ y`` is the mean squared error of bit ``y``.
    """
    return distances.matrix() - np.diag(distances.row_sums())


def _factors(coordinates: Coordinates, penalty: float) -> NDArray[np.floating]:
    """One row per class, in the type of the samples; minus their inner products are the distances."""
    whitened = whitened_deviations(coordinates, penalty)
    frequency = coordinates.samples.class_weight / coordinates.samples.class_weight.sum()
    factors = np.column_stack([frequency.astype(whitened.dtype), whitened])
    del whitened
    if factors.shape[1] <= len(factors):
        return factors
    # More dimensions than classes are not needed. The diagonal is not a distance: increasing it a little keeps the root
    # real if classes depend on each other, and changes no distance.
    products = factors @ factors.T
    own, more = products.diagonal(), 1e4 * np.finfo(products.dtype).eps
    products.flat[:: len(products) + 1] = np.maximum(own * (1 + more), more**2 * own.max())
    return np.ascontiguousarray(linalg.cholesky(products, lower=True, overwrite_a=True, check_finite=False))


def _coordinates(
    samples: ClassSamples,
    n_components: int | str | None,
    projection: str,
    rng: np.random.Generator,
    *,
    is_factored: bool,
) -> Coordinates:
    n_features = samples.X.shape[1]
    if projection not in ("auto", "features", "svd", "random"):
        raise ValueError(f"'projection' must be 'auto', 'features', 'svd' or 'random'. Got {projection!r} instead.")
    if projection == "auto":
        projection = "features" if is_factored else "svd"
    if n_components == "auto":
        n_entries = samples.X.nnz if samples.is_sparse else samples.X.size
        is_iterated = not is_factored and not isinstance(samples.X, StoredRows)
        is_iterated = is_iterated and n_entries * samples.n_classes <= MAX_ITERATED_PRODUCTS
        most = MAX_COVARIANCE_FEATURES if projection == "features" else DEFAULT_COMPONENTS
        fitting = min(most, max(1, MAX_FACTOR_ENTRIES // samples.n_classes))
        n_components = None if n_features <= MAX_COVARIANCE_FEATURES or is_iterated else fitting
    if n_components is None:
        if is_factored and n_features > MAX_COVARIANCE_FEATURES:
            raise ValueError(
                f"Using all {n_features} features needs the dense form, for at most {MAX_DENSE_CLASSES} classes. "
                f"Got {samples.n_classes}. Give 'n_components'."
            )
        return Coordinates(samples)
    if not isinstance(n_components, (int, np.integer)) or n_components < 1:
        raise ValueError(f"'n_components' must be at least 1, None or 'auto'. Got {n_components!r} instead.")
    if n_components >= n_features:
        return Coordinates(samples)
    if projection == "features":
        most_varying = np.argsort(-feature_variances(samples), kind="stable")[:n_components]
        return Coordinates(replace(samples, X=samples.X[:, np.sort(most_varying)]))
    if projection == "random":
        return Coordinates(samples, random_directions(n_features, n_components, rng))
    return Coordinates(samples, leading_directions(samples.X, n_components, rng))


def _regressions(coordinates: Coordinates, penalty: float) -> Callable[[IntArray | None], OneHotRidge]:
    """A function that fits all samples except those at some rows."""
    if coordinates.n_dimensions > MAX_COVARIANCE_FEATURES and coordinates.basis is None:
        all_rows = np.arange(len(coordinates.samples.class_index))

        return lambda rows: ridge_by_conjugate_gradients(
            coordinates, penalty, None if rows is None else np.setdiff1d(all_rows, rows)
        )
    everything = Sums.over(coordinates)
    return lambda rows: ridge_from_sums(
        everything if rows is None else everything.without(Sums.over(coordinates, rows)), penalty
    )


def _held_out_matrix(
    coordinates: Coordinates, fitted_without: Callable[[IntArray | None], OneHotRidge], fold: IntArray
) -> FloatArray:
    """The products of the errors of one-hot targets, each predicted from the folds it is not in.

    Least squares is linear in its targets, so the errors of a bit are a combination of those of the one-hot targets.
    """
    samples = coordinates.samples
    matrix = np.zeros((samples.n_classes, samples.n_classes))
    for k in range(int(fold.max()) + 1):
        left_out = np.flatnonzero(fold == k)
        model = fitted_without(left_out)
        for rows in row_blocks(left_out, samples.n_classes + coordinates.n_dimensions):
            errors = -model.intercept - coordinates.product(samples.X[rows], model.coefficients)
            errors[np.arange(len(rows)), samples.class_index[rows]] += 1
            errors *= np.sqrt(samples.sample_weight[rows])[:, None]
            matrix += errors.T @ errors
    return np.asarray(matrix / samples.sample_weight.sum())


@dataclass(frozen=True, eq=False)
class ClassMoments:
    r"""Class frequencies, all above 0, and the covariance of one-hot targets that linear least squares explains.

    With :math:`\pi` the frequencies, :math:`\mu_k` the class means, :math:`\mu` and :math:`\Sigma` the mean and the
    covariance of all samples, ``explained`` is :math:`E = Z^\top (\Sigma + \lambda I)^{-1} Z`, where column ``k`` of
    :math:`Z` is :math:`\pi_k (\mu_k - \mu)`. Its rows add up to zero.
    """

    frequency: FloatArray = field(repr=False)
    explained: FloatArray = field(repr=False)

    def __post_init__(self) -> None:
        """Check the shapes and the frequencies."""
        frequency, explained = (np.asarray(a, dtype=np.float64) for a in (self.frequency, self.explained))
        if frequency.ndim != 1 or explained.shape != (len(frequency), len(frequency)):
            raise ValueError(
                "Class moments need a frequency for each class and a square matrix of as many rows. "
                f"Got shapes {frequency.shape} and {explained.shape}."
            )
        if not (frequency > 0).all():
            raise ValueError(f"Every class must have a frequency greater than 0. Got {frequency.min()} instead.")
        self.__dict__.update(frequency=frequency, explained=(explained + explained.T) / 2)

    def check(self, n_classes: int) -> None:
        """Raise unless these are the moments of this many classes."""
        if len(self.frequency) != n_classes:
            raise ValueError(f"Moments of {n_classes} classes are needed. Got those of {len(self.frequency)} classes.")
