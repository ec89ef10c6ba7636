"""The page about robustness: the verdict, capacity, corruptions, attacks, errors, matched pairs and checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from codekin.pages import Beside, Block, Command, Page, Paragraph, Picture, Section
from codekin.plots.style import save_figure
from codekin_studies.configuration import Study
from codekin_studies.engine.workspace import Workspace
from codekin_studies.prose import study_command
from codekin_studies.robustness.pictures import attack_figure, capacity_figure, cloud_figure, difference_figure
from codekin_studies.robustness.results import Case, found_cases
from codekin_studies.robustness.tables import (
    attack_table,
    capacity_table,
    check_sentences,
    condition_table,
    error_table,
    pairs_table,
)
from codekin_studies.robustness.verdict import LIMITS, verdict

QUESTION = "Similar codewords for similar classes make bits easy to learn. Do dissimilar ones make a code more robust?"
METHOD = (
    "Bits are learned by least squares on the plain features, or on random Fourier features of a Gaussian kernel: the "
    "more there are, the more they can learn. Least squares is linear in its targets, so one solve for one-hot targets "
    "gives the margins of all splits of the classes, and a sweep counts exactly what every assignment gets right: on "
    "clean test samples, on corrupted ones, with flipped signs of margins (bits of the code), with flipped bits of "
    "weights stored as int8, and on samples that were attacked by way of a one-vs-rest model of the same capacity.",
    "White-box attacks descend on the gap by which the decoder itself decides, in signed gradient steps from several "
    "starts and with several step sizes. They need a run per assignment, so some were drawn, one from each stratum of "
    "the score; so were the assignments that small networks (one hidden layer, hinge loss, all bits together) were "
    "trained on. The score is the class-codeword score by the confusion of plain one-vs-rest least squares on the "
    "training samples, at every capacity: a low score preserves similarity, a high one breaks it. Preserving and "
    "breaking are the tenths of the assignments with the lowest and the highest scores, random is the mean of all.",
    "Intervals are 95 % intervals over test samples, which were resampled; all assignments are known, so that nothing "
    "about them is uncertain where they were swept. Learnability is the mean squared training error of the bits.",
)


def robustness_page(study: Study, workspace: Workspace) -> Page:
    """The page of a study of robustness, with everything that is finished."""
    cases = {data["name"]: found_cases(study, data, workspace) for data in study.option("data")}
    cases = {name: found for name, found in cases.items() if found}
    sections = [_data_section(study, name, found, workspace) for name, found in cases.items()]
    lead = f"{QUESTION} {verdict(*next(iter(cases.items())))}" if cases else "Nothing is finished yet."
    return Page(study.title, lead, [Section("What was done", [Paragraph(text) for text in METHOD]), *sections])


def _data_section(study: Study, name: str, found: Mapping[str, list[Case]], workspace: Workspace) -> Section:
    blocks: list[Block] = [Paragraph(verdict(name, found)), Paragraph(LIMITS), capacity_table(found)]
    figures = workspace.folder / "figures"
    pictures: list[Picture] = []

    def add(stem: str, figure: Any, description: str, caption: str) -> None:
        if figure is not None:
            pictures.append(Picture(save_figure(figure, figures / f"{name}-{stem}")[0], description, caption))

    for code, cases in found.items():
        add(
            f"{code}-capacity",
            capacity_figure(name, code, cases, workspace),
            f"Violins of the clean accuracy of all assignments of {code} on {name}, by capacity.",
            "All assignments; dashed lines are medians, dotted ones quartiles, the ends the worst and the best.",
        )
        add(
            f"{code}-differences",
            difference_figure(name, code, cases),
            f"What preserving assignments of {code} gain over breaking ones on {name}, by condition and capacity.",
            "The mean of the tenth with the lowest scores minus that of the tenth with the highest. Right of the line "
            "preserving is better.",
        )
        add(
            f"{code}-clouds",
            cloud_figure(name, code, cases, workspace),
            f"Accuracy under each condition against clean accuracy, for all assignments of {code} on {name}.",
            "Inner and outer contours hold half and nine tenths of the assignments (drawn from one in eleven), lines "
            "are regressions.",
        )
        add(
            f"{code}-attacks",
            attack_figure(name, code, cases),
            f"Accuracy under white-box attacks on assignments of {code} on {name}, by radius, capacity and policy.",
            "Pixels are from 0 to 1.",
        )
    blocks += [Beside(pictures[start : start + 2]) for start in range(0, len(pictures), 2)]
    tables = [condition_table(found), attack_table(found), error_table(found), pairs_table(found)]
    blocks += [table for table in tables if table.rows]
    blocks += [Paragraph(text) for text in check_sentences(found)]
    blocks.append(Command(study_command("run", study.source, workspace.folder, only=name)))
    return Section(name, blocks)
