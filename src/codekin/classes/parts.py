"""Classes with two parts that are less alike than the class and the nearest other one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from codekin.code import FloatArray, IntArray

ENOUGH_TO_SPLIT, MOST_TO_SPLIT = 20, 500
"""The samples of a class that is looked at for parts, and how many classes are: those with most samples."""
ENOUGH_TO_COMPARE = 10
"""The samples of a class that is compared with them."""
LEAST_PART, N_ROUNDS = 0.1, 10
"""The smallest share of a class that is a part of it, and the rounds of 2-means."""
ROWS_AT_ONCE = 64


class TwoParts(NamedTuple):
    """A class, the samples of its parts and how alike these are, and its nearest other class, likewise."""

    class_index: int
    rows: tuple[IntArray, IntArray]
    similarity: float
    nearest: int
    nearest_similarity: float


def classes_in_two_parts(X: Any, class_index: IntArray, whole: NDArray[np.bool_]) -> list[TwoParts]:
    """Those of the ``whole`` classes with two parts, the clearest first; class -1 is left out.

    The parts are found on every other sample and measured on the rest: the cosine of two means is that of one mean on
    the former and the other on the latter, divided by what each mean has with itself. So chance does not make parts.
    """
    n_classes, order = len(whole), np.argsort(class_index, kind="stable")
    starts = np.searchsorted(class_index[order], np.arange(n_classes + 1))
    half = np.zeros(len(class_index), dtype=np.int64)
    half[order] = np.arange(len(order)) % 2
    sizes = np.diff(starts)
    if not (sizes >= ENOUGH_TO_SPLIT).any():
        return []
    samples, known = _rows_of_length_one(X), class_index >= 0
    first, second = (_sums(samples, np.where(known & (half == side), class_index, -1), n_classes) for side in (0, 1))
    own = np.asarray((first * second).sum(axis=1)).ravel()
    examined = np.argsort(-sizes, kind="stable")[:MOST_TO_SPLIT]
    examined = examined[(sizes[examined] >= ENOUGH_TO_SPLIT) & (own[examined] > 0) & whole[examined]]
    nearest, similarity = _nearest(first, second, np.where(sizes >= ENOUGH_TO_COMPARE, own, 0.0), examined)
    found = []
    for k, near, how_near in zip(examined.tolist(), nearest.tolist(), similarity.tolist(), strict=True):
        rows = order[starts[k] : starts[k + 1]]
        parts = _parts(samples[rows], half[rows])
        if parts is not None and parts[0] < how_near:
            found.append(TwoParts(k, (rows[parts[1] == 0], rows[parts[1] == 1]), parts[0], near, how_near))
    return sorted(found, key=lambda each: each.similarity - each.nearest_similarity)


def _rows_of_length_one(X: Any) -> Any:
    """Sparse samples of length one; dense ones in standard units before."""
    given: Any = X
    if issparse(X):
        samples = csr_array(given).astype(np.float64)
        lengths = np.sqrt((samples * samples).sum(axis=1))
        samples.data /= np.repeat(np.maximum(lengths, 1e-12), np.diff(samples.indptr))
        return samples
    dense = np.asarray(X, dtype=np.float64)
    spread = dense.std(axis=0)
    dense = (dense - dense.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return dense / np.maximum(np.linalg.norm(dense, axis=1), 1e-12)[:, None]


def _sums(samples: Any, groups: IntArray, n_groups: int) -> Any:
    """The sum of the samples of each group; group -1 is left out."""
    rows = np.flatnonzero(groups >= 0)
    make: Any = csr_array
    members = make((np.ones(len(rows)), (groups[rows], rows)), (n_groups, len(groups)))
    return members @ samples


def _nearest(first: Any, second: Any, own: FloatArray, examined: IntArray) -> tuple[IntArray, FloatArray]:
    """For each of some classes the most similar other one, and how similar it is."""
    nearest, similarity = np.zeros(len(examined), np.int64), np.zeros(len(examined))
    scale = np.where(own > 0, 1 / np.sqrt(np.maximum(own, 1e-300)), 0.0)
    for start in range(0, len(examined), ROWS_AT_ONCE):
        some = examined[start : start + ROWS_AT_ONCE]
        products = first[some] @ second.T + second[some] @ first.T
        cosines = _dense(products) / 2 * scale * scale[some, None]
        cosines[np.arange(len(some)), some] = -np.inf
        nearest[start : start + len(some)] = cosines.argmax(axis=1)
        similarity[start : start + len(some)] = cosines.max(axis=1)
    return nearest, similarity


def _parts(samples: Any, half: IntArray) -> tuple[float, IntArray] | None:
    """How similar two parts of some samples are, and the part of each; None if there are no two."""
    if not isinstance(samples, np.ndarray):
        samples = samples[:, np.unique(samples.indices)]
    learned = samples[half == 0]
    mean = np.asarray(learned.sum(axis=0)).ravel()
    ends = [int(np.argmin(learned @ mean))]
    ends.append(int(np.argmin(learned @ _dense(learned[[ends[0]]])[0])))
    centres = _dense(learned[ends])
    for _ in range(N_ROUNDS):
        nearer = np.argmax(learned @ (centres / np.maximum(np.linalg.norm(centres, axis=1), 1e-12)[:, None]).T, axis=1)
        centres = _dense(_sums(learned, nearer, 2))
    part = np.argmax(samples @ (centres / np.maximum(np.linalg.norm(centres, axis=1), 1e-12)[:, None]).T, axis=1)
    fewest = min(np.bincount(part[half == side], minlength=2).min() for side in (0, 1))
    if fewest < max(LEAST_PART * len(half) / 2, 2):
        return None
    first, second = (_dense(_sums(samples[half == side], part[half == side], 2)) for side in (0, 1))
    own, across = (first * second).sum(axis=1), (first[0] @ second[1] + first[1] @ second[0]) / 2
    return (float(across / np.sqrt(own.prod())), part) if (own > 0).all() else None


def _dense(X: Any) -> FloatArray:
    return X if isinstance(X, np.ndarray) else np.asarray(X.toarray())
