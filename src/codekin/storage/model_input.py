"""The stored input of a model: the vectorizer of texts, the numbering of features."""

from __future__ import annotations

import json
from typing import Any

from codekin._system.arrays import Arrays, n_bytes_of
from codekin.datasets import FittedVectorizer
from codekin.datasets.model_input import ModelInput
from codekin.datasets.options import checked_encoding


def describe_input(model_input: ModelInput, arrays: Arrays) -> dict[str, Any]:
    """The description of the files that a model reads."""
    description: dict[str, Any] = {"encoding": {key: int(value) for key, value in model_input.encoding.items()}}
    if model_input.vectorizer is not None:
        settings, state = model_input.vectorizer.to_state()
        arrays.update({f"vectorizer_{name}": array for name, array in state.items()})
        description["vectorizer"] = settings
    return description


def input_bytes(model_input: ModelInput) -> int:
    """The bytes of a model folder for its input, or a few more."""
    arrays: Arrays = {}
    description = json.dumps({"input": describe_input(model_input, arrays)})
    return len(description) + n_bytes_of(arrays)


def restore_input(description: dict[str, Any], arrays: Arrays) -> ModelInput:
    """The description of the files a model reads."""
    vectorizer = None
    if "vectorizer" in description:
        prefix = "vectorizer_"
        state = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        vectorizer = FittedVectorizer.from_state(description["vectorizer"], state)
    return ModelInput(vectorizer, checked_encoding(description["encoding"]))
