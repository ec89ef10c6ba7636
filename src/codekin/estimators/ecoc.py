"""ECOCClassifier: error-correcting output codes with any scikit-learn classifier or regressor to learn the bits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, is_regressor
from sklearn.linear_model import LogisticRegression
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from codekin._system.arrays import check_single_precision
from codekin.code import Codebook, CodingMatrix
from codekin.decoding import log_odds_decoder
from codekin.estimators.base import CodedClassifier
from codekin.estimators.inputs import (
    checked_weights,
    labels_and_weights,
    validated,
    with_class_weight,
    with_learner_tags,
)
from codekin.estimators.metadata import (
    ONE_COLUMN_EACH,
    ONE_LABEL_ONLY,
    BitAttributes,
    CallbackSupportMixin,
    begin_callbacks,
    check_columns,
    constraints,
    learner_params,
    lists_weights_if,
    router,
    with_callbacks,
    with_other_samples,
)
from codekin.fitting.choice import Chosen, choose_plan, planned
from codekin.fitting.fit import begin_fit, fit_model, learn_batch
from codekin.fitting.settings import ECOC_SETTINGS
from codekin.learners import IndependentBits, Learner, is_named, learner_of
from codekin.model import Model
from codekin.samples import N_FOLDS, EncodedLabelSets, Samples
from codekin.states import SavedClassifier


def _learner_has(method: str) -> Any:
    def check(self: ECOCClassifier) -> bool:
        getattr(learner_of(self.estimator) or self._bit_classifier(), method)
        return True

    return check


def _takes_weights(classifier: ECOCClassifier) -> bool:
    learner = classifier._bit_classifier()
    return learner is None or bool(has_fit_parameter(learner, "sample_weight"))


class ECOCClassifier(
    CallbackSupportMixin, MetaEstimatorMixin, BitAttributes, CodedClassifier, ClassifierMixin, BaseEstimator
):
    """Multiclass classification by error-correcting output codes that give similar codewords to similar classes.

    Every class gets a codeword of a codebook, and one binary classifier is trained per bit. The predicted class is the
    one whose codeword fits the margins best. If similar classes get similar codewords, the binary problems are easy
    (Evron et al., 2023).

    Parameters
    ----------
    estimator : classifier, regressor, "softmax", "arow", "svm" or Learner, default=None
        Learns the bits one by one; it has ``fit`` and either ``decision_function`` or ``predict_proba``. Codebooks of
        real numbers need a regressor, which no other codebook can have. None means
        ``LogisticRegression(max_iter=1000)``. "softmax" means ``codekin.learners.Softmax()``, which learns all bits
        together: the classes compete, and the probabilities are those of a multinomial logistic regression whose
        scores are the products of codewords and margins. "svm" means ``LinearSVM()``, the linear support vector
        machines of all bits, learned at once.
    codebook : str, Codebook, array or callable, default="auto"
        Which codewords exist: a name from ``codekin.codebooks.CODEBOOKS``, a codebook, a matrix with entries -1, 0 and
        +1, or a function of the number of classes. "auto" is "one_vs_rest" for linear estimators and up to 1,000
        classes. Others, if nothing about the code is given: forests and networks get one column per class beside a
        column of all classes, single trees dense ones, naive Bayes and neighbours no code. All others get no code
        unless one is clearly ahead of the estimator as it is on held-out samples. "auto" is
        "dense_random" otherwise or if ``n_bits`` is given. :meth:`report` says which, and why. With more than two
        symbols, linear estimators get "one_vs_rest" if ``n_bits`` allows it. The bits of "eigen_targets" and
        "random_projection" are real numbers.
    n_bits : int, default=None
        The number of bits, for codebooks that leave the choice; others accept only their own. None means the default
        (``ceil(10 log2 K)`` for "dense_random", but no more columns than there are distinct ones; with "auto" at most
        ``max(K, 15)``). With more than two symbols, the number of columns, each learned by one classifier of at most
        ``n_symbols`` classes.
    n_symbols : int, default=None
        How many classes the estimator learns at once, from 2 to 127. Every column of the code gives each class one of
        this many symbols. The estimator learns a column as it is, so it needs ``predict_proba`` or
        ``decision_function`` for that many classes. None means the limit that the estimator declares
        (``get_inference_config().MAX_NUMBER_OF_CLASSES``, ``max_num_classes_``, ``max_num_classes`` or
        ``max_classes``), or 2, binary codes, if it declares none. With as many symbols as classes there is a single
        column.
    class_distances : str, ClassDistances, array, ClassTree or callable, default="learnability"
        How far apart classes are: "learnability" (how badly least squares separates sets of classes), "means"
        (Euclidean distances of class means), "confusion" (of a one-vs-rest classifier), "clustering" or "splitting" (a
        tree of class means); or a matrix, a class tree, or a function of ``X`` and the class indices.
    assignment : str, Assignment, array or callable, default="preserving"
        Which class gets which codeword: "preserving" (similar codewords for similar classes), "breaking" (the
        opposite), "random", the name of a search from ``codekin.assignments.ASSIGNMENTS``, or the row of the codeword
        of each class. "preserving" and "breaking" leave codebooks that were designed for the classes unchanged.
    loss : str or callable, default="auto"
        The decoding loss, a function of ``z = bit * margin``: a name from ``codekin.decoding.LOSSES`` or a callable.
        "auto" matches the learner: logistic for log-odds, squared for ridge classifiers, logistic or (for codes with
        zeros) linear for softmax, otherwise hinge. With more than two symbols, their log-probabilities are added up.
        Real bits are decoded by the nearest target, which is the squared loss.
    decoding : {"auto", "loss", "learned"}, default="auto"
        How margins become classes. "loss" adds up the decoding losses of the bits. "learned" weights the bits for each
        class by a multinomial logistic regression on honest margins, shrunk towards the coding matrix as far as
        held-out samples suggest: with linear bits it recovers what the sum of losses discards, and its probabilities
        are calibrated. "auto" means "learned" if the bits are linear and it pays on held-out samples. Without a code,
        and with one that a trial has chosen, it means one temperature if that gives better probabilities. It means
        "loss" otherwise or if ``loss`` or ``calibrate`` is given; :meth:`report` says which, and why.
    weighted_decoding : bool, default=False
        For codes with zeros: divide the loss of a class by the number of bits that do not ignore it.
    calibrate : {"cv", "holdout"}, default=None
        Turn margins into log-odds using samples that the bits were not trained on: "cv" trains everything five more
        times, "holdout" holds out a fifth of the samples. Improves ``predict_proba``; the "auto" loss is then logistic.
        With more than two symbols, every column gets a weight instead: all of them together make the classes of these
        samples most likely.
    class_weight : "balanced" or dict, default=None
        Weights of the classes, multiplied into ``sample_weight``: a number for each label (1 if it is missing), or
        "balanced", which gives all classes the same total weight. The estimator's own ``class_weight``, in contrast,
        weights the two sides of a bit.
    n_jobs : int, default=None
        How many of joblib's workers learn the bits, -1 for one per processor; by default those of the enclosing
        ``joblib.parallel_config``, or none without one. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Determines the codebook, the search for the assignment, and the random states of learners that have none set.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    codebook_ : Codebook
        The codewords.
    assignment_ : Assignment
        Which class has which codeword.
    assignment_result_ : AssignmentResult or None
        What the search for it found; None if the assignment was given.
    coding_matrix_ : ndarray of shape (n_classes, n_bits)
        Row ``k`` is the codeword of ``classes_[k]``.
    class_distances_ : ClassDistances or None
        How far apart the classes are; None if nothing depends on it (an assignment that is random or given, a
        codebook such as one-vs-rest) and in a loaded classifier.
    loss_ : Loss
        The decoding loss.
    model_ : Model
        All of the above with the fitted bits.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen in ``fit``, if all of them are strings.

    References
    ----------
    Evron, Onn, Weiss Orzech, Azeroual, Soudry. The Role of Codeword-to-Class Assignments in Error-Correcting Codes: An
    Empirical Study. AISTATS 2023.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import LinearSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> classifier = ECOCClassifier(LinearSVC(), n_bits=10, random_state=0).fit(X[:900], y[:900])
    >>> bool(classifier.score(X[900:], y[900:]) > 0.85)
    True
    >>> classifier.coding_matrix_.shape
    (10, 10)
    """

    _kind = "ECOCClassifier"
    _table = ECOC_SETTINGS
    _parameter_constraints = constraints(ECOC_SETTINGS)

    def __init__(
        self,
        estimator: Any = None,
        *,
        codebook: Any = "auto",
        n_bits: int | None = None,
        n_symbols: int | None = None,
        class_distances: Any = "learnability",
        assignment: Any = "preserving",
        loss: Any = "auto",
        decoding: Literal["auto", "loss", "learned"] = "auto",
        weighted_decoding: bool = False,
        calibrate: str | None = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.codebook = codebook
        self.n_bits = n_bits
        self.n_symbols = n_symbols
        self.class_distances = class_distances
        self.assignment = assignment
        self.loss = loss
        self.decoding = decoding
        self.weighted_decoding = weighted_decoding
        self.calibrate = calibrate
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    @lists_weights_if(_takes_weights)
    @with_callbacks
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any) -> Self:
        """Choose a codebook and an assignment, and learn the bits.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            Samples; text or anything else that the estimator accepts also works.
        y : array-like of shape (n_samples,), or several labels per sample
            Labels of any type. If samples may have several, a list of lists or sets of labels, or a table of zeros and
            ones, sparse or dense; each label then has a column of its own, learned by a classifier, ``LinearSVM`` or
            ``Softmax``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, none of them negative; the estimator must accept them. A label whose samples all
            have weight zero is left out, as if it were not in ``y``.
        **fit_params : dict
            Further arguments of the estimator's ``fit``, passed by scikit-learn's metadata routing if it is enabled.
            Those with one entry per sample follow the samples of a bit. Samples for early stopping (``eval_set``,
            ``eval_X`` and ``eval_y``, ``X_val`` and ``y_val``, and their weights) have the labels of ``y``; every bit
            gets its own labels for them. Arguments with any other data are an error.

        Returns
        -------
        ECOCClassifier
            Itself.
        """
        self._validate_params()
        learner = self._bit_classifier()
        params = learner_params(self, learner, "fit", sample_weight, fit_params)
        if (sets := EncodedLabelSets.of(y)) is not None:
            return self._fit_columns(X, sets, params)
        X, y = validated(self, X, y, learner=learner, reset=True)
        class_index, weights, params = labels_and_weights(self, X, y, sample_weight, params=params, learner=learner)
        samples = Samples(X, class_index, weights)
        if not (class_index >= 0).all():
            samples = samples.at(np.flatnonzero(class_index >= 0))
        of_learners = with_other_samples(params, X, self.classes_, self._class_index) if params else {}
        plan, alternatives, orders = self._plan(of_learners, samples, choose_plan)
        n_rounds = 1 + N_FOLDS if self.calibrate == "cv" else 1
        context = begin_callbacks(self, plan.learner, n_rounds * plan.codebook.n_bits)
        samples = Samples(X, class_index, params.get("sample_weight"))
        self._take_parts(fit_model(plan, samples, alternatives=alternatives, orders=orders))
        context.call_on_fit_task_end(estimator=self)
        return self

    def _fit_columns(self, X: Any, sets: EncodedLabelSets, params: Mapping[str, Any]) -> Self:
        """Learn a column for each of several labels per sample, once with all samples and once without a tenth."""
        check_columns(self._params(), params, self._bit_learner(params))
        X, _ = validated(self, X, np.zeros(len(sets), dtype=np.intp), learner=self._bit_classifier(), reset=True)
        self._take_sets(sets)
        samples = Samples.of_sets(X, sets.indicator, checked_weights(params.get("sample_weight"), X))
        n_classes = len(self.classes_)
        column_of_class = Codebook(2 * np.eye(n_classes, dtype=np.int8) - 1, name="one_vs_rest")
        given = {"codebook": column_of_class, "n_symbols": 2, "assignment": "identity", "decoding": "loss"}
        plan, _, orders = self._plan(params, samples, planned, **given)
        context = begin_callbacks(self, plan.learner, 2 * n_classes)
        self._take_parts(fit_model(replace(plan, decoding="margins"), samples, orders=orders))
        context.call_on_fit_task_end(estimator=self)
        return self

    @available_if(_learner_has("partial_fit"))
    def partial_fit(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from a further batch of samples.

        The codebook and the assignment are chosen from the first batch and then kept. Classes without samples in that
        batch count as equally far from all others.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever occur; needed at the first call.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        ECOCClassifier
            Itself.
        """
        self._validate_params()
        if self.calibrate is not None:
            raise ValueError(
                f"partial_fit cannot hold samples out for calibration. Got calibrate={self.calibrate!r}; use None."
            )
        if self.decoding == "learned":
            raise ValueError("partial_fit cannot learn a decoder, which needs all samples. Use decoding='loss'.")
        if self.class_weight == "balanced":
            raise ValueError(
                "partial_fit does not know how often a label will occur. Give class_weight as a dict of numbers."
            )
        is_first, learner = self._is_first_batch(classes), self._bit_classifier()
        params = learner_params(self, learner, "partial_fit", sample_weight, {})
        X, y = validated(self, X, y, learner=learner, reset=is_first)
        class_index = self._batch_class_index(y, classes)
        weights, params = with_class_weight(self, X, class_index, sample_weight, params=params, learner=learner)
        samples = Samples(X, class_index, params.get("sample_weight"))
        if is_first:
            plan, _, orders = self._plan(params, Samples(X, class_index, weights), planned)
            begun = begin_fit(plan, orders)
            self._take_parts(replace(begun, model=learn_batch(begun.model, plan.learner, samples, begun.rng)))
        else:
            self._set_model(learn_batch(self.model_, self._bit_learner(params), samples, self._rng))
        return self

    @property
    def estimators_(self) -> list[Any]:
        """The fitted learners, one per bit."""
        check_is_fitted(self)
        if self._bit_classifier() is None:
            raise AttributeError("Bits learned by codekin's own learners have no separate estimators.")
        return self._predictors()

    @property
    def coding_matrix_(self) -> CodingMatrix:
        """Row ``k`` is the codeword of ``classes_[k]``."""
        return self.model_.coding_matrix

    @property
    def decoding_(self) -> str:
        """How margins become classes, "loss" or "learned"."""
        check_is_fitted(self)
        return "learned" if self.model_.decoder.is_learned else "loss"

    def get_metadata_routing(self) -> MetadataRouter:
        """How metadata reach the learners."""
        return router(self, self._bit_classifier())

    def __sklearn_tags__(self) -> Any:
        """The input tags of the learner, which decides what X may be."""
        tags = with_learner_tags(super().__sklearn_tags__(), self._bit_classifier())
        is_column_each = isinstance(self.codebook, str) and self.codebook in ONE_COLUMN_EACH
        is_usual = all(getattr(self, name) is usual for name, usual in ONE_LABEL_ONLY.items())
        is_classifier = learner_of(self.estimator) is None and not is_regressor(self._bit_classifier())
        tags.classifier_tags.multi_label = is_column_each and is_usual and is_classifier and self.decoding != "learned"
        return tags

    def _bit_classifier(self) -> Any:
        """What learns the bits one by one; None if one of codekin's learners learns them all."""
        if self.estimator is None:
            return LogisticRegression(max_iter=1000)
        return self.estimator if learner_of(self.estimator) is None else None

    def _plan(
        self, params: Mapping[str, Any], samples: Samples, choose: Callable[..., Chosen], **changed: Any
    ) -> Chosen:
        """All settings of a fit, with the arguments of the learners, and the code for the samples."""
        classifier, learner = self._bit_classifier(), self._bit_learner(params)
        given, n_classes, seed = self._choices()
        return choose({**given, **changed}, classifier, learner, samples, n_classes=n_classes, seed=seed)

    def _bit_learner(self, params: Mapping[str, Any]) -> Learner:
        learner = learner_of(self.estimator)
        if learner is not None:
            return learner
        others = {key: value for key, value in params.items() if key != "sample_weight"}
        return IndependentBits(self._bit_classifier(), n_jobs=self.n_jobs, fit_params=others, tasks=deque())

    def _with_learner(self, parts: SavedClassifier) -> SavedClassifier:
        if isinstance(self.estimator, str | None):
            return parts
        if is_named(self.estimator):
            return replace(parts, learner=self.estimator, is_learner_given=True)
        return replace(parts, estimator=self.estimator)

    @classmethod
    def _from_stored(cls, model: Model, parts: SavedClassifier) -> Self:
        given = {} if parts.given_learner is None else {"estimator": parts.given_learner}
        chosen = {"assignment": model.assignment, "codebook": model.codebook}
        return cls(**{**chosen, **parts.params, **given})._restore(model, parts)

    def _validated_samples(self, X: Any) -> Any:
        X = validated(self, X, learner=self._bit_classifier(), reset=False)[0]
        if self._bit_classifier() is None:
            check_single_precision(X, is_to_learn_from=False)
        return X

    def _with_probabilities(self, model: Model) -> Model:
        first, learner, is_weighted = model.codes[0], learner_of(self.estimator), self.weighted_decoding
        own = log_odds_decoder(first.code, first.decoder, learner, is_weighted=is_weighted)
        return replace(model, probability_decoder=own)
