"""SubclassClassifier: classes that a classifier cannot separate are learned in parts."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from codekin._system.messages import with_article
from codekin.code import FloatArray, IntArray
from codekin.decoding.decoder import check_k
from codekin.estimators.ecoc import ECOCClassifier
from codekin.estimators.inputs import check_weights_by_label, checked_weights, innermost, validated, with_learner_tags
from codekin.estimators.metadata import learner_params, lists_weights_if, router, with_other_samples
from codekin.fitting.classes import as_numbers, last_step_features
from codekin.fitting.subclasses import SplitRules, merged, predicted_parts, split_classes
from codekin.learners.estimators import seeded
from codekin.model import Model
from codekin.samples import Samples
from codekin.states import SavedClassifier, Subclasses

SMALLEST = float(np.log(np.finfo(np.float64).tiny))
"""The score of a class whose probability is rounded to 0."""


def _estimator_has(method: str) -> Any:
    def check(self: SubclassClassifier) -> bool:
        getattr(self.estimator_ if hasattr(self, "estimator_") else self._classifier(), method)
        return True

    return check


def _takes_weights(classifier: SubclassClassifier) -> bool:
    return bool(has_fit_parameter(classifier._classifier(), "sample_weight"))


class SubclassClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A classifier of parts of classes, for classes that it cannot separate as a whole.

    A class whose samples lie in several places may be out of reach of a learner that could separate each place from
    the other classes, such as a linear one. So the class is split into parts (sub-classes), and the classifier learns
    the parts as if they were classes, with codewords of their own if it has a code. The answer is the class whose parts
    are most probable together; without probabilities, the class of the part that fits best.

    The idea, k-means and the three thresholds (error, size, improvement) are those of Escalera et al. (2008). We could
    read the abstract of the paper and what others say about it, not its algorithm. Ours begins with whole classes,
    halves the part that is involved in most training errors, learns all parts anew, and keeps the halves if the
    training error falls by enough. It goes on until the error is small or no split pays. Each split that is tried
    costs a fit. These are ours:

    - The error is that of classes and not of single bits: bits before and after a split are different questions.
    - Any code and any classifier may be wrapped, where the paper designs a code of its own.
    - Probabilities of parts are added up. The paper takes the class of the best part.
    - k-means starts along the direction of the largest variance instead of at random.
    - The defaults.

    Parameters
    ----------
    estimator : classifier, default=None
        What learns the parts: any classifier of scikit-learn's kind. None means :class:`ECOCClassifier`. Its labels are
        the numbers of the parts, so a "balanced" ``class_weight`` balances parts, and weights by label are an error.
    max_parts : int, default=8
        The largest number of parts of a class; 1 for whole classes.
    min_samples : int, default=10
        The smallest number of samples of a part.
    max_error : float, default=0.01
        No class is split any more when this share of the training samples, or less, is wrong.
    min_gain : float, default=0.1
        A split stays if it corrects at least this share of the training errors that the part is involved in: its own
        samples that are taken for another class, and the other way round.
    random_state : int, RandomState instance or None, default=None
        Determines the random states of the estimator that are not set. Splits are not random.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    class_of_part_ : ndarray of shape (n_parts,)
        The position in ``classes_`` of the class of each part. Parts are numbered class by class.
    estimator_ : classifier
        The fitted classifier, whose labels are the numbers of the parts.
    training_errors_ : ndarray of shape (n_splits + 1,)
        The training error of whole classes, and after each split that stayed.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen in ``fit``, if all of them are strings.

    References
    ----------
    S. Escalera, D. M. J. Tax, O. Pujol, P. Radeva and R. P. W. Duin, "Subclass Problem-Dependent Design for
    Error-Correcting Output Codes", IEEE TPAMI 30(6), 2008.

    T. Su and J. G. Dy, "In Search of Deterministic Methods for Initializing K-Means and Gaussian Mixture Clustering",
    Intelligent Data Analysis 11(4), 2007.

    Examples
    --------
    Two classes, each in two opposite corners of a square: no line separates them.

    >>> import numpy as np
    >>> from codekin import ECOCClassifier, SubclassClassifier
    >>> rng = np.random.default_rng(0)
    >>> corner = np.arange(200) % 4
    >>> X = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])[corner] + rng.normal(scale=0.1, size=(200, 2))
    >>> y = np.array(["same", "same", "different", "different"])[corner]
    >>> bool(ECOCClassifier(random_state=0).fit(X, y).score(X, y) < 0.8)
    True
    >>> classifier = SubclassClassifier(ECOCClassifier(random_state=0)).fit(X, y)
    >>> bool(classifier.score(X, y) > 0.98)
    True
    >>> classifier.classes_[classifier.class_of_part_]
    array(['different', 'different', 'same'], dtype='<U9')
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012  (scikit-learn's convention)
        "estimator": [HasMethods(["fit", "predict"]), None],
        "max_parts": [Interval(Integral, 1, None, closed="left")],
        "min_samples": [Interval(Integral, 1, None, closed="left")],
        "max_error": [Interval(Real, 0, 1, closed="both")],
        "min_gain": [Interval(Real, 0, 1, closed="left")],
        "random_state": ["random_state"],
    }

    classes_: NDArray[Any]
    class_of_part_: IntArray
    estimator_: Any
    training_errors_: FloatArray
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def __init__(
        self,
        estimator: Any = None,
        *,
        max_parts: int = 8,
        min_samples: int = 10,
        max_error: float = 0.01,
        min_gain: float = 0.1,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.max_parts = max_parts
        self.min_samples = min_samples
        self.max_error = max_error
        self.min_gain = min_gain
        self.random_state = random_state

    @lists_weights_if(_takes_weights)
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any) -> Self:
        """Split the classes as far as it pays, and learn their parts.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            Samples. Parts are found in the features of the estimator's last step, as far as they are numbers.
        y : array-like of shape (n_samples,)
            Labels of any type.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, also in errors and in k-means; the estimator must accept them.
        **fit_params : dict
            Further arguments of the estimator's ``fit``, passed by scikit-learn's metadata routing if it is enabled.

        Returns
        -------
        SubclassClassifier
            Itself.
        """
        self._validate_params()
        classifier = self._classifier()
        check_weights_by_label(classifier)
        params = learner_params(self, classifier, "fit", sample_weight, fit_params)
        X, y = validated(self, X, y, learner=classifier, reset=True)
        self.classes_, class_index = np.unique(y, return_inverse=True)
        params = with_other_samples(params, X, self.classes_)
        weights = checked_weights(params.get("sample_weight", sample_weight), X)
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=2).tolist()
        model = seeded(classifier, seeds[0])

        def features() -> Any:
            rng = np.random.default_rng(seeds[1])
            table = as_numbers(last_step_features(innermost(classifier), X, class_index, rng))
            if table is None:
                raise ValueError(
                    "Classes are split in a table of numbers. Got samples of another kind; put the steps that make "
                    "numbers of them into a pipeline as the estimator."
                )
            return table

        best, errors = split_classes(
            Samples(X, class_index, weights),
            features,
            lambda part_of_sample: clone(model).fit(X, part_of_sample, **params),
            SplitRules(self.max_parts, self.min_samples, self.max_error, self.min_gain),
        )
        self.estimator_, self.class_of_part_ = best.classifier, best.parts.class_of_part
        self.training_errors_ = np.array(errors)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The label whose parts are most probable together; without probabilities, that of the predicted part.

        Whole classes are predicted as the estimator does it.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            Whatever ``fit`` takes.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        X = self._validated_samples(X)
        part = predicted_parts(self.estimator_, X, self.class_of_part_)
        return np.asarray(self.classes_[self.class_of_part_[part]])

    @available_if(_estimator_has("decision_function"))
    def decision_function(self, X: Any) -> FloatArray:
        """The score of each class: its log-probability; without probabilities, the largest score of its parts.

        The largest score is that of the predicted class. Whole classes have the scores of the estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            Whatever ``fit`` takes.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            For two classes that are not whole, the score of the second minus that of the first.
        """
        X = self._validated_samples(X)
        if self._is_whole():
            return np.asarray(self.estimator_.decision_function(X))
        if hasattr(self.estimator_, "predict_proba"):
            of_class = np.maximum(self._log_probabilities(X), SMALLEST)
        else:
            of_class = merged(np.maximum, self._scores_of_parts(X), self.class_of_part_)
        return np.asarray(of_class[:, 1] - of_class[:, 0] if len(self.classes_) == 2 else of_class)

    @available_if(_estimator_has("predict_proba"))
    def predict_proba(self, X: Any) -> FloatArray:
        """The probability of each class: the sum of those of its parts.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            Whatever ``fit`` takes.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        X = self._validated_samples(X)
        return merged(np.add, self.estimator_.predict_proba(X), self.class_of_part_)

    @available_if(_estimator_has("predict_proba"))
    def predict_log_proba(self, X: Any) -> FloatArray:
        """The logarithms of the probabilities of :meth:`predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            Whatever ``fit`` takes.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._log_probabilities(self._validated_samples(X))

    @available_if(_estimator_has("top_k"))
    def top_k(self, X: Any, k: int) -> tuple[NDArray[Any], FloatArray]:
        """The k labels with the smallest losses, and those losses, smallest first.

        The loss of a class is minus the logarithm of its probability, or what the estimator has for whole classes.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            Whatever ``fit`` takes.
        k : int
            At least 1 and at most the number of classes.

        Returns
        -------
        labels : ndarray of shape (n_samples, k)
        losses : ndarray of shape (n_samples, k)
        """
        X = self._validated_samples(X)
        check_k(k, len(self.classes_))
        if self._is_whole():
            classes, losses = self.estimator_.top_k(X, k)
            return self.classes_[classes], losses
        labels, scores = self._best(self._log_probabilities(X), k)
        return labels, -scores

    @available_if(_estimator_has("predict_proba"))
    def top_k_proba(self, X: Any, k: int) -> tuple[NDArray[Any], FloatArray]:
        """The k most probable labels and their probabilities as in :meth:`predict_proba`, largest first.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            Whatever ``fit`` takes.
        k : int
            At least 1 and at most the number of classes.

        Returns
        -------
        labels : ndarray of shape (n_samples, k)
        probabilities : ndarray of shape (n_samples, k)
        """
        probabilities = self.predict_proba(X)
        check_k(k, len(self.classes_))
        return self._best(probabilities, k)

    def get_metadata_routing(self) -> MetadataRouter:
        """How metadata reach the estimator.

        Returns
        -------
        MetadataRouter
        """
        return router(self, self._classifier())

    def __sklearn_tags__(self) -> Any:
        """The input tags of the estimator, which decides what X may be."""
        return with_learner_tags(super().__sklearn_tags__(), self._classifier())

    def _classifier(self) -> Any:
        return ECOCClassifier() if self.estimator is None else self.estimator

    def _validated_samples(self, X: Any) -> Any:
        check_is_fitted(self, "estimator_")
        return validated(self, X, learner=self.estimator_, reset=False)[0]

    def _is_whole(self) -> bool:
        return len(self.class_of_part_) == len(self.classes_)

    def _log_probabilities(self, X: Any) -> FloatArray:
        """The logarithms of the classes' probabilities; the estimator's own are used if it has some."""
        if hasattr(self.estimator_, "predict_log_proba"):
            return merged(np.logaddexp, self.estimator_.predict_log_proba(X), self.class_of_part_)
        with np.errstate(divide="ignore"):
            return np.log(merged(np.add, self.estimator_.predict_proba(X), self.class_of_part_))

    def _scores_of_parts(self, X: Any) -> FloatArray:
        scores = np.asarray(self.estimator_.decision_function(X), dtype=np.float64)
        n_parts = len(self.class_of_part_)
        if scores.shape[1:] != (n_parts,) or getattr(self.estimator_, "decision_function_shape", "ovr") == "ovo":
            raise ValueError(
                f"Scores of classes are made of one score for each of the {n_parts} parts. "
                f"{type(self.estimator_).__name__} has others, of pairs for example."
            )
        return scores

    def _best(self, scores: FloatArray, k: int) -> tuple[NDArray[Any], FloatArray]:
        """The labels with the k largest scores, and those scores."""
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return self.classes_[best], np.take_along_axis(scores, best, axis=1)

    def _parts_to_store(self) -> tuple[Model, SavedClassifier]:
        """The model of the estimator and the other parts, for :func:`codekin.storage.save_model`."""
        check_is_fitted(self, "estimator_")
        if not hasattr(self.estimator_, "_parts_to_store") or isinstance(self.estimator_, SubclassClassifier):
            raise TypeError(
                "A SubclassClassifier can be saved if its estimator is an ECOCClassifier or an ExtremeClassifier. "
                f"Got one with {with_article(type(self.estimator_).__name__)}."
            )
        model, parts = self.estimator_._parts_to_store()
        params = self.get_params(deep=False)
        del params["estimator"]
        own = Subclasses(self.classes_, self.class_of_part_, self.training_errors_.tolist(), params)
        return model, replace(parts, subclasses=own)

    @classmethod
    def _from_stored(cls, estimator: Any, subclasses: Subclasses) -> Self:
        """The classifier around a stored one, ready to predict."""
        classifier = cls(clone(estimator), **subclasses.params)
        classifier.classes_, classifier.class_of_part_ = subclasses.labels, subclasses.class_of_part
        classifier.estimator_ = estimator
        classifier.training_errors_ = np.array(subclasses.training_errors, dtype=np.float64)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(estimator, name):
                setattr(classifier, name, getattr(estimator, name))
        return classifier
