"""KinshipOrder: labels in an order of kinship, for learners that split them by index."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from codekin.classes.distances import clustering_distances
from codekin.code import FloatArray, IntArray
from codekin.estimators.inputs import validated, with_learner_tags
from codekin.fitting.classes import as_numbers


def _estimator_has(method: str) -> Any:
    return available_if(lambda self: hasattr(getattr(self, "estimator_", self.estimator), method))


class KinshipOrder(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A classifier whose labels are numbered so that similar classes have neighbouring numbers.

    Some learners of few classes take more of them by splitting labels by their index: into groups of neighbours, one
    problem between the groups and one within each, or into digits. Which classes share a group is then an accident of
    their names. Here the numbers are in the order of the leaves of a clustering of the class means, so that a group
    holds kin. The learner itself is not changed.

    Parameters
    ----------
    estimator : classifier
        What learns the numbers: any classifier of scikit-learn's kind.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    rank_of_class_ : ndarray of shape (n_classes,)
        The number that the estimator knows each class by.
    estimator_ : classifier
        The fitted classifier, whose labels are the numbers.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen in ``fit``, if all of them are strings.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from codekin.estimators import KinshipOrder
    >>> X = np.array([[0.0], [9.0], [1.0], [10.0]] * 3)
    >>> y = np.array(["ant", "bear", "bee", "lion"] * 3)
    >>> KinshipOrder(KNeighborsClassifier(1)).fit(X, y).rank_of_class_  # ant beside bee, bear beside lion
    array([0, 2, 1, 3])
    """

    _parameter_constraints: dict[str, Any] = {"estimator": [HasMethods(["fit", "predict"])]}  # noqa: RUF012

    classes_: NDArray[Any]
    rank_of_class_: IntArray
    estimator_: Any
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: ArrayLike, **fit_params: Any) -> Self:
        """Order the classes, and fit the estimator to their numbers.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            Samples, as numbers.
        y : array-like of shape (n_samples,)
            Labels of any type.
        **fit_params : dict
            Further arguments of the estimator's ``fit``.

        Returns
        -------
        KinshipOrder
            Itself.
        """
        self._validate_params()
        X, y = validated(self, X, y, learner=self.estimator, reset=True)
        self.classes_, class_index = np.unique(y, return_inverse=True)
        numbers = as_numbers(X)
        if numbers is None:
            raise ValueError("Classes are ordered by the means of their samples, which must be numbers.")
        self.rank_of_class_ = kinship_ranks(numbers, class_index)
        self.estimator_ = clone(self.estimator).fit(X, self.rank_of_class_[class_index], **fit_params)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of the number that the estimator predicts.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            Whatever ``fit`` takes.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "estimator_")
        X = validated(self, X, learner=self.estimator_, reset=False)[0]
        return np.asarray(self.classes_[np.argsort(self.rank_of_class_)[self.estimator_.predict(X)]])

    @_estimator_has("predict_proba")
    def predict_proba(self, X: Any) -> FloatArray:
        """The probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            Whatever ``fit`` takes.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self, "estimator_")
        X = validated(self, X, learner=self.estimator_, reset=False)[0]
        return np.asarray(self.estimator_.predict_proba(X)[:, self.rank_of_class_])

    def __sklearn_tags__(self) -> Any:
        """What X may be."""
        return with_learner_tags(super().__sklearn_tags__(), self.estimator)


def kinship_ranks(X: Any, class_index: IntArray) -> IntArray:
    """The place of each class in the order of the leaves of a clustering of the class means."""
    n_classes = int(class_index.max()) + 1
    ranks = np.arange(n_classes)
    if n_classes > 2:
        ranks[clustering_distances(X, class_index, rng=0).tree.class_order()] = np.arange(n_classes)
    return ranks
