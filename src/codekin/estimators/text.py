"""TextClassifier: from texts and their labels to a model that answers texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if

from codekin.data.datasets import USES
from codekin.data.recipes import AUTO, RECIPES
from codekin.data.vectorizers import TextVectorizer
from codekin.estimators.extreme import ExtremeClassifier, _learns_in_batches
from codekin.estimators.metadata import constraints
from codekin.estimators.text_fit import TextFit
from codekin.estimators.text_predictions import encoded_labels
from codekin.fitting.settings import EXTREME_SETTINGS
from codekin.learners.compact import Precision
from codekin.model.reranking import CandidateSource


class TextClassifier(TextFit, ClassifierMixin, BaseEstimator):
    """Classification of texts: features, a code of the classes and its decoding, from two columns of a table.

    Texts become features (words, pairs of words, characters), which an :class:`ExtremeClassifier` learns from. A model
    is saved with both, and is what ``codekin train`` writes: ``codekin predict``, ``serve`` and ``export`` take it.

    Parameters
    ----------
    features : {"auto", "words", "words+prefixes", "words+prefixes+trigrams", "words+trigrams", "characters"} or \
TextVectorizer, default="auto"
        What is counted in the texts: words and pairs of words; beside them the first letters of words, three characters
        within words, or both, where only the re-ranking learns from the characters; or characters alone. "auto" tries
        them on some of the classes, from 2,000 samples on, and takes the cheapest of those that are about as good as
        the best; within a budget only words and their first letters.
    text : str, list of str or dict of str to float, default=None
        The columns of a data frame that have the texts; as a dict, each with its weight, which is 1 otherwise. Every
        column has a vocabulary of its own. By default samples are texts, without further columns.
    numbers, categories : str or list of str, default=None
        Further columns of the data frame. A number is its distance from the median of the training samples in units of
        twice their interquartile range, cut off at -1 and 1; a category is a feature of its own. A missing number
        counts as the median, a missing category and one that training has not seen as none.
    embeddings : str, list of str or dict of str to float, default=None
        Columns of vectors, such as embeddings of the texts by another model; as a dict, each with its weight beside a
        text, 1 otherwise. All vectors of a column have the same length; none may be missing. With ``text=None`` there
        are vectors alone, which the classifier takes as they are; samples may then be one matrix.
    width, max_bits
        As in :class:`ExtremeClassifier`, like all settings below without a text of their own; all may be left open.
    max_model_bytes : int, default=None
        The most bytes of the model folder, features included; needs validation samples in :meth:`fit`.
    max_microseconds : float, default=None
        The most time per prediction, from features on; needs validation samples, too.
    time_limit : float, default=None
        Seconds after which no further settings are tried for such a budget.
    code, taxonomy, assignment, estimator, loss, prune, precision, rerank, candidates, n_codes, n_reserved
        As in :class:`ExtremeClassifier`.
    n_jobs : int, default=None
        How many of joblib's workers share the work of :meth:`fit`; the result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        The seed; with the same data and settings it gives the same model, byte for byte.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    classifier_ : ExtremeClassifier
        The classifier of the features.
    vectorizer_ : FittedVectorizer or FittedRows
        What makes features of texts, or of rows if there are several columns.

    Examples
    --------
    >>> texts = ["a cat purrs", "the dog barks", "my cat sleeps", "dogs bark", "cats purr", "a dog runs"]
    >>> labels = ["cat", "dog", "cat", "dog", "cat", "dog"]
    >>> classifier = TextClassifier(random_state=0).fit(texts, labels)
    >>> classifier.predict(["the cat", "a small dog"])
    array(['cat', 'dog'], dtype='<U3')

    From a data frame to a model that ``codekin serve pets`` answers with:

    >>> import pandas as pd
    >>> pets = pd.DataFrame({"text": texts, "kg": [4, 20, 5, 9, 3, 31], "pet": labels})
    >>> classifier = TextClassifier(text="text", numbers="kg", random_state=0).fit(pets, pets["pet"])
    >>> classifier.predict([{"text": "it sleeps", "kg": 4}, {"text": "it runs", "kg": 30}]).tolist()
    ['cat', 'dog']
    >>> classifier.save("pets")  # doctest: +SKIP
    """

    _of_features = ExtremeClassifier
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "features": [TextVectorizer, StrOptions({AUTO, *RECIPES})],
        "text": [None, str, list, tuple, dict],
        "numbers": [None, str, list, tuple],
        "categories": [None, str, list, tuple],
        "embeddings": [None, str, list, tuple, dict],
        **constraints(EXTREME_SETTINGS),
    }

    def __init__(
        self,
        features: str | TextVectorizer = AUTO,
        *,
        text: str | Sequence[str] | Mapping[str, float] | None = None,
        numbers: str | Sequence[str] | None = None,
        categories: str | Sequence[str] | None = None,
        embeddings: str | Sequence[str] | Mapping[str, float] | None = None,
        width: int | Literal["auto"] = "auto",
        max_bits: int | None = None,
        max_model_bytes: int | None = None,
        max_microseconds: float | None = None,
        time_limit: float | None = None,
        code: Literal["auto", "trellis", "tree"] = "auto",
        taxonomy: Any = None,
        assignment: Any = "auto",
        estimator: Any = "auto",
        loss: Any = "auto",
        prune: float | Literal["auto"] | None = "auto",
        precision: Precision | Literal["auto"] = "auto",
        rerank: Literal["auto", "centroid", "learned"] | None = "auto",
        candidates: CandidateSource | Literal["auto"] = "auto",
        n_codes: int | Literal["auto"] = "auto",
        n_reserved: int = 0,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        given = dict(locals())
        super().__init__(**{name: given[name] for name in ("features", *USES, *EXTREME_SETTINGS)})

    @available_if(_learns_in_batches)
    def partial_fit(
        self, texts: Any, labels: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Make one pass over a further batch of texts.

        The features are those of the first batch, and so is the assignment; hashed features need no vocabulary.

        Parameters
        ----------
        texts : as in :meth:`fit`
        labels : array-like of shape (n_samples,)
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever occur; needed at the first call.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        TextClassifier
            Itself.
        """
        self._validate_params()
        is_first = not hasattr(self, "classifier_")
        if is_first:
            self._columns = self._chosen_columns(texts, labels)
        given, y = self._labelled(texts, labels)
        X = self._fit_features(given, y, in_batches=True) if is_first else self.vectorizer_.transform(given)
        classifier: Any = self._new_classifier(X) if is_first else self.classifier_
        known = None if classes is None else encoded_labels(classes).classes
        self.classifier_ = classifier.partial_fit(X, np.asarray(y), known, sample_weight)
        self._forget()
        return self

    def _validate_params(self) -> None:
        BaseEstimator._validate_params(self)

    def __sklearn_tags__(self) -> Any:
        """Samples are texts."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags
