"""Models for commands that use one."""

from __future__ import annotations

from pathlib import Path

from codekin.model import CodedModel
from codekin.storage import ModelFolderError, SavedModel, load_saved


def loaded_classifier(folder: Path) -> SavedModel:
    """What is in a model folder, if it is a classifier with labels."""
    saved = load_saved(folder)
    if isinstance(saved.model, CodedModel):
        raise ModelFolderError(f"{folder} holds a code without labels; save the classifier around it instead.")
    return saved
