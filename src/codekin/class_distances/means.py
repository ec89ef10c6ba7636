"""Euclidean distances between class means: the cheapest notion of class similarity, and one that needs no training."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from codekin.class_distances.samples import class_samples
from codekin.classes import ClassDistances
from codekin.classes.embedding import EmbeddingDistances
from codekin.classes.partial import PartialDistances


def mean_distances(
    X: Any,
    class_index: ArrayLike,
    *,
    n_classes: int | None = None,
    sample_weight: ArrayLike | None = None,
    rng: np.random.Generator | int | None = None,  # noqa: ARG001  # all distances from data have it
    squared: bool = False,
) -> ClassDistances:
    r"""Euclidean distances between the means of the classes (App. C.3.2 of Evron et al., 2023).

    .. math:: A_{uv} = \lVert \mu_u - \mu_v \rVert, \qquad \mu_u = \sum_{i: y_i = u} w_i x_i \Big/ \sum_{i: y_i = u} w_i

    with :math:`w` the sample weights. A linear learner can easily keep classes together whose means are close; which
    these are depends on the scale of the features. Means of sparse samples stay sparse.

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
        Ignored: nothing is random here.
    squared : bool, default=False
        Take the squares of the distances; at more than 5,000 classes their sums are much faster.

    Returns
    -------
    ClassDistances
        Classes without samples are at the mean distance from all others.

    Examples
    --------
    >>> mean_distances([[0.0], [2.0], [4.0], [9.0]], [0, 0, 1, 2]).matrix()
    array([[0., 3., 8.],
           [3., 0., 5.],
           [8., 5., 0.]])
    """
    samples = class_samples(X, class_index, n_classes=n_classes, sample_weight=sample_weight)
    known = np.flatnonzero(samples.has_samples)
    distances = EmbeddingDistances(samples.class_means[known], squared=squared)
    if len(known) == samples.n_classes:
        return distances
    return PartialDistances(distances, known, n_classes=samples.n_classes)
