"""The models that commands work with."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from codekin._system.memory import in_units
from codekin.cli.display import Display
from codekin.data import ReadOptions
from codekin.data.datasets import Data, TextData
from codekin.data.options import LabelKind, label_kind
from codekin.data.parsed_rows import shortened
from codekin.model import Model
from codekin.progress import report
from codekin.storage import ModelFolderError, load_saved


class LoadedModel:
    """A classifier that a command works with, how its samples are read, and a display of the progress.

    Only commands that accept a SubclassClassifier say ``takes_parts``.
    """

    def __init__(self, folder: Path, *, trust: bool, quiet: bool, takes_parts: bool = False) -> None:
        self.display = Display(quiet)
        with self.display.watching(only_if_slow=True):
            report(f"loading {folder}")
            saved = load_saved(folder, trusted=trust)
        if saved.parts is None:
            raise ModelFolderError(f"{folder} holds a code without labels; save the classifier around it instead.")
        if has_parts(saved.model) and not takes_parts:
            raise ModelFolderError(
                f"{folder} holds a SubclassClassifier, whose classes may have several codewords; "
                "codekin predict, evaluate and inspect accept it, other commands do not."
            )
        self.saved, self.classifier, self.model_input = saved, saved.model, saved.model_input

    def reader(
        self,
        data: str | Path,
        format: str,
        index_base: int | None,
        *,
        labels: LabelKind | None = None,
        multilabel: str = "error",
        table: Mapping[str, Any] | None = None,
    ) -> Callable[..., Iterator[tuple[Any, Data]]]:
        """A function that reads features and what they were made from, given ``chunk_rows`` and ``progress``.

        By default ``index_base``, ``labels`` and the columns of a ``table`` are those of training. What was understood
        of a table is shown once.
        """
        if not hasattr(self.classifier, "n_features_in_"):
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
        options = ReadOptions(
            labels=label_kind(self.classifier.classes_) if labels is None else labels,
            multilabel=multilabel,  # type: ignore[arg-type]
            index_base="auto" if index_base is None else index_base,  # type: ignore[arg-type]
            **(table or {}),
        )
        n_features = self.classifier.n_features_in_
        chunks = partial(self.model_input.chunks, data, format=format, n_features=n_features, options=options)
        shown: list[str] = []

        def read(**how: Any) -> Iterator[tuple[Any, Data]]:
            for X, part in chunks(**how):
                if isinstance(part, TextData) and part.table is not None and not shown:
                    shown.append(f"{data}: {part.reading}; texts from {', '.join(part.table.text)}")
                    self.display.note(shown[0])
                yield X, part

        return read

    def feature_name(self, feature: int) -> str:
        """What a feature with a number is called: as the file numbers it."""
        return f"feature {feature + self.model_input.encoding.get('index_base', 0)}"


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
