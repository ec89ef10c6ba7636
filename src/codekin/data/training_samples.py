"""Training and validation samples from files, in memory or on disk, with texts converted to features."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from codekin._system.messages import counted
from codekin._system.rows import StoredRows
from codekin.code import IntArray
from codekin.data.caching import DEFAULT_MEMORY, cached_data
from codekin.data.datasets import USES, Data, DataError, SparseData, TextData
from codekin.data.model_input import ModelInput
from codekin.data.options import ReadOptions, is_vector_file, label_kind
from codekin.data.reading import TEXTS, read_data
from codekin.data.row_features import Features
from codekin.progress import report, reported, reporter

VOCABULARY_SHARE = 0.3
"""How much of a budget the vocabulary of texts may take where the rest is short of space."""
BYTES_PER_PAIR = 9
"""What a pruned, re-ranked tree takes for every term of a class: three in the class vectors, up to six in its nodes."""
USUAL_COMPRESSION = 4
"""By how much gzip compresses a file of numbers, roughly."""
SHOWN_ROWS, SHOWN_CHARACTERS = 3, 32


class TrainingSamples(NamedTuple):
    """What was read to learn from, and what is held out of it.

    - ``given``: the features, or the texts as they were read; ``sample_weight``: their weights.
    - ``held_out``: samples with their labels, or the share of texts to hold back.
    - ``n_bytes``: the memory that features take or, on disk, may take; those of held-out samples, too.
    """

    data: Data
    given: Any
    sample_weight: Any
    held_out: tuple[Any, Any] | float | None
    n_bytes: int


@dataclass(frozen=True, eq=False)
class SampleReader:
    """How to read samples, as the options say."""

    note: Callable[[str], None]
    format: str
    n_features: int | None
    options: ReadOptions
    shows_rows: bool = False

    def samples(
        self, source: str, validation: str | float | None, max_memory: int | None, cache: Path | None, seed: int
    ) -> TrainingSamples:
        """Training samples, on disk if there are too many or that was requested, and validation samples.

        Those are from a file, or a share of the samples; of texts, the classifier holds it back.
        """
        data = self._training_samples(source, max_memory, cache)
        if isinstance(data, SparseData) and data.X.nnz == 0:
            raise DataError(source, f"none of its {data.n_samples:,} samples has any feature to learn from.")
        held_out: Any = validation
        if isinstance(validation, str):
            held_out = self._validation_samples(validation, data)
        elif validation is not None and isinstance(data, SparseData):
            X: Any = data.X
            if isinstance(X, StoredRows):
                needs = f"--validation {validation:.0%} needs samples in memory."
                raise ValueError(f"{needs} Those of {source} are on disk; give a file.")
            kept, held = held_back(data.encoded_labels.class_index, validation, np.random.RandomState(seed))
            held_out, data = (data.X[held], data.encoded_labels.at(held)), data.at(kept)
        given, weights = (data.X, data.sample_weight) if isinstance(data, SparseData) else (data, None)
        every: list[Any] = [given, held_out[0]] if isinstance(held_out, tuple) else [given]
        n_bytes = sum(_bytes_of(X) for X in every if not isinstance(X, TextData))
        return TrainingSamples(data, given, weights, held_out, n_bytes)

    def _training_samples(self, source: str, max_memory: int | None, cache: Path | None) -> Data:
        path, limit = Path(source), DEFAULT_MEMORY if max_memory is None else max_memory // 2
        # About the uncompressed size of a file, more than its samples take in memory.
        n_bytes = path.stat().st_size * (USUAL_COMPRESSION if path.suffix == ".gz" else 1) if path.is_file() else 0
        if cache is not None or (max_memory is not None and source != "-" and n_bytes > limit):
            return self._on_disk(path, cache, limit)
        progress = reporter(f"reading {source}")
        data = read_data(source, self.format, n_features=self.n_features, options=self.options, progress=progress)
        if isinstance(data, TextData) and self.shows_rows:
            self.note(_understood(data, source))
        _check_classes(data, source)
        if isinstance(data, TextData):
            _check_several_labels(data, source, self.options.label_separator)
            for doubt in _doubts(data):
                self.note(f"{source}: {doubt}")
        return data

    def _on_disk(self, source: Path, cache: Path | None, max_memory: int) -> SparseData:
        data = cached_data(
            source,
            cache,
            format=self.format,
            n_features=self.n_features,
            options=self.options,
            max_memory=max_memory,
            progress=reporter(f"reading {source}"),
            note=lambda sentence: self.note(f"{source}: {sentence}"),
        )
        _check_classes(data, str(source))
        return data

    def _validation_samples(self, source: str, training: Data) -> tuple[Any, Any]:
        """Samples and labels, of the same kinds as those to learn from."""
        assert training.classes is not None
        options, how = replace(self.options, labels=label_kind(training.classes), hash_bits=None), self.format
        progress = reporter(f"reading {source}")
        X: Any
        if isinstance(training, TextData):
            if options.embeddings and is_vector_file(options.embeddings):
                others = "Hold back a share, such as --validation 10%, or use files with a column of vectors."
                raise DataError(source, f"the vectors of its samples are not in {options.embeddings[0]}. {others}")
            how = TEXTS if how == "auto" else how
            X = data = read_data(source, how, options=replace(options, trained_on=training.table), progress=progress)
            if not isinstance(data, TextData):
                raise DataError(source, "the samples to learn from are texts, but there are features in this file.")
        else:
            ((X, data),) = ModelInput(None, training.encoding).chunks(
                source,
                format=how,
                n_features=training.n_features,
                options=options,
                chunk_rows=sys.maxsize,
                progress=progress,
            )
        y = data.encoded_labels
        if not np.isin(y.classes, training.classes).any():
            got = f" Got {y.classes[y.class_index[0]].item()!r}, for example." if len(y.classes) else ""
            raise DataError(source, f"none of its {len(y):,} samples has a label of the training samples.{got}")
        return X, y


def vocabulary_within(fitted: Features, most: int, texts: Sequence[Any], y: Any) -> Features:
    """The vectorizer with the largest vocabulary that leaves space for the rest of a model of ``most`` bytes.

    It may take its share in any case.
    """
    if fitted.within(int(VOCABULARY_SHARE * most)) is fitted:
        return fitted
    each = y.samples(fitted.transform(reported(texts, "counting the terms of classes", unit="texts"))).of_each_label()
    X = each.X
    pairs = np.repeat(each.class_index, np.diff(X.indptr)) * X.shape[1] + X.indices
    allowed = max(most - BYTES_PER_PAIR * len(np.unique(pairs)), int(VOCABULARY_SHARE * most))
    smaller = fitted.within(allowed)
    if smaller is not fitted:
        kept = f"keeping the {smaller.n_features:,} most frequent of {fitted.n_features:,} terms"
        report("", detail=f"{kept}: they take {allowed / most:.0%} of the budget")
        report("")
    return smaller


def held_back(class_index: IntArray, share: Any, rng: Any) -> tuple[IntArray, IntArray]:
    """The rows to learn from and a random share of the rows to hold back, about as large a one of every class.

    Every class keeps a row to learn from. Raises ValueError if that is no share, or if there is nothing to hold back.

    >>> kept, held = held_back(np.array([0, 0, 0, 1, 1, 2]), 1 / 3, np.random.RandomState(0))
    >>> kept.tolist(), held.tolist()
    ([0, 2, 3, 5], [1, 4])
    """
    if isinstance(share, bool) or not isinstance(share, Real) or not 0 < float(share) < 1:
        raise ValueError(
            "The 'validation' parameter must be two values, samples and labels, or a share of the samples between 0 "
            f"and 1. Got {share!r} instead."
        )
    order = rng.permutation(len(class_index))
    is_spare = np.ones(len(order), bool)
    is_spare[np.unique(class_index[order], return_index=True)[1]] = False
    spare = order[is_spare]
    spare = spare[np.argsort(class_index[spare], kind="stable")]
    n_held = min(max(round(float(share) * len(order)), 1), len(spare))
    # Rows at equal steps through the classes, from a random start.
    held = np.sort(spare[((np.arange(n_held) + rng.uniform()) * len(spare) / max(n_held, 1)).astype(np.intp)])
    if not len(held):
        raise ValueError(
            f"No samples can be held back for validation: every class has one sample. Got the share {share!r}."
        )
    return np.setdiff1d(np.arange(len(order)), held, assume_unique=True), held


def _bytes_of(X: csr_array | StoredRows) -> int:
    if isinstance(X, StoredRows):
        return X.max_memory
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)


def _doubts(data: TextData) -> Iterator[str]:
    """Yields what suggests that the columns of a file are not a label and a text."""
    if data.indicator is not None:
        n_without = int((np.diff(data.indicator.indptr) == 0).sum())
        if n_without:
            yield f"{n_without:,} of {data.n_samples:,} samples have no label, which is learned, too."
        return
    where = "what stands before the first tab" if data.table is None else f"in column {data.table.label!r}"
    class_index = data.encoded_labels.class_index
    n_single, n_samples = int((np.bincount(class_index) == 1).sum()), len(class_index)
    if n_single == n_samples:
        yield f"no two lines have the same label. The label is {where}."
    elif 2 * n_single > n_samples:
        yield (
            f"{n_single:,} of {_n_classes(data):,} classes have a single sample, and there are {n_samples:,} "
            f"samples. Is that the label? It is {where}."
        )
    if data.table is None and all("\t" in text for text in data.texts):
        yield "every line has more than two columns. The first is the label, all others are the text."


def _check_classes(data: Data, source: str) -> None:
    """Raise if there is only one class."""
    if _n_classes(data) < 2:
        found = f"All {data.n_samples:,} have one label" if data.n_samples > 1 else "There is one sample"
        found = found if _n_classes(data) else f"None of the {data.n_samples:,} samples has a label"
        raise DataError(source, f"samples of at least 2 classes are needed. {found}.")


def _check_several_labels(data: TextData, source: str, given: str | None) -> None:
    """Raise if cells of a table have several labels, or if no row has where all may."""
    if data.indicator is not None and bool((np.diff(data.indicator.indptr) <= 1).all()):
        where = "" if data.table is None else f" in column {data.table.label!r}"
        reason = "leave the option multilabel out, or say what separates labels with --label-separator"
        if given is not None:
            reason = f"the separator {given!r} is between no two labels{where}. Give another one, or none"
        raise DataError(source, f"no sample has more than one label; {reason}.")
    if data.table is None or data.classes is None or data.indicator is not None:
        return
    known = set(map(str, data.classes.tolist()))
    for label in sorted(known):
        for separator in ("|", ";"):
            parts = [part.strip() for part in label.split(separator)]
            if len(parts) > 1 and known.issuperset(parts):
                raise DataError(
                    source,
                    f"the label {label!r} looks like several in one, since {' and '.join(map(repr, parts))} are labels."
                    f" --label-separator '{separator}' reads several; rename the label if it is a class of its own.",
                )


def _n_classes(data: Data) -> int:
    return 0 if data.classes is None else len(data.classes)


def _understood(data: TextData, source: str) -> str:
    """What was understood of a file of texts, in a few lines: its columns and its first rows."""
    lines = [f"{source}: {counted(len(data.texts), 'sample')}; {data.reading}"]
    table = data.table
    if table is None:
        names, columns = ["label", "text"], {"text": data.texts}
    else:
        names = list(table.names)
        columns = {**data.columns, **{name: tuple(map(str, column)) for name, column in data.numbers.items()}}
        uses = {"label": (table.label,), **{use: getattr(table, use) for use in USES}}
        uses["embeddings"] = tuple(f"{name} ({data.vectors[name].shape[1]} numbers)" for name in table.embeddings)
        lines += [f"  {use}: {', '.join(map(str, given))}" for use, given in uses.items() if any(given)]
    n_shown = min(SHOWN_ROWS, len(data.texts))
    cells = {name: [_shown(cell) for cell in islice(columns[name], n_shown)] for name in names if name in columns}
    if data.classes is not None:
        label = names[0] if table is None or table.label is None else table.label
        cells = {label: list(map(_shown, _first_labels(data, n_shown))), **cells}
    widths = {name: max(len(_shown(name)), *map(len, column)) for name, column in cells.items()}
    rows = [list(map(_shown, cells)), ["-" * width for width in widths.values()], *zip(*cells.values(), strict=True)]
    for row in rows:
        padded = [f"{cell:{width}}" for cell, width in zip(row, widths.values(), strict=True)]
        lines.append(f"  {'  '.join(padded)}".rstrip())
    return "\n".join(lines)


def _first_labels(data: TextData, n: int) -> list[str]:
    given: Any = data
    own, rows = given.indicator, given.class_index
    rows = rows[:n, None] if own is None else [own.indices[own.indptr[i] : own.indptr[i + 1]] for i in range(n)]
    return [", ".join(map(str, given.classes[row].tolist())) for row in rows]


def _shown(cell: str) -> str:
    """The beginning of a cell, in one line and without anything that could control a terminal."""
    text = "".join(letter if letter.isprintable() else " " for letter in cell[: 4 * SHOWN_CHARACTERS])
    text = " ".join(text.split())
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 3]}..."
