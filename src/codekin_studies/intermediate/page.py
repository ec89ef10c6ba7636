"""The page about a hundred classes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from codekin.datasets import DATASETS
from codekin.pages import Beside, Block, Cell, Column, Command, Page, Paragraph, Picture, Section, Table
from codekin.plots.comparisons import Mean
from codekin.plots.scores import draw_scores
from codekin.plots.style import save_figure
from codekin_studies.configuration import Study
from codekin_studies.engine.workspace import Workspace
from codekin_studies.intermediate.tasks import POLICIES, compare_task
from codekin_studies.prose import enumerated, learner_names, study_command
from codekin_studies.splits.dichotomies import LEARNER_NAMES

METRIC_NAMES = {
    "names": "vectors of the class names",
    "taxonomy": "superclasses",
    "means": "class means",
    "human": "human confusion",
    "learnability": "learnability",
}


def intermediate_page(study: Study, workspace: Workspace) -> Page:
    """The page of a study of a hundred classes, with everything that is finished."""
    sections, leads, shown = [], [], []
    for data in study.option("data"):
        tasks = {metric: compare_task(study, data, metric) for metric in study.option("metrics")}
        found = workspace.results(tasks)
        if not found:
            continue
        name, learner = data["name"], LEARNER_NAMES[data["learner"]["name"]]
        pictures = []
        for metric, result in found.items():
            scores = np.array(workspace.load(tasks[metric], "random_scores"))
            drawn = {policy: result["policies"][policy] for policy in POLICIES}
            points = {name: np.array([[one["score"], one["accuracy"]] for one in own]) for name, own in drawn.items()}
            figure = draw_scores(points, scores, title=f"{learner}, {METRIC_NAMES[metric]}")
            pictures.append(
                Picture(
                    save_figure(figure, workspace.folder / "figures" / f"{name}-{data['learner']['name']}-{metric}")[1],
                    f"Test accuracy against class-codeword score, {METRIC_NAMES[metric]}.",
                    f"Class distance: {METRIC_NAMES[metric]}. At the top the scores of random assignments: sampling "
                    "alone would not reach the others.",
                )
            )
        blocks: list[Block] = [Beside(pictures[at : at + 2]) for at in range(0, len(pictures), 2)]
        command = study_command("run", study.source, workspace.folder, only=name)
        blocks += [_table(found), Command(command)]
        sections.append(Section(f"{name}, {learner}", blocks))
        shown.append(name)
        by_chance = {metric: _accuracy(one, "random").value for metric, one in found.items()}
        gains = {metric: _accuracy(one, "preserving").value - by_chance[metric] for metric, one in found.items()}
        best = max(gains, key=lambda metric: gains[metric])
        n_better = sum(gain > 0 for gain in gains.values())
        leads.append(
            f"On {name}, learned by {learner}, preserving assignments were on average more accurate than random ones "
            f"under {n_better} of {len(gains)} class distances, by {gains[best]:+.1f} points under "
            f"{METRIC_NAMES[best]}."
        )
    method = [Paragraph(text) for text in _method(study, shown)] if shown else []
    return Page(
        study.title,
        " ".join(leads) or "Nothing is finished yet.",
        [*([Section("What was done", method)] if shown else []), *sections],
    )


LIKE_PAPER = (
    "The features of cifar100 are those of a pretrained network. The paper uses another network and the official "
    "split, and prints no numbers for this experiment: compare the order of the policies, not the accuracies."
)
LEARNABILITY = "Learnability is designed for least squares; for other learners it is an approximation."


def _method(study: Study, data_names: Collection[str]) -> Iterator[str]:
    code = study.option("codebook")
    options = "".join(f", {name} = {value}" for name, value in code.get("options", {}).items())
    n_classes = enumerated(sorted({f"{DATASETS[name].n_classes:,}" for name in data_names}))
    yield (
        f"A codebook ({code['codebook'].replace('_', ' ')}{options}) was assigned to {n_classes} classes at random, by "
        "steepest descent on the class-codeword score (preserving) and by steepest ascent (breaking), as in the paper, "
        f"and by codekin's portfolio of searches. The bits were learned by "
        f"{enumerated(learner_names(study, data_names))}, and decoded by the hinge loss."
    )
    if "cifar100" in data_names:
        yield LIKE_PAPER
    if "learnability" in study.option("metrics"):
        yield LEARNABILITY


def _accuracy(result: Mapping[str, Any], policy: str) -> Mean:
    return Mean.of([one["accuracy"] for one in result["policies"][policy]])


def _table(found: Mapping[str, Mapping[str, Any]]) -> Table:
    columns = [Column("class distance"), Column("policy"), Column("score", ".4f"), Column("z", ".1f")]
    columns += [Column("accuracy, %"), Column("gain, points")]
    rows: list[list[Cell | str | float | None]] = []
    for metric, result in found.items():
        by_chance = _accuracy(result, "random").value
        for policy in POLICIES:
            accuracy = _accuracy(result, policy)
            gain = accuracy.value - by_chance
            score, z = (float(np.mean([one[what] for one in result["policies"][policy]])) for what in ("score", "z"))
            more = None if policy == "random" else Cell(f"{gain:+.1f}".replace("-", "−"), gain, is_strong=gain > 0)
            rows.append([METRIC_NAMES[metric], policy, score, z, Cell(str(accuracy), accuracy.value), more])
    return Table(
        columns,
        rows,
        caption="Means over the assignments of a policy; after ± the standard error. z: standard deviations below "
        "the mean score of random assignments, exact.",
    )
