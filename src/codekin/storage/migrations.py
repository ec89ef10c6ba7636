"""Descriptions of earlier formats as today's would say it: one function for each version that changed what is said.

Version 2 brought weights of one or two bytes, version 3 vocabularies that share the beginnings of their words. What
they replaced is still read where it is kept (``weights``, ``model_input``), since the arrays are as they were.
"""

from __future__ import annotations

from codekin.storage.files import Json


def migrated(description: Json) -> Json:
    """The description in today's words."""
    for change in (_learner_of_the_first_folders, _report_of_the_first_folders, _parameters_before_version_4):
        description = change(description)
    return description


def _learner_of_the_first_folders(description: Json) -> Json:
    """Trellis classifiers knew only AROW, and its settings only where they were given."""
    classifier = description.get("classifier", {})
    if classifier.get("kind") != "TrellisClassifier" or "learner" in classifier:
        return description
    learner = {"name": "arow", "settings": classifier.get("arow", {})}
    return {**description, "classifier": {**classifier, "learner": learner, "is_learner_given": "arow" in classifier}}


def _report_of_the_first_folders(description: Json) -> Json:
    """What is measured on any samples was called the training error."""
    classifier = description.get("classifier", {})
    if "training_error" not in classifier.get("report", {}):
        return description
    report = dict(classifier["report"])
    report["error"] = report.pop("training_error")
    return {**description, "classifier": {**classifier, "report": report}}


def _parameters_before_version_4(description: Json) -> Json:
    """Trellis classifiers called two parameters otherwise than the other classifier did."""
    classifier = description.get("classifier", {})
    if description["format_version"] >= 4 or classifier.get("kind") != "TrellisClassifier":
        return description
    names = {"learner": "estimator", "n_bits": "max_bits"}
    params = {names.get(name, name): value for name, value in classifier["params"].items()}
    return {**description, "classifier": {**classifier, "params": params}}
