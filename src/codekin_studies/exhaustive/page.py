"""The page about every assignment: variation, what predicts accuracy, what would be chosen, class distances."""

from __future__ import annotations

from collections.abc import Mapping
from math import factorial
from pathlib import Path
from typing import Any

from codekin.coding import Codebook
from codekin.pages import Beside, Block, Cell, Column, Command, Page, Paragraph, Picture, Section, Table
from codekin.plots.distributions import (
    draw_class_distances,
    draw_joint_densities,
    draw_variations,
    joint_density,
    variation,
)
from codekin.plots.style import save_figure
from codekin_studies.configuration import Study, data_among
from codekin_studies.engine.workspace import Workspace
from codekin_studies.entries import results_by_data
from codekin_studies.exhaustive.draws import draws_blocks
from codekin_studies.exhaustive.results import PREDICTORS, Sweep
from codekin_studies.exhaustive.tasks import choose_task, draw_tasks, load_sweep, sweep_task
from codekin_studies.fields import BY_VALIDATION
from codekin_studies.paper_numbers import paper_number
from codekin_studies.prose import learner_names, number_word, study_command
from codekin_studies.splits.dichotomies import LEARNER_NAMES, n_splits

AXES = {
    "loss": "average training loss",
    "confusion": "score, confusion",
    "means": "score, class means",
    "learnability": "error by learnability",
}
SHORT = {"loss": "training loss", "confusion": "confusion", "means": "class means", "learnability": "learnability"}

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

Results = Mapping[str, Mapping[str, Mapping[str, Any]]]


def exhaustive_page(study: Study, workspace: Workspace) -> Page:
    """The page of a study of every assignment, with everything that is finished."""
    results = results_by_data(study, workspace, sweep_task)
    sections = [
        Section("What was done", [Paragraph(text) for text in _method(study, results)]),
        *(_data_section(study, data, results[data["name"]], workspace) for data in data_among(study, results)),
    ]
    return Page(study.title, _lead(results), sections)


def _lead(results: Results) -> str:
    if not results:
        return "Nothing is finished yet."
    spans = [
        f"{data}, {found['worst']:.1f} to {found['best']:.1f} %"
        for data, of_codes in results.items()
        for found in [max(of_codes.values(), key=lambda one: one["best"] - one["worst"])]
    ]
    n_classes = _most_classes(results)
    word = number_word(n_classes)
    return (
        f"{word.capitalize()} codewords can be assigned to {word} classes in {factorial(n_classes):,} ways. All of "
        "them were tested, with the same codewords, the same learner and the same samples. The widest spreads of "
        f"accuracy are, on {'; on '.join(spans)}."
    )


def _most_classes(results: Results) -> int:
    return max(len(found["best_assignment"]) for of_codes in results.values() for found in of_codes.values())


def _method(study: Study, results: Results) -> tuple[str, ...]:
    if not results:
        return ("Nothing is finished yet.",)
    n_classes = _most_classes(results)
    return (
        f"An assignment decides which classes each bit has to keep apart. {number_word(n_classes).capitalize()} "
        f"classes can be split in two in only {n_splits(n_classes)} ways, so only that many predictors are trained, "
        "and every assignment of every codebook is composed of them. The predicted class has the smallest total "
        "hinge loss; among equal losses the first class wins. All counts are exact: margins are rounded to a grid, "
        "finer than a millionth of the largest, on which sums do not depend on their order.",
        " ".join(LEARNER_SENTENCES[name] for name in learner_names(study, results)),
        PREDICTION,
    )


def _data_section(
    study: Study, data: Mapping[str, Any], results: Mapping[str, Mapping[str, Any]], workspace: Workspace
) -> Section:
    name = data["name"]
    sweeps = {code: load_sweep(study, name, code, workspace) for code in results}
    figures = workspace.folder / "figures"
    violins = [variation(_code_title(code, sweep.codebook), sweep.accuracies) for code, sweep in sweeps.items()]
    learner = LEARNER_NAMES[data["learner"]["name"]]
    picture = _saved(draw_variations(violins, title=f"{name}, {learner}"), figures / f"{name}-variation")
    first = next(iter(sweeps.values()))
    is_chosen = data["learner"].get("C") == BY_VALIDATION
    chosen = workspace.journal.result(choose_task(study, data))["C"] if is_chosen else None
    blocks: list[Block] = [
        Paragraph(f"{_learner_sentence(data, chosen)} {first.n_test:,} test samples."),
        Picture(
            picture,
            f"Violins of the test accuracy of all assignments on {name}, one per codebook.",
            f"All {len(first.n_correct):,} assignments per codebook; dashed lines are medians, dotted ones quartiles, "
            "the ends the worst and the best assignment.",
        ),
        _variation_table(name, results),
        _r_squared_table(name, results),
        _choice_table(results),
        _averages_table(name, results, sweeps),
    ]
    blocks += draws_blocks(study, name, draw_tasks(study, data), workspace)
    densities = [_density_picture(name, code, sweep, figures) for code, sweep in sweeps.items()]
    blocks += [Beside(densities[start : start + 2]) for start in range(0, len(densities), 2)]
    heat = draw_class_distances(
        {SHORT[metric]: matrix for metric, matrix in first.class_distances.items()},
        first.class_names,
        title=f"{name}: class distances",
    )
    blocks.append(
        Picture(
            _saved(heat, figures / f"{name}-distances"),
            f"Heat maps of the distances between the classes of {name}.",
            "Darker is closer. Learnability is signed: two classes with a small value should be kept together.",
        )
    )
    again = study_command("run", study.source, workspace.folder, only=name)
    blocks.append(Command(f"{again}\n{study_command('report', study.source, workspace.folder)}"))
    return Section(f"{name}, {learner}", blocks)


