"""What a fitted classifier of texts answers, how good it is, and where it is saved."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin._system.messages import with_article
from codekin.data.columns import is_missing, samples_of
from codekin.data.datasets import USES, TableColumns
from codekin.data.model_input import ModelInput
from codekin.data.row_features import Features, FittedRows
from codekin.estimators.extreme_fit import ExtremeFit
from codekin.estimators.inputs import label_array
from codekin.estimators.predictions import Predictions
from codekin.explaining import Explanation
from codekin.fitting.report import TrainingReport
from codekin.fitting.trial import microseconds_of
from codekin.measures.label_sets import LabelEvaluation
from codekin.measures.predictions import Baselines, Evaluation
from codekin.model import Model
from codekin.model.prediction_sets import SetCalibration
from codekin.samples import EncodedLabels, EncodedLabelSets, Labels
from codekin.states import SavedClassifier, State


class TextPredictions(Predictions):
    """The answers of a classifier of features to texts; a subclass fits it and what makes the features."""

    classifier_: ExtremeFit
    vectorizer_: Features
    _columns: TableColumns | None
    _evaluation: Evaluation | LabelEvaluation | None
    _baselines: Baselines | None
    _n_samples: int | None
    _some_texts: list[Any]

    def _forget(self) -> None:
        """Measurements are of an earlier model."""
        self._evaluation = self._baselines = None
        self._n_samples, self._some_texts = None, []

    def add_classes(self, texts: Any, labels: ArrayLike) -> Self:
        """Give the codewords that ``n_reserved`` kept free to new classes; what was learned stays as it is.

        Parameters
        ----------
        texts : as in :meth:`fit`
            Texts of new classes only, at least one of each.
        labels : array-like of shape (n_samples,)
            Their labels, none of which is in ``classes_``.

        Returns
        -------
        TextClassifier
            Itself.
        """
        X = self._checked(texts)
        self.classifier_.add_classes(X, np.asarray(encoded_labels(labels)))
        self._forget()
        return self

    def report(self) -> TrainingReport:
        """How good the model is on the validation samples of :meth:`fit`, how large and how fast.

        Returns
        -------
        TrainingReport
            Prints as lines for people; ``details`` has the terms of the method.
        """
        return self._reported(State.of(*self._parts_to_store(), self.model_input_).n_bytes)

    def _reported(self, n_bytes: int) -> TrainingReport:
        """The report of a model that takes this many bytes on disk."""
        chosen, some = self.vectorizer_, self._some_texts

        def predict(samples: Any) -> Any:
            return self.model_.predict(chosen.transform(samples))

        return TrainingReport(
            n_samples=self._n_samples,
            n_classes=len(self.classes_),
            n_features=self.classifier_.n_features_in_,
            features=described_features(chosen),
            n_bytes=n_bytes,
            microseconds=microseconds_of(predict, some) if some else None,
            evaluation=self._evaluation,
            details=self.classifier_.report(),
        )

    def explain(self, X: Any, labels: ArrayLike | None = None) -> Explanation:
        """What each term of a text contributes to the score of a class.

        Parameters
        ----------
        X : str, or texts as in :meth:`predict`
            A text, or several.
        labels : array-like of shape (n_samples,) or a single label, default=None
            The class to explain for each text, or for all; by default the predicted one.

        Returns
        -------
        Explanation
            ``explanation.text()`` shows the first.
        """
        self._check_is_fitted()
        X = [X] if isinstance(X, str) else X
        names: dict[int, str] = {}
        fitted: Any = self.vectorizer_
        for sample in samples_of(X, self._columns):
            names.update({k: " / ".join(terms) for k, terms in fitted.terms_by_column(sample).items()})
        return replace(super().explain(X, labels), feature_names=names)

    def explore(  # type: ignore[override]  # texts are the samples
        self, texts: Any = None, labels: ArrayLike | None = None, *, title: str = "Explorer"
    ) -> Any:
        """A page that shows how this classifier works, and takes texts to classify.

        Parameters
        ----------
        texts : as in :meth:`TextClassifier.fit`, default=None
            Usually of a test set.
        labels : array-like of shape (n_samples,), default=None
            Their labels.
        title : str, default="Explorer"
            The heading of the page.

        Returns
        -------
        ExplorerPage
            Displayed by notebooks; ``save(path)`` writes it.
        """
        self._check_is_fitted()
        given = None if texts is None else samples_of(texts, self._columns)
        X = None if given is None else self.vectorizer_.transform(given)
        return self.classifier_.explore(X, labels, texts=given, vectorizer=self.vectorizer_, title=title)

    # ----- saving ---------------------------------------------------------------------------------------------------

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the model with its features into a folder, as ``codekin train`` does.

        Parameters
        ----------
        folder : path
            Where to save it. An existing model is replaced; a folder with other files is refused.

        Returns
        -------
        Path
            The folder.
        """
        from codekin.storage import save_model  # a layer above, as load_model is

        return save_model(self, folder)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """The classifier that :meth:`save` or ``codekin train`` wrote.

        Parameters
        ----------
        folder : path
            A model folder.

        Returns
        -------
        TextClassifier
        """
        from codekin.storage import load_saved

        saved = load_saved(folder)
        vectorizer = saved.model_input.vectorizer
        if vectorizer is None or not isinstance(saved.model, ExtremeFit):
            what = type(saved.model).__name__ if vectorizer is not None else "model of features"
            raise ValueError(f"{folder} holds no TextClassifier but {with_article(what)}; load_model reads it.")
        columns, given = saved.model_input.columns, dict[str, Any]()
        if isinstance(vectorizer, FittedRows):
            given = {use: list(getattr(vectorizer.columns, use)) for use in USES}
            for use, weights in (("text", vectorizer.weights), ("embeddings", vectorizer.vector_weights)):
                given[use] = dict(zip(given[use], weights, strict=True)) or None
        elif columns is not None and len(columns.text) == 1:
            given = {"text": columns.text[0]}
        else:
            columns = None  # or several that were joined to one text
        loaded = cls(vectorizer.vectorizer, **given, **saved.model._params())  # type: ignore[call-arg]
        loaded.classifier_, loaded.vectorizer_, loaded._columns = saved.model, vectorizer, columns
        loaded._forget()
        return loaded

    @property
    def model_input_(self) -> ModelInput:
        """How texts are read and become features: what is saved with the model."""
        return ModelInput(self.vectorizer_, columns=self._columns)

    def _parts_to_store(self) -> tuple[Model, SavedClassifier]:
        self._check_is_fitted()
        return self.classifier_._parts_to_store()

    # ----- the classifier of the features ---------------------------------------------------------------------------

    @property
    def model_(self) -> Model:  # type: ignore[override]
        """The fitted model of the features."""
        return self.classifier_.model_

    def _change_model(self, model: Model) -> None:
        self.classifier_._change_model(model)

    @property
    def classes_(self) -> NDArray[Any]:  # type: ignore[override]
        """The labels."""
        return self.classifier_.classes_

    @property
    def set_calibration_(self) -> SetCalibration:
        """What :meth:`calibrate_sets` found."""
        return self.classifier_.set_calibration_

    @set_calibration_.setter
    def set_calibration_(self, found: SetCalibration) -> None:
        self.classifier_.set_calibration_ = found

    def _check_is_fitted(self) -> None:
        if "classifier_" not in self.__dict__:
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(self, "classifier_")

    def _checked(self, texts: Any) -> Any:
        self._check_is_fitted()
        return self._validated_samples(texts)

    def _validated_samples(self, X: Any) -> Any:
        """The features of texts."""
        return self.vectorizer_.transform(samples_of(X, self._columns))


