"""What each part of a model looks like as JSON and arrays: a function that describes it and one that restores it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.arrays import Arrays
from codekin.class_trees import ClassTree
from codekin.codebooks.trellis import trellis_codebook
from codekin.coding import Assignment, Codebook
from codekin.decoding import LOSSES
from codekin.distances import TreeDistances
from codekin.estimators import ECOCClassifier, FitReport, TrellisClassifier
from codekin.estimators.learner_choice import LEARNERS, learner_name
from codekin.learners import CalibratedBits, EstimatorBits
from codekin.learners.independent import ConstantBit
from codekin.learners.learning import LearningBits
from codekin.model import CodedModel, make_decoder
from codekin.ranked_model import RankedModel
from codekin.storage.files import Json
from codekin.storage.weights import LINEAR_KINDS, as_narrow, describe_linear_bits, restore_linear_bits


def describe_code(model: CodedModel, arrays: Arrays, learners: list[Any]) -> Json:
    return {
        "codebook": describe_codebook(model.codebook, arrays),
        "assignment": describe_assignment(model.assignment, arrays),
        "decoder": describe_decoder(model.decoder),
        "bits": describe_bits(model.bits, arrays, learners),
    }


def restore_code(description: Json, arrays: Arrays, learners: list[Any]) -> CodedModel:
    codebook = restore_codebook(description["codebook"], arrays)
    named = description["assignment"]
    assignment = Assignment(arrays["codeword_of_class"], named["method"], str(named.get("policy", "")))
    bits = restore_bits(description["bits"], arrays, learners)
    return CodedModel(codebook, assignment, bits, make_decoder(codebook, assignment, **description["decoder"]))


def describe_codebook(codebook: Codebook, arrays: Arrays) -> Json:
    description: Json = {"name": codebook.name, "is_designed": codebook.is_designed}
    if codebook.trellis is not None:
        graph: Any = codebook.trellis
        return {**description, "trellis": {"n_codewords": codebook.n_codewords, "width": int(graph.width)}}
    arrays["codebook"] = codebook.matrix
    return description


def restore_codebook(description: Json, arrays: Arrays) -> Codebook:
    if "trellis" in description:
        return trellis_codebook(**description["trellis"])
    return Codebook(arrays["codebook"], name=description["name"], is_designed=description["is_designed"])


def describe_assignment(assignment: Assignment, arrays: Arrays) -> Json:
    arrays["codeword_of_class"] = as_narrow(assignment.codeword_of_class)
    return {"method": assignment.method, **({"policy": assignment.policy} if assignment.policy else {})}


def describe_decoder(decoder: Any) -> Json:
    loss = decoder.loss if isinstance(decoder.loss, str) else decoder.loss.name
    if loss not in LOSSES:
        raise ValueError(f"A loss given as a function cannot be saved; use one of {sorted(LOSSES)}. Got {loss}.")
    return {"loss": loss, "is_weighted": bool(getattr(decoder, "is_weighted", False))}


def describe_bits(bits: Any, arrays: Arrays, learners: list[Any]) -> Json:
    if isinstance(bits, CalibratedBits):
        arrays["calibration_slopes"], arrays["calibration_intercepts"] = bits.slopes, bits.intercepts
        return {"kind": "calibrated", "bits": describe_bits(bits.bits, arrays, learners)}
    if isinstance(bits, EstimatorBits):
        places: list[Json] = []
        for predictor in bits.predictors:
            if isinstance(predictor, ConstantBit):
                places.append({"constant": predictor.sign})
            else:
                places.append({"learner": len(learners)})
                learners.append(predictor)
        if bits.columns is not None:
            arrays["bit_columns"] = bits.columns
        return {"kind": "estimators", "predictors": places}
    if isinstance(bits, LearningBits):
        bits = bits.finished()
    if isinstance(bits, LINEAR_KINDS):
        return describe_linear_bits(bits, arrays)
    raise TypeError(f"Bits of type {type(bits).__name__} cannot be saved.")


def restore_bits(description: Json, arrays: Arrays, learners: list[Any]) -> Any:
    if description["kind"] == "calibrated":
        inner = restore_bits(description["bits"], arrays, learners)
        return CalibratedBits(inner, arrays["calibration_slopes"], arrays["calibration_intercepts"])
    if description["kind"] != "estimators":
        return restore_linear_bits(description, arrays)
    return EstimatorBits(
        [
            learners[place["learner"]] if "learner" in place else ConstantBit(int(place["constant"]))
            for place in description["predictors"]
        ],
        arrays.get("bit_columns"),
    )


def describe_classifier(classifier: ECOCClassifier | TrellisClassifier, arrays: Arrays, learners: list[Any]) -> Json:
    """Everything about an estimator besides its coded model."""
    params = classifier.get_params(deep=False)
    estimator = params.pop("estimator", None)
    params.pop("n_jobs")  # how the work was shared out says nothing about the model
    # What is not a name or a number is described by what it became in the fit.
    kept = {key: value for key, value in params.items() if value is None or isinstance(value, str | bool | int | float)}
    description: Json = {
        "kind": type(classifier).__name__,
        "params": kept,
        "n_features_in": getattr(classifier, "n_features_in_", None),
        "labels": _describe_labels(classifier.classes_, arrays),
        "report": classifier.report().as_dict(),
    }
    if isinstance(estimator, str):
        kept["estimator"] = estimator
    elif type(estimator) in LEARNERS.values():
        description["learner"] = _describe_learner(estimator)
    elif estimator is not None:
        description["estimator"] = len(learners)
        learners.append(estimator)
    if isinstance(classifier, TrellisClassifier):
        description["temperature"] = classifier.temperature_
        description["learner"] = _describe_learner(classifier.learner_)
        description["is_learner_given"] = type(classifier.learner) in LEARNERS.values()
    distances = getattr(classifier, "class_distances_", None)
    if distances is not None and distances.tree is not None:
        tree = distances.tree
        arrays["tree_parent"], arrays["tree_node_of_class"] = as_narrow(tree.parent), as_narrow(tree.node_of_class)
        if (tree.edge_length[tree.parent != -1] != 1).any():
            arrays["tree_edge_length"] = tree.edge_length
        description["has_class_tree"] = True
    if hasattr(classifier, "feature_names_in_"):
        description["feature_names_in"] = [str(name) for name in classifier.feature_names_in_]
    return description


def restore_classifier(
    model: CodedModel | RankedModel, description: Json, arrays: Arrays, learners: list[Any]
) -> ECOCClassifier | TrellisClassifier:
    """The estimator around a coded model, ready to predict."""
    report = FitReport.from_dict(description["report"])
    params = {"assignment": model.assignment, **description["params"]}
    classifier: ECOCClassifier | TrellisClassifier
    if description["kind"] == "TrellisClassifier":
        # The first folders knew only AROW, and its settings only where they were given.
        saved = description.get("learner", {"name": "arow", "settings": description.get("arow", {})})
        learner = None if saved is None else _restore_learner(saved)
        if description.get("is_learner_given", "arow" in description):
            params["learner"] = learner
        classifier = TrellisClassifier(**params)
        if learner is not None:
            classifier.learner_ = learner
        classifier.temperature_ = float(description["temperature"])
    else:
        if "estimator" in description:
            params["estimator"] = learners[description["estimator"]]
        elif "learner" in description:
            params["estimator"] = _restore_learner(description["learner"])
        classifier = ECOCClassifier(**{"codebook": model.codebook, **params})
    classifier.restore_fit(model, _restore_labels(description["labels"], arrays), report)
    if description.get("has_class_tree"):
        parent, node_of_class = (arrays[f"tree_{name}"].astype(np.intp) for name in ("parent", "node_of_class"))
        tree = ClassTree(parent, node_of_class, arrays.get("tree_edge_length"))
        classifier.class_distances_ = TreeDistances(tree)
    if description["n_features_in"] is not None:
        classifier.n_features_in_ = description["n_features_in"]
    if "feature_names_in" in description:
        classifier.feature_names_in_ = np.array(description["feature_names_in"], dtype=object)
    return classifier


def _describe_learner(learner: Any) -> Json | None:
    """The name and the settings of one of our own learners; None for any other, which cannot go on learning."""
    name = learner_name(learner)
    if name not in LEARNERS:
        return None
    settings = {setting.name: getattr(learner, setting.name) for setting in fields(learner) if setting.name != "n_jobs"}
    if settings["class_weight"] is not None and not isinstance(settings["class_weight"], str):
        settings["class_weight"] = np.asarray(settings["class_weight"], dtype=np.float64).tolist()
    return {"name": name, "settings": settings}


def _restore_learner(description: Json) -> Any:
    return LEARNERS[description["name"]](**description["settings"])


def _describe_labels(labels: NDArray[Any], arrays: Arrays) -> Json:
    if labels.dtype.kind in "biuf":
        arrays["labels"] = labels
        return {"kind": "array"}
    if all(isinstance(label, str) for label in labels.tolist()):
        return {"kind": "text", "is_object": labels.dtype.kind == "O", "values": labels.tolist()}
    raise TypeError(f"Labels must be all numbers or all text to be saved. Got labels of type {labels.dtype}.")


def _restore_labels(description: Json, arrays: Arrays) -> NDArray[Any]:
    if description["kind"] == "array":
        return np.array(arrays["labels"])
    return np.array(description["values"], dtype=object if description["is_object"] else None)
