"""Loading models for commands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from codekin._system.memory import in_units
from codekin.cli.display import Display
from codekin.datasets import ReadOptions
from codekin.datasets.options import LabelKind, label_kind
from codekin.datasets.reading import ReadProgress
from codekin.datasets.samples import Data
from codekin.model import Model
from codekin.progress import tell
from codekin.storage import ModelFolderError, SavedModel, load_saved


def loaded_classifier(folder: Path, display: Display, *, trusted: bool, takes_parts: bool = False) -> SavedModel:
    """What is in a model folder, if it is a classifier with labels; with parts of classes if they are accepted."""
    with display.watching(only_if_slow=True):
        tell(f"loading {folder}")
        saved = load_saved(folder, trusted=trusted)
    if not saved.has_labels:
        raise ModelFolderError(f"{folder} holds a code without labels; save the classifier around it instead.")
    if has_parts(saved.model) and not takes_parts:
        raise ModelFolderError(
            f"{folder} holds a SubclassClassifier, whose classes may have several codewords; "
            "codekin predict, evaluate and inspect accept it, other commands do not."
        )
    return saved


def has_parts(classifier: Any) -> bool:
    """Whether the classes of a classifier have parts, each with its own codeword."""
    return hasattr(classifier, "class_of_part_")


def reading_options(
    saved: SavedModel, index_base: int | None, *, labels: LabelKind | None = None, multilabel: str = "error"
) -> ReadOptions:
    """The options for reading samples for a model; by default ``index_base`` and ``labels`` are those of training."""
    if not hasattr(saved.model, "n_features_in_"):
        raise ModelFolderError(
            "The model does not know the number of features, so no file can be read for it. Load it in Python with "
            "load_model and pass samples like those it was fitted to."
        )
    if index_base is not None and saved.model_input.vectorizer is not None:
        raise ValueError(f"--index-base {index_base} needs features with numbers. Got a model of texts.")
    return ReadOptions(
        labels=label_kind(saved.model.classes_) if labels is None else labels,
        multilabel=multilabel,  # type: ignore[arg-type]
        index_base="auto" if index_base is None else index_base,  # type: ignore[arg-type]
    )


def sample_chunks(
    saved: SavedModel, data: str | Path, format: str, options: ReadOptions, chunk_rows: int, progress: ReadProgress
) -> Iterator[tuple[Any, Data]]:
    """The features of samples for a model, and what was read, some samples at a time."""
    n_features = saved.model.n_features_in_
    return saved.model_input.chunks(
        data, format=format, n_features=n_features, options=options, chunk_rows=chunk_rows, progress=progress
    )


def ranking_facts(model: Model) -> dict[str, Any] | None:
    """How a model ranks its candidates, for JSON; None if it has no ranking."""
    if model.ranking is None:
        return None
    vectors = model.ranking.vectors
    return {
        "n_members": len(model.members),
        "n_candidates": min(model.ranking.n_candidates, model.n_classes),
        "n_indexed": min(model.ranking.n_indexed, model.n_classes),
        "weight": model.ranking.weight,
        "temperature": model.ranking.temperature,
        "reach": model.ranking.reach if np.isfinite(model.ranking.reach) else None,
        "n_vector_entries": None if vectors is None else vectors.n_entries,
        "vector_bytes": None if vectors is None else vectors.nbytes,
    }


def ranking_text(facts: dict[str, Any] | None) -> list[str]:
    """The same as lines of text."""
    if facts is None:
        return []
    reach = "" if facts["reach"] is None else f", at most {facts['reach']:g} behind the best"
    lines = [f"  candidates of each code        {facts['n_candidates']}{reach}"]
    if facts["n_indexed"]:
        lines.append(f"  candidates of the index        {facts['n_indexed']}")
    if facts["n_vector_entries"] is not None:
        vectors = f"{facts['n_vector_entries']:,} entries, {in_units(facts['vector_bytes'])}"
        lines.append(f"  class vectors                  {vectors}, weight {facts['weight']:.3g}")
    return lines
