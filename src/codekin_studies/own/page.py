"""The page about every assignment on data of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from codekin.pages.html import Page, Paragraph, Section
from codekin_studies.configuration import data_among, path_of
from codekin_studies.exhaustive.page import (
    PREDICTION,
    again_command,
    density_blocks,
    lead_of,
    method_of,
    variation_blocks,
)
from codekin_studies.own.description import GIVEN
from codekin_studies.own.tasks import distances_task, load_sweep, sweep_task
from codekin_studies.page_parts import Report, Results, number_word
from codekin_studies.splits.dichotomies import LEARNER_NAMES
from codekin_studies.splits.named import is_named

SCALING_SENTENCES = {
    "standard": "Features are standardised by the training samples.",
    "largest": "All features are divided by the largest absolute value of the training samples.",
    "unit_norm": "Every sample is divided by its Euclidean norm.",
    "none": "Features are as they are in the file.",
}


def own_page(report: Report) -> Page:
    """The page of a study of data of one's own, with everything that is finished."""
    results: dict[str, Results] = {}
    for data in report.study.option("data"):
        if all(path_of(report.study, data[key]).exists() for key in ("file", "test_file") if key in data):
            tasks = {code["name"]: sweep_task(report.study, data, code) for code in report.study.option("codebooks")}
            results[data["name"]] = report.workspace.results(tasks)
    results = {name: of_codes for name, of_codes in results.items() if of_codes}
    sections = [_data_section(report, data, results[data["name"]]) for data in data_among(report.study, results)]
    sizes = [len(found["best_assignment"]) for of_codes in results.values() for found in of_codes.values()]
    if not sizes:
        return report.page("", (), [])
    return report.page(lead_of(results, max(sizes)), (method_of(max(sizes)), PREDICTION), sections)


def learner_name(learner: Mapping[str, Any]) -> str:
    """What the page calls a learner.

    >>> learner_name({"name": "sklearn.svm.LinearSVC", "C": 1.0}), learner_name({"name": "linear_svm", "C": 1.0})
    ('LinearSVC', 'linear SVMs')
    """
    name = str(learner["name"])
    return name.rpartition(".")[2] if is_named(name) else LEARNER_NAMES[name]


def _data_section(report: Report, data: Mapping[str, Any], results: Results) -> Section:
    name, study, workspace = data["name"], report.study, report.workspace
    sweeps = {code: load_sweep(study, name, code, workspace) for code in results}
    learner = learner_name(data["learner"])
    described = workspace.journal.result(distances_task(study, data))
    blocks = [
        Paragraph(" ".join(_sentences(data, described, learner, next(iter(results.values()))))),
        *variation_blocks(report, name, learner, results, sweeps),
        *density_blocks(report, name, sweeps),
        again_command(report, name),
    ]
    return Section(f"{name}, {learner}", blocks)


def _sentences(
    data: Mapping[str, Any], described: Mapping[str, Any], learner: str, found: Mapping[str, Any]
) -> list[str]:
    """What was learned from what, and how it was tested."""
    counts, names = described["class_counts"], described["class_names"]
    each = f"{min(counts):,}" if min(counts) == max(counts) else f"from {min(counts):,} to {max(counts):,}"
    options = ", ".join(f"{key} = {value}" for key, value in data["learner"].items() if key != "name")
    sentences = [
        f"{data['file']}: {described['n_samples']:,} samples of {described['n_features']} features in "
        f"{number_word(len(names))} classes, {each} samples each.",
        f"Bits are learned by {learner}{f' ({options})' if options else ''}. "
        + SCALING_SENTENCES[data.get("scaling", "standard")],
    ]
    if "folds" in data:
        sentences.append(
            f"Every sample is tested once, in {data['folds']} folds; class distances are the means over the folds."
        )
    else:
        sentences.append(f"{described['n_learned']:,} samples train and {found['n_test']:,} test.")
    counted = data.get("confusion", "out_of_fold")
    where = "on held-out training samples" if counted == "out_of_fold" else "on the training samples themselves"
    sentences.append(f"Confusion is that of one-vs-rest by the same learner, counted {where}.")
    if GIVEN in found["predictors"]:
        sentences.append(f"Given distances are those of {data['distances']}.")
    return sentences
