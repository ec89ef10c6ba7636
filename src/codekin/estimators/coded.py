"""The base class of the estimators: from samples to margins to labels, and labels in batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import _check_sample_weight, _num_samples, check_is_fitted

from codekin._system.magnitudes import check_weights
from codekin.assignments import AssignmentResult
from codekin.classes import ClassDistances
from codekin.classes.tree_distances import TreeDistances
from codekin.coding import Assignment, Code, Codebook, FloatArray, IntArray, Margins
from codekin.coding.labels import EncodedLabels
from codekin.decoding import LOSSES, Loss
from codekin.decoding.losses import get_loss
from codekin.estimators.growth import best_free_codewords
from codekin.estimators.inputs import label_array
from codekin.estimators.prediction_sets import PredictionSets
from codekin.explaining import Explanation
from codekin.explaining.explain import contributions_to
from codekin.fitting.fit_facts import Fit
from codekin.fitting.plan import Seed
from codekin.fitting.recipe import Recipe
from codekin.fitting.report import FitReport, fit_report, restored
from codekin.model import Member, Model
from codekin.samples import Samples
from codekin.storage.classifier_parts import ClassifierParts

if TYPE_CHECKING:
    from codekin.datasets import FittedVectorizer


class CodedClassifier(PredictionSets, ClassifierMixin, BaseEstimator, ABC):
    """The base class of the estimators; a subclass fits ``model_`` and validates samples."""

    loss: Any
    random_state: Any
    classes_: NDArray[Any]
    codebook_: Codebook
    assignment_: Assignment
    assignment_result_: AssignmentResult | None
    class_distances_: ClassDistances | None
    loss_: Loss
    model_: Model
    plan_: dict[str, Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    _rng: np.random.Generator
    _report: FitReport | None
    _report_facts: dict[str, Any]
    """What the report says beyond the properties of the code."""

    @property
    def n_classes_(self) -> int:
        """The number of classes."""
        self._check_is_fitted()
        return len(self.classes_)

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

    def predict(self, X: Any) -> NDArray[Any]:
        """The label whose codeword has the smallest decoding loss (Eq. 2).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Whatever ``fit`` takes.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        self._check_is_fitted()
        return np.asarray(self.classes_[self.model_.predict(self._validated_samples(X))])

    def decision_function(self, X: Any) -> FloatArray:
        """Minus the decoding loss of each class; for two classes, the loss of the first minus that of the second.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Whatever ``fit`` takes.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
        """
        self._check_is_fitted()
        losses = self.model_.class_losses(self._validated_samples(X))
        return np.asarray(losses[:, 0] - losses[:, 1] if len(self.classes_) == 2 else -losses, dtype=np.float64)

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

    def add_classes(self, X: Any, y: ArrayLike) -> Self:
        """Give free codewords to new classes; the bits stay as they are.

        Each new class gets a free codeword whose decoding loss is small on its samples. All other losses stay exactly
        the same, so a prediction changes only if a new class wins. That will be rare at first, since the bits were
        trained to tell the old classes apart. :meth:`partial_fit` with samples of old and new classes improves that.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples of new classes only, at least one of each.
        y : array-like of shape (n_samples,)
            Their labels, none of which is in ``classes_``.

        Returns
        -------
        CodedClassifier
            Itself.
        """
        check_is_fitted(self, "model_")
        model = self.model_
        if not model.is_single:
            raise ValueError(
                "Classes can only be added to a single code without re-ranking. Got a model with several parts."
            )
        if model.codebook.is_real:
            raise ValueError("Classes can only be added to codes of signs or symbols. Got real codewords; fit again.")
        labels, new_class = np.unique(np.asarray(label_array(y)), return_inverse=True)
        if (labels.dtype.kind in "US") != (self.classes_.dtype.kind in "USO"):
            raise ValueError(f"New labels must have the type of the others, {self.classes_.dtype}. Got {labels.dtype}.")
        known = labels[self._class_index(labels) >= 0]
        if len(known):
            raise ValueError(
                f"The label {known[0].item()!r} is not new; use partial_fit to learn from more samples of it."
            )
        margins = model.margins(self._validated_samples(X))
        if len(margins) != len(new_class):
            raise ValueError(f"There are {len(margins)} samples. Got {len(new_class)} labels.")
        codewords = best_free_codewords(model.code, margins, new_class, self.loss_)
        report = self.report()
        self.classes_, places = np.unique(np.concatenate([self.classes_, labels]), return_index=True)
        codeword_of_class = np.concatenate([model.assignment.codeword_of_class, codewords])[places]
        self.assignment_ = replace(model.assignment, codeword_of_class=codeword_of_class)
        self.assignment_result_ = self.class_distances_ = None
        self._set_model(_grown(model, Code(model.codebook, self.assignment_), codewords, places))
        # Measurements hold for the old classes only; distances to the new ones are not known.
        self._report = replace(
            report,
            n_classes=len(self.classes_),
            class_codeword_score=float("nan"),
            standard_deviations_below_random=float("nan"),
        )
        return self

    def report(self, X: Any = None, y: ArrayLike | None = None) -> FitReport:
        """How good the code is: its distances and class-codeword score; given samples also losses, bound and error.

        ``fit`` measures nothing; samples given here are predicted once. The last measurements are kept until the next
        fit: ``report()`` shows them again, and they are saved with the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features), default=None
            Samples to measure the bits on, usually those of ``fit``.
        y : array-like of shape (n_samples,), default=None
            Their labels. Those that were not in ``fit`` count as errors, and are left out of the losses of the bits.

        Returns
        -------
        FitReport
            Prints as a few lines of text.
        """
        self._check_is_fitted()
        if (X is None) != (y is None):
            raise ValueError(f"report needs samples and their labels, or neither. Got no {'X' if X is None else 'y'}.")
        samples = None
        if X is not None and y is not None:
            samples = Samples(self._measured_samples(X), self._class_index(y))
            check_consistent_length(samples.X, samples.class_index)
        if self._report is None or samples is not None:
            facts, known = self._report_facts, self._report
            self._report = fit_report(
                self.model_, self.loss_, self.class_distances_, facts, known=known, samples=samples
            )
        return self._report

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
        n_samples = _num_samples(samples)
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
        texts: list[str] | None = None,
        vectorizer: FittedVectorizer | None = None,
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
        vectorizer : FittedVectorizer, default=None
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
        page = import_module("codekin.explore.page").explorer_page  # pages lie above estimators
        return page(self, X, y, texts=texts, vectorizer=vectorizer, accuracies=accuracies, title=title)

    def _parts_to_store(self) -> tuple[Model, ClassifierParts]:
        """The model and the other parts of the classifier, for :func:`codekin.storage.save_model`."""
        check_is_fitted(self, "model_")
        return self.model_, self._with_learner(self._parts_around(self.report().as_dict()))

    def _parts_around(self, report: Mapping[str, Any]) -> ClassifierParts:
        """What is saved besides the model, except for the learner and what depends on it."""
        params = self.get_params(deep=False)
        del params["n_jobs"]  # says nothing about the model
        codebook = getattr(self, "codebook_", None)  # not there yet during a search within a budget
        if codebook is None or codebook.n_symbols == 2:
            params.pop("n_symbols", None)  # two is the default
        distances = getattr(self, "class_distances_", None)
        return ClassifierParts(
            type(self).__name__,
            params,
            self.classes_,
            report,
            n_features=getattr(self, "n_features_in_", None),
            feature_names=getattr(self, "feature_names_in_", None),
            class_tree=None if distances is None else distances.tree,
            plan=getattr(self, "plan_", {}),
            set_calibration=getattr(self, "set_calibration_", None),
        )

    @classmethod
    def _from_stored(cls, model: Model, parts: ClassifierParts) -> Self:
        """The classifier of a stored model, ready to predict; of class distances only trees are restored."""
        report = restored(parts.report, model)
        classifier = cls(**cls._stored_params(model, parts))
        classifier.classes_ = parts.labels
        classifier.codebook_, classifier.assignment_ = model.codebook, model.assignment
        classifier.assignment_result_ = None
        classifier.class_distances_ = None if parts.class_tree is None else TreeDistances(parts.class_tree)
        # A learned decoder weights the margins as they are, whatever the loss was.
        classifier.loss_ = get_loss(report.loss if report.loss in LOSSES else model.decoder.loss)
        seed = classifier.random_state
        classifier._rng = np.random.default_rng(seed if isinstance(seed, int) else None)
        classifier._set_model(model)
        classifier._report, classifier._report_facts, classifier.plan_ = report, {}, dict(parts.plan)
        if parts.set_calibration is not None:
            classifier.set_calibration_ = parts.set_calibration
        if parts.n_features is not None:
            classifier.n_features_in_ = parts.n_features
        if parts.feature_names is not None:
            classifier.feature_names_in_ = np.array(parts.feature_names, dtype=object)
        return classifier

    @abstractmethod
    def _with_learner(self, parts: ClassifierParts) -> ClassifierParts:
        """The parts with the learner."""

    @classmethod
    @abstractmethod
    def _stored_params(cls, model: Model, parts: ClassifierParts) -> dict[str, Any]:
        """The parameters of a classifier from storage."""

    def _check_is_fitted(self) -> None:
        """Call scikit-learn's check only if it would raise: for a single row it takes a third of the time."""
        if "model_" not in self.__dict__:
            check_is_fitted(self, "model_")

    @abstractmethod
    def _validated_samples(self, X: Any) -> Any:
        """Samples to predict, checked against those of ``fit``."""

    def _measured_samples(self, X: Any) -> Any:
        """Samples to measure, checked against those of ``fit``."""
        return self._validated_samples(X)

    def _set_model(self, model: Any) -> None:
        self.model_ = model
        self._report = None
        self.__dict__.pop("set_calibration_", None)

    def _take_parts(self, fit: Fit) -> Recipe:
        """Set the attributes of the code and its parts; returns the recipe of the fit."""
        self.plan_, recipe, self._report_facts = fit.told()
        self.codebook_, self.assignment_ = fit.model.codebook, fit.model.assignment
        self.assignment_result_, self.class_distances_ = fit.assignment_result, fit.class_distances
        self.loss_, self._rng = fit.loss, fit.rng
        self._set_model(fit.model)
        return recipe

    def _seed(self) -> Seed:
        """The source of all random choices."""
        return tuple(check_random_state(self.random_state).randint(2**31 - 1, size=4).tolist())

    def _check_n_classes(self) -> int:
        n_classes = len(self.classes_)
        if n_classes < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes. "
                f"Got {n_classes} class: {self.classes_.tolist()}."
            )
        return n_classes

    def _class_index(self, labels: ArrayLike) -> IntArray:
        """The index of each label among the classes, -1 if there is none."""
        if isinstance(labels, EncodedLabels) and np.array_equal(labels.classes, self.classes_):
            return labels.class_index
        given = np.asarray(label_array(labels))
        places = np.minimum(np.searchsorted(self.classes_, given), len(self.classes_) - 1)
        return np.where(self.classes_[places] == given, places, -1)

    def _batch_class_index(self, labels: ArrayLike, classes: ArrayLike | None) -> IntArray:
        """The class indices of a batch; the first batch sets all classes."""
        if not hasattr(self, "model_"):
            self.classes_ = np.unique(np.asarray(label_array(classes)))
        elif classes is not None and not np.array_equal(np.unique(np.asarray(label_array(classes))), self.classes_):
            raise ValueError("The 'classes' parameter of partial_fit differs from that of the first call.")
        remedy = "; use add_classes to give spare codewords to new classes" if hasattr(self, "model_") else ""
        return self._known_class_index(labels, remedy)

    def _known_class_index(self, labels: ArrayLike, remedy: str = "") -> IntArray:
        """The index of each label among the classes; an error if there is none."""
        class_index = self._class_index(labels)
        if (class_index < 0).any():
            label = np.asarray(labels)[class_index < 0][:1].tolist()[0]
            raise ValueError(f"The label {label!r} is not among the {len(self.classes_)} classes of the model{remedy}.")
        return class_index

    def _is_first_batch(self, classes: ArrayLike | None) -> bool:
        is_first = not hasattr(self, "model_")
        if is_first and classes is None:
            raise ValueError("The first call of partial_fit needs the 'classes' parameter: all labels that will occur.")
        return is_first


