"""Training and validation samples from files, in memory or on disk, with texts converted to features."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from codekin._system.stored_rows import StoredRows
from codekin.datasets.caching import DEFAULT_MEMORY, cached_data
from codekin.datasets.model_input import ModelInput
from codekin.datasets.options import ReadOptions, label_kind
from codekin.datasets.reading import read_data
from codekin.datasets.samples import Data, DataError, SparseData, TextData
from codekin.datasets.vectorizers import FittedVectorizer, TextVectorizer
from codekin.progress import counted_off, telling

VOCABULARY_SHARE = 0.3
"""How much of a budget the vocabulary of texts may take where the rest is short of space."""
BYTES_PER_PAIR = 9
"""What a pruned, re-ranked tree takes for every term of a class: three in the class vectors, up to six in its nodes."""
USUAL_COMPRESSION = 4
"""By how much gzip compresses a file of numbers, roughly."""


@dataclass(frozen=True, eq=False)
class TrainingSamples:
    """Training samples: features, what was read, how to read others; and features and labels of held-out ones."""

    X: csr_array | StoredRows
    data: Data
    model_input: ModelInput
    held_out: tuple[csr_array, Any] | None = None

    @property
    def classes(self) -> Any:
        return self.data.classes

    @property
    def n_bytes(self) -> int:
        """The memory that the features take or, on disk, may take; those of held-out samples, too."""
        held_out = 0 if self.held_out is None else _bytes_of(self.held_out[0])
        return held_out + (self.X.max_memory if isinstance(self.X, StoredRows) else _bytes_of(self.X))

    @property
    def sample_weight(self) -> Any:
        return self.data.sample_weight if isinstance(self.data, SparseData) else None


@dataclass(frozen=True, eq=False)
class SampleReader:
    """How to read samples, as the options say."""

    note: Callable[[str], None]
    format: str
    n_features: int | None
    options: ReadOptions
    vectorizer: TextVectorizer
    max_model_bytes: int | None

    def samples(
        self, source: str, validation: str | None, max_memory: int | None, cache: Path | None
    ) -> TrainingSamples:
        """Training samples, on disk if there are too many or that was requested, and validation samples."""
        training = self._training_samples(source, max_memory, cache)
        if training.X.nnz == 0:
            raise DataError(
                source,
                f"none of its {training.data.n_samples:,} samples has any feature to learn from.",
            )
        if validation is None:
            return training
        return replace(training, held_out=self._validation_samples(validation, training))

    def _training_samples(self, source: str, max_memory: int | None, cache: Path | None) -> TrainingSamples:
        limit = DEFAULT_MEMORY if max_memory is None else max_memory // 2
        if cache is not None or (max_memory is not None and source != "-" and _text_bytes(Path(source)) > limit):
            return self._on_disk(Path(source), cache, limit)
        told = telling(f"reading {source}")
        data = read_data(source, self.format, n_features=self.n_features, options=self.options, progress=told)
        _check_classes(data, source)
        if not isinstance(data, TextData):
            return TrainingSamples(data.X, data, ModelInput(None, data.encoding))
        for doubt in _doubts(data):
            self.note(f"{source}: {doubt}")
        try:
            fitted = self.vectorizer.fit(data.texts)
        except ValueError as error:
            raise DataError(source, str(error)) from error
        fitted = self._within_budget(fitted, data)
        texts = counted_off(data.texts, "making features of texts", unit="texts")
        return TrainingSamples(fitted.transform(texts), data, ModelInput(fitted))

    def _within_budget(self, fitted: FittedVectorizer, data: TextData) -> FittedVectorizer:
        """With the largest vocabulary that leaves room for the rest of a model, or takes its share of the budget."""
        most = self.max_model_bytes
        if most is None or fitted.within(int(VOCABULARY_SHARE * most)) is fitted:
            return fitted
        X = fitted.transform(counted_off(data.texts, "counting the terms of classes", unit="texts"))
        pairs = np.repeat(data.encoded_labels.class_index, np.diff(X.indptr)) * X.shape[1] + X.indices
        room = max(most - BYTES_PER_PAIR * len(np.unique(pairs)), int(VOCABULARY_SHARE * most))
        smaller = fitted.within(room)
        if smaller is not fitted:
            self.note(
                f"keeping the {smaller.n_features:,} most frequent of {fitted.n_features:,} terms: they take "
                f"{room / most:.0%} of the budget"
            )
        return smaller

    def _on_disk(self, source: Path, cache: Path | None, max_memory: int) -> TrainingSamples:
        data = cached_data(
            source,
            cache,
            format=self.format,
            n_features=self.n_features,
            options=self.options,
            max_memory=max_memory,
            progress=telling(f"reading {source}"),
            note=lambda sentence: self.note(f"{source}: {sentence}"),
        )
        _check_classes(data, str(source))
        return TrainingSamples(data.X, data, ModelInput(None, data.encoding))

    def _validation_samples(self, source: str, training: TrainingSamples) -> tuple[csr_array, Any]:
        """Features and labels, of the same kinds as those of the training samples."""
        options = ReadOptions(
            labels=label_kind(training.classes), multilabel=self.options.multilabel, index_base=self.options.index_base
        )
        told = telling(f"reading {source}")
        chunks = training.model_input.chunks(
            source, format=self.format, n_features=training.X.shape[1], options=options, progress=told
        )
        parts = [(X, data.labels) for X, data in chunks]
        labels = np.concatenate([of_part for _, of_part in parts])
        if not np.isin(labels, training.classes).any():
            raise DataError(
                source,
                f"none of its {len(labels):,} samples has a label of the training samples. "
                f"Got {labels[0].item()!r}, for example.",
            )
        return csr_array(vstack([X for X, _ in parts])), labels


def _bytes_of(X: csr_array) -> int:
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)


def _text_bytes(source: Path) -> int:
    """The approximate uncompressed size of a file, more than its samples take in memory; 0 if it does not exist."""
    if not source.is_file():
        return 0
    return source.stat().st_size * (USUAL_COMPRESSION if source.suffix == ".gz" else 1)


def _doubts(data: TextData) -> Iterator[str]:
    """Yields what suggests that the columns of a file are not a label and a text."""
    if _n_classes(data) == data.n_samples:
        yield "no two lines have the same label. The label is what stands before the first tab."
    if all("\t" in text for text in data.texts):
        yield "every line has more than two columns. The first is the label, all others are the text."


def _check_classes(data: Data, source: str) -> None:
    """Raise if there is only one class."""
    if _n_classes(data) < 2:
        raise DataError(source, f"samples of at least 2 classes are needed. All {data.n_samples:,} have one label.")


def _n_classes(data: Data) -> int:
    return 0 if data.classes is None else len(data.classes)
