"""Codebooks and samples from the entries of a configuration, and whether they are available."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from codekin.codebooks import CODEBOOKS
from codekin.coding import Codebook, FloatArray
from codekin.datasets import DATASETS, Dataset, load_dataset
from codekin_studies.configuration import Study
from codekin_studies.engine.schema import Place
from codekin_studies.engine.task import Task
from codekin_studies.engine.workspace import Workspace

TRIAL_SECONDS = 0.1
"""How long to search for a codebook just to check that it can be made."""


def make_codebook(code: Mapping[str, Any], n_classes: int, distances: Mapping[str, FloatArray]) -> Codebook:
    """The codebook that an entry describes.

    ``distances`` maps the names in entries to matrices.
    """
    extra: dict[str, Any] = {}
    if "seed" in code:
        extra["rng"] = code["seed"]
    if "class_distances" in code:
        extra["class_distances"] = distances[code["class_distances"]]
    return CODEBOOKS[code["codebook"]](n_classes, **code.get("options", {}), **extra)


def results_by_data(
    study: Study, workspace: Workspace, task_of: Callable[[Study, Mapping[str, Any], Mapping[str, Any]], Task]
) -> dict[str, dict[str, Mapping[str, Any]]]:
    """The results of finished tasks by data set and codebook; none of a data set without any."""
    codebooks, found = study.option("codebooks"), {}
    for data in study.option("data"):
        of_codes = workspace.results({code["name"]: task_of(study, data, code) for code in codebooks})
        if of_codes:
            found[data["name"]] = of_codes
    return found


def check_entries(study: Study, data_names: list[str], data_home: Path | None, *, most_bits: int | None = None) -> None:
    """Raise unless the samples of some data sets, and the codebooks for them, are available."""
    for number, data in enumerate(study.option("data")):
        if data["name"] in data_names:
            check_samples(data, study.place.at("data", number), data_home)
    for number, code in enumerate(study.option("codebooks")):
        for n_classes in sorted({DATASETS[name].n_classes for name in data_names}):
            check_codebook(code, n_classes, study.place.at("codebooks", number), most_bits=most_bits)


def check_samples(data: Mapping[str, Any], place: Place, data_home: Path | None) -> Dataset:
    """Raise unless a data set has dense features, and test samples or enough samples to set some aside."""
    name, n_test = data["name"], data.get("n_test")
    dataset = load_dataset(name, data_home)
    if not isinstance(dataset.X, np.ndarray):
        has = "texts" if dataset.X is None else "sparse features"
        raise place.at("name").error(f"'{place.at('name')}' must be a data set of dense features. {name!r} has {has}.")
    if n_test is None:
        if dataset.test is None:
            raise place.error(
                f"'{place}' must be a data set with test samples, which {name!r} is not, or say 'n_test'."
            )
        return dataset
    n_samples, n_classes = len(dataset.y), len(np.unique(dataset.y))
    if not n_classes <= n_test <= n_samples - n_classes:
        wanted = f"from {n_classes} to {n_samples - n_classes}, since {name!r} has {n_samples} samples"
        raise place.at("n_test").wrong(f"{wanted} of {n_classes} classes to divide", n_test)
    return dataset


def check_codebook(code: Mapping[str, Any], n_classes: int, place: Place, *, most_bits: int | None = None) -> None:
    """Raise unless a codebook can be made, as far as that is known without class distances."""
    options = dict(code.get("options", {}))
    n_bits = options.get("n_bits", 0)
    if "class_distances" not in code:
        if "time_limit" in inspect.signature(CODEBOOKS[code["codebook"]]).parameters:
            options["time_limit"] = min(options.get("time_limit", TRIAL_SECONDS), TRIAL_SECONDS)
        try:
            codebook = make_codebook({**code, "options": options}, n_classes, {})
        except ValueError as error:
            raise place.error(f"'{place}' cannot be made for {n_classes} classes: {error}") from None
        if codebook.is_ternary:
            rule = "must be a codebook without zeros, since every bit is learned as a split of all classes"
            raise place.error(f"'{place}' {rule}. Got {code['codebook']!r} instead.")
        n_bits = codebook.n_bits
    if most_bits is not None and n_bits > most_bits:
        rule = f"must have at most {most_bits} bits, up to which counts over all assignments are exact"
        raise place.error(f"'{place}' {rule}. It has {n_bits} bits.")
