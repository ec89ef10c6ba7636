"""The base class of the estimators: what fitting, growing, reporting and storing have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from codekin._system.rows import StoredRows, n_samples_in
from codekin.assignments import AssignmentResult
from codekin.classes import ClassDistances
from codekin.classes.tree_distances import TreeDistances
from codekin.code import Assignment, Codebook, IntArray
from codekin.decoding import LOSSES, Loss
from codekin.decoding.losses import get_loss
from codekin.estimators.inputs import label_array
from codekin.estimators.predictions import Predictions
from codekin.fitting.fit import FitResult, grown
from codekin.fitting.plan import Seed
from codekin.fitting.report import FitReport, fit_report, restored
from codekin.fitting.setting import Table
from codekin.model import Model
from codekin.model.probabilities import check_one_label, with_sets
from codekin.samples import EncodedLabelSets, Samples
from codekin.states import SavedClassifier


class CodedClassifier(Predictions):
    """The base class of the estimators; a subclass fits ``model_`` and validates samples."""

    _kind: ClassVar[str]
    """The estimator that is saved."""
    _table: ClassVar[Table]
    """Its settings."""
    loss: Any
    random_state: Any
    codebook_: Codebook
    assignment_: Assignment
    assignment_result_: AssignmentResult | None
    class_distances_: ClassDistances | None
    loss_: Loss
    plan_: dict[str, Any]
    _rng: np.random.Generator
    _predicts_table: bool = False
    """Whether the several labels of samples were given as a dense table."""
    _training_counts: IntArray | None = None
    _report: FitReport | None
    _report_facts: dict[str, Any]
    """What the report says beyond the properties of the code."""

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
        self._check_is_fitted()
        model = self.model_
        check_one_label(model, "Classes are added with")
        if not model.is_single:
            raise ValueError(
                "Classes can only be added to a single code without re-ranking, which n_reserved=... trains. "
                "Got a model with several codes or a re-ranking."
            )
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
        every, places = np.unique(np.concatenate([self.classes_, labels]), return_index=True)
        model, report = grown(model, margins, new_class, places, self.loss_), self.report()
        self.classes_, self.assignment_ = every, model.assignment
        self.assignment_result_ = self.class_distances_ = None
        self._set_model(model)
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
            checked = X if isinstance(X, StoredRows) else self._validated_samples(X)
            samples = self._samples(checked, y)
            if n_samples_in(checked) != len(samples.class_index):
                given = f"{n_samples_in(checked)} and {len(samples.class_index)}"
                raise ValueError(f"Samples and labels have inconsistent numbers of samples: {given}.")
        if self._report is None or samples is not None:
            facts, known = self._report_facts, self._report
            self._report = fit_report(
                self.model_, self.loss_, self.class_distances_, facts, known=known, samples=samples
            )
        return self._report

    def _samples(self, X: Any, y: Any) -> Samples:
        """Samples with the indices of their labels, of which they may have several if those of ``fit`` had."""
        if self.model_.marginals is None:
            return Samples(X, self._class_index(y))
        return Samples.of_sets(X, EncodedLabelSets.of(y, is_several=True).of_classes(self.classes_))

    def _parts_to_store(self) -> tuple[Model, SavedClassifier]:
        """The model and the other parts of the classifier, for :func:`codekin.storage.save_model`."""
        self._check_is_fitted()
        return self.model_, self._with_learner(self._parts_around(self.report().as_dict()))

    def _params(self) -> dict[str, Any]:
        """The settings, as scikit-learn's ``get_params`` has them."""
        return {name: getattr(self, name) for name in sorted(self._table)}

    def _parts_around(self, report: Mapping[str, Any]) -> SavedClassifier:
        """What is saved in addition to the model, except for the learner."""
        params = self._params()
        del params["n_jobs"]  # says nothing about the model
        if params.get("n_symbols") in (None, 2):
            params.pop("n_symbols", None)  # the default
        distances = getattr(self, "class_distances_", None)
        return SavedClassifier(
            self._kind,
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
    @abstractmethod
    def _from_stored(cls, model: Model, parts: SavedClassifier) -> Self:
        """The classifier of a stored model, ready to predict."""

    def _restore(self, model: Model, parts: SavedClassifier) -> Self:
        """Set the fitted attributes; of class distances only trees are restored."""
        report = restored(parts.report, model)
        self.classes_ = parts.labels
        self.codebook_, self.assignment_ = model.codebook, model.assignment
        self.assignment_result_ = None
        self.class_distances_ = None if parts.class_tree is None else TreeDistances(parts.class_tree)
        # A learned decoder weights the margins directly, so its loss says nothing about the bits.
        self.loss_ = get_loss(report.loss if report.loss in LOSSES else model.decoder.loss)
        seed = self.random_state
        self._rng = np.random.default_rng(seed if isinstance(seed, int) else None)
        self._set_model(model)
        self._report, self._report_facts, self.plan_ = report, {}, dict(parts.plan)
        if parts.set_calibration is not None:
            self.set_calibration_ = parts.set_calibration
        if parts.n_features is not None:
            self.n_features_in_ = parts.n_features
        if parts.feature_names is not None:
            self.feature_names_in_ = np.array(parts.feature_names, dtype=object)
        return self

    @abstractmethod
    def _with_learner(self, parts: SavedClassifier) -> SavedClassifier:
        """The parts with the learner."""

    def _set_model(self, model: Model) -> None:
        self.model_ = self._with_probabilities(model)
        self._report = None
        self.__dict__.pop("set_calibration_", None)

    def _with_probabilities(self, model: Model) -> Model:
        """The model with the probabilities of this estimator."""
        return model

    def _take_sets(self, sets: EncodedLabelSets) -> None:
        """Set what is known of several labels per sample, before they are learned."""
        self.classes_, self._predicts_table = sets.classes, sets.is_dense
        counts = np.bincount(sets.indicator.indices, minlength=len(sets.classes))
        self._training_counts = np.append(counts, len(sets)).astype(np.int64)

    def _take_parts(self, fit: FitResult) -> None:
        """Set the attributes of the code and its parts."""
        self.plan_, self._report_facts, orders = fit.plan.as_dict(), fit.facts, fit.orders
        self.codebook_, self.assignment_ = orders.codebook, orders.first
        self.assignment_result_, self.class_distances_ = orders.result, fit.class_distances
        self.loss_, self._rng = fit.loss, fit.rng
        counts, model = self._training_counts, fit.model
        if counts is not None:
            model = with_sets(model, is_dense=self._predicts_table, training_counts=counts)
        self._set_model(model)

    def _choices(self) -> tuple[dict[str, Any], int, Seed]:
        """The settings, the number of classes, at least 2, and the source of all random choices."""
        n_classes = len(self.classes_)
        if n_classes < 2:
            raise ValueError(
                f"{self._kind} needs samples of at least 2 classes. Got {n_classes} class: {self.classes_.tolist()}."
            )
        seed = tuple(random_state_of(self.random_state).randint(2**31 - 1, size=4).tolist())
        return self._params(), n_classes, seed

    def _batch_class_index(self, labels: ArrayLike, classes: ArrayLike | None) -> IntArray:
        """The class indices of a batch; the first batch sets all classes."""
        if not hasattr(self, "model_"):
            self.classes_ = np.unique(np.asarray(label_array(classes)))
        elif classes is not None and not np.array_equal(np.unique(np.asarray(label_array(classes))), self.classes_):
            raise ValueError("The 'classes' parameter of partial_fit differs from that of the first call.")
        remedy = "; use add_classes to give reserved codewords to new classes" if hasattr(self, "model_") else ""
        return self._known_class_index(labels, remedy)

    def _is_first_batch(self, classes: ArrayLike | None) -> bool:
        is_first = not hasattr(self, "model_")
        if is_first and classes is None:
            raise ValueError("The first call of partial_fit needs the 'classes' parameter: all labels that will occur.")
        return is_first


def random_state_of(seed: Any) -> Any:
    """NumPy's generator of numbers with this seed, as scikit-learn's ``check_random_state``."""
    if isinstance(seed, int):
        return np.random.RandomState(seed)
    from sklearn.utils import check_random_state

    return check_random_state(seed)
