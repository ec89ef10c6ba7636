"""Samples with their classes and weights, as one value."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from codekin._system.rows import StoredRows
from codekin.code import FloatArray, IntArray

__all__ = ["Samples"]

N_FOLDS = 5
"""How many folds samples are divided into where nothing else is said."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples with their classes, in memory or on disk.

    Parameters
    ----------
    X : {array, sparse matrix, data frame, StoredRows} of shape (n_samples, n_features)
        Whatever the learner accepts.
    class_index : array of shape (n_samples,)
        The class of each, from 0; -1 for an unknown class.
    weights : array of shape (n_samples,), optional
    rerank_only : array of shape (n_features,), bool, optional
        Which features of sparse samples only a re-ranking learns from, if there is one.

    Examples
    --------
    >>> samples = Samples(np.eye(3), np.array([0, 1, 1]))
    >>> samples.at(np.array([0, 2])).class_index
    array([0, 1])
    """

    X: Any
    class_index: IntArray
    weights: FloatArray | None = None
    rerank_only: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        """The number of samples."""
        return len(self.class_index)

    @property
    def checksum(self) -> str:
        """A checksum of samples in memory, sparse or dense."""
        parts = [self.X.indptr, self.X.indices, self.X.data] if hasattr(self.X, "nnz") else [np.asarray(self.X)]
        digest = hashlib.blake2b(digest_size=16)
        for array in [*parts, self.class_index, *([] if self.weights is None else [np.asarray(self.weights)])]:
            digest.update(np.ascontiguousarray(array).view(np.uint8).data)
        return digest.hexdigest()

    def at(self, rows: IntArray) -> Samples:
        """The samples of some rows; on disk if these are."""
        weights = None if self.weights is None else np.asarray(self.weights)[rows]
        return Samples(rows_at(self.X, rows), self.class_index[rows], weights, self.rerank_only)

    def for_codes(self) -> Samples:
        """The same without values of the features that only a re-ranking learns from."""
        if self.rerank_only is None:
            return self
        X = self.X.copy()
        X.data[self.rerank_only[X.indices]] = 0
        X.eliminate_zeros()
        return Samples(X, self.class_index, self.weights)

    def in_memory(self) -> Samples:
        """The same in memory; for samples on disk, no more than are allowed there at a time."""
        if not isinstance(self.X, StoredRows):
            return self
        n_rows, n_allowed = len(self), self.X.rows_at_once
        some = self if n_rows <= n_allowed else self.at(np.arange(0, n_rows, -(-n_rows // n_allowed)))
        return replace(some, X=some.X.in_memory())


def rows_at(X: Any, rows: IntArray | slice) -> Any:
    """Some rows of samples of any type."""
    if isinstance(X, StoredRows):
        return X[rows] if isinstance(rows, slice) else X.at(rows)
    if isinstance(X, np.ndarray | sparse.csr_array | sparse.csr_matrix):
        return X[rows]
    from sklearn.utils import _safe_indexing

    return _safe_indexing(X, rows)


def stratified_folds(class_index: IntArray, n_folds: int, rng: np.random.Generator) -> IntArray:
    """The fold of each sample: classes are dealt out in random order, each starting where the last one stopped.

    Sizes of folds differ by at most one. scikit-learn's StratifiedKFold warns of every class with fewer samples than
    folds and refuses data in which all classes are that small, which with thousands of classes is the usual case.
    """
    shuffled = rng.permutation(len(class_index))
    by_class = shuffled[np.argsort(class_index[shuffled], kind="stable")]
    fold = np.empty(len(class_index), dtype=np.intp)
    fold[by_class] = np.arange(len(class_index)) % n_folds
    return fold


@dataclass(frozen=True, eq=False)
class EncodedLabels:
    """Labels as class indices: 8 bytes per sample, however long the labels are.

    Estimators accept it instead of an array of labels, and NumPy converts it to one. ``classes`` are the distinct
    labels in sorted order, some perhaps without samples; ``classes[class_index[i]]`` is the label of sample ``i``.

    >>> np.asarray(EncodedLabels(np.array(["cat", "dog"]), np.array([1, 0, 1])))
    array(['dog', 'cat', 'dog'], dtype='<U3')
    """

    classes: NDArray[Any]
    class_index: IntArray = field(repr=False)

    def __len__(self) -> int:
        """The number of samples."""
        return len(self.class_index)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The labels one by one."""
        return np.asarray(self.classes[self.class_index], dtype=dtype)
