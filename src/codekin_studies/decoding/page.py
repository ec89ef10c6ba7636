"""The page about learned decoding: how much of the spread is left, what predicts it, and a check of the algebra."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from codekin.coding import FloatArray
from codekin.pages import Beside, Block, Cell, Column, Command, Page, Paragraph, Picture, Section, Table
from codekin.plots.distributions import draw_joint_densities, draw_variations, joint_density, regression, variation
from codekin.plots.style import save_figure
from codekin_studies.configuration import Study, data_among
from codekin_studies.decoding.tasks import sweep_task, train_task
from codekin_studies.engine.task import Task
from codekin_studies.engine.workspace import Workspace
from codekin_studies.entries import results_by_data
from codekin_studies.prose import study_command

METHOD = (
    "Bits are learned by least squares, which is linear in its targets: the margins of all assignments are "
    "combinations of the outputs for one-hot targets. They are decoded in two ways: by the smallest total hinge loss, "
    "and by a least-squares regression of one-hot targets on the margins, which has a closed form in the moments of "
    "the outputs. Such a decoder depends only on the span of the columns, so assignments with the same span give the "
    "same classifier. With one independent column fewer than classes, or more, all of them do.",
    "What might predict the accuracy of learned decoding: that of loss-based decoding; the share of explained "
    "variance, which is computed from training moments; the mean squared error of the bits (learnability); and the "
    "class-codeword score of class means.",
)
SHORT = {
    "by_loss": "accuracy by the loss",
    "explained": "explained variance",
    "learnability": "error of the bits",
    "means": "score, class means",
}
Results = Mapping[str, Mapping[str, Any]]


def decoding_page(study: Study, workspace: Workspace) -> Page:
    """The page of a study of learned decoding, with everything that is finished."""
    results = results_by_data(study, workspace, sweep_task)
    sections = [_data_section(study, data, results[data["name"]], workspace) for data in data_among(study, results)]
    lead = _lead(results) if results else "Nothing is finished yet."
    return Page(study.title, lead, [Section("What was done", [Paragraph(text) for text in METHOD]), *sections])


def _lead(results: Mapping[str, Results]) -> str:
    spans = []
    for data, codes in results.items():
        code, found = next(iter(codes.items()))
        loss, learned = found["by_loss"], found["learned"]
        spans.append(
            f"On {data}, {code} gets {loss['min']:.1f} to {loss['max']:.1f} % by the loss, "
            f"{learned['min']:.1f} to {learned['max']:.1f} % with a learned decoder."
        )
    return "The same codewords, the same bits, every assignment, two ways to decode. " + " ".join(spans)


def _data_section(study: Study, data: Mapping[str, Any], results: Results, workspace: Workspace) -> Section:
    name, figures = data["name"], workspace.folder / "figures"
    tasks = {code["name"]: sweep_task(study, data, code) for code in study.option("codebooks")}
    violins, densities = [], []
    for code, found in results.items():
        of_all = {key: np.array(workspace.load(tasks[code], key)) for key in ("by_loss", "learned", "explained")}
        loss, learned = (of_all[key] * (100 / found["n_test"]) for key in ("by_loss", "learned"))
        violins += [variation(f"{code}\nloss", loss), variation(f"{code}\nlearned", learned)]
        if np.ptp(of_all["explained"]) > 1e-6:
            axes = {"accuracy by the loss, %": loss, "explained variance, %": 100 * of_all["explained"]}
            drawn = draw_joint_densities(
                {axis: joint_density(values, learned) for axis, values in axes.items()}, title=f"{name}, {code}"
            )
            densities.append(
                Picture(
                    save_figure(drawn, figures / f"{name}-{code}")[0],
                    f"Test accuracy of learned decoding on {name} against {', '.join(axes)}, {code}.",
                    "Each level set contains a tenth of the assignments; the line is the regression on all of them.",
                )
            )
    variations = draw_variations(violins, title=f"{name}, least squares")
    picture = Picture(
        save_figure(variations, figures / f"{name}-variation")[0],
        f"Violins of the test accuracy of assignments on {name}, decoded by the loss and by a learned decoder.",
        "Dashed lines are medians, dotted ones quartiles, the ends the worst and the best assignment.",
    )
    trained = {code["name"]: train_task(study, data, code) for code in study.option("codebooks")}
    checks = _check_table(results, tasks, trained, workspace)
    again = Command(study_command("run", study.source, workspace.folder, only=name))
    blocks: list[Block] = [
        Paragraph(_samples_sentence(results)),
        picture,
        _spread_table(results),
        _foreseen_table(results),
    ]
    pairs = [Beside(densities[start : start + 2]) for start in range(0, len(densities), 2)]
    return Section(name, [*blocks, *([] if checks is None else [checks]), *pairs, again])


def _samples_sentence(results: Results) -> str:
    found = next(iter(results.values()))
    return (
        f"{found['n_test']:,} test samples. Least squares on one-hot targets, one predictor per class, gets "
        f"{found['all_outputs']:.2f} % right, as does learned decoding with columns that span everything."
    )


def _spread_table(results: Results) -> Table:
    columns = [Column("codebook"), Column("bits"), Column("spans", ",d"), Column("examined", ",d")]
    columns += [Column(f"{how}, {which}", ".2f") for how in ("loss", "learned") for which in ("worst", "mean", "best")]
    rows: list[list[Cell | str | float | None]] = []
    for code, found in results.items():
        numbers = [found[how][which] for how in ("by_loss", "learned") for which in ("min", "mean", "max")]
        rows.append([code, found["n_bits"], found["n_spans"], found["n_examined"], *numbers, _left(found)])
    return Table(
        [*columns, Column("spread left, %", ".0f")],
        rows,
        caption="Test accuracy in percent. Spans: the number of distinct subspaces of all assignments. Examined: all "
        "assignments, or as many as were drawn. Spread left: the standard deviation of learned decoding, as a share of "
        "that of the loss.",
    )


def _left(found: Mapping[str, Any]) -> float | None:
    return 100 * found["learned"]["std"] / found["by_loss"]["std"] if found["by_loss"]["std"] > 0 else None


def _foreseen_table(results: Results) -> Table:
    rows: list[list[Cell | str | float | None]] = []
    for code, found in results.items():
        chosen = [found["of_best_by_loss"], *found["chosen"].values()]
        rows.append([code, *(found["r_squared"][name] for name in SHORT), *chosen, found["learned"]["max"]])
    columns = [Column("codebook"), *(Column(f"r², {title}", ".2f") for title in SHORT.values())]
    columns += [Column(f"chosen by {title}", ".2f") for title in SHORT.values()]
    return Table(
        [*columns, Column("best", ".2f")],
        rows,
        caption="How much of the variation of learned accuracy is predicted (r²), and the accuracy of the assignment "
        "that would be chosen. Empty: all assignments are the same.",
    )


def _check_table(
    results: Results, swept: Mapping[str, Task], trained: Mapping[str, Task], workspace: Workspace
) -> Table | None:
    """The closed form compared with full training; None before there is any."""
    records = workspace.journal.records
    rows: list[list[Cell | str | float | None]] = []
    for code, found in results.items():
        if not workspace.is_finished(records.get(trained[code].key)):
            continue
        full = np.array(workspace.load(trained[code], "n_correct")) * (100 / found["n_test"])
        ranks = np.array(workspace.load(trained[code], "ranks"))
        examined = np.array(workspace.load(swept[code], "ranks"))
        places = np.minimum(np.searchsorted(examined, ranks), len(examined) - 1)
        is_known = examined[places] == ranks
        closed = np.array(workspace.load(swept[code], "learned"))[places] * (100 / found["n_test"])
        by_logistic = full[:, 1] >= 0
        rows.append(
            [
                code,
                int(is_known.sum()),
                float(np.abs(closed - full[:, 0])[is_known].max()) if is_known.any() else None,
                int(by_logistic.sum()),
                *_logistic_numbers(full[by_logistic]),
            ]
        )
    columns = [Column("codebook"), Column("compared", ",d"), Column("largest difference", ".2f")]
    columns += [Column("multinomial", ",d"), Column("worst", ".2f"), Column("mean", ".2f"), Column("best", ".2f")]
    table = Table(
        [*columns, Column("r² with least squares", ".2f")],
        rows,
        caption="Random assignments trained in full: bits on their own targets, decoders on the margins. The "
        "difference is between the test accuracies of the closed form and of training, in points. Then multinomial "
        "logistic decoders of the same bits.",
    )
    return table if rows else None


def _logistic_numbers(full: FloatArray) -> list[float | None]:
    if not len(full):
        return [None] * 4
    r_squared = regression(full[:, 0], full[:, 1])[2]
    spread = [float(full[:, 1].min()), float(full[:, 1].mean()), float(full[:, 1].max())]
    return [*spread, None if np.isnan(r_squared) else float(r_squared)]
