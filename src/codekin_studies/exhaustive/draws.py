"""More codebooks of one kind: how much of the spread over assignments is due to the particular random codebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from codekin.pages import Block, Cell, Column, Picture, Table
from codekin.plots.ranges import Range, draw_ranges
from codekin.plots.style import save_figure
from codekin_studies.configuration import Study
from codekin_studies.engine.task import Task
from codekin_studies.engine.workspace import Workspace
from codekin_studies.paper_numbers import paper_number

SHOWN = ("worst", "mean", "best")
TITLES = {
    "worst": "worst accuracy, %",
    "mean": "mean accuracy, %",
    "best": "best accuracy, %",
    "r_squared:loss": "r² with the training loss",
}


def drawn_codebooks(study: Study, data_name: str) -> list[dict[str, Any]]:
    """The codebooks of the ``draws`` of a study on a data set, one per seed, as entries like its ``codebooks``."""
    draws = study.options.get("draws")
    if draws is None or data_name not in draws["data"]:
        return []
    common = {"codebook": draws["codebook"], "options": dict(draws.get("options", {}))}
    return [{"name": f"{draws['name']}-seed-{seed}", **common, "seed": seed} for seed in draws["seeds"]]


def draws_blocks(study: Study, data_name: str, tasks: list[Task], workspace: Workspace) -> list[Block]:
    """A figure, saved in the workspace, and a table of the sweeps over drawn codebooks; empty if none is finished."""
    records = workspace.journal.records
    found = [records[task.key].result for task in tasks if task.key in records]
    if not found:
        return []
    name = study.option("draws")["name"]
    paper = {
        shown: paper_number("exhaustive", shown, data=data_name, codebook=name) for shown in (*SHOWN, "r_squared:loss")
    }
    ranges = [Range(one["worst"], one["mean"], one["best"]) for one in found]
    figure = draw_ranges(
        sorted(ranges, key=lambda one: one.low),
        given=(paper["worst"], paper["best"]),
        title=f"{data_name}, {len(found)} codebooks like {name}",
    )
    picture = Picture(
        save_figure(figure, workspace.folder / "figures" / f"{data_name}-draws")[1],
        f"Worst, mean and best accuracy on {data_name} of all assignments of {len(found)} codebooks.",
        "A line per codebook, from its worst to its best assignment, with a dot for the mean. Dashed: the paper's "
        "worst and best.",
    )
    return [picture, _table(found, paper)]


def _table(found: list[Mapping[str, Any]], paper: Mapping[str, float | None]) -> Table:
    values = {shown: [one[shown] for one in found] for shown in SHOWN}
    values["r_squared:loss"] = [one["predictors"]["loss"]["r_squared"] for one in found]
    rows: list[list[Cell | str | float | None]] = [
        [TITLES[name], *np.quantile(of_all, [0, 0.5, 1]).tolist(), paper[name]] for name, of_all in values.items()
    ]
    columns = [Column("over all assignments"), Column("lowest", ".2f"), Column("median", ".2f")]
    return Table(
        [*columns, Column("highest", ".2f"), Column("the paper's codebook", "g")],
        rows,
        caption=f"How {len(found)} codebooks, drawn the same way with different seeds, differ.",
    )
