"""A model as a state: a description in JSON, arrays, and learners that arrays cannot describe.

Every part of a model is written, read and checked here. Folders and files are the business of ``codekin.storage``.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from codekin._system.arrays import Arrays, n_bytes_of
from codekin._version import __version__
from codekin.data.model_input import ModelInput
from codekin.model import Model
from codekin.states.classifier import (
    SavedClassifier,
    Subclasses,
    describe_classifier,
    describe_input,
    restore_classifier,
    restore_input,
)
from codekin.states.codes import describe_model, describe_probabilities, restore_model
from codekin.states.learners import describe_learners, restore_learners
from codekin.states.values import Json, ModelFolderError

__all__ = ["ModelFolderError", "SavedClassifier", "State", "Subclasses"]

FORMAT = "codekin-model"
FORMAT_VERSION = 8
"""Since version 2 weights may take one or two bytes; since version 3 vocabularies share prefixes of words; since
version 4 parameters of both classifiers have the same names; since version 5 a code may be a tree; since version 6 an
index may list candidates; since version 7 codewords may be real, and classes may have several parts; since
version 8 learners of scikit-learn may be arrays. All versions are read: :func:`migrated` brings descriptions of earlier
ones up to date, and each part reads its own earlier arrays."""
DESCRIPTION, ARRAYS, LEARNER_FILE = "model.json", "arrays.safetensors", "learners.skops"


class State(NamedTuple):
    """A model, the classifier around it and how its samples are read, each in the files that it is stored in."""

    description: Json
    arrays: Arrays
    learners: list[Any]

    @classmethod
    def of(cls, model: Model, classifier: SavedClassifier | None, model_input: ModelInput | None = None) -> State:
        """The state of a model, and of the classifier if it was saved from one."""
        arrays: Arrays = {}
        learners: list[Any] = []
        description = {**_head(), **describe_model(model, arrays, learners)}
        if classifier is None:
            description |= describe_probabilities(model)
        else:
            description["classifier"] = describe_classifier(classifier, arrays, learners)
        if model_input is not None:
            description["input"] = describe_input(model_input, arrays)
        kinds = describe_learners(learners, arrays) if learners else None
        if kinds is None:
            return cls(description, arrays, learners)
        return cls({**description, "learners": kinds}, arrays, [])

    def restored(self) -> tuple[Model, SavedClassifier | None, ModelInput]:
        """What :meth:`of` was given; an error if the parts do not fit together."""
        description, arrays, learners = migrated(self.description), self.arrays, self.learners
        if "learners" in description:
            learners = restore_learners(description["learners"], arrays)
        (model, width), classifier, n_features = restore_model(description, arrays, learners), None, None
        if "classifier" in description:
            given, n_classes = description["classifier"], description["n_classes"]
            classifier = restore_classifier(given, arrays, learners, n_classes, width)
            n_features = classifier.n_features
        return model, classifier, restore_input(description.get("input", {"encoding": {}}), arrays, n_features)

    @property
    def n_bytes(self) -> int:
        """The size of the folder in which it is stored."""
        sizes = {ARRAYS: n_bytes_of(self.arrays)}
        if self.learners:
            from skops.io import dumps

            sizes[LEARNER_FILE] = len(dumps(self.learners))
        checksum = "0" * 64
        files = {name: {"bytes": n_bytes, "sha256": checksum} for name, n_bytes in sizes.items()}
        return sum(sizes.values()) + len(as_json({**self.description, "files": files, "sha256": checksum}))


def input_bytes(model_input: ModelInput) -> int:
    """The bytes of a model folder for its input, or a few more."""
    arrays: Arrays = {}
    return len(json.dumps({"input": describe_input(model_input, arrays)})) + n_bytes_of(arrays)


def as_json(description: Json) -> bytes:
    """Without whitespace or escapes: labels may be most of it."""
    try:
        return json.dumps(description, separators=(",", ":"), allow_nan=False, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half a surrogate pair, which is invalid in UTF-8
        return json.dumps(description, separators=(",", ":"), allow_nan=False).encode()


def _head() -> Json:
    import numpy as np
    import scipy
    import sklearn

    packages = {"numpy": np, "scipy": scipy, "scikit-learn": sklearn}
    versions = {"codekin": __version__, **{name: package.__version__ for name, package in packages.items()}}
    return {"format": FORMAT, "format_version": FORMAT_VERSION, "versions": versions}


def migrated(description: Json) -> Json:
    """The description in the current format."""
    for change in (
        _learner_of_the_first_folders,
        _report_of_the_first_folders,
        _parameters_before_version_4,
        _names_of_codes,
    ):
        description = change(description)
    return description


def _learner_of_the_first_folders(description: Json) -> Json:
    """Trellis classifiers had only AROW, and stored only settings that were given."""
    classifier = description.get("classifier", {})
    if classifier.get("kind") != "TrellisClassifier" or "learner" in classifier:
        return description
    learner = {"name": "arow", "settings": classifier.get("arow", {})}
    return {**description, "classifier": {**classifier, "learner": learner, "is_learner_given": "arow" in classifier}}


def _report_of_the_first_folders(description: Json) -> Json:
    """The measured error was called the training error."""
    classifier = description.get("classifier", {})
    if "training_error" not in classifier.get("report", {}):
        return description
    report = dict(classifier["report"])
    report["error"] = report.pop("training_error")
    return {**description, "classifier": {**classifier, "report": report}}


def _parameters_before_version_4(description: Json) -> Json:
    """Two parameters of trellis classifiers had other names."""
    classifier = description.get("classifier", {})
    if description["format_version"] >= 4 or classifier.get("kind") != "TrellisClassifier":
        return description
    names = {"learner": "estimator", "n_bits": "max_bits"}
    params = {names.get(name, name): value for name, value in classifier["params"].items()}
    return {**description, "classifier": {**classifier, "params": params}}


def _names_of_codes(description: Json) -> Json:
    """ExtremeClassifier was called TrellisClassifier, and the numbers of codes and reserved codewords differently."""
    classifier = description.get("classifier", {})
    if "n_codes" in classifier.get("report", {"n_codes": 1}):
        return description
    report = _with_names_of_codes(classifier["report"])
    if "trials" in report:
        report["trials"] = [
            {**trial, "recipe": _with_names_of_codes(trial["recipe"])} for trial in classifier["report"]["trials"]
        ]
    renamed = {**classifier, "report": report}
    if classifier.get("kind") == "TrellisClassifier":
        renamed |= {"kind": "ExtremeClassifier", "params": _with_names_of_codes(classifier["params"])}
    if "plan" in classifier:
        renamed["plan"] = _with_names_of_codes(classifier["plan"])
    return {**description, "classifier": renamed}


def _with_names_of_codes(values: Json) -> Json:
    names = {"n_members": "n_codes", "n_spare": "n_reserved"}
    return {names.get(name, name): value for name, value in values.items()}
