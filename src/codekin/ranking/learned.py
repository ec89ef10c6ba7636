"""Class vectors learned by telling each sample's class from the code's best candidates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from codekin.coding import IntArray
from codekin.ranking.vectors import ClassVectors, centroids

START = 8.0
"""How long the vectors are before the first pass."""
RATE = 0.5
FIRST_CURVATURE = 0.2


def learned_vectors(
    X: Any,
    class_index: IntArray,
    candidates: IntArray,
    *,
    n_classes: int | None = None,
    sample_weight: ArrayLike | None = None,
    rng: np.random.Generator | int | None = None,
) -> Iterator[ClassVectors]:
    """The class vectors after each further pass over the samples; ask for as many as are wanted.

    Softmax regression over a sample's class and its candidates, from eight times the centroids, by Newton's steps with
    a curvature for each entry. A vector has entries only on the features of its class's samples.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    class_index : array of shape (n_samples,)
        The class of each sample, from 0.
    candidates : array of shape (n_samples, n_candidates)
        The classes that each sample is to be told from, such as the code's best; -1 where there are fewer.
    n_classes : int, optional
        By default, one more than the largest class index.
    sample_weight : array-like of shape (n_samples,), optional
    rng : numpy.random.Generator or int, optional
        Where the orders of the samples come from.

    Yields
    ------
    ClassVectors
        The first is after one pass.

    Examples
    --------
    >>> X = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    >>> passes = learned_vectors(X, np.array([0, 1]), np.array([[1], [0]]), rng=0)
    >>> (next(passes).to_csr().toarray() @ X.T).argmax(axis=0)
    array([0, 1])
    """
    from codekin.kernels.reranking import learn_vectors

    generator = np.random.default_rng(rng)
    start = START * centroids(X, class_index, n_classes=n_classes, sample_weight=sample_weight)
    rows = sparse.csr_array(X)
    samples = rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data.astype(np.float32)
    vectors = start.indptr.astype(np.int64), start.indices.astype(np.int32), start.data.astype(np.float32)
    curvature = np.full(len(start.data), FIRST_CURVATURE, dtype=np.float32)
    classes = np.asarray(class_index, dtype=np.int64)
    weights = np.ones(len(classes)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    listed = np.ascontiguousarray(candidates, dtype=np.int32)
    while True:
        order = generator.permutation(len(classes))
        learn_vectors(order, samples, classes, weights, listed, vectors, curvature, start.shape[1], RATE)
        yield ClassVectors.of(sparse.csr_array((vectors[2], vectors[1], vectors[0]), shape=start.shape))
