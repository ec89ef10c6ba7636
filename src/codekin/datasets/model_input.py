"""How the training samples of a model were read from a file, so that others can be read the same way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from scipy.sparse import csr_array

from codekin.datasets.blocks import Source
from codekin.datasets.options import ReadOptions
from codekin.datasets.reading import ReadProgress, format_of, iter_data
from codekin.datasets.samples import Data, SparseData, TextData
from codekin.datasets.vectorizers import FittedVectorizer


@dataclass(frozen=True, eq=False)
class ModelInput:
    r"""How the training samples of a model were read from a file, so that others can be read the same way.

    Parameters
    ----------
    vectorizer : FittedVectorizer, optional
        Converts texts to features; None for samples that already have features.
    encoding : mapping of str to int
        How the features of a file were numbered: options of ``codekin.datasets.ReadOptions``.

    Examples
    --------
    >>> import io
    >>> from codekin.datasets import TextVectorizer
    >>> texts = ModelInput(TextVectorizer().fit(["a cat purrs", "a dog barks"]))
    >>> [X.shape for X, _ in texts.chunks(io.BytesIO(b"the dog barks\nthe cat\n"))]
    [(2, 9)]
    """

    vectorizer: FittedVectorizer | None = None
    encoding: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that the vectorizer can be stored."""
        if self.vectorizer is not None and not isinstance(self.vectorizer, FittedVectorizer):
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
            format = format_of(source, format)
            format = "tsv" if format == "auto" else format
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
            return self.vectorizer.transform(data.texts)
        there, here = ("texts", "features") if isinstance(data, TextData) else ("features", "texts")
        raise ValueError(f"{source}: this model was trained on {here}, but there are {there} in the file.")
