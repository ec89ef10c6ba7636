"""The models that commands work with."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from codekin._system.memory import in_units
from codekin._system.messages import shortened
from codekin.cli.display import Display
from codekin.data import ReadOptions
from codekin.data.datasets import Data, DataError, TextData
from codekin.data.options import LabelKind, label_kind
from codekin.data.reading import ReadProgress
from codekin.model import Model
from codekin.progress import report, reporter
from codekin.storage import ModelFolderError, load_saved

ROWS_AT_ONCE = 10_000


class LoadedModel:
    """A classifier that a command works with, how its samples are read, and a display of the progress.

    Only commands that accept a SubclassClassifier say ``takes_parts``, those that accept a model of several labels per
    sample ``takes_sets``.
    """

    def __init__(
        self, folder: Path, *, trust: bool, quiet: bool, takes_parts: bool = False, takes_sets: bool = False
    ) -> None:
        self.display = Display(quiet)
        with self.display.watching(only_if_slow=True):
            report(f"loading {folder}")
            saved = load_saved(folder, trusted=trust)
        if saved.parts is None:
            raise ModelFolderError(f"{folder} holds a code without labels; save the classifier around it instead.")
        if saved.parts.subclasses is not None and not takes_parts:
            raise ModelFolderError(
                f"{folder} holds a SubclassClassifier, whose classes may have several codewords; "
                "codekin predict, evaluate and inspect accept it, other commands do not."
            )
        self.has_sets = saved.parts.subclasses is None and saved.coded.marginals is not None
        if self.has_sets and not takes_sets:
            raise ModelFolderError(
                f"{folder} holds a model of several labels per sample; codekin predict, evaluate, calibrate, explain, "
                "inspect and serve accept it, this command does not."
            )
        self.saved, self.parts, self.model_input = saved, saved.parts, saved.model_input
        self.labels, self._has_shown = (saved.parts.subclasses or saved.parts).labels, False

    @property
    def classifier(self) -> Any:
        """The estimator that was saved."""
        return self.saved.model

    def samples(
        self,
        data: str | Path,
        chunk_rows: int,
        progress: ReadProgress,
        *,
        labels: LabelKind | None = None,
        format: str = "auto",
        index_base: int | None = None,
        **options: Any,
    ) -> Iterator[tuple[Any, Data]]:
        """Features and what they were made from, in chunks.

        By default the index base, the labels and the columns of a table are those of training. What was understood of a
        table is shown once.
        """
        n_features = self.parts.n_features
        if n_features is None:
            raise ModelFolderError(
                "The model does not know the number of features, so no file can be read for it. Load it in Python with "
                "load_model and pass samples like those it was fitted to."
            )
        is_text = isinstance(data, str) and self.model_input.vectorizer is not None and data != "-"
        if is_text and (" " in str(data) or not Path(data).suffix) and not os.access(data, os.F_OK):
            hint = "To pass a text, pipe it into this command: echo TEXT | codekin ..."
            raise FileNotFoundError(f"{shortened(str(data))}: there is no such file. {hint}")
        if index_base is not None and self.model_input.vectorizer is not None:
            raise ValueError(f"--index-base {index_base} needs features with numbers. Got a model of texts.")
        if self.has_sets and labels != "none" and options.get("multilabel", "all") == "all":
            options = {"multilabel": "all", "label_separator": self.model_input.label_separator, **options}
        kind, base = label_kind(self.labels) if labels is None else labels, "auto" if index_base is None else index_base
        how = ReadOptions(labels=kind, index_base=base, **options)  # type: ignore[arg-type]
        if labels != "none" and (how.multilabel == "all") is not self.has_sets:
            other = "one label" if self.has_sets else "several labels"
            raise ValueError(f"--multilabel {how.multilabel} needs a model of {other} per sample. Got another one.")
        for X, part in self.model_input.chunks(
            data, format=format, n_features=n_features, options=how, chunk_rows=chunk_rows, progress=progress
        ):
            if isinstance(part, TextData) and part.table is not None and not self._has_shown:
                self._has_shown = True
                used = ", ".join((*part.table.text, *part.table.embeddings))
                what = "texts" if part.table.text else "vectors"
                self.display.note(f"{data}: {part.reading}; {what} from {used}")
            yield X, part

    def all_samples(self, data: Path, **reading: Any) -> tuple[Any, Any, list[Data]]:
        """The features and labels of all samples of a file, and what they were made from."""
        # Several labels each are read at once, which numbers them once.
        n_rows = sys.maxsize if self.has_sets else ROWS_AT_ONCE
        chunks = list(self.samples(data, n_rows, reporter(f"reading {data}"), **reading))
        if self.has_sets:
            self.indicator(data, chunks[0][1])
            return chunks[0][0], chunks[0][1].encoded_labels, [chunks[0][1]]
        X, y = stacked([X for X, _ in chunks]), np.concatenate([part.labels for _, part in chunks])
        return X, y, [part for _, part in chunks]

    def indicator(self, source: str | Path, data: Data) -> csr_array:
        """Which labels the samples of a file have, unknown ones last; an error if the model knows none of them."""
        found = data.indicator_among(self.labels)
        if not (found.indices < len(self.labels)).any():
            raise DataError(str(source), f"none of its {len(data):,} samples has a label that the model knows.")
        return found

    def feature_name(self, feature: int) -> str:
        """What a feature with a number is called: as the file numbers it."""
        return f"feature {feature + self.model_input.encoding.get('index_base', 0)}"


def stacked(parts: list[Any]) -> Any:
    """Some rows of features as one matrix, dense if they are."""
    return np.vstack(parts) if isinstance(parts[0], np.ndarray) else csr_array(vstack(parts))


def has_parts(classifier: Any) -> bool:
    """Whether the classes of a classifier have parts, each with its own codeword."""
    return hasattr(classifier, "class_of_part_")


def ranking_facts(model: Model) -> dict[str, Any] | None:
    """How a model ranks its candidates, for JSON; None if it has no ranking."""
    if model.ranking is None:
        return None
    vectors = model.ranking.vectors
    return {
        "n_codes": len(model.codes),
        "n_candidates": min(model.ranking.n_candidates, model.n_classes),
        "n_indexed": min(model.ranking.n_indexed, model.n_classes),
        "weight": model.ranking.weight,
        "temperature": model.ranking.temperature,
        "reach": model.ranking.max_loss_gap if np.isfinite(model.ranking.max_loss_gap) else None,
        "n_vector_entries": None if vectors is None else vectors.n_entries,
        "vector_bytes": None if vectors is None else vectors.nbytes,
    }


def ranking_text(facts: dict[str, Any] | None) -> list[str]:
    """The same as lines of text."""
    if facts is None:
        return []
    limit = "" if facts["reach"] is None else f", at most {facts['reach']:g} behind the best"
    lines = [f"  candidates of each code        {facts['n_candidates']}{limit}"]
    if facts["n_indexed"]:
        lines.append(f"  candidates of the index        {facts['n_indexed']}")
    if facts["n_vector_entries"] is not None:
        vectors = f"{facts['n_vector_entries']:,} entries, {in_units(facts['vector_bytes'])}"
        lines.append(f"  class vectors                  {vectors}, weight {facts['weight']:.3g}")
    return lines
