"""What a fitted classifier answers beyond labels and sets: margins, losses, probabilities, explanations and a page."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from codekin._system.rows import n_samples_in
from codekin.code import FloatArray, IntArray, Margins
from codekin.decoding.decoder import check_k
from codekin.estimators.answers import Answers
from codekin.estimators.inputs import label_array
from codekin.explaining import Explanation, contributions_to
from codekin.model.probabilities import check_one_label, decisions
from codekin.samples import EncodedLabels, EncodedLabelSets

if TYPE_CHECKING:
    from codekin.data.row_features import Features


class Predictions(Answers):
    """The labels of a model's classes, and all that is asked with them; a subclass fits ``model_``."""

    n_features_in_: int
    feature_names_in_: NDArray[Any]

    @property
    def n_classes_(self) -> int:
        """The number of classes."""
        self._check_is_fitted()
        return len(self.classes_)

    @property
    def multilabel_(self) -> bool:
        """Whether samples may have several labels."""
        self._check_is_fitted()
        return self.model_.marginals is not None

    def bit_margins(self, X: Any) -> Margins:
        """The margins of the bits, one column each: positive if the bit is predicted to be +1.

        Margins of real bits are the predicted targets.
        With more than two symbols there is one margin for each symbol of every column: the logarithm of its probability
        times the number of symbols, positive if it is more probable than by chance.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Whatever ``fit`` takes.

        Returns
        -------
        ndarray of shape (n_samples, n_bits), or (n_samples, n_bits * n_symbols)
        """
        self._check_is_fitted()
        return self.model_.margins(self._validated_samples(X))

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """The share of samples whose label, or set of labels, is predicted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Whatever ``fit`` takes.
        y : array-like of shape (n_samples,), or several labels per sample
            Their labels, as ``fit`` takes them; the columns of a table are those of ``predict``.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts.

        Returns
        -------
        float
        """
        from sklearn.metrics import accuracy_score

        # With several labels the thresholds count; a single one is compared whatever its probability.
        predicted = self.predict(X, min_probability=None if self.multilabel_ else 0)
        if predicted.ndim == 2 and getattr(y, "ndim", 1) != 2:
            sets, predicted = EncodedLabelSets.of(y, is_several=True), sparse.csr_array(predicted)
            y = sets.indicator if sets.is_dense else sets.of_all(self.classes_)
            predicted.resize((predicted.shape[0], max(predicted.shape[1], y.shape[1])))  # type: ignore[arg-type]
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def decision_function(self, X: Any) -> FloatArray:
        """Minus the decoding loss of each class; for two classes, the loss of the first minus that of the second.

        If samples have several labels, 0 is where :meth:`predict` begins to give a label, one column for each.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Whatever ``fit`` takes.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
        """
        self._check_is_fitted()
        return decisions(self.model_, self._validated_samples(X))

    def top_k(self, X: Any, k: int) -> tuple[NDArray[Any], FloatArray]:
        """The k labels with the smallest decoding losses, and those losses, smallest first.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Whatever ``fit`` takes.
        k : int
            At least 1 and at most the number of classes.

        Returns
        -------
        labels : ndarray of shape (n_samples, k)
        losses : ndarray of shape (n_samples, k)
        """
        self._check_is_fitted()
        classes, losses = self.model_.top_k(self._validated_samples(X), k)
        return self.classes_[classes], losses

    def predict_proba(self, X: Any) -> FloatArray:
        """The probabilities of all classes, normalised exactly; with very many classes use :meth:`top_k_proba`.

        On a trellis or a tree they are proportional to ``exp(-loss / temperature)``; a re-ranking keeps the total
        probability of its candidates and redistributes it, and several codes give the mean of their probabilities.

        Of other codes, a learned decoder has scores whose softmax are calibrated probabilities. Otherwise margins are
        treated as log-odds, which ``calibrate`` makes them: the probabilities are the softmax of minus the logistic
        losses (linear ones for Softmax, which was trained with them), and the most probable class is the one that
        ``predict`` gives under this loss. The probabilities of more than two symbols are multiplied. Those of real bits
        are the softmax of minus the squared distances to the targets: a ranking, not calibrated.

        If samples have several labels, they are marginal probabilities, one for each label, which held-out samples
        calibrate.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Whatever ``fit`` takes.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        self._check_is_fitted()
        return self.model_.proba(self._validated_samples(X))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """The logarithms of the probabilities of :meth:`predict_proba`; finite even where those are rounded to 0.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Whatever ``fit`` takes.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        self._check_is_fitted()
        return self.model_.log_proba(self._validated_samples(X))

    def top_k_proba(self, X: Any, k: int) -> tuple[NDArray[Any], FloatArray]:
        """The k most probable labels and their probabilities as in :meth:`predict_proba`, largest first.

        On a trellis or a tree they are found without a number for each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Whatever ``fit`` takes.
        k : int
            At least 1 and at most the number of classes.

        Returns
        -------
        labels : ndarray of shape (n_samples, k)
        probabilities : ndarray of shape (n_samples, k)
        """
        self._check_is_fitted()
        check_k(k, len(self.classes_))
        classes, probabilities = self.model_.top_k_proba(self._validated_samples(X), k)
        return self.classes_[classes], probabilities

    def explain(self, X: Any, labels: ArrayLike | None = None) -> Explanation:
        """What each feature contributes to the score of a class: contributions that add up to it.

        The bits must be linear in the features. Where a score is not linear in the margins, a feature gets its
        integrated gradient along the straight line from a sample whose features are all zero. The class vectors of a
        re-ranking are included. The difference of two explanations says why one class rather than another.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Whatever ``fit`` takes.
        labels : array-like of shape (n_samples,) or a single label, default=None
            The class to explain for each sample, or for all; by default the predicted one.

        Returns
        -------
        Explanation
        """
        self._check_is_fitted()
        samples = self._validated_samples(X)
        n_samples = n_samples_in(samples)
        if labels is None:
            class_index = self.model_.predict(samples)
        else:
            given = np.asarray(labels)
            every = np.full(n_samples, given) if given.ndim == 0 else given
            if every.shape != (n_samples,):
                raise ValueError(f"There are {n_samples} samples. Got labels of shape {every.shape}.")
            class_index = self._known_class_index(every)
        contributions, bias, other, scores = contributions_to(self.model_, samples, class_index)
        names = getattr(self, "feature_names_in_", None)
        named = None if names is None else tuple(str(name) for name in names)
        return Explanation(self.classes_[class_index], scores, contributions, bias, other, named)

    def explore(
        self,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        texts: list[Any] | None = None,
        vectorizer: Features | None = None,
        accuracies: ArrayLike | None = None,
        title: str = "Explorer",
    ) -> Any:
        """A page that shows how this classifier works: its coding matrix, classes, bits and predictions.

        The page is one HTML file below 5 MB that needs no network; notebooks display it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Samples, usually of a test set: for confusions, the losses of bits and predictions to look at.
        y : array-like of shape (n_samples,), default=None
            Their labels.
        texts : list of str, default=None
            The texts of the samples.
        vectorizer : FittedVectorizer or FittedRows, default=None
            Converts texts to features. With a single code on a trellis, texts can then be typed into the page.
        accuracies : array-like of shape (n_classes!,), default=None
            For at most ten classes: the test accuracy of every assignment in percent, in lexicographic order of
            ``codeword_of_class``.
        title : str, default="Explorer"
            The heading of the page.

        Returns
        -------
        ExplorerPage
            Displayed by notebooks; ``save(path)`` writes it.
        """
        from codekin.deploy.explore.page import explorer_page  # the one import of a layer above

        self._check_is_fitted()
        check_one_label(self.model_, "The explorer shows models of")

        return explorer_page(self, X, y, texts=texts, vectorizer=vectorizer, accuracies=accuracies, title=title)

    def _check_is_fitted(self) -> None:
        """Call scikit-learn's check only if it would raise: for a single row it takes a third of the time."""
        if "model_" not in self.__dict__:
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(self, "model_")

    @abstractmethod
    def _validated_samples(self, X: Any) -> Any:
        """Samples to predict, checked against those of ``fit``."""

    def _class_index(self, labels: ArrayLike) -> IntArray:
        """The index of each label among the classes, -1 if there is none."""
        if isinstance(labels, EncodedLabels):
            if np.array_equal(labels.classes, self.classes_):
                return labels.class_index
            return self._class_index(labels.classes)[labels.class_index]
        given = np.asarray(label_array(labels))
        order = np.argsort(self.classes_, kind="stable")  # names of columns may have any
        places = order[np.minimum(np.searchsorted(self.classes_, given, sorter=order), len(self.classes_) - 1)]
        return np.where(self.classes_[places] == given, places, -1)

    def _known_class_index(self, labels: ArrayLike, remedy: str = "") -> IntArray:
        """The index of each label among the classes; an error if there is none."""
        class_index = self._class_index(labels)
        if (class_index < 0).any():
            label = np.asarray(labels)[class_index < 0][:1].tolist()[0]
            raise ValueError(f"The label {label!r} is not among the {len(self.classes_)} classes of the model{remedy}.")
        return class_index