def _saved(figure: Any, stem: Path) -> Path:
    # Level sets of 3.6 million points make large drawings; a page shows them as pixels and keeps the SVG beside.
    return save_figure(figure, stem)[0]


def _density_picture(data: str, code: str, sweep: Sweep, figures: Path) -> Picture:
    predictors = ("loss",) if sweep.codebook.is_equidistant else PREDICTORS
    densities = {AXES[name]: joint_density(sweep.values(name), sweep.accuracies) for name in predictors}
    title = _code_title(code, sweep.codebook).replace("\n", ", ")
    note = (
        "All codewords are equally far apart: no assignment preserves more similarity than another, and the scores "
        "are constant."
        if sweep.codebook.is_equidistant
        else "Each level set contains a tenth of the assignments, dots are the rarest thousandth, the line is the "
        "regression on all of them."
    )
    return Picture(
        _saved(draw_joint_densities(densities, title=f"{data}, {title}"), figures / f"{data}-{code}"),
        f"Test accuracy on {data} against {', '.join(densities)}, for all assignments of {title}.",
        note,
    )


def _variation_table(data: str, results: Mapping[str, Mapping[str, Any]]) -> Table:
    columns = [Column("codebook"), Column("ρ", ".0f"), Column("distinct", ",d")]
    columns += [Column(title, ".2f") for title in ("worst", "mean", "best")]
    rows: list[list[Cell | str | float | None]] = []
    for code, found in results.items():
        beside = [
            _beside_paper(found[which], paper_number("exhaustive", which, data=data, codebook=code))
            for which in ("worst", "mean", "best")
        ]
        rows.append([code, found["min_distance"], found["n_distinct"], *beside])
    return Table(
        columns,
        rows,
        caption="Test accuracy in percent over all assignments, with the paper's number, if any, in brackets. "
        "Distinct: assignments that differ by more than the order and the signs of the bits.",
    )


def _r_squared_table(data: str, results: Mapping[str, Mapping[str, Any]]) -> Table:
    rows: list[list[Cell | str | float | None]] = []
    for code, found in results.items():
        values = {name: found["predictors"][name]["r_squared"] for name in PREDICTORS}
        largest = max((v for name, v in values.items() if v is not None and name != "loss"), default=None)
        row: list[Cell | str | float | None] = [code]
        for name in PREDICTORS:
            paper = paper_number("exhaustive", f"r_squared:{name}", data=data, codebook=code)
            row.append(_beside_paper(values[name], paper, is_strong=name != "loss" and values[name] == largest))
        rows.append(row)
    return Table(
        [Column("codebook"), *(Column(SHORT[name]) for name in PREDICTORS)],
        rows,
        caption="How much of the variation of accuracy is predicted (r²); the best of those that need no trained bits "
        "is bold. Empty: the score is the same for all assignments.",
    )


def _choice_table(results: Mapping[str, Mapping[str, Any]]) -> Table:
    rows: list[list[Cell | str | float | None]] = []
    for code, found in results.items():
        row: list[Cell | str | float | None] = [code, Cell(f"{found['mean']:.2f}", found["mean"])]
        for name in PREDICTORS:
            chosen = found["predictors"][name]["lowest"]
            row.append(_beside_paper(chosen, None, is_strong=chosen is not None and chosen > found["quartiles"][2]))
        breaking = found["predictors"]["confusion"]["highest"]
        rows.append([*row, _beside_paper(breaking, None), Cell(f"{found['best']:.2f}", found["best"])])
    titles = ["mean", *(f"by {SHORT[name]}" for name in PREDICTORS), "breaking confusion", "best"]
    return Table(
        [Column("codebook"), *(Column(title) for title in titles)],
        rows,
        caption="Test accuracy of the assignment that would have been chosen: the one with the smallest loss, score or "
        "predicted error. Bold: better than three quarters of all assignments. Breaking: the largest score instead.",
    )


def _averages_table(data: str, results: Mapping[str, Mapping[str, Any]], sweeps: Mapping[str, Sweep]) -> Table:
    rows: list[list[Cell | str | float | None]] = []
    for code, found in results.items():
        for name in PREDICTORS:
            averages = sweeps[code].averages(name)
            if averages is None:
                continue
            line = [
                _beside_paper(value, paper_number("exhaustive", f"{end}:{name}", data=data, codebook=code))
                for end, value in (("line_low", averages.line_low), ("line_high", averages.line_high))
            ]
            low, high = (averages.tenth_low, averages.extreme_low), (averages.tenth_high, averages.extreme_high)
            rows.append([code, SHORT[name], found["mean"], line[0], *low, line[1], *high])
    columns = [Column("codebook"), Column("by"), Column("mean", ".2f")]
    for end in ("low end", "high end"):
        columns += [Column(f"{end}, line"), Column(f"{end}, 10 %", ".2f"), Column(f"{end}, 0.1 %", ".2f")]
    return Table(
        columns,
        rows,
        caption="Average test accuracy of assignments with low (easy, preserving) and with high values, in percent: "
        "the regression line at the lowest and the highest value, and the means of the tenth and of the thousandth of "
        "the assignments with the lowest and the highest ones. The paper's averages, if any, are in brackets.",
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
