"""The results of reading: samples with their labels, and data sets with several splits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from codekin.classes import ClassTree
from codekin.code import IntArray
from codekin.samples import EncodedLabels, EncodedLabelSets, as_indicator

LabelArray = NDArray[np.int64] | NDArray[np.str_]


class DataError(ValueError):
    """Data that cannot be read: one sentence that begins with the file and, if there is one, the line.

    Parameters
    ----------
    source : str
        The file, as the user named it.
    reason : str
        What is wrong with it, as the rest of the sentence.
    line : int, optional
        The line, counted from 1.
    column : int, optional
        The byte within the line, counted from 1.

    Examples
    --------
    >>> raise DataError("train.svm", "feature index 0 after 17; indices must increase within a line.", line=812)
    Traceback (most recent call last):
    codekin.data.datasets.DataError: train.svm, line 812: feature index 0 after 17; indices must increase ...
    """

    def __init__(self, source: str, reason: str, *, line: int | None = None, column: int | None = None) -> None:
        super().__init__(source, reason, line, column)
        self.source = source
        self.reason = reason
        self.line = line
        self.column = column

    def __str__(self) -> str:
        """The sentence."""
        where = self.source if self.line is None else f"{self.source}, line {self.line}"
        return f"{where}: {self.reason}"

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickling in worker processes."""
        return partial(DataError, self.source, self.reason, line=self.line, column=self.column), ()


class _Labelled:
    """The common part of samples with labels, vectors or texts."""

    class_index: IntArray | None
    classes: LabelArray | None
    indicator: csr_array | None

    def __len__(self) -> int:
        """The number of samples."""
        return int(self.n_samples)  # type: ignore[attr-defined]

    @property
    def has_labels(self) -> bool:
        """Whether the labels were read."""
        return self.classes is not None

    @property
    def labels(self) -> LabelArray:
        """The label of each sample, (n_samples,): integers or strings."""
        classes, class_index = self._known_labels()
        return classes[class_index]

    @property
    def encoded_labels(self) -> EncodedLabels | EncodedLabelSets:
        """The labels as one number per sample, or any number of labels per sample, as estimators accept them."""
        if self.classes is not None and self.indicator is not None:
            return EncodedLabelSets(self.classes, self.indicator)
        return EncodedLabels(*self._known_labels())

    def indicator_among(self, classes: LabelArray) -> csr_array:
        """Which classes each sample has, (n_samples, n_classes or more): labels that are not among them come last.

        The classes are distinct labels in any order. Integers also match their strings.
        """
        if self.classes is None or self.indicator is None:
            raise ValueError("These samples were read with one label each. Read them with multilabel='all'.")
        own, places = self.indicator, _places(self.classes, classes)
        is_unknown = places < 0
        places[is_unknown] = len(classes) + np.arange(is_unknown.sum())
        entries = np.ones(own.nnz), places[own.indices], own.indptr
        return as_indicator(entries, (own.shape[0], len(classes) + int(is_unknown.sum())))

    def index_among(self, classes: LabelArray) -> IntArray:
        """Each sample's class as an index into other classes, such as those of a model; -1 if it is not there.

        The classes are distinct labels in any order. Integers also match their strings.
        """
        own, class_index = self._known_labels()
        return _places(own, classes)[class_index]

    def _known_labels(self) -> tuple[LabelArray, IntArray]:
        if self.indicator is not None:
            raise ValueError("These samples were read with several labels each. Take their encoded_labels.")
        if self.classes is None or self.class_index is None:
            raise ValueError("These samples were read without labels. Read them with labels='auto'.")
        return self.classes, self.class_index


def _places(own: LabelArray, classes: LabelArray) -> IntArray:
    """Where labels are among classes; -1 for others."""
    as_text = own.dtype.kind != np.asarray(classes).dtype.kind
    position = {str(label) if as_text else label: k for k, label in enumerate(np.asarray(classes).tolist())}
    return np.array([position.get(str(label) if as_text else label, -1) for label in own.tolist()], dtype=np.intp)


