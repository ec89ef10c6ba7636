"""Class vectors trained to tell each sample's class from the code's best candidates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from codekin._system.stored_rows import StoredRows
from codekin.coding import IntArray
from codekin.model.class_vectors import ClassVectors, centroids, listed_by_feature

START = 8.0
"""The length of the vectors before the first pass."""
RATE = 0.5
"""The share of a Newton step that is made."""
FIRST_CURVATURE = 0.2


def learned_vectors(
    X: Any,
    class_index: IntArray,
    candidates: IntArray | Callable[[Any], IntArray],
    *,
    n_classes: int | None = None,
    sample_weight: ArrayLike | None = None,
    rate: float = RATE,
    rng: np.random.Generator | int | None = None,
) -> Iterator[ClassVectors]:
    """Yields the class vectors after one pass over the samples, after two, and so on.

    Softmax regression over a sample's class and its candidates, starting from eight times the centroids, with Newton
    steps and a curvature for each entry. A vector has entries only on the features of its class's samples.

    ``candidates`` of shape (n_samples, n_candidates) are the classes to separate each sample from, such as the code's
    best; -1 if there are fewer. For rows on disk it is a function of some rows in memory.

    >>> X = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    >>> passes = learned_vectors(X, np.array([0, 1]), np.array([[1], [0]]), rng=0)
    >>> (next(passes).to_csr().toarray() @ X.T).argmax(axis=0)
    array([0, 1])
    """
    from codekin.kernels.vector_learning import learn_vectors

    generator = np.random.default_rng(rng)
    start = START * centroids(X, class_index, n_classes=n_classes, sample_weight=sample_weight)
    vectors = start.indptr.astype(np.int64), start.indices.astype(np.int32), start.data.astype(np.float32)
    by_feature = listed_by_feature(vectors[0], vectors[1], start.shape[1])
    curvature = np.full(len(start.data), FIRST_CURVATURE, dtype=np.float32)
    classes = np.asarray(class_index, dtype=np.int64)
    weights = np.ones(len(classes)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)

    def learn(rows: Any, block: Any, listed: IntArray, order: IntArray) -> None:
        samples = block.indptr.astype(np.int64), block.indices.astype(np.int32), block.data.astype(np.float32)
        listed = np.ascontiguousarray(listed, dtype=np.int32)
        of_rows = samples, classes[rows], weights[rows], listed
        learn_vectors(order, *of_rows, vectors, by_feature, curvature, start.shape[1], rate)

    whole = slice(0, len(classes))
    in_memory = None if isinstance(X, StoredRows) else sparse.csr_array(X)
    while True:
        if in_memory is not None:
            listed = candidates(in_memory) if callable(candidates) else candidates
            learn(whole, in_memory, listed, generator.permutation(len(classes)))
        else:
            for rows, block in X.shuffled_blocks(generator):
                listed = candidates(block) if callable(candidates) else candidates[rows]
                learn(rows, block, listed, generator.permutation(len(rows)))
        yield ClassVectors.of(sparse.csr_array((vectors[2], vectors[1], vectors[0]), shape=start.shape))
