"""What a fitted classifier answers samples with: a label, none, all that are probable enough, or a prediction set."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin._system.rows import n_samples_in
from codekin.code import IntArray
from codekin.estimators.inputs import as_class_tree
from codekin.model import Model
from codekin.model.answer_tree import AnswerTree
from codekin.model.prediction_sets import SetCalibration, answer_names, check_share, likely_classes, sure_answers
from codekin.model.probabilities import check_one_label, probable_labels, with_chosen, with_threshold
from codekin.samples import EncodedLabelSets


class Answers(metaclass=ABCMeta):
    """The labels that answer samples; a subclass fits ``model_``."""

    classes_: NDArray[Any]
    model_: Model
    set_calibration_: SetCalibration

    def predict(self, X: Any, *, min_probability: float | None = None) -> Any:
        """The label whose codeword has the smallest decoding loss (Eq. 2), or all labels that are probable enough.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Whatever ``fit`` takes.
        min_probability : float, default=None
            How probable an answer must be: the most probable label if it is, otherwise None, which stands for "none of
            these", or a group of labels, if :meth:`calibrate_sets` was given a taxonomy. By default what that method
            found for a precision, otherwise 0: every sample gets a label. If samples have several labels, all that are
            at least as probable; by default their thresholds.

        Returns
        -------
        ndarray of shape (n_samples,), or csr_array or ndarray of shape (n_samples, n_classes)
            Of Python's objects if some samples may get None. If samples have several labels, 1 where the marginal
            probability is at least the threshold, which is 0.5; dense if the labels of ``fit`` were a dense table.
        """
        self._check_is_fitted()
        least = self._least(min_probability)
        model, samples = self.model_, self._validated_samples(X)
        if model.marginals is not None:
            found = probable_labels(with_threshold(model, min_probability), samples)
            return found.toarray().astype(np.int64) if model.marginals.is_dense else found
        if least:
            groups = self.set_calibration_.groups if hasattr(self, "set_calibration_") else None
            return answer_names(self.classes_, groups)[sure_answers(model, samples, least, groups)[0]]
        return np.asarray(self.classes_[model.predict(samples)])

    def _least(self, given: float | None) -> float:
        """How probable an answer must be."""
        if given is None:
            return self.set_calibration_.min_probability if hasattr(self, "set_calibration_") else 0.0
        check_share(given, "min_probability")
        return float(given)

    def calibrate_sets(self, X: Any, y: ArrayLike, *, min_precision: float | None = None, taxonomy: Any = None) -> Self:
        """Find out on held-out samples how probable a label must be to belong to a prediction set, or to be answered.

        Any coverage can be asked for afterwards. What was found is saved with the model, and lost when the model learns
        or gets classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples that played no part in ``fit``, neither for training nor for validation.
        y : array-like of shape (n_samples,)
            Their labels. Those that are not in ``classes_`` count: no set can have them.
        min_precision : float, default=None
            How often the labels that :meth:`predict` gives must be right; samples whose label is not probable enough
            for that get None. This holds with 95 % certainty for new samples from the same source.
        taxonomy : "model", "prefixes", ClassTree, list of (parent, child) pairs, nested dict or networkx graph, \
default=None
            Groups of classes that may be answers, too. :meth:`predict` gives the smallest one that is probable enough
            where no single label is, and prediction sets have at most three labels and groups. "prefixes" are common
            beginnings of the labels, as those of the codes of the ICD; "model" are neighbours in the model's own order
            of the classes. A group is a ClassGroup: text with the labels of its classes in ``labels``.

        Returns
        -------
        CodedClassifier
            Itself.
        """
        self._check_is_fitted()
        check_one_label(self.model_, "Prediction sets are for samples of")
        samples, class_index = self._validated_samples(X), self._class_index(y)
        if class_index.shape != (n_samples_in(samples),):
            raise ValueError(f"There are {n_samples_in(samples)} samples. Got labels of shape {class_index.shape}.")
        groups = None if taxonomy is None else self._groups(taxonomy)
        self.set_calibration_ = SetCalibration.measured(self.model_, samples, class_index, groups, min_precision)
        return self

    def _groups(self, taxonomy: Any) -> AnswerTree:
        """The groups of classes that are answers."""
        if isinstance(taxonomy, str) and taxonomy == "prefixes":
            return AnswerTree.of_prefixes(self.classes_)
        if isinstance(taxonomy, str) and taxonomy == "model":
            return AnswerTree.of_model(self.model_, self.classes_)
        return AnswerTree.of(as_class_tree(taxonomy, self.classes_), self.classes_)

    def choose_thresholds(self, X: Any, y: Any, aim: str | float = "micro_f1", *, per_label: bool = False) -> Self:
        """Choose the probabilities from which on labels are predicted, if samples may have several.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples that played no part in ``fit``.
        y : list of lists or sets of labels, or a table of zeros and ones
            Their labels.
        aim : {"micro_f1", "macro_f1"} or float, default="micro_f1"
            What is as large as possible: F1 of all pairs of a sample and a label, or the mean F1 of the labels. A
            number is a precision to keep.
        per_label : bool, default=False
            Whether each label gets a threshold; there should be some samples of each.

        Returns
        -------
        CodedClassifier
            Itself.
        """
        self._check_is_fitted()
        labels = EncodedLabelSets.of(y, is_several=True).of_classes(self.classes_)
        self._change_model(with_chosen(self.model_, self._validated_samples(X), labels, aim, per_label=per_label))
        return self

    def _change_model(self, model: Any) -> None:
        self.model_ = model

    def predict_sets(self, X: Any, coverage: float = 0.9) -> list[NDArray[Any]]:
        """A set of labels for each sample that holds the true one as often as asked: conformal prediction.

        The guarantee is for new samples from the source of those that :meth:`calibrate_sets` got, on average over them.
        Sets are small where the classifier is sure and large where it is not. A set is never empty: if ``predict`` is
        right more often than the coverage, so are the sets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Whatever ``fit`` takes.
        coverage : float, default=0.9
            The share of samples whose true label is in its set, between 0 and 1.

        Returns
        -------
        list of ndarray
            The labels of each sample, best first; with a taxonomy at most three labels and groups of labels.
        """
        self._check_is_fitted()
        check_one_label(self.model_, "Prediction sets are for samples of")
        if not hasattr(self, "set_calibration_"):
            raise ValueError("Prediction sets need held-out samples first; call calibrate_sets(X, y).")
        largest, groups = self.set_calibration_.largest_score(coverage), self.set_calibration_.groups
        samples = self._validated_samples(X)
        if groups is not None:
            names = answer_names(self.classes_, groups)
            return [names[answers] for answers in groups.sets(self.model_, samples, largest)]
        return [self.classes_[classes] for classes in likely_classes(self.model_, samples, largest)]

    @abstractmethod
    def _check_is_fitted(self) -> None: ...

    @abstractmethod
    def _validated_samples(self, X: Any) -> Any: ...

    @abstractmethod
    def _class_index(self, labels: Any) -> IntArray: ...
