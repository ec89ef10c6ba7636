"""How the training samples of a model were read, so that other files, or a single text, can be read the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from codekin.data.blocks import Source
from codekin.data.columns import samples_of
from codekin.data.datasets import USES, Data, SparseData, TableColumns, TextData
from codekin.data.options import ReadOptions
from codekin.data.reading import TEXTS, ReadProgress, iter_data
from codekin.data.row_features import Features, FittedRows
from codekin.data.vectorizers import FittedVectorizer


@dataclass(frozen=True, eq=False)
class ModelInput:
    r"""How the training samples of a model were read from a file, so that others can be read the same way.

    Parameters
    ----------
    vectorizer : FittedVectorizer or FittedRows, optional
        Converts texts, or rows of a table, to features; None for samples that already have features.
    encoding : mapping of str to int
        How the features of a file were numbered: options of ``codekin.data.ReadOptions``.
    columns : TableColumns, optional
        The columns of the table that the texts are from; None if they are not from a table.
    label_separator : str, optional
        What separated the labels of a sample.

    Examples
    --------
    >>> import io
    >>> from codekin.data import TextVectorizer
    >>> texts = ModelInput(TextVectorizer().fit(["a cat purrs", "a dog barks"]))
    >>> [X.shape for X, _ in texts.chunks(io.BytesIO(b"the dog barks\nthe cat\n"))]
    [(2, 9)]
    """

    vectorizer: Features | None = None
    encoding: Mapping[str, int] = field(default_factory=dict)
    columns: TableColumns | None = None
    label_separator: str | None = None

    def __post_init__(self) -> None:
        """Check that the vectorizer can be stored."""
        if self.vectorizer is not None and not isinstance(self.vectorizer, Features):
            raise TypeError(
                "The 'vectorizer' of ModelInput must be a fitted one of codekin: TextVectorizer().fit(texts). Got "
                f"{self.vectorizer!r}; for another one, use ECOCClassifier(make_pipeline(vectorizer, estimator))."
            )

    def chunks(
        self,
        source: Source,
        *,
        format: str = "auto",
        n_features: int | None = None,
        options: ReadOptions | None = None,
        chunk_rows: int = 10_000,
        progress: ReadProgress | None = None,
    ) -> Iterator[tuple[csr_array, Data]]:
        """The features of the samples in a file, in chunks, and what was read.

        Features that the model does not know are left out.

        Parameters
        ----------
        source : path, "-" or binary stream
            The file.
        format : str, default="auto"
            Its format; for a model of texts, "auto" means texts unless the file extension says otherwise.
        n_features : int, optional
            The number of features of the model; not needed for texts.
        options : ReadOptions, optional
            How to read labels and rows with several labels; by default labels are not read and may be missing. A given
            index base overrides that of the training samples.
        chunk_rows : int, default=10_000
            How many samples to read at a time.
        progress : callable, optional
            Called with the bytes read so far and the bytes of the whole file.

        Yields
        ------
        tuple of csr_array and SparseData or TextData
        """
        options = ReadOptions(labels="none") if options is None else options
        if self.vectorizer is None:
            known = {name: value for name, value in self.encoding.items() if name != "index_base"}
            if options.index_base == "auto" and "index_base" in self.encoding:
                known["index_base"] = self.encoding["index_base"]
            options = replace(options, **known)  # type: ignore[arg-type]  # mypy types ** as every field
            if options.index_base != "auto":
                options = replace(options, unknown_features="drop")
        else:
            n_features = None
            options = replace(options, trained_on=self.columns)
            format = TEXTS if format == "auto" else format
        for data in iter_data(
            source, format, chunk_rows=chunk_rows, n_features=n_features, options=options, progress=progress
        ):
            yield self.features(data, source), data

    def features(self, data: Data, source: Source = "the data") -> csr_array:
        """The features of samples that were read.

        Parameters
        ----------
        data : SparseData or TextData
            The samples.
        source : path or stream, default="the data"
            Where they are from, for an error.

        Returns
        -------
        csr_array of shape (n_samples, n_features)
        """
        if self.vectorizer is None and isinstance(data, SparseData):
            return data.X
        if self.vectorizer is not None and isinstance(data, TextData):
            return self.vectorizer.transform(samples_for(self.vectorizer, data))
        there, here = ("texts", "features") if isinstance(data, TextData) else ("features", "texts")
        raise ValueError(f"{source}: this model was trained on {here}, but there are {there} in the file.")


def samples_for(fitted: Features, data: TextData) -> Sequence[Any]:
    """What was read from a file as a vectorizer takes it: texts, or rows of several columns."""
    if not isinstance(fitted, FittedRows):
        return data.texts
    # Columns that were chosen for this file take the places of those of training.
    table, wanted = data.table or TableColumns(("text",)), fitted.columns
    for use in USES:
        if data.table is not None and len(getattr(table, use)) == len(getattr(wanted, use)):
            wanted = replace(wanted, **{use: getattr(table, use)})
    return samples_of(data, wanted)


def known_word_counter(fitted: Features | None) -> Callable[[Any], list[int]] | None:
    """A function from the features of texts to how many different words of each are known; None without texts."""
    texts = () if fitted is None else fitted.texts if isinstance(fitted, FittedRows) else (fitted,)
    if fitted is None or not texts:
        return None
    is_word = np.zeros(fitted.n_features, bool)
    of_texts = np.concatenate([_is_word(each) for each in texts])
    is_word[: len(of_texts)] = of_texts

    def known_words(X: Any) -> list[int]:
        n_before = np.concatenate([[0], np.cumsum(is_word[X.indices])])[X.indptr]
        is_known = np.diff(X.indptr) > 0 if len(of_texts) == len(is_word) else 0
        return list(map(int, np.maximum(np.diff(n_before), is_known)))

    return known_words


def _is_word(fitted: FittedVectorizer) -> NDArray[np.bool_]:
    """Whether each feature is a word; if none is, all count."""
    is_words = chain.from_iterable(
        repeat(block.kind == "words", n) for block, n in zip(fitted.blocks, fitted.n_terms, strict=False)
    )
    is_word = np.array(
        [of_words and " " not in term for of_words, term in zip(is_words, fitted.terms, strict=True)], bool
    )
    return is_word if is_word.any() else np.ones(fitted.n_features, bool)
