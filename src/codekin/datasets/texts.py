"""Convert a data set of texts to one of features."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from codekin.datasets.samples import Dataset
from codekin.datasets.vectorizers import FittedVectorizer, TextVectorizer


def vectorized(dataset: Dataset, vectorizer: TextVectorizer | None = None) -> tuple[Dataset, FittedVectorizer]:
    """The data set with features of its texts, and the vectorizer, fitted only to the training texts.

    Parameters
    ----------
    dataset : Dataset
        With texts in all of its splits.
    vectorizer : TextVectorizer, optional
        How texts become features; by default TF-IDF of words and pairs of words.

    Returns
    -------
    tuple of Dataset and FittedVectorizer

    Examples
    --------
    >>> from codekin.datasets import load_dataset
    >>> icd, fitted = vectorized(load_dataset("icd10cm"), TextVectorizer(ngram_range=(1, 1)))
    >>> icd.X.shape == (14709, fitted.n_features)
    True
    """
    if any(split.texts is None for split in dataset.splits.values()):
        raise ValueError(f"The data set {dataset.name!r} has splits without texts, so no features can be made of them.")
    fitted = (vectorizer or TextVectorizer()).fit(dataset.train.texts or ())
    made: Any = {name: replace(each, X=fitted.transform(each.texts or ())) for name, each in dataset.splits.items()}
    return replace(dataset, **made, feature_names=fitted.vocabulary or None), fitted
