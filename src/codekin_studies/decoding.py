r"""Every assignment of small codebooks with a decoder that is learned by least squares.

Least squares is linear in its targets: the margins of bits ``M`` are :math:`M^\top p(x)`, with :math:`p(x)` the outputs
for one-hot targets ``t``. The least-squares decoder of such margins scores the classes by

.. math:: \pi + C^\top M (M^\top V M)^{-1} M^\top (p(x) - \bar p), \qquad
    V = \operatorname{Cov} p, \quad C = \operatorname{Cov}(p, t),

and explains the variance :math:`\operatorname{tr} C^\top M (M^\top V M)^{-1} M^\top C` of the targets. It depends only
on the span of the columns and the constant one. Assignments with the same span give the same classifier, and one of
them is enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import linalg

from codekin.assignments.exact import all_objectives, all_scores, nth_assignment
from codekin.assignments.quadratic import QuadraticProblem
from codekin.classes.distances import mean_distances
from codekin.code import Codebook, FloatArray, IntArray
from codekin.pages.html import Page, Paragraph, Section, Table
from codekin_studies import entries
from codekin_studies.configuration import Study, data_among
from codekin_studies.distributions import draw_joint_densities, draw_variations, joint_density, r_squared, variation
from codekin_studies.engine.schema import POSITIVE
from codekin_studies.engine.workspace import Outcome, Stage, Task, Workspace
from codekin_studies.page_parts import Report, Results, Rows, in_pairs, table
from codekin_studies.splits.dichotomies import Problem, least_squares, n_splits, problem_of, split_signs, splits_of
from codekin_studies.splits.sweeps import (
    MAX_BITS,
    average_losses,
    coding_matrix_of,
    count_correct,
    lexicographic_rank,
    rounded_margins,
    spread_of,
)

SWEEP, TRAIN = "decoding.sweep", "decoding.train"

RELATIVE_ZERO = 1e-10
"""Variances below this share of the largest are rounding."""

MAX_ROWS = 5_000
"""The most training samples for a multinomial decoder."""

SCHEMA = entries.study_keys(
    {
        "seed": entries.SEED,
        "n_spans": entries.COUNT,
        "n_trained": entries.COUNT,
        "n_multinomial": entries.COUNT,
        "data": entries.data_entries({"ridge": POSITIVE}, entries.SCALING),
        "codebooks": entries.codebook_entries("means"),
    }
)


def check(study: Study, data_names: list[str], data_home: Path | None) -> None:
    """Raise unless the samples and the codebooks are available."""
    entries.check_entries(study, data_names, data_home, most_bits=MAX_BITS)


def stages(study: Study, data_names: list[str]) -> list[Stage]:
    """A sweep per data set and codebook, and some assignments trained in full for comparison."""
    chosen, codebooks = data_among(study, data_names), study.option("codebooks")
    pairs = [(data, code) for data in chosen for code in codebooks]
    return [
        Stage("sweeping all assignments", [sweep_task(study, data, code) for data, code in pairs]),
        Stage("training some in full", [train_task(study, data, code) for data, code in pairs]),
    ]


def sweep_task(study: Study, data: Mapping[str, Any], code: Mapping[str, Any]) -> Task:
    """Test all assignments of a codebook on a data set."""
    return Task(SWEEP, _parameters(study, data, code, "n_spans"), label=f"{data['name']}, {code['name']}", weight=5.0)


def train_task(study: Study, data: Mapping[str, Any], code: Mapping[str, Any]) -> Task:
    """Train some assignments of a codebook bit by bit, and their decoders on the margins."""
    parameters = _parameters(study, data, code, "n_trained", "n_multinomial")
    return Task(TRAIN, parameters, label=f"{data['name']}, {code['name']}, in full", weight=5.0)


def _parameters(study: Study, data: Mapping[str, Any], code: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return entries.samples_of(study, data, *names, ridge=data["ridge"], codebook=dict(code))


def _made(task: Task, workspace: Workspace) -> tuple[Problem, Codebook, FloatArray]:
    """The samples, the codebook and the distances of class means."""
    given = task.parameters
    problem = problem_of(given, workspace.data_home)
    # Features that hardly vary would be lost to rounding in single precision.
    problem = replace(problem, X_train=problem.X_train.astype(np.float64), X_test=problem.X_test.astype(np.float64))
    distances = mean_distances(problem.X_train, problem.y_train).matrix()
    return problem, entries.make_codebook(given["codebook"], problem.n_classes, {"means": distances}), distances


def run_sweep(task: Task, workspace: Workspace) -> Outcome:
    """Count what every assignment gets right, with the hinge loss of its margins and with its learned decoder.

    If there are more spans than ``n_spans``, learned decoders are evaluated for that many random assignments.
    """
    given = task.parameters
    problem, codebook, distances = _made(task, workspace)
    one_hot = 2 * np.eye(problem.n_classes, dtype=np.int8) - 1
    train, test = ((1 + m.astype(np.float64)) / 2 for m in least_squares(problem, one_hot, 0, ridge=given["ridge"]))
    outputs = Outputs.of(train, problem.y_train, test)
    every_split = np.arange(n_splits(problem.n_classes) + 1)
    signs = split_signs(every_split, problem.n_classes)
    margins = rounded_margins(signs.T @ test.T, MAX_BITS)
    by_loss = count_correct(codebook, margins, problem.y_test)
    first, span_of_rank = spans_of_assignments(codebook)
    tested, examined, place = first, np.arange(len(by_loss)), span_of_rank
    if len(first) > given["n_spans"]:
        drawn = np.random.default_rng(given["seed"]).choice(len(by_loss), given["n_spans"], replace=False)
        tested = examined = np.sort(drawn)
        place = np.arange(len(drawn))
    n_right, everything = outputs.judged(np.eye(problem.n_classes), problem.y_test)
    matrices = (coding_matrix_of(codebook, int(rank)).astype(np.float64) for rank in tested)
    found = np.array([outputs.judged(matrix, problem.y_test) for matrix in matrices])
    errors = np.eye(problem.n_classes)[problem.y_train] - train
    split_losses = np.einsum("ks,kc,cs->s", signs, errors.T @ errors / len(errors), signs)
    arrays = {
        "ranks": examined,
        "by_loss": by_loss[examined],
        "learned": found[place, 0].astype(np.int32),
        "explained": found[place, 1] / everything,
        "learnability": average_losses(codebook, split_losses)[examined],
        "means": all_scores(codebook, distances)[examined],
    }
    result = {
        "n_assignments": len(by_loss),
        "n_spans": len(first),
        "n_examined": len(examined),
        "n_bits": codebook.n_bits,
        "codewords": codebook.matrix.tolist(),
        "n_test": len(problem.y_test),
        "all_outputs": 100 * n_right / len(problem.y_test),
        **_summary(arrays, len(problem.y_test), codebook.n_codewords),
    }
    return Outcome(result, arrays)


def _summary(arrays: Mapping[str, Any], n_test: int, n_classes: int) -> dict[str, Any]:
    """The numbers of both decoders for tables, and what predicts the learned one."""
    summary: dict[str, Any] = {}
    for name in ("by_loss", "learned"):
        accuracies = arrays[name] * (100 / n_test)
        best = int(arrays["ranks"][accuracies.argmax()])
        summary[name] = {
            **spread_of(accuracies),
            "best_assignment": nth_assignment(best, n_classes, n_classes).tolist(),
        }
    learned = arrays["learned"] * (100 / n_test)
    summary["of_best_by_loss"] = float(learned[arrays["by_loss"].argmax()])
    summary["chosen"] = {
        name: float(learned[(-arrays[name] if name == "explained" else arrays[name]).argmin()])
        for name in ("explained", "learnability", "means")
    }
    summary["r_squared"] = {name: r_squared(arrays[name], learned) for name in ("by_loss", *summary["chosen"])}
    return summary


def run_train(task: Task, workspace: Workspace) -> Outcome:
    """Train all splits on their own targets, and decoders of random assignments on the margins themselves."""
    given = task.parameters
    problem, codebook, _ = _made(task, workspace)
    n_classes, rng = problem.n_classes, np.random.default_rng([given["seed"], 1])
    every_split = np.arange(1, n_splits(n_classes) + 1)
    train, test = least_squares(problem, split_signs(every_split, n_classes), 0, ridge=given["ridge"])
    train, test = np.ascontiguousarray(train.T), np.ascontiguousarray(test.T)
    one_hot = np.eye(n_classes)[problem.y_train]
    rows = rng.permutation(len(one_hot))[:MAX_ROWS]
    orders = [rng.permutation(n_classes) for _ in range(given["n_trained"])]
    n_correct = np.full((len(orders), 2), -1)
    for number, order in enumerate(orders):
        bits = splits_of(codebook.matrix[order])[0] - 1
        known, new = (np.column_stack([np.ones(m.shape[1]), m[bits].T.astype(np.float64)]) for m in (train, test))
        weights = linalg.pinvh(known.T @ known, rtol=RELATIVE_ZERO) @ known.T @ one_hot
        n_correct[number, 0] = ((new @ weights).argmax(axis=1) == problem.y_test).sum()
        if number < given["n_multinomial"]:
            n_correct[number, 1] = _multinomial_correct(known[rows, 1:], new[:, 1:], problem, rows)
    ranks = np.array([lexicographic_rank(order) for order in orders])
    return Outcome({"n_test": len(problem.y_test)}, {"ranks": ranks, "n_correct": n_correct})


def _multinomial_correct(known: FloatArray, new: FloatArray, problem: Problem, rows: IntArray) -> int:
    """How many test samples a multinomial logistic decoder gets right."""
    from sklearn.linear_model import LogisticRegression

    decoder = LogisticRegression(C=100.0, max_iter=300).fit(known, problem.y_train[rows])
    return int((decoder.predict(new) == problem.y_test).sum())


FUNCTIONS = {SWEEP: run_sweep, TRAIN: run_train}


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


def decoding_page(report: Report) -> Page:
    """The page of a study of learned decoding, with everything that is finished."""
    results = report.by_data(sweep_task)
    chosen = data_among(report.study, results)
    return report.page(_lead(results), METHOD, [_data_section(report, data, results[data["name"]]) for data in chosen])


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


def _data_section(report: Report, data: Mapping[str, Any], results: Results) -> Section:
    name, workspace, codebooks = data["name"], report.workspace, report.study.option("codebooks")
    swept = {code["name"]: sweep_task(report.study, data, code) for code in codebooks}
    trained = {code["name"]: train_task(report.study, data, code) for code in codebooks}
    violins, densities = [], []
    for code, found in results.items():
        of_all = {key: np.array(workspace.load(swept[code], key)) for key in ("by_loss", "learned", "explained")}
        loss, learned = (of_all[key] * (100 / found["n_test"]) for key in ("by_loss", "learned"))
        violins += [variation(f"{code}\nloss", loss), variation(f"{code}\nlearned", learned)]
        if np.ptp(of_all["explained"]) > 1e-6:
            axes = {"accuracy by the loss, %": loss, "explained variance, %": 100 * of_all["explained"]}
            drawn = {axis: joint_density(values, learned) for axis, values in axes.items()}
            densities.append(
                report.picture(
                    draw_joint_densities(drawn, title=f"{name}, {code}"),
                    f"{name}-{code}",
                    f"Test accuracy of learned decoding on {name} against {', '.join(axes)}, {code}.",
                    "Each level set contains a tenth of the assignments; the line is the regression on all of them.",
                    as_pixels=True,
                )
            )
    variations = report.picture(
        draw_variations(violins, title=f"{name}, least squares"),
        f"{name}-variation",
        f"Violins of the test accuracy of assignments on {name}, decoded by the loss and by a learned decoder.",
        "Dashed lines are medians, dotted ones quartiles, the ends the worst and the best assignment.",
        as_pixels=True,
    )
    checks = _check_table(results, swept, trained, workspace)
    tables = [_spread_table(results), _foreseen_table(results), *([checks] if checks.rows else [])]
    first = next(iter(results.values()))
    samples = (
        f"{first['n_test']:,} test samples. Least squares on one-hot targets, one predictor per class, gets "
        f"{first['all_outputs']:.2f} % right, as does learned decoding with columns that span everything."
    )
    return Section(name, [Paragraph(samples), variations, *tables, *in_pairs(densities), report.again(name)])


def _spread_table(results: Results) -> Table:
    rows: Rows = []
    for code, found in results.items():
        numbers = [found[how][which] for how in ("by_loss", "learned") for which in ("min", "mean", "max")]
        stds = [found[how]["std"] for how in ("learned", "by_loss")]
        left = 100 * stds[0] / stds[1] if stds[1] > 0 else None
        rows.append([code, found["n_bits"], found["n_spans"], found["n_examined"], *numbers, left])
    return table(
        "codebook | bits | spans :,d | examined :,d | loss, worst :.2f | loss, mean :.2f | loss, best :.2f | "
        "learned, worst :.2f | learned, mean :.2f | learned, best :.2f | spread left, % :.0f",
        rows,
        "Test accuracy in percent. Spans: the number of distinct subspaces of all assignments. Examined: all "
        "assignments, or as many as were drawn. Spread left: the standard deviation of learned decoding, as a share of "
        "that of the loss.",
    )


def _foreseen_table(results: Results) -> Table:
    rows: Rows = []
    for code, found in results.items():
        chosen = [found["of_best_by_loss"], *found["chosen"].values()]
        rows.append([code, *(found["r_squared"][name] for name in SHORT), *chosen, found["learned"]["max"]])
    predicted, chosen_by = (
        " | ".join(f"{how} {title} :.2f" for title in SHORT.values()) for how in ("r²,", "chosen by")
    )
    return table(
        f"codebook | {predicted} | {chosen_by} | best :.2f",
        rows,
        "How much of the variation of learned accuracy is predicted (r²), and the accuracy of the assignment "
        "that would be chosen. Empty: all assignments are the same.",
    )


def _check_table(
    results: Results, swept: Mapping[str, Task], trained: Mapping[str, Task], workspace: Workspace
) -> Table:
    """The closed form compared with full training."""
    records = workspace.journal.records
    rows: Rows = []
    for code, found in results.items():
        if not workspace.is_finished(records.get(trained[code].key)):
            continue
        full = np.array(workspace.load(trained[code], "n_correct")) * (100 / found["n_test"])
        ranks = np.array(workspace.load(trained[code], "ranks"))
        examined = np.array(workspace.load(swept[code], "ranks"))
        places = np.minimum(np.searchsorted(examined, ranks), len(examined) - 1)
        is_known = examined[places] == ranks
        closed = np.array(workspace.load(swept[code], "learned"))[places] * (100 / found["n_test"])
        difference = float(np.abs(closed - full[:, 0])[is_known].max()) if is_known.any() else None
        logistic = full[full[:, 1] >= 0]
        rows.append([code, int(is_known.sum()), difference, len(logistic), *_logistic_numbers(logistic)])
    return table(
        "codebook | compared :,d | largest difference :.2f | multinomial :,d | worst :.2f | mean :.2f | best :.2f | "
        "r² with least squares :.2f",
        rows,
        "Random assignments trained in full: bits on their own targets, decoders on the margins. The "
        "difference is between the test accuracies of the closed form and of training, in points. Then multinomial "
        "logistic decoders of the same bits.",
    )


def _logistic_numbers(full: FloatArray) -> list[float | None]:
    if not len(full):
        return [None] * 4
    spread = spread_of(full[:, 1])
    return [spread["min"], spread["mean"], spread["max"], r_squared(full[:, 0], full[:, 1])]


@dataclass(frozen=True, eq=False)
class Outputs:
    """The outputs of least squares for one-hot targets: their moments on training samples, and the test outputs.

    ``targets`` has the covariances of outputs with one-hot targets, ``variances`` those of outputs with each other.
    """

    frequency: FloatArray
    mean: FloatArray
    variances: FloatArray
    targets: FloatArray
    test: FloatArray

    @classmethod
    def of(cls, train: FloatArray, y: IntArray, test: FloatArray) -> Outputs:
        """The moments of training outputs (n_samples, n_classes)."""
        one_hot = np.eye(train.shape[1])[y]
        mean, frequency = train.mean(axis=0), one_hot.mean(axis=0)
        centred = train - mean
        return cls(frequency, mean, centred.T @ centred / len(y), centred.T @ (one_hot - frequency) / len(y), test)

    def decoder(self, coding_matrix: FloatArray) -> FloatArray:
        """The matrix from centred outputs to scores, (n_classes, n_classes)."""
        precision = linalg.pinvh(coding_matrix.T @ self.variances @ coding_matrix, rtol=RELATIVE_ZERO)
        return np.asarray(self.targets.T @ coding_matrix @ precision @ coding_matrix.T)

    def judged(self, coding_matrix: FloatArray, y: IntArray) -> tuple[int, float]:
        """How many test samples of classes ``y`` are right, and the explained variance of the targets."""
        decoder = self.decoder(coding_matrix)
        scores = decoder @ self.test.T + (self.frequency - decoder @ self.mean)[:, None]
        return int(np.count_nonzero(scores.argmax(axis=0) == y)), float(np.sum(decoder * self.targets.T))


def spans_of_assignments(codebook: Codebook) -> tuple[IntArray, IntArray]:
    """The first assignment of each span, in lexicographic order, and for every assignment the number of its span.

    The projection onto the span of an assignment is that of the codebook with rows and columns permuted. An exact sum
    of random integers, one for each position and value of that matrix, identifies projections.
    """
    n = codebook.n_codewords
    basis = linalg.orth(np.column_stack([codebook.matrix, np.ones(n)]).astype(np.float64))
    values = np.unique((basis @ basis.T).round(9), return_inverse=True)[1].reshape(n, n)
    weights = np.tril(np.random.default_rng(0).integers(0, 2**38, (n, n)))
    marks = all_objectives(QuadraticProblem.of(weights + weights.T, values))
    return np.unique(marks, return_index=True, return_inverse=True)[1:]
