"""The bound on the training error (Eq. 4) against that error, and equidistance against variation (Sec. 2, 4.1.1)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from codekin.assignments import assign, class_codeword_score
from codekin.assignments.exact import all_scores
from codekin.classes.distances import mean_distances
from codekin.code import FloatArray
from codekin.decoding import LOSSES, MinimumLossDecoder
from codekin.decoding.losses import get_loss
from codekin.pages.html import Beside, Cell, Page, Section, Table
from codekin.plots.style import INK, PALETTE, figure_style, new_panel
from codekin_studies import entries
from codekin_studies.configuration import Study, data_among
from codekin_studies.engine.schema import ListOf, OneOf
from codekin_studies.engine.workspace import Outcome, Stage, Task, Workspace
from codekin_studies.page_parts import Report, Results, Rows, enumerated, table
from codekin_studies.splits.dichotomies import learned, problem_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURE = "bound.measure"
SCHEMA = entries.study_keys(
    {
        "seed": entries.SEED,
        "n_assignments": entries.COUNT,
        "losses": ListOf(OneOf(LOSSES)),
        "data": entries.data_entries({"learner": entries.learner_table()}, entries.SCALING),
        "codebooks": entries.codebook_entries("means"),
    }
)

check = entries.check_entries


def stages(study: Study, data_names: list[str]) -> list[Stage]:
    """One task per data set and codebook."""
    chosen, codebooks = data_among(study, data_names), study.option("codebooks")
    return [Stage("bounds and errors", [measure_task(study, data, code) for data in chosen for code in codebooks])]


def measure_task(study: Study, data: Mapping[str, Any], code: Mapping[str, Any]) -> Task:
    """Train a codebook with some random assignments; measure losses, bounds and errors."""
    options = "n_assignments", "losses"
    parameters = entries.samples_of(study, data, *options, learner=dict(data["learner"]), codebook=dict(code))
    return Task(MEASURE, parameters, label=f"{data['name']}, {code['name']}")


def run_measure(task: Task, workspace: Workspace) -> Outcome:
    """The measures of one codebook on one data set."""
    given = task.parameters
    problem = problem_of(given, workspace.data_home)
    distances = mean_distances(problem.X_train, problem.y_train)
    codebook = entries.make_codebook(given["codebook"], problem.n_classes, {"means": distances.matrix()})
    draws = []
    for draw in range(given["n_assignments"]):
        rng = np.random.default_rng([given["seed"], draw])
        assignment = assign(codebook, distances, "random", rng=rng).assignment
        coding_matrix = codebook.coding_matrix(assignment)
        train, test = (m.astype(np.float64) for m in learned(problem, coding_matrix, given["learner"], given["seed"]))
        measures = {}
        for name in given["losses"]:
            decoder, loss = MinimumLossDecoder(coding_matrix, name), get_loss(name)
            epsilon = float(codebook.bit_losses(train, coding_matrix, problem.y_train, loss).mean())
            measures[name] = {
                "epsilon": epsilon,
                "bound": codebook.error_bound(epsilon, loss),
                "train_error": float((decoder.decode(train) != problem.y_train).mean()),
                "test_error": float((decoder.decode(test) != problem.y_test).mean()),
            }
        draws.append({"score": class_codeword_score(codebook, assignment, distances), "losses": measures})
    apart = codebook.row_distances()[np.triu_indices(codebook.n_codewords, k=1)]
    scores = all_scores(codebook, distances)
    result = {
        "n_bits": codebook.n_bits,
        "min_distance": float(codebook.min_distance),
        "is_equidistant": bool(codebook.is_equidistant),
        # How unequal the distances are: their standard deviation in units of their mean.
        "spread_of_distances": float(apart.std() / apart.mean()),
        "spread_of_scores": float(scores.std()),
        "draws": draws,
    }
    return Outcome(result)


FUNCTIONS = {MEASURE: run_measure}


def bound_page(report: Report) -> Page:
    """The page of a study of the bound, with everything that is finished."""
    results = report.by_data(measure_task)
    losses = list(report.study.option("losses"))
    pairs = [error_and_bound(found, loss) for codes in results.values() for found in codes.values() for loss in losses]
    errors, bounds = np.concatenate([np.zeros((0, 2)), *pairs]).T
    lead = (
        f"The training error is at most ℓε / (ρ L(0)). This bound held in {int((bounds >= errors).sum()):,} of "
        f"{len(bounds):,} measurements, and was informative, that is, below 100 %, in {int((bounds < 100).sum()):,} of "
        "them."
    )
    sections = [_data_section(report, name, codes, losses) for name, codes in results.items()]
    return report.page(lead, _method(report, results, losses), sections)


def _method(report: Report, data_names: Collection[str], losses: list[str]) -> tuple[str, ...]:
    n_assignments = report.study.option("n_assignments")
    times = "once" if n_assignments == 1 else f"{n_assignments} times"
    shown = enumerated([loss.replace("_", " ") for loss in losses])
    return (
        f"Every codebook was assigned to the classes at random, {times}; its bits were learned by "
        f"{enumerated(report.learners(data_names))}, and training samples were decoded under the {shown} "
        f"loss{'' if len(losses) == 1 else 'es'}. ε is the average binary loss on the training samples, ρ the smallest "
        "distance between codewords, ℓ the number of bits.",
        "Equidistant codebooks have codewords that are all equally far apart. Every class-codeword score is then the "
        "same for all assignments: there is nothing to choose by. The spread of distances is their standard deviation "
        "divided by their mean; it is zero for these codebooks.",
    )


def error_and_bound(found: Mapping[str, Any], loss: str) -> FloatArray:
    """Training errors and bounds of all draws, in percent, (n_draws, 2)."""
    measures = [draw["losses"][loss] for draw in found["draws"]]
    return np.array([[100 * one["train_error"], 100 * one["bound"]] for one in measures])


def _data_section(report: Report, name: str, codes: Results, losses: list[str]) -> Section:
    pairs = {loss: np.concatenate([error_and_bound(found, loss) for found in codes.values()]) for loss in losses}
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
        report.picture(
            draw_bounds(pairs, title=f"{name}: bound and error"),
            f"{name}-bound",
            f"Bounds against training errors on {name}, by loss.",
            "A dot is a random assignment of one of the codebooks. Above the line the bound holds; above the dotted "
            "one it is not informative.",
        ),
        report.picture(
            spread,
            f"{name}-equidistance",
            f"Standard deviation of test accuracy on {name} against the spread of codeword distances.",
            "Standard deviations over random assignments. Equidistant codebooks are at the left edge.",
        ),
    ]
    return Section(name, [Beside(pictures), _table(codes, losses), report.again(name)])


def _test_accuracies(found: Mapping[str, Any], loss: str) -> FloatArray:
    return np.array([100 * (1 - draw["losses"][loss]["test_error"]) for draw in found["draws"]])


def _table(codes: Results, losses: list[str]) -> Table:
    rows: Rows = []
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
    return table(
        "codebook | loss | ℓ | ρ :g | ε :.3f | error, % :.2f | bound, % :.0f | bound / error :.1f | test accuracy, % | "
        "sd of scores :.4f",
        rows,
        "Means over random assignments; after ± the standard deviation over assignments.",
    )


@figure_style()
def draw_bounds(pairs: Mapping[str, FloatArray], *, title: str) -> Figure:
    """Bounds against errors, both on logarithmic scales; a bound holds above the diagonal.

    ``pairs`` holds arrays of shape (n, 2) by name: errors and bounds, in percent. Errors of zero are not drawn.
    """
    from matplotlib.ticker import LogLocator, NullFormatter

    figure, axes = new_panel(3.6, title=title, x_label="training error, %", y_label="bound of Eq. 4, %")
    shown = {name: values[values[:, 0] > 0] for name, values in pairs.items()}
    looks = zip(("blue", "orange", "green", "purple"), "os^D", strict=True)
    for (name, values), (colour, marker) in zip(shown.items(), looks, strict=False):
        axes.scatter(
            values[:, 0], values[:, 1], s=16, alpha=0.6, linewidths=0, color=PALETTE[colour], marker=marker, label=name
        )
    drawn = np.concatenate([np.zeros((0, 2)), *shown.values()])
    low, high = (drawn.min(axis=0), drawn.max(axis=0)) if len(drawn) else (np.ones(2), np.full(2, 100.0))
    ends = [float(low.min()), float(high.max())]
    axes.plot(ends, ends, color=INK, linewidth=1)
    axes.axhline(100, color=PALETTE["grey"], linestyle=":", linewidth=1.2)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(low[0] / 1.15, high[0] * 1.15)
    # Include the diagonal: bounds are compared with it.
    axes.set_ylim(low[0] / 1.15, max(high[1], 100) * 1.3)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())
    end, below = (high[0], high[0]), (-4, -27)  # far enough below the line, which falls to the left
    axes.annotate("bound = error", end, below, textcoords="offset points", ha="right", va="top", size=8.5)
    figure.legend(loc="outside lower center", ncols=len(pairs))
    return figure


@figure_style()
def draw_named_points(points: Sequence[tuple[str, float, float]], *, title: str, x_label: str, y_label: str) -> Figure:
    """A few points with their names."""
    figure, axes = new_panel(3.2, title=title, x_label=x_label, y_label=y_label)
    middle = float(np.mean([x for _, x, _ in points]))
    for name, x, y in points:
        axes.plot(x, y, "o", color=PALETTE["blue"], markeredgecolor="white", markersize=8)
        side = ("left", 7) if x <= middle else ("right", -7)
        axes.annotate(name, (x, y), (side[1], 4), textcoords="offset points", ha=side[0], size=8.5)
    axes.margins(0.14)
    axes.set_ylim(bottom=0)
    return figure
