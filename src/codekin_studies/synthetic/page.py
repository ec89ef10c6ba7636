"""The page about six classes in the plane: why an assignment decides whether bits can be learned."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from codekin.coding import Codebook
from codekin.pages import Beside, Cell, Column, Command, Page, Paragraph, Picture, Section, Table
from codekin.plots.plane import draw_histogram, draw_plane_classes, draw_subproblems
from codekin.plots.style import save_figure
from codekin_studies.configuration import Study
from codekin_studies.engine.workspace import Workspace
from codekin_studies.paper_numbers import paper_number
from codekin_studies.prose import study_command
from codekin_studies.synthetic.tasks import lines_of_bits, sweep_task

QUANTITIES = {
    "n_assignments": "assignments",
    "n_perfect": "of them fit all samples",
    "best": "best assignment, %",
    "second_best": "best of the others, %",
    "worst": "worst assignment, %",
    "one_vs_rest": "one-vs-rest, best C, %",
}


def synthetic_page(study: Study, workspace: Workspace) -> Page:
    """The page of a study of six classes in the plane."""
    task = sweep_task(study)
    found = workspace.journal.result(task)
    pictures = _draw(study, workspace)
    rows: list[list[Cell | str | float | None]] = [
        [title, Cell(f"{found[name]:.4g}", float(found[name])), paper_number("synthetic", name)]
        for name, title in QUANTITIES.items()
    ]
    table = Table(
        [Column("quantity"), Column("ours"), Column("paper", ".4g")],
        rows,
        caption="The paper's samples are not published; these are our own, with the same property. How low the worst "
        "assignment and one-vs-rest are depends on where the classes lie and on C, so compare only how many fit.",
    )
    intro = (
        f"{found['n_samples']} samples in six classes, cut out of a disc by three lines. A bit is learned by a linear "
        "SVM; the predicted class has the smallest hinge loss."
    )
    histogram = Picture(
        pictures["histogram"],
        "Histogram of the training accuracy of all 720 assignments.",
        "Training accuracy of all assignments of the same codebook.",
    )
    samples = Picture(pictures["samples"], "The six classes in the plane.", "The samples.")
    why = (
        "For each bit, a line has to separate some classes from the others. With the best assignment neighbouring "
        "classes have similar codewords, and a line can separate them; with the worst, the classes on one side of a "
        "bit are scattered, and no line can."
    )
    bits = [
        Picture(
            pictures[which],
            f"The bits of the {which} assignment, with the lines that were learned.",
            f"The {which} assignment: {found[which]:.1f} % of the samples are fitted.",
        )
        for which in ("best", "worst")
    ]
    again = Command(study_command("run", study.source, workspace.folder))
    return Page(
        study.title,
        f"A codebook of three bits can be assigned to six classes in 720 ways. Only {found['n_perfect']} of them, "
        "which differ only in the order and the signs of the bits, fit the samples with straight lines; the next "
        f"best reaches {found['second_best']:.0f} %, the worst {found['worst']:.0f} %, one-vs-rest "
        f"{found['one_vs_rest']:.0f} %.",
        [
            Section("The samples and the 720 assignments", [Paragraph(intro), Beside([samples, histogram]), table]),
            Section("Why", [Paragraph(why), Beside(bits), again]),
        ],
    )


def _draw(study: Study, workspace: Workspace) -> dict[str, Path]:
    task = sweep_task(study)
    found = workspace.journal.result(task)
    X, y, n_correct, lines = (np.array(workspace.load(task, name)) for name in ("X", "y", "n_correct", "lines"))
    codebook = Codebook(np.array(found["codewords"], dtype=np.int8))
    marks = [(found["one_vs_rest"], "one-vs-rest")]
    figures = {
        "samples": draw_plane_classes(X, y, title="Six classes"),
        "histogram": draw_histogram(
            100 * n_correct / len(X), title="720 assignments", label="training accuracy, %", marks=marks
        ),
    }
    for which in ("best", "worst"):
        coding_matrix = codebook.matrix[found[f"{which}_assignment"]]
        title = f"The {which} assignment"
        figures[which] = draw_subproblems(X, y, coding_matrix, lines_of_bits(coding_matrix, lines), title=title)
    return {name: save_figure(figure, workspace.folder / "figures" / name)[1] for name, figure in figures.items()}
