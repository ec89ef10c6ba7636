"""How far apart classes are: the table of all distances, and those from confusion.

Functions that compute distances from data (``CLASS_DISTANCES_FROM_DATA``) take
``(X, class_index, *, n_classes=None, sample_weight=None, rng=None, ...)``; the others in ``CLASS_DISTANCES`` have their
own arguments. All return a :class:`codekin.classes.ClassDistances`. By confusion, classes that a classifier, or a
person, mistakes for each other are close.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from codekin.classes import ClassDistances, DenseDistances
from codekin.classes.interface import MAX_DENSE_CLASSES, PartialDistances
from codekin.classes.learnability import learnability_distances, learnability_matrix
from codekin.classes.means import clustering_distances, mean_distances, splitting_distances
from codekin.classes.samples import ClassSamples, class_samples
from codekin.classes.tree_distances import taxonomy_distances
from codekin.classes.vectors import embedding_distances, read_word_vectors
from codekin.code import IntArray
from codekin.samples import stratified_folds

Counted = Literal["train", "out_of_fold", "inverse_folds"]


def confusion_distances(confusion_matrix: ArrayLike) -> DenseDistances:
    r"""Distances from counts of how often one class was mistaken for another (App. C.3.1 of Evron et al., 2023).

    With :math:`C` the counts divided by their sum and :math:`A = 1 - (C + C^\top) / 2`,

    .. math:: D_{ij} = \log A_{ij} - 1.1 \min_{i' \ne j'} \log A_{i'j'} \quad (i \ne j), \qquad D_{ii} = 0.

    The two classes that are confused most are closest; classes that are never confused are eleven times as far apart.
    The counts may come from people as well as from a classifier.

    Parameters
    ----------
    confusion_matrix : array-like of shape (n_classes, n_classes)
        Entry ``(i, j)`` counts samples of class ``i`` predicted as class ``j``, on any scale; the transpose gives the
        same distances.

    Returns
    -------
    DenseDistances
        If no two classes were ever confused, all off-diagonal entries are 1, with a warning.

    Examples
    --------
    >>> confusion_distances([[8, 2, 0], [0, 10, 0], [0, 0, 0]]).matrix().round(3)
    array([[0.   , 0.005, 0.056],
           [0.005, 0.   , 0.056],
           [0.056, 0.056, 0.   ]])
    """
    counts = np.asarray(confusion_matrix, dtype=np.float64)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1] or not len(counts):
        raise ValueError(f"A confusion matrix must be square. Got shape {counts.shape}.")
    if not np.isfinite(counts).all() or counts.min() < 0:
        raise ValueError("The entries of a confusion matrix must be finite and not negative. Got one that is not.")
    off_diagonal = ~np.eye(len(counts), dtype=bool)
    if not counts[off_diagonal].any():
        if len(counts) > 1:
            warnings.warn(
                "No two classes were ever confused, so all class distances are equal and no assignment is more "
                "informed than another. Count out of fold (counted='out_of_fold' or 'inverse_folds'), or use another "
                "class distance.",
                stacklevel=2,
            )
        return DenseDistances(off_diagonal.astype(np.float64))
    confusion = counts / counts.sum()
    # log A; no entry of A is below 1/2, since those of the confusion add up to 1.
    log_dissimilarity = np.log1p(-(confusion + confusion.T) / 2)
    distances = log_dissimilarity - 1.1 * log_dissimilarity[off_diagonal].min()
    return DenseDistances(np.where(off_diagonal, distances, 0.0))


def learned_confusion_distances(
    X: Any,
    class_index: ArrayLike,
    *,
    n_classes: int | None = None,
    sample_weight: ArrayLike | None = None,
    rng: np.random.Generator | int | None = None,
    estimator: Any = None,
    counted: Counted = "train",
    n_folds: int = 8,
) -> ClassDistances:
    """Distances from the confusion of a classifier that is trained for this purpose.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples; with an ``estimator``, whatever it accepts.
    class_index : array-like of int of shape (n_samples,)
        The class of each sample, numbered from 0.
    n_classes : int, optional
        The number of classes, if it is not the largest ``class_index`` plus one; at most 5,000.
    sample_weight : array-like of shape (n_samples,), optional
        How much each sample counts, both in training (if the estimator accepts weights) and in the confusion matrix.
    rng : numpy.random.Generator or int, optional
        For the folds and the default estimator.
    estimator : scikit-learn classifier, optional
        The classifier to train (a copy of it). By default a linear SVM for each class against the rest, on features
        scaled to a largest absolute value of 1.
    counted : {"train", "out_of_fold", "inverse_folds"}, default="train"
        Where confusions are counted: on the training samples; on each fold, with a classifier trained on the others; or
        on all other folds, with a classifier trained on one, for few samples and strong learners, which would otherwise
        make too few errors.
    n_folds : int, default=8
        The number of stratified folds; not used with ``counted="train"``.

    Returns
    -------
    ClassDistances
        As :func:`confusion_distances` makes them; classes without samples are at the mean distance.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> distances = learned_confusion_distances(X, y, counted="out_of_fold", rng=0).matrix()
    >>> bool(distances[1, 2] < distances[0, 1])  # versicolor is mistaken for virginica, setosa for nothing
    True
    """
    samples = class_samples(
        X, class_index, n_classes=n_classes, sample_weight=sample_weight, of_any_kind=estimator is not None
    )
    if samples.n_classes > MAX_DENSE_CLASSES:
        raise ValueError(
            f"Confusions are counted for at most {MAX_DENSE_CLASSES} classes. Got {samples.n_classes}. "
            "Use class means or a taxonomy."
        )
    if counted not in ("train", "out_of_fold", "inverse_folds"):
        raise ValueError(f"'counted' must be 'train', 'out_of_fold' or 'inverse_folds'. Got {counted!r} instead.")
    n_samples = len(samples.class_index)
    if counted != "train" and not 2 <= n_folds <= n_samples:
        raise ValueError(
            f"'n_folds' must be at least 2 and at most the number of samples, {n_samples}. Got {n_folds} instead."
        )
    generator = np.random.default_rng(rng)
    if estimator is None:
        from sklearn.preprocessing import maxabs_scale
        from sklearn.svm import LinearSVC

        samples = replace(samples, X=maxabs_scale(samples.X.astype(np.float64)))
        # A rough solution is enough to see which classes are confused.
        estimator = LinearSVC(dual="auto", tol=1e-3, random_state=int(generator.integers(2**31)))
    counts = np.zeros((samples.n_classes, samples.n_classes))
    for learned, tested in _rounds(samples.class_index, counted, n_folds, generator):
        predicted = _predictions(estimator, samples, learned, tested)
        np.add.at(counts, (samples.class_index[tested], predicted), samples.sample_weight[tested])
    known = np.flatnonzero(samples.has_samples)
    distances = confusion_distances(counts[np.ix_(known, known)])
    if len(known) == samples.n_classes:
        return distances
    return PartialDistances(distances, known, n_classes=samples.n_classes)


def _rounds(
    class_index: IntArray, counted: Counted, n_folds: int, rng: np.random.Generator
) -> Iterator[tuple[IntArray, IntArray]]:
    """The training samples and the samples to predict in each round."""
    everything = np.arange(len(class_index))
    if counted == "train":
        yield everything, everything
        return
    fold = stratified_folds(class_index, n_folds, rng)
    for k in range(n_folds):
        inside, outside = everything[fold == k], everything[fold != k]
        yield (inside, outside) if counted == "inverse_folds" else (outside, inside)


def _predictions(estimator: Any, samples: ClassSamples, learned: IntArray, tested: IntArray) -> IntArray:
    from sklearn.base import clone
    from sklearn.utils import _safe_indexing
    from sklearn.utils.validation import has_fit_parameter

    classes = samples.class_index[learned]
    if (classes == classes[0]).all():
        # Few classifiers accept a single class, and the prediction is known.
        return np.full(len(tested), classes[0])
    is_weighted = has_fit_parameter(estimator, "sample_weight")
    weights = {"sample_weight": samples.sample_weight[learned]} if is_weighted else {}
    # Some learners need classes without gaps.
    present, labels = np.unique(classes, return_inverse=True)
    model = clone(estimator).fit(_safe_indexing(samples.X, learned), labels, **weights)
    return np.asarray(present[np.ravel(model.predict(_safe_indexing(samples.X, tested))).astype(np.intp)])


CLASS_DISTANCES_FROM_DATA: dict[str, Callable[..., ClassDistances]] = {
    "means": mean_distances,
    "confusion": learned_confusion_distances,
    "learnability": learnability_distances,
    "clustering": clustering_distances,
    "splitting": splitting_distances,
}
"""Those computed from samples and their classes."""

CLASS_DISTANCES: dict[str, Callable[..., Any]] = CLASS_DISTANCES_FROM_DATA | {
    "embeddings": embedding_distances,
    "taxonomy": taxonomy_distances,
}
"""All of them, by name."""

__all__ = [
    "CLASS_DISTANCES",
    "clustering_distances",
    "confusion_distances",
    "embedding_distances",
    "learnability_distances",
    "learnability_matrix",
    "learned_confusion_distances",
    "mean_distances",
    "read_word_vectors",
    "splitting_distances",
    "taxonomy_distances",
]