def _grown(model: Model, code: Code, codewords: IntArray, places: IntArray) -> Model:
    """The model with more classes that have these codewords; ``places`` says which class each one was before."""
    decoder: Any = model.decoder
    member = Member.of(code, model.bits, decoder.loss, is_weighted=getattr(decoder, "is_weighted", False))
    if decoder.is_learned:
        grown = decoder.with_codewords(model.codebook.indicators_at(codewords)).in_order(places)
        member = replace(member, decoder=grown)
    return Model((member,))


def checked_weights(sample_weight: ArrayLike | None, X: Any) -> FloatArray | None:
    """The weights as an array, one per sample; None stays None."""
    if sample_weight is None:
        return None
    weights = np.asarray(_check_sample_weight(sample_weight, X))
    check_weights(weights)
    return weights


def with_weight(
    labels: NDArray[Any], class_index: IntArray, weights: FloatArray | None
) -> tuple[NDArray[Any], IntArray]:
    """The labels except those with samples but no weight, and the places among them; samples of others get -1."""
    if weights is None:
        return labels, class_index
    sizes, of_class = (np.bincount(class_index, each, minlength=len(labels)) for each in (None, weights))
    is_kept = (of_class > 0) | (sizes == 0)
    places = np.where(is_kept, np.cumsum(is_kept) - 1, -1)
    return (labels, class_index) if is_kept.all() else (labels[is_kept], places[class_index])