@dataclass(frozen=True, eq=False)
class SparseData(_Labelled):
    """Samples as rows of a sparse matrix.

    Parameters
    ----------
    X : csr_array of shape (n_samples, n_features)
        float32 values; int32 indices if they fit, increasing within each row. Samples on disk have a
        shape, and slicing them gives such rows.
    class_index : ndarray of shape (n_samples,), optional
        ``classes[class_index[i]]`` is the label of sample ``i``. None when labels were not read.
    classes : ndarray of shape (n_classes,), optional
        The distinct labels in sorted order, integers or strings.
    sample_weight : ndarray of shape (n_samples,), optional
        The weights in the file; None if all are one.
    encoding : mapping
        How the features were numbered, with every ``"auto"`` decided: read another file with
        ``options=ReadOptions(**data.encoding)`` and ``n_features=data.n_features`` to get the same features.
    indicator : csr_array of shape (n_samples, n_classes), optional
        Which labels each sample has, where it may have several; ``class_index`` is then None.

    Examples
    --------
    >>> X = csr_array(np.eye(3, dtype=np.float32))
    >>> data = SparseData(X, np.array([0, 1, 0]), np.array(["cat", "dog"]))
    >>> data
    <SparseData: 3 samples x 3 features, 1.0 of them non-zero on average, 2 classes>
    >>> data.labels
    array(['cat', 'dog', 'cat'], dtype='<U3')
    >>> data.index_among(np.array(["dog", "cow"]))
    array([-1,  0, -1])
    """

    X: csr_array
    class_index: IntArray | None = None
    classes: LabelArray | None = None
    sample_weight: NDArray[np.float32] | None = None
    encoding: Mapping[str, int] = field(default_factory=dict)
    indicator: csr_array | None = None

    @property
    def n_samples(self) -> int:
        """The number of samples."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """The number of features."""
        return int(self.X.shape[1])

    def at(self, rows: IntArray) -> SparseData:
        """Some of the samples."""
        names = "X", "class_index", "sample_weight", "indicator"
        own: dict[str, Any] = {name: each[rows] for name in names if (each := getattr(self, name)) is not None}
        return replace(self, **own)

    def __repr__(self) -> str:
        """One line: the shape, how full it is, and the number of classes."""
        density = self.X.nnz / max(self.n_samples, 1)
        text = f"<SparseData: {self.n_samples} samples x {self.n_features} features, {density:.1f} of them non-zero"
        classes = "" if self.classes is None else f", {len(self.classes)} classes"
        return f"{text} on average{classes}>"


USES = ("text", "numbers", "categories", "embeddings")
"""What columns of a table are read as, in the order of a sample's cells."""


