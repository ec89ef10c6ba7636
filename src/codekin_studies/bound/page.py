"""The page about the error bound: whether it holds, how loose it is, and what equidistance means."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from codekin.coding import FloatArray
from codekin.pages import Beside, Cell, Column, Command, Page, Paragraph, Picture, Section, Table
from codekin.plots.bounds import draw_bounds, draw_named_points
from codekin.plots.style import save_figure
from codekin_studies.bound.tasks import measure_task
from codekin_studies.configuration import Study
from codekin_studies.engine.workspace import Workspace
from codekin_studies.entries import results_by_data
from codekin_studies.prose import enumerated, learner_names, study_command

Results = Mapping[str, Mapping[str, Any]]


def bound_page(study: Study, workspace: Workspace) -> Page:
    """The page of a study of the bound, with everything that is finished."""
    results = results_by_data(study, workspace, measure_task)
    losses = list(study.option("losses"))
    pairs = [error_and_bound(found, loss) for codes in results.values() for found in codes.values() for loss in losses]
    n_held = sum(int((values[:, 1] >= values[:, 0]).sum()) for values in pairs)
    n_all = sum(len(values) for values in pairs)
    is_useful = np.concatenate([values[:, 1] < 100 for values in pairs]) if pairs else np.zeros(0, dtype=bool)
    return Page(
        study.title,
        f"The training error is at most ℓε / (ρ L(0)). This bound held in {n_held:,} of {n_all:,} measurements, and "
        f"was informative, that is, below 100 %, in {int(is_useful.sum()):,} of them.",
        [
            Section("What was done", [Paragraph(text) for text in _method(study, results, losses)]),
            *(_data_section(study, name, codes, losses, workspace) for name, codes in results.items()),
        ],
    )


EQUIDISTANCE = (
    "Equidistant codebooks have codewords that are all equally far apart. Every class-codeword score is then the same "
    "for all assignments: there is nothing to choose by. The spread of distances is their standard deviation divided "
    "by their mean; it is zero for these codebooks."
)


def _method(study: Study, data_names: Collection[str], losses: list[str]) -> tuple[str, ...]:
    if not data_names:
        return ("Nothing is finished yet.",)
    times = "once" if study.option("n_assignments") == 1 else f"{study.option('n_assignments')} times"
    shown = enumerated([loss.replace("_", " ") for loss in losses])
    return (
        f"Every codebook was assigned to the classes at random, {times}; its bits were learned by "
        f"{enumerated(learner_names(study, data_names))}, and training samples were decoded under the {shown} "
        f"loss{'' if len(losses) == 1 else 'es'}. ε is the average binary loss on the training samples, ρ the smallest "
        "distance between codewords, ℓ the number of bits.",
        EQUIDISTANCE,
    )


def error_and_bound(found: Mapping[str, Any], loss: str) -> FloatArray:
    """Training errors and bounds of all draws, in percent, (n_draws, 2)."""
    measures = [draw["losses"][loss] for draw in found["draws"]]
    return np.array([[100 * one["train_error"], 100 * one["bound"]] for one in measures])


def _data_section(study: Study, name: str, codes: Results, losses: list[str], workspace: Workspace) -> Section:
    figures = workspace.folder / "figures"
    pairs = {loss: np.concatenate([error_and_bound(found, loss) for found in codes.values()]) for loss in losses}
    bounds = save_figure(draw_bounds(pairs, title=f"{name}: bound and error"), figures / f"{name}-bound")
    points = [
        (code, found["spread_of_distances"], float(np.std(_test_accuracies(found, losses[0]))))
        for code, found in codes.items()
    ]
    spread = draw_named_points(
        points,
        title=f"{name}: what a choice is worth",
        x_label="spread of the distances between codewords",
        y_label="spread of test accuracy, points",
    )
    pictures = [
        Picture(
            bounds[1],
            f"Bounds against training errors on {name}, by loss.",
            "A dot is a random assignment of one of the codebooks. Above the line the bound holds; above the dotted "
            "one it is not informative.",
        ),
        Picture(
            save_figure(spread, figures / f"{name}-equidistance")[1],
            f"Standard deviation of test accuracy on {name} against the spread of codeword distances.",
            "Standard deviations over random assignments. Equidistant codebooks are at the left edge.",
        ),
    ]
    again = study_command("run", study.source, workspace.folder, only=name)
    return Section(name, [Beside(pictures), _table(codes, losses), Command(again)])


def _test_accuracies(found: Mapping[str, Any], loss: str) -> FloatArray:
    return np.array([100 * (1 - draw["losses"][loss]["test_error"]) for draw in found["draws"]])


def _table(codes: Results, losses: list[str]) -> Table:
    columns = [Column("codebook"), Column("loss"), Column("ℓ"), Column("ρ", "g"), Column("ε", ".3f")]
    columns += [Column("error, %", ".2f"), Column("bound, %", ".0f"), Column("bound / error", ".1f")]
    columns += [Column("test accuracy, %"), Column("sd of scores", ".4f")]
    rows: list[list[Cell | str | float | None]] = []
    for code, found in codes.items():
        for loss in losses:
            error, bound = error_and_bound(found, loss).mean(axis=0)
            accuracies = _test_accuracies(found, loss)
            name = f"{code} (equidistant)" if found["is_equidistant"] else code
            epsilon = float(np.mean([draw["losses"][loss]["epsilon"] for draw in found["draws"]]))
            ratio = float(bound / error) if error > 0 else None
            measured = epsilon, float(error), float(bound), ratio
            shown = Cell(f"{accuracies.mean():.1f} ± {accuracies.std():.1f}", float(accuracies.mean()))
            spread = found["spread_of_scores"]
            rows.append([name, loss, found["n_bits"], found["min_distance"], *measured, shown, spread])
    return Table(
        columns,
        rows,
        caption="Means over random assignments; after ± the standard deviation over assignments.",
    )
