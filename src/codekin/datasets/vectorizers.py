"""Texts to features, in a form that a saved model can hold: JSON and arrays, never a pickle.

scikit-learn does the work (TF-IDF or hashing, both with sublinear counts and rows of length one); this module only
fixes the settings, so that a fitted vectorizer can be stored and restored exactly.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from numbers import Integral
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from codekin._system.index_arrays import check_ends
from codekin.coding import FloatArray
from codekin.datasets.samples import Dataset
from codekin.datasets.vocabularies import CodedWords, coded_weights, decoded_weights, decoded_words
from codekin.progress import counted_off

WORDS = {1: r"\b\w\w+\b", 2: r"\b\w+\b"}
"""What a word is, for each version of the format: the first one left out words of one character."""
MAX_NGRAM = 100
"""The longest n-gram: the number of features of a text is this times its length."""

Method = Literal["tfidf", "hashing"]
Analyzer = Literal["word", "char_wb"]


@dataclass(frozen=True)
class TextVectorizer:
    """How texts become features.

    Parameters
    ----------
    method : {"tfidf", "hashing"}, default="tfidf"
        Words of a fixed vocabulary weighted by how rare they are, or words hashed into columns: no training and no
        vocabulary, but collisions.
    analyzer : {"word", "char_wb"}, default="word"
        What is counted: words, or characters within words (good for codes and typing errors).
    ngram_range : tuple of two int, default=(1, 2)
        The shortest and the longest n-grams to count.
    min_df : int, default=1
        Leave out terms that occur in fewer texts ("tfidf" only).
    max_features : int, optional
        Keep only this many of the most frequent terms ("tfidf" only).
    n_features : int, default=2**18
        The number of columns ("hashing" only).

    Examples
    --------
    >>> fitted = TextVectorizer(ngram_range=(1, 1)).fit(["a cat purrs", "a dog barks", "a cat"])
    >>> fitted
    <FittedVectorizer tfidf: 5 features>
    >>> fitted.transform(["cat and dog"]).indices
    array([2, 3], dtype=int32)
    """

    method: Method = "tfidf"
    analyzer: Analyzer = "word"
    ngram_range: tuple[int, int] = (1, 2)
    min_df: int = 1
    max_features: int | None = None
    n_features: int = 2**18

    def __post_init__(self) -> None:
        """Check the choices."""
        for name, kind in (("method", Method), ("analyzer", Analyzer)):
            value, choices = getattr(self, name), get_args(kind)
            if value not in choices:
                shown = ", ".join(repr(choice) for choice in choices)
                raise ValueError(
                    f"The '{name}' parameter of TextVectorizer must be one of {shown}. Got {value!r} instead."
                )
        low, high = self.ngram_range
        if not (_is_integer(low) and _is_integer(high) and 1 <= low <= high <= MAX_NGRAM):
            raise ValueError(
                "The 'ngram_range' parameter of TextVectorizer must be two integers, 1 <= from <= to <= "
                f"{MAX_NGRAM}. Got {self.ngram_range} instead."
            )
        for name in ("min_df", "max_features", "n_features"):
            value = getattr(self, name)
            if (value is not None or name != "max_features") and not (_is_integer(value) and value >= 1):
                raise ValueError(
                    f"The '{name}' parameter of TextVectorizer must be an integer, at least 1. Got {value!r} instead."
                )
        object.__setattr__(self, "ngram_range", (int(low), int(high)))

    def fit(self, texts: Iterable[str]) -> FittedVectorizer:
        """Learn the vocabulary and its weights from texts; with ``method="hashing"`` there is nothing to learn."""
        if self.method == "hashing":
            return FittedVectorizer(self)
        vectorizer, texts = _tfidf(self, max(WORDS)), list(texts)
        try:
            vectorizer.fit(counted_off(texts, "learning the vocabulary", unit="texts"))
        except ValueError:
            # scikit-learn's messages vary and mention options that do not exist here.
            nothing = "there are no words in them"
            reason = nothing if self.min_df == 1 else f"nothing is in {self.min_df:,} of them"
            raise ValueError(f"No features can be made from these {len(texts):,} texts: {reason}.") from None
        return FittedVectorizer(self, tuple(vectorizer.get_feature_names_out()), np.asarray(vectorizer.idf_))


@dataclass(frozen=True, eq=False, repr=False)
class FittedVectorizer:
    """A text vectorizer after fitting.

    Parameters
    ----------
    vectorizer : TextVectorizer
        The choices.
    vocabulary : tuple of str
        The feature of each column; empty when features are hashed.
    idf : ndarray of shape (n_features,), optional
        The weight of each feature.
    version : int, default=2
        Of the format. In version 1, that of older models, words of one character are left out.
    """

    vectorizer: TextVectorizer
    vocabulary: tuple[str, ...] = ()
    idf: FloatArray | None = None
    version: int = max(WORDS)
    _transformer: Any = field(init=False)

    def __post_init__(self) -> None:
        """Build scikit-learn's transformer once."""
        if self.vectorizer.method == "hashing":
            transformer = _hashing(self.vectorizer, self.version)
        else:
            transformer = _tfidf(self.vectorizer, self.version, {word: k for k, word in enumerate(self.vocabulary)})
            transformer.idf_ = self.idf
        object.__setattr__(self, "_transformer", transformer)

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return self.vectorizer.n_features if self.vectorizer.method == "hashing" else len(self.vocabulary)

    def transform(self, texts: Iterable[str]) -> csr_array:
        """The features of texts: a float32 matrix with rows of length one and int32 indices in increasing order.

        A text without any known word becomes a row of zeros.
        """
        X = csr_array(self._transformer.transform(texts), dtype=np.float32)
        if self.vectorizer.method == "hashing":
            # Counts first, sublinear afterwards: HashingVectorizer has no such option.
            X.data = np.log(np.abs(X.data)) + 1
            norms = np.sqrt(X.multiply(X).sum(axis=1))
            X.data /= np.repeat(np.where(norms > 0, norms, 1), np.diff(X.indptr)).astype(np.float32)
        X.sort_indices()
        return X

    @property
    def columns(self) -> Mapping[str, int]:
        """The column of each feature of a vocabulary; empty when features are hashed."""
        found: Mapping[str, int] = getattr(self._transformer, "vocabulary", None) or {}
        return found

    def analyzer(self) -> Any:
        """A function from a text to the terms that are counted, with repetitions."""
        return self._transformer.build_analyzer()

    def tokenizer(self) -> Any:
        """A function from a text in lower case to its words."""
        return self._transformer.build_tokenizer()

    def terms_by_column(self, text: str) -> dict[int, list[str]]:
        """The known terms of a text for each column of its features: one, or several that share a hash."""
        terms = sorted(set(self.analyzer()(text)))
        if self.vectorizer.method == "hashing":
            hashed = self._transformer._get_hasher().transform([[term] for term in terms]) if terms else None
            columns = [] if hashed is None else hashed.indices.tolist()
        else:
            columns = [self.columns.get(term, -1) for term in terms]
        found: dict[int, list[str]] = {}
        for column, term in zip(columns, terms, strict=True):
            found.setdefault(column, []).append(term)
        found.pop(-1, None)
        return found

    def within(self, n_bytes: int) -> FittedVectorizer:
        """The same with as many of the most frequent words as fit into this many bytes of a model folder.

        Returns itself if that is small enough or has no vocabulary. At least one word is kept.
        """
        if self.idf is None:
            return self
        coded = CodedWords(self.vocabulary)
        # Among equally frequent words the short ones are cheaper.
        order = np.lexsort((np.array([len(word) for word in self.vocabulary]), self.idf))

        def is_within(n_words: int) -> bool:
            weights = coded_weights(self.idf[order[:n_words]])  # type: ignore[index]
            return coded.n_bytes(np.sort(order[:n_words])) + sum(a.nbytes for a in weights.values()) <= n_bytes

        if is_within(len(order)):
            return self
        n_kept = bisect_left(range(2, len(order) + 1), True, key=lambda n_words: not is_within(n_words)) + 1
        kept = np.sort(order[:n_kept])
        return replace(self, vocabulary=tuple(self.vocabulary[k] for k in kept.tolist()), idf=self.idf[kept])

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The state of this object: settings for JSON, and arrays."""
        arrays: dict[str, NDArray[Any]] = {}
        if self.idf is not None:
            arrays = {**CodedWords(self.vocabulary).arrays(), **coded_weights(self.idf)}
        choices = {**asdict(self.vectorizer), "ngram_range": list(self.vectorizer.ngram_range)}
        return {"version": self.version, **choices}, arrays

    @classmethod
    def from_state(cls, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> FittedVectorizer:
        """The object that :meth:`to_state` described.

        Parameters
        ----------
        settings : mapping
            The first part of the state.
        arrays : mapping of str to ndarray
            The second part.

        Returns
        -------
        FittedVectorizer
        """
        try:
            choices = {**settings, "ngram_range": tuple(settings["ngram_range"])}
            version = choices.pop("version", 1)
            vectorizer, _ = TextVectorizer(**choices), WORDS[version]
            words, idf = _words_and_weights(arrays)
        except (KeyError, TypeError, UnicodeDecodeError) as error:
            raise ValueError(f"This is not the state of a text vectorizer ({error!r}).") from None
        is_whole = idf.ndim == 1 and len(set(words)) == len(words) == len(idf) and bool(np.isfinite(idf).all())
        if not is_whole or bool(words) != (vectorizer.method == "tfidf"):
            raise ValueError("The state of this text vectorizer does not fit together: words, weights or method.")
        return cls(vectorizer, words, idf if words else None, version)

    def __repr__(self) -> str:
        """One line: the method and the size."""
        return f"<FittedVectorizer {self.vectorizer.method}: {self.n_features} features>"


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


def _words_and_weights(arrays: Mapping[str, NDArray[Any]]) -> tuple[tuple[str, ...], FloatArray]:
    """The vocabulary of a state."""
    if "vocabulary" in arrays:  # before version 3 of the model folder
        ends = np.concatenate([np.zeros(1, arrays["word_end"].dtype), arrays["word_end"]])
        letters = arrays["vocabulary"].tobytes()
        check_ends(ends, len(letters), "the ends of words in the state of this text vectorizer")
        words = tuple(letters[start:stop].decode(errors="surrogatepass") for start, stop in pairwise(ends.tolist()))
        return words, np.asarray(arrays["idf"], dtype=np.float64)
    if not arrays:
        return (), np.zeros(0)
    return decoded_words(arrays), decoded_weights(arrays)


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _tfidf(choices: TextVectorizer, version: int, vocabulary: Mapping[str, int] | None = None) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    kept = {"min_df": choices.min_df, "max_features": choices.max_features, "vocabulary": vocabulary}
    return TfidfVectorizer(**_counting(choices, version), **kept, sublinear_tf=True)


def _hashing(choices: TextVectorizer, version: int) -> Any:
    from sklearn.feature_extraction.text import HashingVectorizer

    counting = _counting(choices, version)
    return HashingVectorizer(**counting, n_features=choices.n_features, alternate_sign=False, norm=None)


def _counting(choices: TextVectorizer, version: int) -> dict[str, Any]:
    # For characters, scikit-learn warns of a word pattern.
    words = {"token_pattern": WORDS[version]} if choices.analyzer == "word" else {}
    return {"analyzer": choices.analyzer, "ngram_range": choices.ngram_range, "dtype": np.float64, **words}
