"""A model as a state: a description in JSON, arrays, and learners that arrays cannot describe.

Every part of a model is written, read and checked here. Folders and files are the business of ``codekin.storage``.
Estimators are converted to and from a :class:`SavedClassifier`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib.metadata import version
from reprlib import repr as shortened
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from codekin._system.arrays import Arrays, as_narrow, n_bytes_of
from codekin._version import __version__
from codekin.classes import ClassTree
from codekin.code import IntArray
from codekin.data.model_input import ModelInput
from codekin.data.options import checked_encoding
from codekin.data.row_features import Features, FittedRows
from codekin.data.tables import columns_from_json, columns_to_json
from codekin.data.vectorizers import FittedVectorizer
from codekin.decoding import log_odds_decoder
from codekin.learners import LEARNERS, Learner, learner_name, learner_of
from codekin.model import Model
from codekin.model.prediction_sets import SetCalibration
from codekin.states.codes import describe_model, restore_model
from codekin.states.sets import check_tree_arrays, describe_sets, restore_sets
from codekin.states.values import PLAIN, Json, ModelFolderError, check, checked, restored_params

__all__ = ["ModelFolderError", "SavedClassifier", "State", "Subclasses"]

FORMAT = "codekin-model"
FORMAT_VERSION, VERSION_OF_ONE_LABEL = 9, 8
"""The version of models of several labels per sample; those of one label are as they were."""
"""Since version 2 weights may take one or two bytes; since version 3 vocabularies share prefixes of words; since
version 4 parameters of both classifiers have the same names; since version 5 a code may be a tree; since version 6 an
index may list candidates; since version 7 codewords may be real, and classes may have several parts; since
version 8 learners of scikit-learn may be arrays. All versions are read: :func:`migrated` brings descriptions of earlier
ones up to date, and each part reads its own earlier arrays."""
DESCRIPTION, ARRAYS, LEARNER_FILE = "model.json", "arrays.safetensors", "learners.skops"


@dataclass(frozen=True, eq=False)
class Subclasses:
    """What is around a classifier whose labels are numbers of parts of classes: the labels and parts of the classes.

    ``training_errors`` and ``params`` are those of the estimator around it.
    """

    labels: NDArray[Any]
    class_of_part: IntArray
    training_errors: Sequence[float]
    params: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class SavedClassifier:
    """The parts of a classifier besides its model.

    ``params`` has the parameters that are names or numbers; for all others their fitted values are stored.
    ``estimator`` is the scikit-learn classifier that learned the bits, ``learner`` one of codekin's.
    """

    kind: str
    params: Mapping[str, Any]
    labels: NDArray[Any]
    report: Mapping[str, Any]
    n_features: int | None = None
    feature_names: Sequence[str] | None = None
    estimator: Any = None
    learner: Learner | None = None
    is_learner_given: bool = False
    temperature: float | None = None
    class_tree: ClassTree | None = None
    plan: Mapping[str, Any] = field(default_factory=dict)
    set_calibration: SetCalibration | None = None
    subclasses: Subclasses | None = None

    @property
    def given_learner(self) -> Any:
        """What learned the bits, if it is more than a name."""
        return self.estimator if self.learner is None else self.learner


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
        versions = {"codekin": __version__, **{name: version(name) for name in ("numpy", "scipy", "scikit-learn")}}
        written = VERSION_OF_ONE_LABEL if model.marginals is None else FORMAT_VERSION
        description: Json = {"format": FORMAT, "format_version": written, "versions": versions}
        description |= describe_model(model, arrays, learners, is_alone=classifier is None)
        if classifier is not None:
            description["classifier"] = _describe_classifier(classifier, arrays, learners)
        if model_input is not None:
            description["input"] = _describe_input(model_input, arrays)
        kinds = None
        if learners:  # of scikit-learn, which other models do not need
            from codekin.states.learners import describe_learners

            kinds = describe_learners(learners, arrays)
        if kinds is None:
            return cls(description, arrays, learners)
        return cls({**description, "learners": kinds}, arrays, [])

    def restored(self) -> tuple[Model, SavedClassifier | None, ModelInput]:
        """What :meth:`of` was given; an error if the parts do not fit together."""
        description, arrays, learners = migrated(self.description), self.arrays, self.learners
        if "learners" in description:
            from codekin.states.learners import restore_learners

            learners = restore_learners(description["learners"], arrays)
        (model, width), classifier, n_features = restore_model(description, arrays, learners), None, None
        if "classifier" in description:
            given, n_classes = description["classifier"], description["n_classes"]
            classifier = _restore_classifier(given, arrays, learners, n_classes, width)
            n_features = classifier.n_features
            if classifier.kind not in MODELS:
                raise KeyError(f"a classifier of kind {shortened(classifier.kind)}")
            model = MODELS[classifier.kind](model, classifier)
        return model, classifier, _restore_input(description.get("input", {"encoding": {}}), arrays, n_features)

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
    return len(json.dumps({"input": _describe_input(model_input, arrays)})) + n_bytes_of(arrays)


def as_json(description: Json) -> bytes:
    """Without whitespace or escapes: labels may be most of it."""
    try:
        return json.dumps(description, separators=(",", ":"), allow_nan=False, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half a surrogate pair, which is invalid in UTF-8
        return json.dumps(description, separators=(",", ":"), allow_nan=False).encode()


def migrated(description: Json) -> Json:
    """The description in the current format; models without a classifier around them have not changed."""
    if "classifier" not in description:
        return description
    classifier = {**description["classifier"]}
    is_trellis, report = classifier.get("kind") == "TrellisClassifier", classifier.get("report", {"n_codes": 1})
    if is_trellis and "learner" not in classifier:
        # The first ones had only AROW, and stored only settings that were given.
        classifier["learner"] = {"name": "arow", "settings": classifier.get("arow", {})}
        classifier["is_learner_given"] = "arow" in classifier
    if is_trellis and description["format_version"] < 4:
        classifier["params"] = _renamed(classifier["params"], learner="estimator", n_bits="max_bits")
    if "training_error" in report:
        classifier["report"] = report = _renamed(report, training_error="error")
    if "n_codes" not in report:
        names = {"n_members": "n_codes", "n_spare": "n_reserved"}
        classifier["report"] = _renamed(report, **names)
        if "trials" in report:
            trials = [{**trial, "recipe": _renamed(trial["recipe"], **names)} for trial in report["trials"]]
            classifier["report"]["trials"] = trials
        if is_trellis:  # what ExtremeClassifier was called
            classifier |= {"kind": "ExtremeClassifier", "params": _renamed(classifier["params"], **names)}
        if "plan" in classifier:
            classifier["plan"] = _renamed(classifier["plan"], **names)
    return {**description, "classifier": classifier}


def _renamed(values: Json, **names: str) -> Json:
    return {names.get(name, name): value for name, value in values.items()}


# ----- classifiers --------------------------------------------------------------------------------------------------


def _describe_classifier(parts: SavedClassifier, arrays: Arrays, learners: list[Any]) -> Json:
    """The parts of an estimator besides its model, as JSON, arrays and learners."""
    params = {key: value for key, value in parts.params.items() if isinstance(value, PLAIN)}
    description: Json = {
        "kind": parts.kind,
        "params": params,
        "n_features_in": parts.n_features,
        "labels": _describe_labels(parts.labels, arrays),
        "report": dict(parts.report),
    }
    if parts.plan:
        description["plan"] = dict(parts.plan)
    if parts.learner is not None:
        description["learner"] = _describe_learner(parts.learner)
        description["is_learner_given"] = parts.is_learner_given and description["learner"] is not None
    if parts.estimator is not None:
        description["estimator"] = len(learners)
        learners.append(parts.estimator)
    if parts.temperature is not None:
        description["temperature"] = parts.temperature
    tree = parts.class_tree
    if tree is not None:
        arrays.update(tree_arrays(tree))
        description["has_class_tree"] = True
    if parts.set_calibration is not None:
        description["prediction_sets"] = describe_sets(parts.set_calibration, arrays)
    if parts.feature_names is not None:
        description["feature_names_in"] = [str(name) for name in parts.feature_names]
    if parts.subclasses is not None:
        own = parts.subclasses
        arrays["class_of_part"] = as_narrow(own.class_of_part)
        description["subclasses"] = {
            "params": {key: value for key, value in own.params.items() if isinstance(value, PLAIN)},
            "labels": _describe_labels(own.labels, arrays, "class_labels"),
            "training_errors": list(own.training_errors),
        }
    return description


def _restore_classifier(
    description: Json, arrays: Arrays, learners: list[Any], n_classes: int, width: int | None
) -> SavedClassifier:
    """What :func:`_describe_classifier` described, if it fits a model with this number of classes.

    ``width`` is the number of features that the model has weights for, None if it has none.
    """
    learner, n_features, names = (description.get(name) for name in ("learner", "n_features_in", "feature_names_in"))
    if n_features is not None:
        checked(n_features, "n_features_in")
    labels = _restore_labels(description["labels"], arrays, n_classes)
    saved = SavedClassifier(
        kind=description["kind"],
        params=restored_params(description),
        labels=labels,
        report=description["report"],
        n_features=n_features,
        feature_names=None if names is None else checked(names, "feature_names_in", "texts", n_features or 0),
        estimator=learners[checked(description["estimator"], "estimator")] if "estimator" in description else None,
        learner=None if learner is None else LEARNERS[learner["name"]](**learner["settings"]),
        is_learner_given=bool(description.get("is_learner_given", learner is not None)),
        temperature=description.get("temperature"),  # was checked as that of the model
        class_tree=_restore_tree(arrays, n_classes) if description.get("has_class_tree") else None,
        plan=description.get("plan", {}),
        set_calibration=restore_sets(description.get("prediction_sets"), arrays, labels),
        subclasses=_restore_subclasses(description["subclasses"], arrays) if "subclasses" in description else None,
    )
    if not isinstance(saved.plan, dict) or not all(isinstance(value, PLAIN) for value in saved.plan.values()):
        raise ValueError(f"'plan' must hold names and numbers. Got {shortened(saved.plan)}.")
    n_labels = saved.labels.shape[0]
    check(saved.labels.shape == (n_classes,), f"there are {n_labels} labels for {n_classes} classes")
    if saved.subclasses is not None:
        n_parts = len(saved.subclasses.class_of_part)
        check(
            np.array_equal(saved.labels, np.arange(n_parts)),
            f"the labels of the {n_classes} parts must be their numbers, and there are classes for {n_parts}",
        )
    check(width in (None, n_features), f"there are weights for {width} features, not for {n_features}")
    return saved


def _with_log_odds(model: Model, parts: SavedClassifier) -> Model:
    """The model with the probabilities that its classifier gives it."""
    given = parts.params.get("estimator") if parts.given_learner is None else parts.given_learner
    first, is_weighted = model.codes[0], bool(parts.params.get("weighted_decoding"))
    own = log_odds_decoder(first.code, first.decoder, learner_of(given), is_weighted=is_weighted)
    return replace(model, probability_decoder=own)


def _with_temperature(model: Model, parts: SavedClassifier) -> Model:
    """The model itself, which has the temperature of its classifier."""
    if parts.temperature is None:
        raise KeyError("temperature")
    return model


MODELS = {
    "ECOCClassifier": _with_log_odds,
    **dict.fromkeys(("ExtremeClassifier", "TrellisClassifier"), _with_temperature),
}
"""The kinds of classifiers, and what their models need to be what they predict with."""


def _describe_input(model_input: ModelInput, arrays: Arrays) -> Json:
    """How the samples of a model are read from files."""
    description: Json = {"encoding": {key: int(value) for key, value in model_input.encoding.items()}}
    if model_input.label_separator is not None:
        description["label_separator"] = model_input.label_separator
    if model_input.columns is not None:
        description["columns"] = columns_to_json(model_input.columns)
    if model_input.vectorizer is not None:
        description["vectorizer"], state = model_input.vectorizer.to_state()
        arrays.update({f"vectorizer_{name}": array for name, array in state.items()})
    return description


def _restore_input(description: Json, arrays: Arrays, n_features: int | None) -> ModelInput:
    """What :func:`_describe_input` described; texts must have as many features as the model."""
    columns = columns_from_json(description["columns"]) if "columns" in description else None
    vectorizer: Features | None = None
    if "vectorizer" in description:
        own = {name: array for name, array in arrays.items() if name.startswith("vectorizer_")}
        state = {name.removeprefix("vectorizer_"): array for name, array in own.items()}
        if "texts" in description["vectorizer"]:
            vectorizer = FittedRows.from_state(description["vectorizer"], state, columns)
        else:
            vectorizer = FittedVectorizer.from_state(description["vectorizer"], state)
        is_right = n_features is None or vectorizer.n_features == n_features
        check(is_right, f"texts have {vectorizer.n_features} features, the model {n_features}")
    encoding = description["encoding"]  # none of texts
    separator = description.get("label_separator")
    check(isinstance(separator, str | None), f"labels are separated by a text, not by {separator!r}")
    return ModelInput(vectorizer, {} if encoding == {} else checked_encoding(encoding), columns, separator)


def tree_arrays(tree: ClassTree) -> Arrays:
    """The arrays of a class tree; lengths are left out if all are one."""
    arrays = {"tree_parent": as_narrow(tree.parent), "tree_node_of_class": as_narrow(tree.node_of_class)}
    if (tree.edge_length[tree.parent != -1] != 1).any():
        arrays["tree_edge_length"] = tree.edge_length
    return arrays


def _restore_subclasses(description: Json, arrays: Arrays) -> Subclasses:
    stored = arrays["class_of_part"]
    class_of_part = stored.astype(np.intp).ravel()
    # Parts are numbered class by class, and every class has one.
    is_whole = stored.dtype.kind in "iu" and len(class_of_part) > 0
    if not (is_whole and class_of_part[0] == 0 and np.isin(np.diff(class_of_part), (0, 1)).all()):
        raise ValueError("the classes of parts must be integers from 0 that increase by at most 1.")
    n_classes = int(class_of_part[-1]) + 1
    labels = _restore_labels(description["labels"], arrays, n_classes, "class_labels")
    if labels.shape != (n_classes,):
        raise ValueError(f"there are {labels.shape[0]} labels for {n_classes} classes that have parts.")
    errors = [float(checked(error, "training_errors", "finite")) for error in description["training_errors"]]
    return Subclasses(labels, class_of_part, errors, restored_params(description))


def _restore_tree(arrays: Arrays, n_classes: int) -> ClassTree:
    parent, node_of_class = arrays["tree_parent"], arrays["tree_node_of_class"]
    check_tree_arrays(parent, node_of_class, n_classes)
    return ClassTree(parent.astype(np.intp), node_of_class.astype(np.intp), arrays.get("tree_edge_length"))


def _describe_learner(learner: Any) -> Json | None:
    """The name and settings of one of codekin's learners; None for others, which cannot be trained further."""
    name = learner_name(learner)
    if name not in LEARNERS:
        return None
    settings = {setting.name: getattr(learner, setting.name) for setting in fields(learner) if setting.name != "n_jobs"}
    if settings["class_weight"] is not None and not isinstance(settings["class_weight"], str):
        settings["class_weight"] = np.asarray(settings["class_weight"], dtype=np.float64).tolist()
    return {"name": name, "settings": settings}


def _describe_labels(labels: NDArray[Any], arrays: Arrays, name: str = "labels") -> Json:
    if labels.dtype.kind in "biuf":
        arrays[name] = labels
        return {"kind": "array"}
    if all(isinstance(label, str) for label in labels.tolist()):
        return {"kind": "text", "is_object": labels.dtype.kind == "O", "values": labels.tolist()}
    raise TypeError(f"Labels must be all numbers or all text to be saved. Got labels of type {labels.dtype}.")


def _restore_labels(description: Json, arrays: Arrays, n_classes: int, name: str = "labels") -> NDArray[Any]:
    if description["kind"] == "array":
        return np.array(arrays[name])
    names = checked(description["values"], "labels", "texts", n_classes)
    return np.array(names, dtype=object if description["is_object"] else None)