def encoded_labels(labels: Any) -> Labels:
    """The labels as class indices; texts have NumPy's own type, whatever a data frame made of them.

    Several labels per sample are an indicator.
    """
    if isinstance(labels, EncodedLabels):
        return labels
    sets: EncodedLabelSets | None = EncodedLabelSets.of(labels)
    if sets is not None:
        return sets
    if not isinstance(labels, np.ndarray) or labels.dtype.kind in "fO":
        for i, label in enumerate(np.asarray(labels, dtype=object).ravel().tolist()):
            if is_missing(label):
                raise ValueError(f"The label of sample {i} is missing. Got {label!r}; leave such samples out.")
    from sklearn.utils import column_or_1d
    from sklearn.utils.multiclass import check_classification_targets

    given = np.asarray(label_array(labels))
    if given.dtype.kind == "O" and all(isinstance(label, str) for label in given.tolist()):
        given = given.astype(str)
    with warnings.catch_warnings():
        # Labels of a few texts to evaluate are often all different.
        warnings.filterwarnings("ignore", "The number of unique classes")
        check_classification_targets(given)
    return EncodedLabels(*np.unique(column_or_1d(given), return_inverse=True))


def described_features(fitted: Features) -> str:
    """What the features are, in words."""
    if isinstance(fitted, FittedRows):
        names = ", ".join(fitted.columns.text)
        of_texts = [f"{described_features(fitted.texts[0])}, of {names}"] if fitted.texts else []
        return "; ".join([*of_texts, *fitted.others])
    kinds = {"words": "words", "characters": "characters within words", "prefixes": "first letters of words"}
    lengths = [
        f"{block.ngrams[0]}" if len({*block.ngrams}) == 1 else "{} to {}".format(*block.ngrams)
        for block in fitted.blocks
    ]
    listed = [f"n-grams of {kinds[block.kind]}, {length}" for block, length in zip(fitted.blocks, lengths, strict=True)]
    return ("hashed " if fitted.n_columns else "") + "; ".join(listed)


def with_features(classifier: Any, vectorizer: Any = None) -> tuple[Any, Any]:
    """The classifier of features and what makes them of texts: a TextClassifier has both."""
    if isinstance(classifier, TextPredictions):
        classifier._check_is_fitted()
        return classifier.classifier_, classifier.vectorizer_
    return classifier, vectorizer
