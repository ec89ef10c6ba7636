"""Texts to features, in a form that a saved model can hold: JSON and arrays, never a pickle.

Terms are weighted by how rare they are (TF-IDF), counts are damped by a logarithm, and rows have length one. A kernel
does the work; this module gives it code points and keeps the vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import accumulate, chain, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from codekin.code import FloatArray
from codekin.data.datasets import Dataset
from codekin.data.recipes import (
    AUTO,
    FLAGS,
    MARKS,
    PATTERNS,
    RECIPES,
    VERSION,
    Block,
    NoFeaturesError,
    checked_ngrams,
    choices_of_old,
    code_points,
    coded_terms,
    is_count,
    is_number,
    kernel_vocabulary,
    learned_terms,
    points_in_groups,
    terms_and_weights,
    terms_within,
)
from codekin.kernels.calling import typed_once
from codekin.kernels.text import text_rows, text_terms

MOST_COLUMNS = 2**31 - 1
_DAMPED = np.concatenate([np.zeros(1), np.log(np.arange(1, 1024, dtype=np.float64)) + 1])


@dataclass(frozen=True)
class TextVectorizer:
    """How texts become features.

    Parameters
    ----------
    features : {"words", "words+prefixes", "words+prefixes+trigrams", "words+trigrams", "characters", "auto"}, \
default="words"
        What is counted: words and pairs of words; beside them, the first three and five letters of longer words, three
        characters within words that occur in at least three texts, or both, where only a re-ranking learns from the
        characters; or two to four characters within words alone. "auto" is for a
        :class:`~codekin.estimators.TextClassifier`, which tries them.
    word_ngrams : tuple of two int, default=(1, 2)
        The shortest and the longest n-grams of words.
    min_df : int, default=1
        Leave out terms that occur in fewer texts.
    max_features : int, optional
        Keep only this many of the terms: those in most texts.
    hashing : bool, default=False
        Whether terms are hashed into columns: no training and no vocabulary, but collisions. A vocabulary is looked up
        by hashes of 64 bits: of a million terms, two share one with a chance of 1 in 30 million, and are one feature.
    n_features : int, default=2**18
        The number of columns where terms are hashed.

    Examples
    --------
    >>> fitted = TextVectorizer("words", word_ngrams=(1, 1)).fit(["a cat purrs", "a dog barks", "a cat"])
    >>> fitted
    <FittedVectorizer words: 5 features>
    >>> fitted.transform(["cat and dog"]).indices
    array([2, 3], dtype=int32)
    """

    features: str = "words"
    word_ngrams: tuple[int, int] = field(default=(1, 2), kw_only=True)
    min_df: int = field(default=1, kw_only=True)
    max_features: int | None = field(default=None, kw_only=True)
    hashing: bool = field(default=False, kw_only=True)
    n_features: int = field(default=2**18, kw_only=True)

    def __post_init__(self) -> None:
        """Check the choices."""
        if self.features not in (*RECIPES, AUTO):
            shown = ", ".join(map(repr, (*RECIPES, AUTO)))
            raise ValueError(
                f"The 'features' parameter of TextVectorizer must be one of {shown}. Got {self.features!r} instead."
            )
        object.__setattr__(self, "word_ngrams", checked_ngrams("word_ngrams", self.word_ngrams))
        if self.word_ngrams != (1, 2) and self.blocks and all(block.kind != "words" for block in self.blocks):
            raise ValueError(
                f"The features {self.features!r} have no n-grams of words. Got {self.word_ngrams} of them."
            )
        for name in ("min_df", "max_features", "n_features"):
            value = getattr(self, name)
            if (value is not None or name != "max_features") and not is_count(value):
                raise ValueError(
                    f"The '{name}' parameter of TextVectorizer must be an integer, at least 1. Got {value!r} instead."
                )
        if self.n_features > MOST_COLUMNS:
            raise ValueError(
                "The 'n_features' parameter of TextVectorizer must be at most 2**31 - 1. "
                f"Got {self.n_features!r} instead."
            )

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks of features, side by side; none if they are still to be chosen."""
        blocks = [replace(block, min_df=max(self.min_df, block.min_df)) for block in RECIPES.get(self.features, ())]
        return tuple(replace(each, ngrams=self.word_ngrams) if each.kind == "words" else each for each in blocks)

    def fit(self, texts: Iterable[str]) -> FittedVectorizer:
        """Learn the vocabulary and its weights from texts; if terms are hashed, there is nothing to learn."""
        if self.features == AUTO:
            raise ValueError("The features 'auto' are chosen by a TextClassifier; a TextVectorizer needs a name.")
        if self.hashing:
            return FittedVectorizer(self.features, self.blocks, n_columns=int(self.n_features))
        texts, blocks = list(texts), self.blocks
        terms, numbers, n_texts = learned_terms(texts, blocks, self.max_features)
        if not terms:
            nothing = "there are no words in them"
            reason = nothing if self.min_df == 1 else f"nothing is in {self.min_df:,} of them"
            raise NoFeaturesError(f"No features can be made from these {len(texts):,} texts: {reason}.")
        idf = np.log((len(texts) + 1) / (n_texts + 1.0)) + 1
        return FittedVectorizer(
            self.features,
            blocks,
            terms,
            tuple(np.bincount(numbers, minlength=len(blocks)).tolist()),
            idf * np.array([block.weight for block in blocks])[numbers],
            max_features=self.max_features,
        )


