"""The section about the leaves of label trees on the page about very many classes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from codekin.coding import FloatArray
from codekin.pages import Cell, Column, Paragraph, Section, Table
from codekin_studies.configuration import Study
from codekin_studies.engine.workspace import Workspace
from codekin_studies.extreme.leaves import WIDTH, leaf_tasks
from codekin_studies.extreme.results import finished, gain_cell, gain_of

METHOD = (
    "A label tree is a code, too: every child of a node is a bit that ignores the classes elsewhere, and which class "
    f"is at which leaf is an assignment. Nodes have {WIDTH} children, each node is a softmax over them that is trained "
    "on its own samples, and a beam search finds the class. Preserving uses the depth-first order of the taxonomy, "
    "halving repeatedly halves the class means, and learnability does the same with the class vectors of ridge "
    "regression."
)


def leaves_section(study: Study, workspace: Workspace) -> Section | None:
    """The gains of the policies for leaves, with everything that is finished."""
    rows: list[list[Cell | str | float | None]] = []
    for data in study.option("data"):
        accuracies: dict[str, FloatArray] = {}
        for policy in data.get("leaves", ()):
            done = finished(leaf_tasks(study, data, policy), workspace.journal)
            if done:
                accuracies[policy] = np.array([one["accuracy"] for one in done])
        rows += [_row(data["name"], policy, accuracies) for policy in accuracies]
    if not rows:
        return None
    columns = [Column("data"), Column("leaves"), Column("runs"), Column("accuracy, %", ".2f")]
    columns.append(Column("over random, points"))
    caption = "After the gains ± their standard errors; bold: more than two of these."
    return Section("Leaves of label trees", [Paragraph(METHOD), Table(columns, rows, caption=caption)])


def _row(data: str, policy: str, accuracies: Mapping[str, FloatArray]) -> list[Cell | str | float | None]:
    own = accuracies[policy]
    row: list[Cell | str | float | None] = [data, policy, len(own), float(own.mean())]
    if policy == "random" or "random" not in accuracies:
        return [*row, None]
    return [*row, gain_cell(gain_of(own, accuracies["random"]))]
