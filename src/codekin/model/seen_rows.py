"""Seen rows: whether a class had one training sample with exactly the features of a sample, in two bytes for each.

Where samples repeat, that says more than any weight per feature can, and not always in favour of the class: file names
in a directory are all different, so that a name which a directory has already is one from elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from codekin.coding import FloatArray, IntArray

PRINT_BITS = 16


@dataclass(frozen=True, eq=False)
class SeenRows:
    """Fingerprints of the training samples of each class: those of class ``c`` from ``indptr[c]`` to ``indptr[c + 1]``.

    A fingerprint tells which features are not zero, whatever their values. Two sets of features share one of the 65,536
    fingerprints by accident only. What a class has seen several times is left out: it may well be seen again.

    >>> seen = SeenRows.of([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0]], np.array([0, 1]), n_classes=2)
    >>> seen.marks([[3.0, 1.0, 0.0]], np.array([[1, 0]]))
    array([[0., 1.]])
    """

    indptr: NDArray[np.int64] = field(repr=False)
    prints: NDArray[np.uint16] = field(repr=False)

    @classmethod
    def of(cls, X: Any, class_index: IntArray, *, n_classes: int) -> Self:
        """The fingerprints that only one sample of a class has."""
        of_classes = np.asarray(class_index, dtype=np.int64) << PRINT_BITS
        keys, n_times = np.unique(of_classes | fingerprints(X), return_counts=True)
        keys = keys[n_times == 1]
        counts = np.bincount(keys >> PRINT_BITS, minlength=n_classes)
        return cls(np.concatenate([[0], np.cumsum(counts)]), keys.astype(np.uint16))

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.indptr) - 1

    def marks(self, X: Any, classes: IntArray) -> FloatArray:
        """1 where a class had one training sample with the same features, else 0, (n_samples, n); 0 for class -1."""
        from codekin.kernels.reranking import mark_seen

        found = np.empty(classes.shape)
        mark_seen(fingerprints(X), np.asarray(classes, dtype=np.intp), self.indptr, self.prints, found)
        return found


def fingerprints(X: Any) -> NDArray[np.uint16]:
    """A number of two bytes for the set of features of each row: the mixed sum of their random words."""
    rows = sparse.csr_array(X)
    if not rows.has_canonical_format or (rows.data == 0).any():
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    words = _mixed(rows.indices.astype(np.uint64) + np.uint64(1))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(words, dtype=np.uint64)])
    own = sums[rows.indptr[1:]] - sums[rows.indptr[:-1]]
    return (_mixed(own) >> np.uint64(64 - PRINT_BITS)).astype(np.uint16)


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The words of SplitMix64 from these states (Steele, Lea and Flood, 2014)."""
    words = words * np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