@dataclass(frozen=True, eq=False, repr=False)
class FittedVectorizer:
    """A text vectorizer after fitting.

    Parameters
    ----------
    features : str
        The name of the recipe.
    blocks : tuple of Block
        What is counted.
    terms : tuple of str
        The term of each column, block by block; empty when terms are hashed.
    n_terms : tuple of int
        How many of them each block has.
    idf : ndarray of shape (n_features,), optional
        The weight of each column.
    n_columns : int, default=0
        The number of columns when terms are hashed; otherwise 0.
    max_features : int, optional
        How many terms were to be kept.
    version : int, default=3
        Of the format, which says what a word is. In older models, words of one character are left out (1) or points
        and signs belong to no word (2).
    tried : mapping of str to float, default={}
        The recipes that were tried, and which share of held-out samples was right with each; empty without a trial.
    """

    features: str
    blocks: tuple[Block, ...]
    terms: tuple[str, ...] = ()
    n_terms: tuple[int, ...] = ()
    idf: FloatArray | None = None
    n_columns: int = 0
    max_features: int | None = None
    version: int = VERSION
    tried: Mapping[str, float] = field(default_factory=dict)
    _kernel_arguments: tuple[Any, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Build the table of the vocabulary, once; it is never stored."""
        blocks, table = kernel_vocabulary(self.blocks, self.terms, self.n_terms)
        object.__setattr__(self, "_kernel_arguments", (FLAGS, self.version, blocks, self.n_columns, *table))

    @property
    def vectorizer(self) -> TextVectorizer:
        """The choices, to fit another one like this."""
        ngrams = [block.ngrams for block in self.blocks if block.kind == "words"]
        return TextVectorizer(
            self.features,
            word_ngrams=ngrams[0] if ngrams else (1, 2),
            min_df=min(block.min_df for block in self.blocks),
            max_features=self.max_features,
            hashing=self.n_columns > 0,
            n_features=self.n_columns or 2**18,
        )

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return self.n_columns or len(self.terms)

    @property
    def rerank_only(self) -> NDArray[np.bool_] | None:
        """Which columns only a re-ranking learns from, if there are such; hashed ones belong to all blocks."""
        is_later = np.repeat([block.reranks for block in self.blocks][: len(self.n_terms)], self.n_terms)
        return is_later if is_later.any() else None

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The name of each column; empty when terms are hashed.

        Where there are several blocks, characters are in brackets and prefixes end with a star.
        """
        numbers = chain.from_iterable(map(repeat, range(len(self.blocks)), self.n_terms))
        return tuple(map(self._name, numbers, self.terms))

    def transform(self, texts: Iterable[str]) -> csr_array:
        """The features of texts: a float32 matrix with rows of length one and int32 indices in increasing order.

        A text without any known term becomes a row of zeros.
        """
        parts = [self._rows(*of_group) for of_group in points_in_groups(texts)]
        columns, values, ends = ([part[k] for part in parts] for k in range(3))
        starts = accumulate((int(of_part[-1]) for of_part in ends), initial=0)
        indptr = np.concatenate([[0], *(of_part + start for of_part, start in zip(ends, starts, strict=False))])
        indices, data = (
            np.concatenate([np.zeros(0, np.int32), *columns]),
            np.concatenate([np.zeros(0, np.float32), *values]),
        )
        wide = np.int32 if len(data) <= MOST_COLUMNS else np.int64
        shape = (len(indptr) - 1, self.n_features)
        X = csr_array((data, indices.astype(wide, copy=False), indptr.astype(wide)), shape=shape)
        if self._is_raw:
            # As these versions did it, in single precision.
            X.data = np.log(X.data) + 1
            norms = np.sqrt(X.multiply(X).sum(axis=1))
            X.data /= np.repeat(np.where(norms > 0, norms, 1), np.diff(X.indptr)).astype(np.float32)
        return X

    def row(self, text: str) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The columns of the features of one text, in increasing order, and their values: a row of :meth:`transform`.

        >>> fitted = TextVectorizer("words", word_ngrams=(1, 1)).fit(["a cat purrs", "a dog barks"])
        >>> columns, values = fitted.row("Dog, dog, cat")
        >>> columns.tolist(), values.astype(float).round(3).tolist()
        ([2, 3], [0.509, 0.861])
        """
        if self._is_raw:
            X = self.transform([text])
            return X.indices.astype(np.int32), X.data
        columns, values, _ = self._rows(*code_points((text,)), self._kernel_of_row)
        return columns, values

    def with_trial(self, tried: Mapping[str, float]) -> FittedVectorizer:
        """The same with the recipes that were tried, and how good each of them was."""
        return replace(self, tried=tried)

    def terms_by_column(self, text: str) -> dict[int, list[str]]:
        """The known terms of a text for each column of its features: one, or several that share a hash."""
        columns, places = text_terms(code_points((text,))[0], *self._kernel_arguments)
        lowered = text.lower()
        found: dict[int, set[str]] = {}
        for column, (start, stop, number) in zip(columns.tolist(), places.tolist(), strict=True):
            term = self.blocks[number].term(lowered, start, stop, self.version)
            found.setdefault(column, set()).add(self._name(number, term))
        return {column: sorted(names) for column, names in found.items()}

    def within(self, n_bytes: int) -> FittedVectorizer:
        """The same with as many of the most frequent terms as fit into this many bytes of a model folder.

        Returns itself if that is small enough or has no vocabulary. At least one term is kept.
        """
        if self.idf is None:
            return self
        numbers = np.repeat(np.arange(len(self.blocks)), self.n_terms)
        rarity = self.idf / np.array([block.weight for block in self.blocks])[numbers]
        kept = terms_within(self.terms, self.idf, rarity, n_bytes)
        if len(kept) == len(numbers):
            return self
        n_terms = tuple(np.bincount(numbers[kept], minlength=len(self.blocks)).tolist())
        return replace(self, terms=tuple(self.terms[k] for k in kept.tolist()), n_terms=n_terms, idf=self.idf[kept])

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The state of this object: settings for JSON, and arrays."""
        arrays = {} if self.idf is None else coded_terms(self.terms, self.idf)
        blocks = [{**asdict(block), "ngrams": list(block.ngrams)} for block in self.blocks]
        settings = {"version": self.version, "features": self.features, "n_columns": self.n_columns}
        settings |= {"max_features": self.max_features, **({"tried": dict(self.tried)} if self.tried else {})}
        return {**settings, "blocks": blocks, "n_terms": list(self.n_terms)}, arrays

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
            terms, idf = terms_and_weights(arrays)
            choices = dict(settings) if "blocks" in settings else choices_of_old(settings, len(terms))
            blocks = tuple(Block.of_state(block) for block in choices.pop("blocks"))
            n_terms, _ = tuple(choices.pop("n_terms")), PATTERNS[choices["version"]]
            n_columns = choices["n_columns"]
            is_whole = bool(blocks) and isinstance(choices["features"], str) and bool(terms) == (n_columns == 0)
            is_whole &= all(is_count(n) for n in (*n_terms, n_columns) if n != 0) and n_columns <= MOST_COLUMNS
            is_whole &= choices["max_features"] is None or is_count(choices["max_features"])
            is_whole &= all(is_number(share) for share in choices.get("tried", {}).values())
            is_whole &= sum(n_terms) == len(terms) and len(n_terms) == (len(blocks) if terms else 0)
            fitted = (blocks, terms, n_terms, idf if terms else None)
            of_block = np.repeat(np.arange(len(n_terms)), n_terms).tolist() if is_whole else []
        except (AttributeError, KeyError, TypeError, UnicodeDecodeError) as error:
            raise ValueError(f"This is not the state of a text vectorizer ({error!r}).") from None
        is_whole &= idf.ndim == 1 and len(idf) == len(terms) and bool(np.isfinite(idf).all())
        if not is_whole or len(set(zip(of_block, terms, strict=True))) != len(terms):
            raise ValueError("The state of this text vectorizer does not fit together: terms, weights or blocks.")
        try:
            return cls(choices.pop("features"), *fitted, **choices)
        except TypeError as error:
            raise ValueError(f"This is not the state of a text vectorizer ({error!r}).") from None

    def __repr__(self) -> str:
        """One line: the features and their number."""
        return f"<FittedVectorizer {self.described}: {self.n_features} features>"

    @property
    def described(self) -> str:
        """The name of the recipe, whether terms are hashed, and why it was chosen."""
        tried = ", ".join(f"{name} {100 * share:.1f}%" for name, share in self.tried.items())
        reason = f", chosen by a trial: {tried}" if tried else ""
        return f"{self.features}{', hashed' if self.n_columns else ''}{reason}"

    @property
    def _is_raw(self) -> bool:
        return self.n_columns > 0 and self.version < 3

    _kernel_of_row = cached_property(lambda _: typed_once(text_rows))

    def _rows(self, points: NDArray[np.uint32], ends: NDArray[np.int64], kernel: Any = text_rows) -> Any:
        idf = np.zeros(0) if self.idf is None else self.idf
        return kernel(points, ends, *self._kernel_arguments, idf, _DAMPED, self._is_raw)

    def _name(self, block: int, term: str) -> str:
        return term if len(self.blocks) == 1 else MARKS[self.blocks[block].kind].format(term)


def vectorized(dataset: Dataset, vectorizer: TextVectorizer | None = None) -> tuple[Dataset, FittedVectorizer]:
    """The data set with features of its texts, and the vectorizer, fitted only to the training texts.

    Parameters
    ----------
    dataset : Dataset
        With texts in all of its splits.
    vectorizer : TextVectorizer, optional
        How texts become features; by default TF-IDF of words, pairs of words and characters.

    Returns
    -------
    tuple of Dataset and FittedVectorizer

    Examples
    --------
    >>> from codekin.data import load_dataset
    >>> icd, fitted = vectorized(load_dataset("icd10cm"), TextVectorizer("words", word_ngrams=(1, 1)))
    >>> icd.X.shape == (14709, fitted.n_features)
    True
    """
    if any(split.texts is None for split in dataset.splits.values()):
        raise ValueError(f"The data set {dataset.name!r} has splits without texts, so no features can be made of them.")
    fitted = (vectorizer or TextVectorizer()).fit(dataset.train.texts or ())
    made: Any = {name: replace(each, X=fitted.transform(each.texts or ())) for name, each in dataset.splits.items()}
    return replace(dataset, **made, feature_names=fitted.vocabulary or None), fitted
