"""Labels of training samples that are perhaps wrong: those that models of the other samples find improbable."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from codekin._system.files import whole_file
from codekin._system.rows import n_samples_in
from codekin._system.tables import Listing
from codekin.code import FloatArray, IntArray
from codekin.estimators.inputs import label_array
from codekin.estimators.text_predictions import TextPredictions
from codekin.measures.by_class import text_of
from codekin.progress import report, stage

N_SHOWN = 20
LEAST = 1e-300
"""Smaller probabilities are taken for this one, whose logarithm is finite."""
WITHOUT_BUDGET = {"max_model_bytes": None, "max_microseconds": None, "time_limit": None}


@dataclass(frozen=True, eq=False)
class SuspectedLabels:
    """Samples by how probably their label is wrong, the most suspicious first.

    Parameters
    ----------
    rows : array of int
        The rows of the samples, from 0. Those of classes with a single sample are left out: nothing else is known about
        these classes.
    given : array
        The labels that the samples have.
    suggested : array
        The most probable other labels.
    probability : array of float
        The probabilities of the given labels, from models that have not seen the sample.
    suggested_probability : array of float
        Those of the suggested ones.
    n_samples : int
        How many samples there are.
    accuracy : float
        The share of the listed samples whose given label is the most probable one.
    texts : sequence, default=None
        All samples as people read them.
    """

    rows: IntArray
    given: NDArray[Any]
    suggested: NDArray[Any]
    probability: FloatArray
    suggested_probability: FloatArray
    n_samples: int
    accuracy: float
    texts: Sequence[Any] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        """How many samples are listed."""
        return len(self.rows)

    def as_dict(self, n: int | None = None) -> dict[str, Any]:
        """The first samples, or all, as plain values for JSON."""
        facts = {"n_samples": self.n_samples, "n_judged": len(self), "accuracy": self.accuracy}
        return {**facts, "first": [dict(zip(self._names, row, strict=True)) for row in self._listed(n)]}

    def save(self, path: str | os.PathLike[str], n: int | None = None) -> Path:
        """Write the first samples, or all, to a CSV file, which appears whole or not at all.

        Its columns are the row of the sample, counted from 1, its label, the suggested one, both probabilities and, if
        the samples are texts, the text.

        Parameters
        ----------
        path : path
            The file; an existing one is replaced.
        n : int, default=None
            How many samples to write.

        Returns
        -------
        Path
            The file.
        """
        target, written = Path(path), io.StringIO()
        writer = csv.writer(written, lineterminator="\n")
        writer.writerow(self._names)
        writer.writerows(self._listed(n))
        with whole_file(target) as stream:
            stream.write(written.getvalue().encode("utf-8"))
        return target

    def __str__(self) -> str:
        """The first twenty, for the terminal."""
        return self._table().text()

    def _repr_html_(self) -> str:
        """The same for notebooks."""
        return self._table().html()

    def _table(self) -> Listing:
        title = f"{len(self):,} of {self.n_samples:,} labels, the most suspicious first (without having seen them, "
        title += f"models agree with {self.accuracy:.1%})"
        return Listing(title, self._names, [tuple(map(_shown, row)) for row in self._listed(N_SHOWN)])

    @property
    def _names(self) -> tuple[str, ...]:
        names = ("row", "label", "suggested", "probability", "suggested_probability")
        return names if self.texts is None else (*names, "text")

    def _listed(self, n: int | None) -> list[tuple[Any, ...]]:
        columns = (self.rows + 1, self.given, self.suggested, self.probability, self.suggested_probability)
        texts = [] if self.texts is None else [[text_of(self.texts[row]) for row in self.rows[:n].tolist()]]
        return list(zip(*(column[:n].tolist() for column in columns), *texts, strict=True))


def _shown(value: Any) -> Any:
    return f"{value:.2g}" if isinstance(value, float) else value


def suspected_labels(
    classifier: Any,
    X: Any,
    y: ArrayLike,
    *,
    n_folds: int = 5,
    texts: Sequence[Any] | None = None,
    random_state: int = 0,
) -> SuspectedLabels:
    """Training samples whose labels are perhaps wrong, the most suspicious first.

    Samples are divided into folds, and each fold is judged by a classifier that learns from the others. What counts is
    by how much the best other label is more probable than the given one: the difference of their logarithms.

    Parameters
    ----------
    classifier : estimator
        A classifier of codekin or scikit-learn with probabilities. Copies of it are fitted, those of codekin without a
        budget; it stays as it is.
    X : {array-like, sparse matrix, list of str} of shape (n_samples, n_features)
        Whatever its ``fit`` takes.
    y : array-like of shape (n_samples,)
        The labels.
    n_folds : int, default=5
        The number of folds, at least 2.
    texts : sequence of str, default=None
        What to show of the samples; X itself if it holds texts.
    random_state : int, default=0
        Which samples share a fold.

    Returns
    -------
    SuspectedLabels

    References
    ----------
    Northcutt, Jiang, Chuang. Confident Learning: Estimating Uncertainty in Dataset Labels. JAIR 2021: out-of-sample
    probabilities, ranked by their margin.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> y[7] = 2
    >>> suspected_labels(LogisticRegression(max_iter=1000), X, y).rows[0]
    np.int64(7)
    """
    if n_folds < 2:
        raise ValueError(f"The 'n_folds' parameter must be at least 2. Got {n_folds} instead.")
    labels, class_index = np.unique(np.asarray(label_array(y)), return_inverse=True)
    n = n_samples_in(X)
    if len(class_index) != n or (texts is not None and len(texts) != n):
        raise ValueError(f"There are {n} samples. Got {len(class_index)} labels.")
    if len(labels) < 2:
        raise ValueError(f"At least 2 classes are needed. Got {len(labels)}.")
    fold_of = _folds(class_index, n_folds, np.random.default_rng(random_state))
    if (fold_of < 0).all():
        raise ValueError("Every class has a single sample; labels are judged by other samples of their class.")
    own, other, suggested = np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.int64)
    folds = np.unique(fold_of[fold_of >= 0]).tolist()
    for number, fold in enumerate(folds):
        judged, learned = np.flatnonzero(fold_of == fold), np.flatnonzero(fold_of != fold)
        with stage(f"fold {number + 1} of {len(folds)}"):
            fitted = _unfitted(classifier).fit(_safe_indexing(X, learned), labels[class_index[learned]])
            report("judging labels")
            found = _judged(fitted, _safe_indexing(X, judged), labels, class_index[judged])
        own[judged], suggested[judged], other[judged] = found
    rows = np.flatnonzero(fold_of >= 0)
    rows = rows[np.argsort((np.log(np.maximum(own, LEAST)) - np.log(np.maximum(other, LEAST)))[rows], kind="stable")]
    if texts is None and isinstance(X, list | tuple) and n and isinstance(X[0], str):
        texts = X
    agreed = float((own[rows] >= other[rows]).mean())
    kinds = labels[class_index[rows]], labels[suggested[rows]]
    return SuspectedLabels(rows, *kinds, own[rows], other[rows], n, agreed, texts)


def _folds(class_index: IntArray, n_folds: int, rng: np.random.Generator) -> IntArray:
    """The fold of each sample: each class in as many as it can; -1 for classes with a single sample."""
    order = rng.permutation(len(class_index))
    order = order[np.argsort(class_index[order], kind="stable")]
    fold_of = np.empty(len(class_index), dtype=np.int64)
    fold_of[order] = np.arange(len(order)) % n_folds
    fold_of[np.bincount(class_index)[class_index] < 2] = -1
    return fold_of


def _unfitted(classifier: Any) -> Any:
    """A classifier with the same settings, without a budget."""
    new = clone(classifier) if hasattr(classifier, "get_params") else type(classifier)(**classifier._params())
    for name, none in WITHOUT_BUDGET.items():
        if hasattr(new, name):
            setattr(new, name, none)
    return new


def _judged(fitted: Any, X: Any, labels: NDArray[Any], given: IntArray) -> tuple[FloatArray, IntArray, FloatArray]:
    """The probability of each given label, the best other class, and its probability."""
    if isinstance(fitted, TextPredictions):
        fitted, X = fitted.classifier_, fitted._validated_samples(X)
    if hasattr(fitted, "log_proba") and hasattr(fitted, "top_k_proba"):
        best, probabilities = fitted.top_k_proba(X, 2)
        first = np.searchsorted(labels, best)
        rows, other = np.arange(len(given)), (first[:, 0] == given).astype(int)
        own = np.where(other == 1, probabilities[:, 0], np.exp(fitted.log_proba(X, labels[given])))
        return own, first[rows, other], probabilities[rows, other]
    if not hasattr(fitted, "predict_proba"):
        raise ValueError(f"Labels are judged by probabilities. Got {type(fitted).__name__}, which has none.")
    table = np.array(fitted.predict_proba(X), dtype=np.float64)
    rows, place = np.arange(len(given)), np.searchsorted(fitted.classes_, labels[given])
    own = table[rows, place]
    table[rows, place] = -1.0
    best = table.argmax(axis=1)
    return own, np.searchsorted(labels, fitted.classes_[best]), table[rows, best]
