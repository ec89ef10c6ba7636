"""Predictions for programs that answer requests: one sample at a time, or samples that came one by one together."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from codekin._system.arrays import MAX_DOUBLE, MAX_SINGLE, check_single_precision
from codekin._system.rows import Row
from codekin.data.model_input import known_word_counter
from codekin.data.row_features import Features, FittedRows, takes_vectors
from codekin.decoding.decoder import check_k
from codekin.deploy.answers import Best, best_labels, sure_labels
from codekin.learners.independent import are_of_estimators
from codekin.model import Model
from codekin.model.prediction_sets import SetCalibration, check_share, sure_answers
from codekin.model.probabilities import probable_labels, with_threshold
from codekin.storage import ModelFolderError, SavedModel, Trust, load_saved

__all__ = ["Predictor"]


class Predictor:
    """The labels of one sample after the other, without the checks and conversions that many samples share.

    The labels are those of the classifier, for a sample alone. All arrays are made ready and all kernels are compiled
    when a predictor is made, so that the first prediction takes as long as the others. Any number of threads may use
    one predictor; the kernels run without Python's lock.

    Parameters
    ----------
    classifier : ECOCClassifier, ExtremeClassifier or TextClassifier
        Fitted. Later changes to it, such as ``partial_fit``, do not change the predictor.
    vectorizer : FittedVectorizer, optional
        Converts texts to features, for a classifier of features that are made of texts; a TextClassifier has its own.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from codekin import ECOCClassifier, Predictor
    >>> X, y = load_digits(return_X_y=True)
    >>> predictor = Predictor(ECOCClassifier(random_state=0).fit(X, y))
    >>> predictor.predict(X[3])
    3
    >>> labels, losses = predictor.top_k(X[3], 2)
    >>> labels[0], losses[0] < losses[1]
    (3, True)
    """

    def __init__(self, classifier: Any, *, vectorizer: Features | None = None) -> None:
        from codekin.estimators.base import CodedClassifier
        from codekin.estimators.text_predictions import with_features

        classifier, vectorizer = with_features(classifier, vectorizer)
        if not isinstance(classifier, CodedClassifier):
            raise TypeError(
                "Predictor needs an ECOCClassifier, an ExtremeClassifier or a TextClassifier. "
                f"Got an object of type {type(classifier).__name__}."
            )
        classifier._check_is_fitted()
        n_features, calibration = (getattr(classifier, name, None) for name in ("n_features_in_", "set_calibration_"))
        self._take(classifier.model_, classifier.classes_, n_features, vectorizer, calibration)

    def _take(
        self,
        model: Model,
        labels: Any,
        n_features: int | None,
        vectorizer: Features | None,
        calibration: SetCalibration | None,
    ) -> Self:
        if n_features is None:
            raise ValueError(
                "Predictor needs a classifier of numbers. Got one whose samples have no number of features."
            )
        self._model, self._label_array, self._n_features = model, labels, int(n_features)
        self._labels: list[Any] = labels.tolist()
        self.min_probability = 0.0 if calibration is None else calibration.min_probability
        self._groups = None if calibration is None else calibration.groups
        self._names = (*self._labels, None) if self._groups is None else self._groups.names
        if vectorizer is not None and vectorizer.n_features != self._n_features:
            raise ValueError(
                f"A classifier of {self._n_features} features needs a vectorizer with as many. "
                f"Got one with {vectorizer.n_features}."
            )
        self._vectorizer = vectorizer
        self._single = model.single()
        self._is_single_precision = not are_of_estimators(model.codes[0].bits)
        self._indptrs: dict[int, NDArray[np.int64]] = {}
        # With a stored zero: rows without entries need no kernel. Learners of other libraries may want dense rows.
        nothing = (
            sparse.csr_array((np.zeros(1, np.float32), [0], [0, 1]), shape=(1, self._n_features))
            if self._is_single_precision
            else np.zeros(self._n_features)
        )
        for has_losses in (False, True):
            self._single(self.row(nothing), 1, has_losses=has_losses)
        return self

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, trusted: Trust = False) -> Predictor:
        """A predictor of a saved model, with the vectorizer that was saved with it, if there is one.

        Parameters
        ----------
        folder : path
            A model folder, written by ``codekin train`` or :func:`codekin.save_model`.
        trusted : bool or sequence of str, default=False
            As in :func:`codekin.load_model`.

        Returns
        -------
        Predictor
        """
        return cls._of(load_coded(folder, trusted=trusted))

    @classmethod
    def _of(cls, saved: SavedModel) -> Predictor:
        parts: Any = saved.parts  # never None here
        own = parts.labels, parts.n_features, saved.model_input.vectorizer, parts.set_calibration
        return cls.__new__(cls)._take(saved.coded, *own)

    @property
    def labels(self) -> list[Any]:
        """All labels, in the order of ``classes_``."""
        return list(self._labels)

    @property
    def largest_value(self) -> float:
        """The largest absolute value that a feature may have."""
        return MAX_SINGLE if self._is_single_precision else MAX_DOUBLE

    def predict(self, x: Any, *, min_probability: float | None = None) -> Any:
        """The label of one sample, or None if it is not probable enough.

        Parameters
        ----------
        x : str, mapping, csr matrix of shape (1, n_features) or array-like of shape (n_features,)
            A text or the columns of a row, as the vectorizer takes it, or the sample's features. Those of a sparse row
            must be distinct.
        min_probability : float, default=None
            As in the ``predict`` of the classifiers: by default what was calibrated.

        Returns
        -------
        str, int or whatever the labels are, or None
            A list of the probable labels if samples have several.
        """
        if min_probability is not None:
            check_share(min_probability, "min_probability")
        if self._model.marginals is not None:
            _, found = probable_labels(with_threshold(self._model, min_probability), self._as_row(x).matrix()).nonzero()
            return [self._labels[c] for c in found.tolist()]
        least = self.min_probability if min_probability is None else min_probability
        if least:
            return self._names[sure_answers(self._model, self._as_row(x).matrix(), least, self._groups)[0][0]]
        classes, _ = self._single(self._as_row(x), 1, has_losses=False)
        return self._labels[classes[0]]

    def top_k(self, x: Any, k: int) -> tuple[list[Any], list[float]]:
        """The k labels with the smallest decoding losses, and those losses, smallest first.

        Parameters
        ----------
        x : str, mapping, csr matrix of shape (1, n_features) or array-like of shape (n_features,)
            As in :meth:`predict`.
        k : int
            At least 1 and at most the number of classes.

        Returns
        -------
        labels : list of length k
        losses : list of float
        """
        check_k(k, len(self._labels))
        classes, losses = self._single(self._as_row(x), k, has_losses=True)
        return [self._labels[c] for c in classes.tolist()], losses.tolist()

    def top_k_proba(self, x: Any, k: int) -> tuple[list[Any], list[float]]:
        """The k most probable labels and their probabilities, largest first.

        Parameters
        ----------
        x : str, mapping, csr matrix of shape (1, n_features) or array-like of shape (n_features,)
            As in :meth:`predict`.
        k : int
            At least 1 and at most the number of classes.

        Returns
        -------
        labels : list of length k
        probabilities : list of float
        """
        check_k(k, len(self._labels))
        classes, probabilities = self._model.top_k_proba(self._as_row(x).matrix(), k)
        return [self._labels[c] for c in classes[0].tolist()], probabilities[0].tolist()

    def _best(self, row: Row) -> list[Any]:
        """The best label of a row."""
        return [self._labels[self._single(row, 1, has_losses=False)[0][0]]]

    def _as_row(self, x: Any) -> Row:
        return x if isinstance(x, Row) else self.row(x)

    def row(self, x: Any) -> Row:
        """One sample, checked and as the model takes it; all methods accept it instead of the sample.

        Parameters
        ----------
        x : str, mapping, csr matrix of shape (1, n_features) or array-like of shape (n_features,)
            As in :meth:`predict`; ValueError if it cannot be a sample.

        Returns
        -------
        Row
        """
        given: Any = None
        if isinstance(x, Mapping) and takes_vectors(self._vectorizer):
            fitted: Any = self._vectorizer
            x = fitted.transform(fitted.samples([x]))
        if isinstance(x, str | Mapping):
            takes_rows = isinstance(self._vectorizer, FittedRows)
            if self._vectorizer is None or takes_rows is isinstance(x, str):
                needs = "has no vectorizer, so it needs features" if self._vectorizer is None else "needs a text"
                if isinstance(self._vectorizer, FittedRows):
                    needs = f"needs an object with {', '.join(self._vectorizer.columns.used)}"
                raise ValueError(f"This predictor {needs}. Got {'a text' if isinstance(x, str) else 'an object'}.")
            indices, values = self._vectorizer.row(x)  # type: ignore[arg-type]  # each takes its own
        elif sparse.issparse(x):
            given = x if getattr(x, "format", "") == "csr" else sparse.csr_array(x)  # type: ignore[call-overload]
            if given.shape != (1, self._n_features):
                raise ValueError(f"A sparse sample must have the shape (1, {self._n_features}). Got {given.shape}.")
            # Copies: the kernels would be compiled again for arrays of another kind. Arrays may be longer than the row.
            start, stop = given.indptr.tolist()
            indices = np.array(given.indices[start:stop], dtype=np.int32)
            values = np.array(given.data[start:stop], dtype=np.float32)
        else:
            given = np.asarray(x)
            if given.dtype.kind not in "biuf" or given.shape not in ((self._n_features,), (1, self._n_features)):
                raise ValueError(
                    f"A sample must be {self._n_features} numbers. "
                    f"Got an array of shape {given.shape} and type {given.dtype}."
                )
            given = given.reshape(1, -1)
            indices = np.flatnonzero(given[0]).astype(np.int32)
            values = given[0, indices].astype(np.float32)
        # NaN is not small either.
        if self._is_single_precision and not values.dot(values) <= MAX_SINGLE:
            check_single_precision(values, is_to_learn_from=False)
        n = len(indices)
        indptr = self._indptrs.get(n)
        if indptr is None:
            indptr = self._indptrs[n] = np.array([0, n], dtype=np.int64)
        return Row(indptr, indices, values, self._n_features, given)


class BatchPredictor:
    """The answers of a classifier to samples that are checked one by one; a sample alone takes the way of Predictor.

    Learners of other libraries have rules of their own, so they need the ``classifier`` around them.
    """

    def __init__(self, predictor: Predictor, classifier: Any = None) -> None:
        self.predictor, self.takes_sparse = predictor, True
        self._answering, self._labels = predictor._model, predictor._label_array
        if classifier is not None:
            from sklearn.utils import get_tags

            self._answering, self._labels = classifier, None
            self.takes_sparse = bool(get_tags(classifier).input_tags.sparse)
        vectorizer = predictor._vectorizer
        self.takes_rows = isinstance(vectorizer, FittedRows)
        self.takes_texts = vectorizer is not None and not self.takes_rows
        self._known_words = known_word_counter(vectorizer)
        self.largest_value = predictor.largest_value
        self.n_classes, self.n_features = len(predictor._labels), predictor._n_features
        self.are_sets = predictor._model.marginals is not None

    @classmethod
    def of(cls, saved: SavedModel) -> BatchPredictor:
        """The answers of a saved model."""
        return cls(Predictor._of(saved), saved.model if are_of_estimators(saved.coded.codes[0].bits) else None)

    def row(self, sample: str | Mapping[str, Any] | NDArray[Any] | tuple[NDArray[Any], NDArray[Any]]) -> Row:
        """A text, a row's columns, the values of all features, or features and values, checked; raises ValueError."""
        if not isinstance(sample, tuple):
            return self.predictor.row(sample)
        features, values = sample
        if not self.takes_sparse:
            dense = np.zeros(self.n_features)
            dense[features] = values
            return self.predictor.row(dense)
        order = np.argsort(features, kind="stable")
        return self.predictor.row(
            sparse.csr_array(
                (values[order], features[order], np.array([0, len(order)])), shape=(1, self.n_features), copy=False
            )
        )

    def best(self, rows: Sequence[Row], k: int, *, has_probabilities: bool, least: float | None = None) -> Best:
        """The k best labels of each row, best first, and their probabilities, if they are wanted.

        0 stands for the predicted label, or for all that are probable enough. Labels that are less probable than
        ``least`` are left out; by default a predicted one is if that was calibrated, and may be a group of classes.
        """
        least = self.predictor.min_probability if least is None and not (k or self.are_sets) else least
        groups = self.predictor._groups if least and not k else None
        k = min(k or int(not self.are_sets), self.n_classes)
        if least and k and groups is None:
            sure = sure_labels(*self.best(rows, k, has_probabilities=True, least=0.0), least)
            return sure if has_probabilities else (sure[0], None)
        if len(rows) == 1 and k and groups is None:
            if has_probabilities:
                own, own_probabilities = self.predictor.top_k_proba(rows[0], k)
                return [own], [own_probabilities]
            return [self.predictor.top_k(rows[0], k)[0] if k > 1 else self.predictor._best(rows[0])], None
        labels: list[list[Any]] = [[]] * len(rows)
        probabilities: list[list[float]] = [[]] * len(rows)
        is_dense = [isinstance(row.given, np.ndarray) for row in rows]
        for kind in set(is_dense):
            own = [i for i in range(len(rows)) if is_dense[i] is kind]
            X = _stacked([rows[i] for i in own], kind)
            found = best_labels(self._answering, X, k, has_probabilities, self._labels, least=least, groups=groups)
            for place, i in enumerate(own):
                labels[i] = found[0][place]
                probabilities[i] = [] if found[1] is None else found[1][place]
        return labels, probabilities if has_probabilities else None

    def known_words(self, rows: Sequence[Row]) -> list[int] | None:
        """How many words of each text are known; None for a model of features."""
        return None if self._known_words is None else [self._known_words(row)[0] for row in rows]


def _stacked(rows: list[Row], is_dense: bool) -> Any:
    """The rows as one matrix."""
    if is_dense:
        return np.vstack([row.given for row in rows])
    indptr = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row.indices) for row in rows], out=indptr[1:])
    indices = np.concatenate([row.indices for row in rows])
    # Learners of other libraries get the numbers as they were given.
    values = np.concatenate([row.values if row.given is None else row.given.data for row in rows])
    return sparse.csr_array((values, indices, indptr), shape=(len(rows), rows[0].n_features))


def load_coded(folder: str | os.PathLike[str], *, trusted: Trust = False) -> SavedModel:
    """What is in a model folder, if it is a classifier that can predict one sample at a time."""
    saved = load_saved(folder, trusted=trusted)
    if saved.parts is None:
        raise ModelFolderError(f"{folder} holds a code without labels; save the classifier around it instead.")
    if saved.parts.subclasses is not None:
        raise ModelFolderError(
            f"{folder} holds a SubclassClassifier, which cannot answer one sample at a time; "
            "load_model or codekin predict predict many."
        )
    return saved
