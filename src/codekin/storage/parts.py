"""What each part of a model looks like as JSON and arrays: a function that describes it and one that restores it."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin._system.arrays import Arrays, as_narrow
from codekin._system.index_arrays import check_indices
from codekin.classes import ClassTree, TreeDistances
from codekin.codebooks.trellis import check_spare_codewords, trellis_codebook
from codekin.coding import Assignment, Code, Codebook, Margins
from codekin.decoding import LOSSES
from codekin.estimators import ECOCClassifier, FitReport, TrellisClassifier
from codekin.learners import LEARNERS, CalibratedBits, EstimatorBits, learner_name
from codekin.learners.independent import ConstantBit
from codekin.learners.learning import LearningBits
from codekin.model import Member, Model
from codekin.storage.files import Json, ModelFolderError
from codekin.storage.values import positive_number, shortened, texts, typed, whole_number
from codekin.storage.weights import LINEAR_KINDS, describe_linear_bits, restore_linear_bits


def describe_member(member: Member, arrays: Arrays, learners: list[Any]) -> Json:
    return {
        "codebook": describe_codebook(member.code.codebook, arrays),
        "assignment": describe_assignment(member.code.assignment, arrays),
        "decoder": describe_decoder(member.decoder),
        "bits": describe_bits(member.bits, arrays, learners),
    }


def restore_member(description: Json, arrays: Arrays, learners: list[Any]) -> Member:
    codebook = restore_codebook(description["codebook"], arrays)
    named = description["assignment"]
    assignment = Assignment(arrays["codeword_of_class"], str(named["method"]), str(named.get("policy", "")))
    check_spare_codewords(codebook, assignment.n_classes)
    bits = restore_bits(description["bits"], arrays, learners)
    return Member.of(Code(codebook, assignment), bits, **description["decoder"])


def describe_codebook(codebook: Codebook, arrays: Arrays) -> Json:
    description: Json = {"name": codebook.name, "is_designed": codebook.is_designed}
    if codebook.trellis is not None:
        graph: Any = codebook.trellis
        return {**description, "trellis": {"n_codewords": codebook.n_codewords, "width": int(graph.width)}}
    arrays["codebook"] = codebook.matrix
    return description


def restore_codebook(description: Json, arrays: Arrays) -> Codebook:
    if "trellis" in description:
        numbers = {name: whole_number(description["trellis"][name], name) for name in ("n_codewords", "width")}
        return trellis_codebook(**numbers)
    is_designed = bool(description["is_designed"])
    return Codebook(arrays["codebook"], name=str(description["name"]), is_designed=is_designed)


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
        if description["bits"]["kind"] == "calibrated":
            raise ValueError("bits are calibrated once.")
        inner = restore_bits(description["bits"], arrays, learners)
        slopes, intercepts = (arrays[f"calibration_{name}"] for name in ("slopes", "intercepts"))
        return CalibratedBits(inner, slopes.astype(np.float64), intercepts.astype(np.float64))
    if description["kind"] != "estimators":
        return restore_linear_bits(description, arrays)
    predictors = [_restore_predictor(place, learners) for place in description["predictors"]]
    columns = typed(arrays["bit_columns"], "bit_columns", "bool", 2) if "bit_columns" in arrays else None
    return RestoredEstimatorBits(predictors, columns)


def _restore_predictor(place: Json, learners: list[Any]) -> Any:
    if "learner" in place:
        return learners[whole_number(place["learner"], "learner")]
    if place["constant"] not in (-1, 1):
        raise ValueError(f"'constant' must be -1 or 1. Got {shortened(place['constant'])} instead.")
    return ConstantBit(int(place["constant"]))


class RestoredEstimatorBits(EstimatorBits):
    """Predictors from a file, of which one that cannot predict is the file's fault."""

    def margins(self, X: Any) -> Margins:
        """One column per bit; what scikit-learn raises for a damaged learner becomes one sentence."""
        try:
            return super().margins(X)
        except (ValueError, MemoryError):
            raise
        except Exception as error:
            reason = " ".join(str(error).split()).rstrip(".")
            raise ModelFolderError(
                f"The learners of this model cannot predict ({type(error).__name__}: {reason}). Save it again."
            ) from error


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
    model: Model, description: Json, arrays: Arrays, learners: list[Any]
) -> ECOCClassifier | TrellisClassifier:
    """The estimator around a coded model, ready to predict."""
    report = _restore_report(description["report"], model)
    params = {"assignment": model.assignment, **description["params"]}
    plain = (str, bool, int, float, Assignment, type(None))
    odd = [name for name, value in params.items() if not isinstance(value, plain)]
    if odd:
        raise ValueError(f"the parameter '{odd[0]}' must be a name or a number. Got {shortened(params[odd[0]])}.")
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
        classifier.temperature_ = positive_number(description["temperature"], "temperature")
    elif description["kind"] == "ECOCClassifier":
        if "estimator" in description:
            params["estimator"] = learners[whole_number(description["estimator"], "estimator")]
        elif "learner" in description:
            params["estimator"] = _restore_learner(description["learner"])
        classifier = ECOCClassifier(**{"codebook": model.codebook, **params})
    else:
        raise KeyError(f"a classifier of kind {shortened(description['kind'])}")
    classifier.restore_fit(model, _restore_labels(description["labels"], arrays, model.n_classes), report)
    if description.get("has_class_tree"):
        classifier.class_distances_ = TreeDistances(_restore_tree(arrays, model.n_classes))
    if description["n_features_in"] is not None:
        classifier.n_features_in_ = whole_number(description["n_features_in"], "n_features_in")
    if "feature_names_in" in description:
        names = texts(description["feature_names_in"], "feature_names_in", classifier.n_features_in_)
        classifier.feature_names_in_ = np.array(names, dtype=object)
    return classifier


def _restore_report(values: Json, model: Model) -> FitReport:
    """The report of a fit; one that cannot be shown, or is of another model, is refused."""
    report = FitReport.from_dict(values)
    shape = (model.n_classes, model.n_bits)
    if (report.n_classes, report.n_bits) != shape or report.bit_losses.shape not in (shape[1:], (0,)):
        raise ValueError(f"the report is not of {model.n_classes} classes and {model.n_bits} bits.")
    kinds: dict[Any, Any] = {"int": int, "float": int | float, "str": str}
    for field in fields(report):
        value = getattr(report, field.name)
        if field.type in kinds and not isinstance(value, kinds[field.type]):
            raise ValueError(f"'{field.name}' of the report must be of type {field.type}. Got {shortened(value)}.")
    json.dumps(report.as_dict())
    str(report)
    return report


def _restore_tree(arrays: Arrays, n_classes: int) -> ClassTree:
    parent, node_of_class = arrays["tree_parent"], arrays["tree_node_of_class"]
    check_indices(node_of_class, len(parent), "the nodes of classes")
    # The parent of the root is -1.
    if parent.dtype.kind not in "iu" or int(parent.max(initial=0)) >= len(parent) or len(node_of_class) != n_classes:
        raise ValueError(f"the class tree must have nodes for {n_classes} classes.")
    return ClassTree(parent.astype(np.intp), node_of_class.astype(np.intp), arrays.get("tree_edge_length"))


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


def _restore_labels(description: Json, arrays: Arrays, n_classes: int) -> NDArray[Any]:
    if description["kind"] == "array":
        return np.array(arrays["labels"])
    names = texts(description["values"], "labels", n_classes)
    return np.array(names, dtype=object if description["is_object"] else None)
