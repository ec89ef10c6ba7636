"""The page about every assignment: variation, what predicts accuracy, what would be chosen, class distances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import factorial
from typing import TYPE_CHECKING, Any

import numpy as np

from codekin.code import Codebook
from codekin.pages.html import Block, Cell, Command, Page, Paragraph, Picture, Section, Table
from codekin.plots.style import INK, PALETTE, figure_style, new_panel
from codekin_studies.configuration import data_among, paper_number
from codekin_studies.distributions import (
    draw_class_distances,
    draw_joint_densities,
    draw_variations,
    joint_density,
    variation,
)
from codekin_studies.entries import BY_VALIDATION
from codekin_studies.exhaustive.tasks import ENDS, Sweep, choose_task, draw_tasks, load_sweep, sweep_task
from codekin_studies.page_parts import Report, Results, Row, Rows, in_pairs, number_word, study_command, table
from codekin_studies.splits.dichotomies import LEARNER_NAMES, n_splits

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AXES = {
    "loss": "average training loss",
    "confusion": "score, confusion",
    "means": "score, class means",
    "learnability": "error by learnability",
    "given": "score, given distances",
}
SHORT = {
    "loss": "training loss",
    "confusion": "confusion",
    "means": "class means",
    "learnability": "learnability",
    "given": "given distances",
}

LEARNER_SENTENCES = {
    "linear SVMs": "Linear SVMs (soft margin, the hinge loss, an intercept that is not penalised) are trained for all "
    "splits at once by accelerated gradient steps.",
    "decision trees": "Decision trees choose by the Gini impurity; a margin is the share of +1 in a leaf minus that "
    "of -1.",
    "least squares": "Linear least squares, with an intercept and a ridge penalty, is solved for all splits at once.",
}
PREDICTION = (
    "What might predict accuracy: the average binary loss on the training samples, which needs all bits trained; "
    "the class-codeword scores of two class distances; and learnability, the mean squared error that least "
    "squares would have, which needs class means and one linear solve."
)


def exhaustive_page(report: Report) -> Page:
    """The page of a study of every assignment, with everything that is finished."""
    results = report.by_data(sweep_task)
    sections = [_data_section(report, data, results[data["name"]]) for data in data_among(report.study, results)]
    n_classes = max((len(one["best_assignment"]) for codes in results.values() for one in codes.values()), default=0)
    method = (method_of(n_classes), " ".join(LEARNER_SENTENCES[name] for name in report.learners(results)), PREDICTION)
    return report.page(lead_of(results, n_classes), method, sections)


def lead_of(results: Mapping[str, Results], n_classes: int) -> str:
    """What the page says first: how many assignments there are, and the widest spreads."""
    spans = [
        f"{data}, {found['worst']:.1f} to {found['best']:.1f} %"
        for data, of_codes in results.items()
        for found in [max(of_codes.values(), key=lambda one: one["best"] - one["worst"])]
    ]
    word = number_word(n_classes)
    return (
        f"{word.capitalize()} codewords can be assigned to {word} classes in {factorial(n_classes):,} ways. All of "
        "them were tested, with the same codewords, the same learner and the same samples. The widest spreads of "
        f"accuracy are, on {'; on '.join(spans)}."
    )


def method_of(n_classes: int) -> str:
    """How all assignments are tested, in a paragraph."""
    return (
        f"An assignment decides which classes each bit has to keep apart. {number_word(n_classes).capitalize()} "
        f"classes can be split in two in only {n_splits(n_classes)} ways, so only that many predictors are trained, "
        "and every assignment of every codebook is composed of them. The predicted class has the smallest total "
        "hinge loss; among equal losses the first class wins. All counts are exact: margins are rounded to a grid, "
        "finer than a millionth of the largest, on which sums do not depend on their order."
    )


def _data_section(report: Report, data: Mapping[str, Any], results: Results) -> Section:
    name, workspace = data["name"], report.workspace
    sweeps = {code: load_sweep(report.study, name, code, workspace) for code in results}
    learner, first = LEARNER_NAMES[data["learner"]["name"]], next(iter(sweeps.values()))
    is_chosen = data["learner"].get("C") == BY_VALIDATION
    chosen = workspace.journal.result(choose_task(report.study, data))["C"] if is_chosen else None
    blocks: list[Block] = [
        Paragraph(f"{_learner_sentence(data, chosen)} {first.n_test:,} test samples."),
        *variation_blocks(report, name, learner, results, sweeps),
        *_draws_blocks(report, data),
        *density_blocks(report, name, sweeps),
        again_command(report, name),
    ]
    return Section(f"{name}, {learner}", blocks)


def again_command(report: Report, name: str) -> Command:
    """The commands that run the study on one data set, and write the page."""
    report_command = study_command("report", report.study.source, report.workspace.folder)
    return Command(f"{report.again(name).text}\n{report_command}")


def variation_blocks(
    report: Report, name: str, learner: str, results: Results, sweeps: Mapping[str, Sweep]
) -> list[Block]:
    """A figure and the tables of how accuracy varies, and of what predicts it."""
    violins = [variation(_code_title(code, sweep.codebook), sweep.accuracies) for code, sweep in sweeps.items()]
    shown = max(len(sweep.n_correct) for sweep in sweeps.values())
    everyone = max(found["n_assignments"] for found in results.values())
    which = f"All {everyone:,} assignments" if shown == everyone else f"{shown:,} of the {everyone:,} assignments"
    return [
        report.picture(
            draw_variations(violins, title=f"{name}, {learner}"),
            f"{name}-variation",
            f"Violins of the test accuracy of all assignments on {name}, one per codebook.",
            f"{which} per codebook; dashed lines are medians, dotted ones quartiles, "
            "the ends the worst and the best assignment.",
            as_pixels=True,
        ),
        _variation_table(name, results),
        _r_squared_table(name, results),
        _choice_table(results),
        _averages_table(name, results, sweeps),
    ]


def density_blocks(report: Report, name: str, sweeps: Mapping[str, Sweep]) -> list[Block]:
    """The figures of accuracy against what may predict it, and of the distances between classes."""
    first = next(iter(sweeps.values()))
    distances = {SHORT[metric]: matrix for metric, matrix in first.class_distances.items()}
    return [
        *in_pairs([_density_picture(report, name, code, sweep) for code, sweep in sweeps.items()]),
        report.picture(
            draw_class_distances(distances, first.class_names, title=f"{name}: class distances"),
            f"{name}-distances",
            f"Heat maps of the distances between the classes of {name}.",
            "Darker is closer. Learnability is signed: two classes with a small value should be kept together.",
            as_pixels=True,
        ),
    ]


def _density_picture(report: Report, data: str, code: str, sweep: Sweep) -> Picture:
    predictors = ("loss",) if sweep.codebook.is_equidistant else ("loss", *sweep.class_distances)
    densities = {AXES[name]: joint_density(sweep.values(name), sweep.accuracies) for name in predictors}
    title = _code_title(code, sweep.codebook).replace("\n", ", ")
    note = (
        "All codewords are equally far apart: no assignment preserves more similarity than another, and the scores "
        "are constant."
        if sweep.codebook.is_equidistant
        else "Each level set contains a tenth of the assignments, dots are the rarest thousandth, the line is the "
        "regression on all of them."
    )
    description = f"Test accuracy on {data} against {', '.join(densities)}, for all assignments of {title}."
    figure = draw_joint_densities(densities, title=f"{data}, {title}")
    return report.picture(figure, f"{data}-{code}", description, note, as_pixels=True)


def _variation_table(data: str, results: Results) -> Table:
    rows: Rows = []
    for code, found in results.items():
        beside = [
            _beside_paper(found[which], paper_number("exhaustive", which, data=data, codebook=code))
            for which in ("worst", "mean", "best")
        ]
        rows.append([code, found["min_distance"], found.get("n_distinct", found["n_assignments"]), *beside])
    caption = "Test accuracy in percent over all assignments"
    if any("n_distinct" not in found for found in results.values()):
        heading, caption = "assignments", f"{caption}."
    else:
        heading = "distinct"
        caption += ", with the paper's number, if any, in brackets. Distinct: assignments that differ by more than the "
        caption += "order and the signs of the bits."
    return table(f"codebook | ρ :.0f | {heading} :,d | worst :.2f | mean :.2f | best :.2f", rows, caption)


def _r_squared_table(data: str, results: Results) -> Table:
    rows: Rows = []
    names = predictors_in(results)
    has_reliability = any("reliability" in found for found in results.values())
    for code, found in results.items():
        values = {name: found["predictors"][name]["r_squared"] for name in names}
        largest = max((v for name, v in values.items() if v is not None and name != "loss"), default=None)
        row: Row = [code, found["reliability"]] if has_reliability else [code]
        for name in names:
            paper = paper_number("exhaustive", f"r_squared:{name}", data=data, codebook=code)
            row.append(_beside_paper(values[name], paper, is_strong=name != "loss" and values[name] == largest))
        rows.append(row)
    caption = (
        "How much of the variation of accuracy is predicted (r²); the best of those that need no trained bits "
        "is bold. Empty: the score is the same for all assignments."
    )
    if has_reliability:
        caption += (
            " Reliability: how much of the variation would be there with other test samples, from two halves of them "
            "(Spearman and Brown). No r² can be expected above it; divided by it, an r² is the share of that part."
        )
    first = ["codebook", *(["reliability :.2f"] if has_reliability else [])]
    return table(" | ".join([*first, *(SHORT[name] for name in names)]), rows, caption)


def predictors_in(results: Results) -> list[str]:
    """What may predict accuracy, of all codebooks of a data set."""
    return list(next(iter(results.values()))["predictors"])


def _choice_table(results: Results) -> Table:
    rows: Rows = []
    for code, found in results.items():
        row: Row = [code, Cell(f"{found['mean']:.2f}", found["mean"])]
        for name in predictors_in(results):
            chosen = found["predictors"][name]["lowest"]
            row.append(_beside_paper(chosen, None, is_strong=chosen is not None and chosen > found["quartiles"][2]))
        breaking = found["predictors"]["confusion"]["highest"]
        rows.append([*row, _beside_paper(breaking, None), Cell(f"{found['best']:.2f}", found["best"])])
    titles = ["mean", *(f"by {SHORT[name]}" for name in predictors_in(results)), "breaking confusion", "best"]
    return table(
        " | ".join(["codebook", *titles]),
        rows,
        "Test accuracy of the assignment that would have been chosen: the one with the smallest loss, score or "
        "predicted error. Bold: better than three quarters of all assignments. Breaking: the largest score instead.",
    )


def _averages_table(data: str, results: Results, sweeps: Mapping[str, Sweep]) -> Table:
    rows: Rows = []
    for code, found in results.items():
        for name in predictors_in(results):
            averages = sweeps[code].averages(name)
            if averages is None:
                continue
            row: Row = [code, SHORT[name], found["mean"]]
            for end in ENDS:
                paper = paper_number("exhaustive", f"line_{end}:{name}", data=data, codebook=code)
                row.append(_beside_paper(averages[f"line_{end}"], paper))
                row += [averages[f"{part}_{end}"] for part in ("tenth", "extreme")]
            rows.append(row)
    ends = " | ".join(f"{end} end, line | {end} end, 10 % :.2f | {end} end, 0.1 % :.2f" for end in ENDS)
    return table(
        f"codebook | by | mean :.2f | {ends}",
        rows,
        "Average test accuracy of assignments with low (easy, preserving) and with high values, in percent: "
        "the regression line at the lowest and the highest value, and the means of the tenth and of the thousandth of "
        "the assignments with the lowest and the highest ones."
        + ("" if "reliability" in next(iter(results.values())) else " The paper's averages, if any, are in brackets."),
    )


def _beside_paper(value: float | None, paper: float | None, *, is_strong: bool = False) -> Cell | None:
    if value is None:
        return None
    text = f"{value:.2f}" + ("" if paper is None else f" ({paper:g})")
    return Cell(text, value, is_strong=is_strong)


def _code_title(code: str, codebook: Codebook) -> str:
    return f"{code}\nρ = {codebook.min_distance:g}"


def _learner_sentence(data: Mapping[str, Any], chosen_C: float | None) -> str:
    learner = dict(data["learner"])
    name = LEARNER_NAMES[learner.pop("name")]
    if chosen_C is not None:
        learner["C"] = chosen_C
    options = "".join(f", {key} = {value:g}" for key, value in learner.items())
    options += "" if chosen_C is None else " by 3-fold cross-validation over 0.001 ... 1000"
    return f"{name[0].upper()}{name[1:]}{options}."


DRAWN = {
    "worst": "worst accuracy, %",
    "mean": "mean accuracy, %",
    "best": "best accuracy, %",
    "r_squared:loss": "r² with the training loss",
}
"""What is shown of further codebooks of one kind."""


def _draws_blocks(report: Report, data: Mapping[str, Any]) -> list[Block]:
    """A figure and a table of the sweeps over further codebooks of one kind; empty if none is finished.

    They show how much of the spread over assignments is due to the particular random codebook.
    """
    records, data_name = report.workspace.journal.records, data["name"]
    found = [records[task.key].result for task in draw_tasks(report.study, data) if task.key in records]
    if not found:
        return []
    name = report.study.option("draws")["name"]
    paper = {shown: paper_number("exhaustive", shown, data=data_name, codebook=name) for shown in DRAWN}
    values = {shown: [one.get(shown, one["predictors"]["loss"]["r_squared"]) for one in found] for shown in DRAWN}
    figure = draw_ranges(
        sorted(zip(values["worst"], values["mean"], values["best"], strict=True)),
        given=(paper["worst"], paper["best"]),
        title=f"{data_name}, {len(found)} codebooks like {name}",
    )
    rows: Rows = [
        [DRAWN[name], *np.quantile(of_all, [0, 0.5, 1]).tolist(), paper[name]] for name, of_all in values.items()
    ]
    headings = "over all assignments | lowest :.2f | median :.2f | highest :.2f | the paper's codebook :g"
    return [
        report.picture(
            figure,
            f"{data_name}-draws",
            f"Worst, mean and best accuracy on {data_name} of all assignments of {len(found)} codebooks.",
            "A line per codebook, from its worst to its best assignment, with a dot for the mean. Dashed: the paper's "
            "worst and best.",
        ),
        table(headings, rows, f"How {len(found)} codebooks, drawn the same way with different seeds, differ."),
    ]


@figure_style()
def draw_ranges(
    ranges: Sequence[tuple[float, float, float]], *, title: str, given: Sequence[float | None] = ()
) -> Figure:
    """One vertical line per range, with horizontal lines at the ``given`` values to compare with, except None.

    A range is the smallest, mean and largest value of something. The y axis is test accuracy in percent.
    """
    figure, axes = new_panel(3.4, title=title, x_label="codebooks", y_label="test accuracy, %", grid="y")
    places, (low, mean, high) = range(1, len(ranges) + 1), zip(*ranges, strict=True)
    axes.vlines(places, low, high, color=PALETTE["blue"], linewidth=2.5)
    axes.plot(places, mean, "o", color=PALETTE["orange"], markersize=5)
    for value in given:
        if value is not None:
            axes.axhline(value, color=INK, linestyle="--", linewidth=1)
    axes.set_xticks([])
    return figure