@dataclass(frozen=True)
class TableColumns:
    """Which columns of a table are read, by name, and as what.

    There is at least one column of texts or of ``embeddings``, which are vectors; ``label`` is None if labels were not
    read. Without a header, columns are called by their numbers, from "1" on. Those ``kept`` are read as they are, to be
    written beside predictions; they may have another use as well.

    >>> TableColumns(("title", "description"), "category").names
    ('category', 'title', 'description')
    """

    text: tuple[str, ...]
    label: str | None = None
    numbers: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    has_header: bool = True
    kept: tuple[str, ...] = ()
    embeddings: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that are read."""
        used = (*(() if self.label is None else (self.label,)), *self.used)
        return (*used, *(name for name in self.kept if name not in used))

    @property
    def used(self) -> tuple[str, ...]:
        """The columns that samples are made of, in the order of their cells."""
        return tuple(name for use in USES for name in getattr(self, use))

    def places(self, use: str) -> slice:
        """Where the cells of a use are in a sample."""
        start = sum(len(getattr(self, before)) for before in USES[: USES.index(use)])
        return slice(start, start + len(getattr(self, use)))

    @property
    def is_one_text(self) -> bool:
        """Whether samples are texts: there is one column of them and nothing else."""
        return self.used == self.text and len(self.text) == 1


@dataclass(frozen=True, eq=False)
class TextData(_Labelled):
    """Samples as texts.

    Parameters
    ----------
    texts : tuple of str
        One text per sample.
    class_index : ndarray of shape (n_samples,), optional
        ``classes[class_index[i]]`` is the label of sample ``i``. None when labels were not read.
    classes : ndarray of shape (n_classes,), optional
        The distinct labels in sorted order, integers or strings.
    table : TableColumns, optional
        The columns that were read, if the samples are rows of a table. ``texts`` are then those of all text columns,
        joined by blanks.
    columns : mapping of str to tuple of str
        The texts and categories of each column of the table, by name, and what is kept.
    numbers : mapping of str to ndarray of shape (n_samples,)
        The numbers of each column of numbers, float64; NaN where there is none.
    reading : str
        How the file was read, in words.
    vectors : mapping of str to ndarray of shape (n_samples, n_dims)
        The vectors of each column of embeddings, float16 or float32.
    indicator : csr_array of shape (n_samples, n_classes), optional
        Which labels each sample has, where it may have several; ``class_index`` is then None.

    Examples
    --------
    >>> TextData(("purrs", "barks"), np.array([0, 1]), np.array(["cat", "dog"]))
    <TextData: 2 texts, 2 classes>
    """

    texts: tuple[str, ...] = field(repr=False)
    class_index: IntArray | None = None
    classes: LabelArray | None = None
    table: TableColumns | None = None
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    numbers: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    reading: str = ""
    vectors: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    indicator: csr_array | None = None

    @property
    def n_samples(self) -> int:
        """The number of samples."""
        return len(self.texts)

    def __repr__(self) -> str:
        """One line: how many texts and classes."""
        classes = "" if self.classes is None else f", {len(self.classes)} classes"
        return f"<TextData: {self.n_samples} texts{classes}>"


Data = SparseData | TextData


@dataclass(frozen=True, eq=False)
class Split:
    """The samples of one split of a data set.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        The class of each sample, an index into the data set's ``class_names``.
    X : ndarray or csr_array of shape (n_samples, n_features), optional
        The features.
    texts : tuple of str, optional
        The texts that the features are made from, or are to be made from.
    """

    y: IntArray
    X: Any = None
    texts: tuple[str, ...] | None = None

    def __len__(self) -> int:
        """The number of samples."""
        return len(self.y)

    def __repr__(self) -> str:
        """One line: how many samples, and of what."""
        what = f"{self.X.shape[1]} features" if self.X is not None else "texts"
        return f"<Split: {len(self)} samples, {what}>"


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set: its splits, the names of its classes and features, and where it comes from.

    Parameters
    ----------
    name : str
        Its name in the registry.
    train : Split
        The training samples; all samples of a data set that has no given split.
    class_names : tuple of str
        ``class_names[k]`` is the label of class ``k``.
    validation, test : Split, optional
        The other given splits.
    feature_names : tuple of str, optional
        The names of the columns of ``X``.
    class_tree : ClassTree, optional
        The taxonomy of the classes.
    class_titles : tuple of str, optional
        Readable names of the classes, if ``class_names`` are codes.
    extras : mapping of str to ndarray
        Further arrays, such as vectors of the class names.
    description, licence : str
        What it is, and under which terms.

    Examples
    --------
    >>> from codekin.data import load_dataset
    >>> yeast = load_dataset("yeast")
    >>> yeast
    <Dataset yeast: 10 classes, 1484 training samples>
    >>> yeast.X.shape, yeast.class_names[yeast.y[0]]
    ((1484, 8), 'MIT')
    """

    name: str
    train: Split
    class_names: tuple[str, ...]
    validation: Split | None = None
    test: Split | None = None
    feature_names: tuple[str, ...] | None = None
    class_tree: ClassTree | None = None
    class_titles: tuple[str, ...] | None = None
    extras: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    description: str = ""
    licence: str = ""

    @property
    def X(self) -> Any:  # noqa: N802  # mathematical notation
        """The features of the training samples; None before texts are converted to features."""
        return self.train.X

    @property
    def y(self) -> IntArray:
        """The classes of the training samples, as indices."""
        return self.train.y

    @property
    def texts(self) -> tuple[str, ...] | None:
        """The texts of the training samples."""
        return self.train.texts

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.class_names)

    @property
    def splits(self) -> dict[str, Split]:
        """The existing splits by name."""
        given = {"train": self.train, "validation": self.validation, "test": self.test}
        return {name: split for name, split in given.items() if split is not None}

    def __repr__(self) -> str:
        """One line: the name and the size."""
        sizes = ", ".join(f"{len(s)} {n if n != 'train' else 'training'} samples" for n, s in self.splits.items())
        return f"<Dataset {self.name}: {self.n_classes} classes, {sizes}>"
