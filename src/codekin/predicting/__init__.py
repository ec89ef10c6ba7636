"""Predictions one at a time, for programs that answer requests."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import softmax

from codekin._system.magnitudes import MAX_SINGLE, check_single_precision
from codekin._system.wording import with_article
from codekin.coding import FloatArray, IntArray
from codekin.datasets import FittedVectorizer
from codekin.datasets.one_text import features_of_one_text
from codekin.decoding.minimum_loss import check_k
from codekin.estimators.coded import CodedClassifier
from codekin.learners.independent import EstimatorBits
from codekin.model import Model
from codekin.model.probabilities import losses_of_probabilities, top_k_probabilities
from codekin.model.single import Row
from codekin.model.single_rows import single_row
from codekin.storage import ModelFolderError, SavedModel, load_saved
from codekin.storage.files import Trust

__all__ = ["Predictor"]


class Predictor:
    """The labels of one sample after the other, without the checks and conversions that many samples share.

    The labels are those of the classifier, for a sample alone. All arrays are made ready and all kernels are compiled
    when a predictor is made, so that the first prediction takes as long as the others. Any number of threads may use
    one predictor; the kernels run without Python's lock.

    Parameters
    ----------
    classifier : ECOCClassifier or TrellisClassifier
        Fitted. Later changes to it, such as ``partial_fit``, do not change the predictor.
    vectorizer : FittedVectorizer, optional
        Converts texts to features, for a classifier of texts.

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

    def __init__(self, classifier: Any, *, vectorizer: FittedVectorizer | None = None) -> None:
        if not isinstance(classifier, CodedClassifier):
            raise TypeError(
                "Predictor needs an ECOCClassifier or a TrellisClassifier. "
                f"Got an object of type {type(classifier).__name__}."
            )
        classifier._check_is_fitted()
        if not hasattr(classifier, "n_features_in_"):
            raise ValueError(
                "Predictor needs a classifier of numbers. Got one whose samples have no number of features."
            )
        self._model: Model = classifier.model_
        has_temperature = hasattr(classifier, "temperature_")
        self._temperature = float(classifier.temperature_) if has_temperature else 1.0
        self._decoder_of_probabilities = None if has_temperature else classifier._decoder_of_probabilities()
        self._labels = classifier.classes_.tolist()
        self._n_features = int(classifier.n_features_in_)
        if vectorizer is not None and vectorizer.n_features != self._n_features:
            raise ValueError(
                f"A classifier of {self._n_features} features needs a vectorizer with as many. "
                f"Got one with {vectorizer.n_features}."
            )
        self._features = None if vectorizer is None else features_of_one_text(vectorizer)
        self._single = single_row(self._model)
        # Learners of other libraries have rules of their own; calibration is around them.
        bits = self._model.bits
        self._is_single_precision = not isinstance(getattr(bits, "bits", bits), EstimatorBits)
        self._indptrs: dict[int, NDArray[np.int64]] = {}
        # Learners of other libraries may want dense samples.
        nothing = (
            sparse.csr_array((1, self._n_features), dtype=np.float32)
            if self._is_single_precision
            else np.zeros(self._n_features)
        )
        for has_losses in (False, True):
            self._single.best(self._row(nothing), 1, has_losses=has_losses)

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
        saved = load_coded(folder, trusted=trusted)
        return cls(saved.model, vectorizer=saved.model_input.vectorizer)

    @property
    def labels(self) -> list[Any]:
        """All labels, in the order of ``classes_``."""
        return list(self._labels)

    def predict(self, x: Any) -> Any:
        """The label of one sample.

        Parameters
        ----------
        x : str, csr matrix of shape (1, n_features) or array-like of shape (n_features,)
            A text, if there is a vectorizer, or the sample's features. Those of a sparse row must be distinct.

        Returns
        -------
        str, int or whatever the labels are
        """
        return self._label(self._row(x))

    def top_k(self, x: Any, k: int) -> tuple[list[Any], list[float]]:
        """The k labels with the smallest decoding losses, and those losses, smallest first.

        Parameters
        ----------
        x : str, csr matrix of shape (1, n_features) or array-like of shape (n_features,)
            As in :meth:`predict`.
        k : int
            At least 1 and at most the number of classes.

        Returns
        -------
        labels : list of length k
        losses : list of float
        """
        check_k(k, len(self._labels))
        return self._best(self._row(x), k)

    def top_k_proba(self, x: Any, k: int) -> tuple[list[Any], list[float]]:
        """The k most probable labels and their probabilities, largest first.

        Parameters
        ----------
        x : str, csr matrix of shape (1, n_features) or array-like of shape (n_features,)
            As in :meth:`predict`.
        k : int
            At least 1 and at most the number of classes.

        Returns
        -------
        labels : list of length k
        probabilities : list of float
        """
        check_k(k, len(self._labels))
        return self._most_probable(self._row(x), k)

    def _label(self, row: Row) -> Any:
        classes, _ = self._classes(row, 1, has_losses=False)
        return self._labels[classes[0]]

    def _best(self, row: Row, k: int) -> tuple[list[Any], list[float]]:
        classes, losses = self._classes(row, k, has_losses=True)
        return [self._labels[c] for c in classes.tolist()], losses.tolist()

    def _most_probable(self, row: Row, k: int) -> tuple[list[Any], list[float]]:
        X = row.matrix()
        if self._decoder_of_probabilities is None:
            classes, of_classes = top_k_probabilities(self._model, X, k, self._temperature)
            best, probabilities = classes[0], of_classes[0]
        else:
            every = softmax(-losses_of_probabilities(self._model, self._decoder_of_probabilities, X), axis=1)[0]
            best = np.argsort(-every, kind="stable")[:k]
            probabilities = every[best]
        return [self._labels[c] for c in best.tolist()], probabilities.tolist()

    def _classes(self, row: Row, k: int, *, has_losses: bool) -> tuple[IntArray, FloatArray]:
        prior = self._model.prior
        if prior is None or len(row.indices) or isinstance(row.given, np.ndarray):
            return self._single.best(row, k, has_losses=has_losses)
        return prior.order[:k], prior.losses[prior.order[:k]]

    def _row(self, x: Any) -> Row:
        """One sample as the model takes it; raises ValueError if it cannot be one."""
        given: Any = None
        if isinstance(x, str):
            if self._features is None:
                raise ValueError("This predictor has no vectorizer, so it needs features. Got a text.")
            indices, values = self._features(x)
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


def load_coded(folder: str | os.PathLike[str], *, trusted: Trust = False) -> SavedModel:
    """What is in a model folder, if it is a classifier that can predict one sample at a time."""
    saved = load_saved(folder, trusted=trusted)
    if not saved.has_labels:
        raise ModelFolderError(f"{folder} holds a code without labels; save the classifier around it instead.")
    if not isinstance(saved.model, CodedClassifier):
        raise ModelFolderError(
            f"{folder} holds {with_article(type(saved.model).__name__)}, which cannot answer one sample at a time; "
            "load_model or codekin predict predict many."
        )
    return saved
