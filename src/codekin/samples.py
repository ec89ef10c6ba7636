"""Samples with their classes and weights, as one value."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from codekin._system.rows import StoredRows, with_features
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
    labels : sparse array of shape (n_samples, n_classes), optional
        The indicator of several labels per sample; ``class_index`` is then the rarest of them, -1 if there are none.

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
    labels: sparse.csr_array | None = None

    @classmethod
    def of_sets(cls, X: Any, labels: sparse.csr_array, weights: FloatArray | None = None) -> Samples:
        """Samples with any number of labels each, represented by the rarest.

        Parameters
        ----------
        X : as for a single label
        labels : sparse array of shape (n_samples, n_classes)
            The indicator.
        weights : array of shape (n_samples,), optional

        Returns
        -------
        Samples
        """
        sizes = np.bincount(labels.indices, minlength=labels.shape[1])
        rows = np.repeat(np.arange(labels.shape[0]), np.diff(labels.indptr))
        order = np.lexsort((sizes[labels.indices], rows))
        has_some = np.diff(labels.indptr) > 0
        class_index = np.full(labels.shape[0], -1, dtype=np.intp)
        class_index[has_some] = labels.indices[order[labels.indptr[:-1][has_some]]]
        return cls(X, class_index, weights, labels=labels)

    def __len__(self) -> int:
        """The number of samples."""
        return len(self.class_index)

    @property
    def checksum(self) -> str:
        """A checksum of samples in memory, sparse or dense."""
        parts = [self.X.indptr, self.X.indices, self.X.data] if hasattr(self.X, "nnz") else [np.asarray(self.X)]
        digest = hashlib.blake2b(digest_size=16)
        labels = [] if self.labels is None else [self.labels.indptr, self.labels.indices]
        weights = [] if self.weights is None else [np.asarray(self.weights)]
        for array in [*parts, self.class_index, *weights, *labels]:
            digest.update(np.ascontiguousarray(array).view(np.uint8).data)
        return digest.hexdigest()

    def at(self, rows: IntArray) -> Samples:
        """The samples of some rows; on disk if these are."""
        weights = None if self.weights is None else np.asarray(self.weights)[rows]
        labels = None if self.labels is None else self.labels[rows]
        return Samples(rows_at(self.X, rows), self.class_index[rows], weights, self.rerank_only, labels)

    def _without(self, is_left_out: NDArray[np.bool_], *, is_copied: bool) -> Samples:
        """The same without some samples; if that should copy nothing, these get class -1 where all have one label."""
        if is_copied or self.labels is not None:
            return self.at(np.flatnonzero(~is_left_out))
        return replace(self, class_index=np.where(is_left_out, -1, self.class_index))

    def _one_of_each_class(self, order: IntArray) -> IntArray:
        """A place of each class in an order of the samples: its first one, or its last if samples have several labels.

        Those at the end of the order are as if drawn, however rare the labels of those at its beginning are.
        """
        if self.labels is None:
            return np.unique(self.class_index[order], return_index=True)[1]
        labels = self.labels[order]
        backwards = np.repeat(np.arange(len(order)), np.diff(labels.indptr))[::-1]
        return np.asarray(backwards[np.unique(labels.indices[::-1], return_index=True)[1]])

    def _as_if_new(self, others: Samples) -> Samples:
        """The same without features that none of the others has, as samples are that come later, if they have sets.

        Words of a single training text would otherwise make it shorter than new texts.
        """
        if self.labels is None or not (sparse.issparse(self.X) and sparse.issparse(others.X)):
            return self
        X, given = cast("Any", self.X), cast("Any", others.X)
        return replace(self, X=with_features(X, np.bincount(given.indices, minlength=X.shape[1]) > 0))

    def of_each_label(self, *, is_shared: bool = True) -> Samples:
        """One sample for each label of a sample, which perhaps share its weight; the same if all have one label."""
        if self.labels is None:
            return self
        counts = np.diff(self.labels.indptr)
        rows = np.repeat(np.arange(len(self)), counts)
        given = np.ones(len(rows)) if self.weights is None else np.asarray(self.weights, dtype=np.float64)[rows]
        classes = self.labels.indices.astype(np.intp)
        weights = given / counts[rows] if is_shared else None if self.weights is None else given
        return Samples(rows_at(self.X, rows), classes, weights, self.rerank_only)

    def _cooccurrences(self) -> sparse.csr_array:
        """How often labels occur together, (n_classes, n_classes); a sample counts once, however many labels it has."""
        if self.labels is None:
            raise ValueError("An order by co-occurrence needs several labels per sample. Got one label each.")
        given = 1.0 if self.weights is None else np.asarray(self.weights)
        weights = given / np.maximum(np.diff(self.labels.indptr), 1)
        return sparse.csr_array(self.labels.T @ self.labels.multiply(weights[:, None]).tocsr())

    @property
    def _most_labels(self) -> int:
        """The most labels of a sample, at least 1."""
        return 1 if self.labels is None else max(int(np.diff(self.labels.indptr).max(initial=1)), 1)

    def _has_any_of(self, is_chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which samples have a label among some classes."""
        if self.labels is None:
            return np.asarray(is_chosen[self.class_index])
        return np.asarray(self.labels @ is_chosen.astype(np.int64) > 0)

    def _of_some_classes(self, is_chosen: NDArray[np.bool_]) -> tuple[IntArray, Samples]:
        """Which of some classes have samples, and their samples, with these classes numbered anew."""
        if self.labels is None:
            own = self.at(np.flatnonzero(is_chosen[self.class_index]))
            classes, class_index = np.unique(own.class_index, return_inverse=True)
            return classes, replace(own, class_index=class_index)
        classes = np.flatnonzero(is_chosen)
        labels = self.labels[:, classes]
        rows = np.flatnonzero(np.diff(labels.indptr))
        classes, labels = classes[(has_some := labels.sum(axis=0) > 0)], labels[rows][:, np.flatnonzero(has_some)]
        own = self.at(rows)
        return classes, replace(Samples.of_sets(own.X, labels, own.weights), rerank_only=own.rerank_only)

    def is_label(self, classes: IntArray) -> NDArray[np.bool_]:
        """Which of some classes of each sample, of shape (n_samples, n), are labels of it; class -1 never is."""
        if self.labels is None:
            return np.asarray((classes == self.class_index[:, None]) & (classes >= 0))
        n_samples, n_classes = self.labels.shape
        first = np.arange(n_samples) * n_classes
        own = np.append(np.repeat(first, np.diff(self.labels.indptr)) + self.labels.indices, -1)
        asked = np.where(classes >= 0, classes + first[:, None], -2)
        return np.asarray(own[np.searchsorted(own[:-1], asked)] == asked)

    def _share_of_hits(self, predicted: IntArray) -> float:
        """How often a predicted class is a label of its sample."""
        return float(self.is_label(predicted[:, None]).mean())

    def for_codes(self) -> Samples:
        """The same without values of the features that only a re-ranking learns from."""
        if self.rerank_only is None:
            return self
        X = self.X.copy()
        X.data[self.rerank_only[X.indices]] = 0
        X.eliminate_zeros()
        return replace(self, X=X, rerank_only=None)

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

    def at(self, rows: Any) -> EncodedLabels:
        """The labels of some samples."""
        return EncodedLabels(self.classes, self.class_index[rows])

    def some(self, rows: Any) -> EncodedLabels:
        """The labels of some samples, with no other classes."""
        used, class_index = np.unique(self.class_index[rows], return_inverse=True)
        return EncodedLabels(self.classes[used], class_index)

    def samples(self, X: Any) -> Samples:
        """Samples with these labels."""
        return Samples(X, self.class_index)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The labels one by one."""
        return np.asarray(self.classes[self.class_index], dtype=dtype)


@dataclass(frozen=True, eq=False)
class EncodedLabelSets:
    """Any number of labels per sample, as an indicator matrix.

    Estimators accept it instead of lists of labels. ``indicator`` of shape (n_samples, n_classes) has a 1 for every
    label of a sample, and its columns are in the order of ``classes``.

    >>> EncodedLabelSets.of([["dog", "cat"], [], ["dog"]]).indicator.toarray().tolist()
    [[1, 1], [0, 0], [0, 1]]
    """

    classes: NDArray[Any]
    indicator: sparse.csr_array = field(repr=False)
    is_dense: bool = False
    """Whether they were given as a dense table, as predictions then are."""

    def __len__(self) -> int:
        """The number of samples."""
        return int(self.indicator.shape[0])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The indicator as an array."""
        return np.asarray(self.indicator.toarray(), dtype=dtype)

    @property
    def class_index(self) -> IntArray:
        """The rarest label of each sample, which represents it; -1 if it has none."""
        return self.samples(None).class_index

    def at(self, rows: Any) -> EncodedLabelSets:
        """The labels of some samples."""
        return EncodedLabelSets(self.classes, self.indicator[rows])

    def some(self, rows: Any) -> EncodedLabelSets:
        """The labels of some samples, with no other classes."""
        own = self.indicator[rows]
        used = np.flatnonzero(np.bincount(own.indices, minlength=own.shape[1]))
        return EncodedLabelSets(self.classes[used], own[:, used])

    def samples(self, X: Any) -> Samples:
        """Samples with these labels."""
        return Samples.of_sets(X, self.indicator)

    @classmethod
    def of(cls, y: Any, *, is_several: bool = False) -> Any:
        """The labels of samples that may have several each; None if ``y`` has one label per sample.

        The type of ``y`` decides: lists, tuples or sets of labels, or a table of zeros and ones, sparse or dense, with
        at least two columns. The labels of a table are its column names, if it has some, or else 0, 1 and so on. Lists
        with one label each are a column of labels; lists of zeros and ones of one length are the rows of a table.
        If it is known that there may be several, one label per sample is a set, too.
        """
        if isinstance(y, EncodedLabelSets):
            return y
        found = cls._of_several(y)
        if found is None and is_several:
            classes, class_index = np.unique(np.asarray(y).ravel(), return_inverse=True)
            places = np.ones(len(class_index)), class_index, np.arange(len(class_index) + 1)
            return cls(classes, as_indicator(places, (len(class_index), len(classes))))
        return found

    @classmethod
    def _of_several(cls, y: Any) -> EncodedLabelSets | None:
        """The labels of samples that may have several each, by the type of ``y``."""
        given: Any = y.to_numpy() if hasattr(y, "to_numpy") else y
        if getattr(given, "ndim", 1) == 2:
            return cls._of_table(given, getattr(y, "columns", None)) if given.shape[1] > 1 else None
        is_listed = isinstance(given, list | tuple) or getattr(given, "dtype", None) == np.dtype(object)
        listed = list(given) if is_listed else []
        is_set = [isinstance(own, LABEL_SETS) for own in listed]
        if not any(is_set):
            return None
        if not all(is_set):
            odd = listed[is_set.index(False)]
            raise ValueError(f"Each sample of y must have a list or a set of labels if one has. Got {odd!r}.")
        is_ordered = not any(isinstance(own, set | frozenset) for own in listed)
        return None if is_ordered and all(len(own) == 1 for own in listed) else cls._of_lists(listed, is_ordered)

    @classmethod
    def _of_lists(cls, listed: list[Any], is_ordered: bool) -> EncodedLabelSets:
        """The labels of lists or sets of labels."""
        lengths = [len(own) for own in listed]
        every = [label for own in listed for label in own]
        if is_ordered and len(set(lengths)) == 1 and set(map(type, every)) <= NUMBERS and set(every) <= {0, 1}:
            return cls._of_table(np.array([list(own) for own in listed], dtype=np.int32), None)
        examples = {isinstance(label, str): label for label in every}
        if len(examples) == 2:
            raise ValueError(f"Labels must be all text or all numbers. Got {examples[True]!r} and {examples[False]!r}.")
        classes, columns = np.unique(np.array(every), return_inverse=True)
        starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        return cls(classes, as_indicator((np.ones(len(every)), columns.ravel(), starts), (len(listed), len(classes))))

    @classmethod
    def _of_table(cls, table: Any, names: Any) -> EncodedLabelSets:
        """The labels of a table of zeros and ones."""
        is_sparse = sparse.issparse(table)
        if is_sparse:
            table = sparse.csr_array(table)  # other forms keep their entries elsewhere
        values = np.asarray(table.data if is_sparse else table)
        is_binary = values.dtype.kind in "biufO" and bool(((values == 0) | (values == 1)).all())
        if not is_binary:
            raise ValueError(
                "y must have one label per sample, or be a table of zeros and ones with a column for each label. Got a "
                "table of other values; scikit-learn's MultiOutputClassifier fits a classifier for each column of a "
                "table of labels."
            )
        n_columns = table.shape[1]
        classes = np.arange(n_columns) if names is None else np.asarray(list(names))
        if len(np.unique(classes)) < n_columns:
            raise ValueError(f"The columns of y must have different names. Got {n_columns} columns.")
        matrix = table if is_sparse else sparse.csr_array(values.astype(np.int32))
        return cls(classes, as_indicator(matrix, table.shape), not is_sparse)

    def of_classes(self, classes: NDArray[Any]) -> sparse.csr_array:
        """The indicator with the columns of these classes; labels that are not among them are left out."""
        if np.array_equal(self.classes, classes):
            return self.indicator
        order = np.argsort(classes, kind="stable")
        places = np.minimum(np.searchsorted(classes, self.classes, sorter=order), len(classes) - 1)
        column_of, known = order[places], classes[order[places]] == self.classes
        rows, own = self.indicator.nonzero()
        rows, own = rows[known[own]], own[known[own]]
        return as_indicator((np.ones(len(rows)), (rows, column_of[own])), (len(self), len(classes)))

    def of_all(self, classes: NDArray[Any]) -> sparse.csr_array:
        """The same with further columns for the labels that are not among them."""
        return self.of_classes(np.append(classes, np.setdiff1d(self.classes, classes)))


LABEL_SETS = (list, tuple, set, frozenset, np.ndarray)
NUMBERS = {bool, int, float, np.bool_, np.int32, np.int64, np.float64}


def as_indicator(entries: Any, shape: tuple[int, int]) -> sparse.csr_array:
    """The entries as zeros and ones, with sorted columns and without what occurs twice."""
    indicator = sparse.csr_array(entries, shape=shape)
    indicator.sum_duplicates()
    indicator.eliminate_zeros()
    return sparse.csr_array((np.ones(indicator.nnz, dtype=np.int32), indicator.indices, indicator.indptr), shape=shape)


Labels = EncodedLabels | EncodedLabelSets
"""One label per sample, or any number."""
