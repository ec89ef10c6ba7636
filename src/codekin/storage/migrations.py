"""Migration of descriptions from earlier formats: one function for each version that changed them.

Version 2 introduced weights of one or two bytes, version 3 vocabularies with shared prefixes. Their predecessors are
still read by ``weights`` and ``model_input``, since the arrays did not change. Version 6 introduced indexes, which
earlier rankings do not have; version 7 real codewords and classes of several parts, which no earlier folder has;
version 8 learners as arrays, which earlier folders have in ``learners.skops``.
"""

from __future__ import annotations

from codekin.storage.files import Json


def migrated(description: Json) -> Json:
    """The description in the current format."""
    for change in (_learner_of_the_first_folders, _report_of_the_first_folders, _parameters_before_version_4):
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
