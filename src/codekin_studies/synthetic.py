"""Six classes in the plane of which only one way to assign three bits makes sense (App. A and B).

Three lines cut the plane into seven regions; the six largest are the classes, and the sides of the lines are the
codewords. With this assignment, the three bits are learned without errors. All other assignments have bits that no line
can learn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import factorial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from codekin.assignments.exact import nth_assignment
from codekin.code import Codebook, CodingMatrix, FloatArray, IntArray
from codekin.pages.html import Beside, Cell, Page, Paragraph, Section
from codekin.plots import style
from codekin_studies.configuration import Study, paper_number
from codekin_studies.engine.schema import NOT_NEGATIVE, NUMBER, POSITIVE, Check, ListOf, whole
from codekin_studies.engine.workspace import Outcome, Stage, Task, Workspace
from codekin_studies.entries import SEED, study_keys
from codekin_studies.page_parts import Report, Rows, table
from codekin_studies.splits.dichotomies import n_splits, split_signs, splits_of
from codekin_studies.splits.svm import fit_svms
from codekin_studies.splits.sweeps import count_correct, rounded_margins

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SWEEP = "synthetic.sweep"
N_CLASSES = 6
OPTIONS: Mapping[str, Check] = {
    "seed": SEED,
    "n_per_class": whole(1, 10_000),
    "angles": ListOf(NUMBER, length=3),
    "offset": NUMBER,
    "gap": NOT_NEGATIVE,
    "C": POSITIVE,
    "one_vs_rest_C": ListOf(POSITIVE),
}
SCHEMA = study_keys(OPTIONS)


def check(study: Study, _data_names: list[str], _data_home: Path | None) -> None:
    """Raise unless the lines leave six regions with enough samples."""
    options = {name: study.option(name) for name in OPTIONS if name not in ("C", "one_vs_rest_C")}
    try:
        three_line_samples(**options)
    except ValueError as error:
        raise study.place.at("angles").error(f"'angles', 'offset' and 'gap' do not fit. {error}") from None


def stages(study: Study, _data_names: list[str]) -> list[Stage]:
    """The one task of the study."""
    return [Stage("all assignments of six classes", [sweep_task(study)])]


def sweep_task(study: Study) -> Task:
    """Make the samples, train all splits and test all assignments."""
    return Task(SWEEP, {name: study.option(name) for name in OPTIONS}, label="six classes")


def three_line_samples(
    n_per_class: int, *, angles: list[float], offset: float, gap: float, seed: int
) -> tuple[FloatArray, IntArray, CodingMatrix]:
    """Samples of the six largest regions that three lines leave of the unit disc.

    The lines have these angles, in degrees, and this offset from the middle; no sample is closer to one than ``gap``.
    Returns samples in the plane, their classes in the order of their angles, and codewords (6, 3): the sides of the
    lines on which each class lies.
    """
    rng = np.random.default_rng(seed)
    turns = np.deg2rad(angles)
    normals = np.column_stack([-np.sin(turns), np.cos(turns)])
    # Many more than needed: the smallest of six regions still has enough.
    points = rng.uniform(-1, 1, size=(400 * n_per_class, 2))
    heights = points @ normals.T - offset
    is_used = ((points**2).sum(axis=1) < 1) & (np.abs(heights) > gap).all(axis=1)
    points, sides = points[is_used], np.sign(heights[is_used]).astype(np.int8)
    codewords, region, sizes = np.unique(sides, axis=0, return_inverse=True, return_counts=True)
    largest = np.argsort(-sizes, kind="stable")[:N_CLASSES]
    if len(largest) < N_CLASSES or sizes[largest].min() < n_per_class:
        raise ValueError(f"The lines leave fewer than {N_CLASSES} regions with {n_per_class} samples. Use other lines.")
    middles = np.array([points[region == k].mean(axis=0) for k in largest])
    ordered = largest[np.argsort(np.arctan2(middles[:, 1], middles[:, 0]))]
    X = np.concatenate([points[region == k][:n_per_class] for k in ordered])
    return X, np.repeat(np.arange(N_CLASSES), n_per_class), codewords[ordered]


def run_sweep(task: Task, _workspace: Workspace) -> Outcome:
    """How many samples each of the 720 assignments fits, and how many one-vs-rest does."""
    given = task.parameters
    lines = {name: given[name] for name in ("angles", "offset", "gap", "seed")}
    X, y, codewords = three_line_samples(given["n_per_class"], **lines)
    # Shuffled: the identity must not be the answer.
    codebook = Codebook(codewords[np.random.default_rng(given["seed"]).permutation(N_CLASSES)])
    splits = np.arange(1, n_splits(N_CLASSES) + 1)
    fitted = fit_svms(X, split_signs(splits, N_CLASSES)[y], C=given["C"])
    margins = np.concatenate([np.zeros((1, len(X))), fitted.margins(X).T])
    n_correct = count_correct(codebook, rounded_margins(margins, codebook.n_bits), y)
    signs = np.where(y[:, None] == np.arange(N_CLASSES), 1, -1)
    one_vs_rest = [
        100 * float((fit_svms(X, signs, C=C).margins(X).argmax(axis=1) == y).mean()) for C in given["one_vs_rest_C"]
    ]
    result: dict[str, Any] = {
        "codewords": codebook.matrix.tolist(),
        "n_samples": len(X),
        "n_assignments": factorial(N_CLASSES),
        "n_perfect": int((n_correct == len(X)).sum()),
        "worst": 100 * float(n_correct.min()) / len(X),
        "second_best": 100 * float(n_correct[n_correct < n_correct.max()].max()) / len(X),
        "best": 100 * float(n_correct.max()) / len(X),
        "best_assignment": nth_assignment(int(n_correct.argmax()), N_CLASSES, N_CLASSES).tolist(),
        "worst_assignment": nth_assignment(int(n_correct.argmin()), N_CLASSES, N_CLASSES).tolist(),
        "one_vs_rest": max(one_vs_rest),
        "one_vs_rest_C": given["one_vs_rest_C"][int(np.argmax(one_vs_rest))],
    }
    lines_of_splits = np.column_stack([fitted.weights.T, fitted.bias])
    return Outcome(result, {"X": X, "y": y, "n_correct": n_correct, "lines": lines_of_splits})


FUNCTIONS = {SWEEP: run_sweep}


def lines_of_bits(coding_matrix: CodingMatrix, lines: FloatArray) -> FloatArray:
    """The predictors of the bits of a coding matrix, from those of all splits.

    ``lines`` (n_splits, 3) are weights and bias of the splits, from number 1 on. Returns shape (n_bits, 3).
    """
    splits, sides = splits_of(coding_matrix)
    return np.asarray(sides[:, None] * lines[splits - 1])


QUANTITIES = {
    "n_assignments": "assignments",
    "n_perfect": "of them fit all samples",
    "best": "best assignment, %",
    "second_best": "best of the others, %",
    "worst": "worst assignment, %",
    "one_vs_rest": "one-vs-rest, best C, %",
}


def synthetic_page(report: Report) -> Page:
    """The page of a study of six classes in the plane."""
    task, workspace = sweep_task(report.study), report.workspace
    found = workspace.journal.result(task)
    X, y, n_correct, lines = (np.array(workspace.load(task, name)) for name in ("X", "y", "n_correct", "lines"))
    rows: Rows = [
        [title, Cell(f"{found[name]:.4g}", float(found[name])), paper_number("synthetic", name)]
        for name, title in QUANTITIES.items()
    ]
    numbers = table(
        "quantity | ours | paper :.4g",
        rows,
        "The paper's samples are not published; these are our own, with the same property. How low the worst "
        "assignment and one-vs-rest are depends on where the classes lie and on C, so compare only how many fit.",
    )
    intro = (
        f"{found['n_samples']} samples in six classes, cut out of a disc by three lines. A bit is learned by a linear "
        "SVM; the predicted class has the smallest hinge loss."
    )
    accuracies, marks = 100 * n_correct / len(X), [(found["one_vs_rest"], "one-vs-rest")]
    samples = report.picture(
        draw_plane_classes(X, y, title="Six classes"), "samples", "The six classes in the plane.", "The samples."
    )
    histogram = report.picture(
        draw_histogram(accuracies, title="720 assignments", label="training accuracy, %", marks=marks),
        "histogram",
        "Histogram of the training accuracy of all 720 assignments.",
        "Training accuracy of all assignments of the same codebook.",
    )
    bits = []
    for which in ("best", "worst"):
        matrix = np.array(found["codewords"], dtype=np.int8)[found[f"{which}_assignment"]]
        figure = draw_subproblems(X, y, matrix, lines_of_bits(matrix, lines), title=f"The {which} assignment")
        description = f"The bits of the {which} assignment, with the lines that were learned."
        caption = f"The {which} assignment: {found[which]:.1f} % of the samples are fitted."
        bits.append(report.picture(figure, which, description, caption))
    why = (
        "For each bit, a line has to separate some classes from the others. With the best assignment neighbouring "
        "classes have similar codewords, and a line can separate them; with the worst, the classes on one side of a "
        "bit are scattered, and no line can."
    )
    return Page(
        report.study.title,
        f"A codebook of three bits can be assigned to six classes in 720 ways. Only {found['n_perfect']} of them, "
        "which differ only in the order and the signs of the bits, fit the samples with straight lines; the next "
        f"best reaches {found['second_best']:.0f} %, the worst {found['worst']:.0f} %, one-vs-rest "
        f"{found['one_vs_rest']:.0f} %.",
        [
            Section("The samples and the 720 assignments", [Paragraph(intro), Beside([samples, histogram]), numbers]),
            Section("Why", [Paragraph(why), Beside(bits), report.again()]),
        ],
    )


MARKERS = "os^DvP"


@style.figure_style()
def draw_plane_classes(X: FloatArray, y: IntArray, *, title: str) -> Figure:
    """Samples in the plane, a colour and a marker per class, with the numbers of the classes."""
    figure = style.new_figure(3.9)
    axes = figure.subplots()
    colours = [style.PALETTE[name] for name in ("blue", "orange", "green", "purple", "sky", "yellow")]
    for k in range(int(y.max()) + 1):
        colour, marker = colours[k % len(colours)], MARKERS[k % len(MARKERS)]
        axes.scatter(X[y == k, 0], X[y == k, 1], s=12, alpha=0.75, linewidths=0, color=colour, marker=marker)
    _number_classes(axes, X, y)
    _square(axes)
    axes.set_title(title)
    return figure


@style.figure_style()
def draw_subproblems(
    X: FloatArray, y: IntArray, coding_matrix: CodingMatrix, lines: FloatArray, *, title: str
) -> Figure:
    """A coding matrix, and for each bit the samples of both sides with the learned line.

    ``lines`` (n_bits, 3) holds two weights and a bias per bit.
    """
    n_classes, n_bits = coding_matrix.shape
    figure, grid = style.new_panels(n_bits + 1, 2, 2.3, title=title)
    panels = grid.ravel()
    colours = style.bit_colours()
    panels[0].pcolormesh(coding_matrix, cmap=colours, vmin=-1, vmax=1, edgecolors="white", linewidth=1.5)
    panels[0].set_yticks(np.arange(n_classes) + 0.5, [str(k + 1) for k in range(n_classes)])
    panels[0].set_xticks(np.arange(n_bits) + 0.5, range(n_bits))
    panels[0].set(xlabel="bit", ylabel="class")
    panels[0].invert_yaxis()
    style.without_frame(panels[0])
    for j, axes in enumerate(panels[1 : n_bits + 1]):
        signs = coding_matrix[y, j]
        for sign, marker in ((-1, "o"), (1, "s")):
            chosen = X[signs == sign]
            axes.scatter(chosen[:, 0], chosen[:, 1], s=7, color=colours((sign + 1) / 2), marker=marker, linewidths=0)
        _draw_line(axes, lines[j])
        _number_classes(axes, X, y)
        _square(axes)
        n_wrong = int((signs * (X @ lines[j, :2] + lines[j, 2]) <= 0).sum())
        axes.set_title(f"bit {j}: {'no' if n_wrong == 0 else n_wrong} errors", size=9.5)
    return figure


@style.figure_style()
def draw_histogram(values: ArrayLike, *, title: str, label: str, marks: Sequence[tuple[float, str]] = ()) -> Figure:
    """A histogram over assignments; ``marks`` are vertical lines, each with its place and its text."""
    figure, axes = style.new_panel(3.0, title=title, x_label=label, y_label="assignments", grid="y")
    axes.hist(
        np.asarray(values, dtype=np.float64), bins=40, color=style.PALETTE["sky"], edgecolor="white", linewidth=0.4
    )
    for place, text in marks:
        axes.axvline(place, color=style.PALETTE["orange"], linestyle="--", linewidth=1.2)
        axes.annotate(
            text, (place, 0.97), (-4, 0), ("data", "axes fraction"), "offset points", ha="right", va="top", size=8.5
        )
    return figure


def _draw_line(axes: Axes, line: FloatArray) -> None:
    slope, bias = line[:2], float(line[2])
    length = float(np.hypot(*slope))
    if length < 1e-6 or abs(bias) > 1.6 * length:
        return  # the prediction is the same everywhere
    middle = -bias * slope / length**2
    along = np.array([-slope[1], slope[0]]) / length
    ends = middle + np.array([[-3.0], [3.0]]) * along
    axes.plot(ends[:, 0], ends[:, 1], color=style.PALETTE["orange"])


def _number_classes(axes: Axes, X: FloatArray, y: IntArray) -> None:
    for k in range(int(y.max()) + 1):
        across, up = X[y == k].mean(axis=0).tolist()
        box = {"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
        where: dict[str, Any] = {"ha": "center", "va": "center", "size": 9, "weight": "bold", "color": style.INK}
        axes.text(across, up, str(k + 1), bbox=box, **where)


def _square(axes: Axes) -> None:
    axes.set(aspect="equal", xlim=(-1.08, 1.08), ylim=(-1.08, 1.08), xticks=[], yticks=[])
    style.without_frame(axes)
