"""The tables of a study of robustness, from its cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from codekin.pages import Cell, Column, Table
from codekin.plots.distributions import regression
from codekin_studies.robustness.pictures import Z, condition_relations, condition_title
from codekin_studies.robustness.results import Case
from codekin_studies.robustness.sweeping import CLEAN

Rows = list[list[Cell | str | float | None]]
Found = Mapping[str, Sequence[Case]]

RELATION_COLUMNS = {
    "difference": "preserving − breaking",
    "slope": "slope on clean",
    "at_equal_accuracy": "per sd of score, at equal clean accuracy",
}


def _cell(found: Sequence[float] | None) -> Cell | None:
    """A value with its 95 % interval, bold if that does not contain 0."""
    if found is None:
        return None
    value, half = found[0], Z * found[1]
    return Cell(f"{value:+.2f} ± {half:.2f}".replace("-", "−"), value, is_strong=abs(value) > half)


def _cases(found: Found) -> list[Case]:
    return [case for cases in found.values() for case in cases]


def capacity_table(found: Found) -> Table:
    """Clean accuracies by capacity, and what predicts them."""
    rows: Rows = []
    for case in _cases(found):
        difference = condition_relations(case).get(CLEAN, {}).get("difference")
        if case.compared is not None:
            clean = case.compared["conditions"][CLEAN]
            spread = [clean[name] for name in ("min", "mean", "max", "std")]
            spread += [clean["r_squared"][name] for name in ("score", "learnability")]
        elif case.under_conditions is not None:
            accuracies = case.under_conditions.accuracies(0)
            r_squared = regression(case.under_conditions.scores, accuracies)[2]
            spread = [float(getattr(accuracies, name)()) for name in ("min", "mean", "max", "std")]
            spread += [None if np.isnan(r_squared) else r_squared, None]
        else:
            continue
        one_vs_rest = None if case.one_vs_rest is None else case.one_vs_rest[CLEAN]
        rows.append([case.codebook, case.capacity, one_vs_rest, *spread, _cell(difference)])
    columns = [Column("codebook"), Column("capacity"), Column("one-vs-rest", ".1f")]
    columns += [Column(title, ".1f") for title in ("worst", "mean", "best")]
    columns += [Column("sd", ".2f"), Column("r², score", ".2f"), Column("r², learnability", ".2f")]
    return Table(
        [*columns, Column(RELATION_COLUMNS["difference"])],
        rows,
        caption="Clean test accuracy in percent by capacity: of all assignments, and of the trained networks. "
        "r²: how much of its variation the score and learnability predict. Bold differences are beyond chance.",
    )


def condition_table(found: Found) -> Table:
    """Accuracies under every condition and their relations."""
    rows: Rows = []
    for case in _cases(found):
        for condition, one in condition_relations(case).items():
            if condition != CLEAN:
                names = [case.codebook, case.capacity, condition_title(condition)]
                rows.append([*names, *_levels(case, condition), *(_cell(one[name]) for name in RELATION_COLUMNS)])
    columns = [Column("codebook"), Column("capacity"), Column("condition")]
    columns += [Column(title, ".1f") for title in ("preserving", "random", "breaking")]
    columns += [Column(f"r², {title}", ".2f") for title in ("score", "learnability", "clean")]
    return Table(
        [*columns, *(Column(title) for title in RELATION_COLUMNS.values())],
        rows,
        caption="Accuracy in percent under every condition, of all assignments or of the networks. The slope is in "
        "points per point of clean accuracy. The last column is from a regression on both: above 0, of two assignments "
        "with the same clean accuracy the one that breaks similarity is more robust. Intervals are of 95 %; bold ones "
        "are without 0.",
    )


def _levels(case: Case, condition: str) -> list[float | None]:
    """Mean accuracies by policy, and r² with the score, learnability and clean accuracy."""
    if case.compared is not None:
        one = case.compared["conditions"][condition]
        r_squared = [one["r_squared"][name] for name in ("score", "learnability", "clean")]
        return [one["preserving"], one["mean"], one["breaking"], *r_squared]
    answers = case.under_conditions
    assert answers is not None
    place = list(answers.names).index(condition)
    accuracies, clean = answers.accuracies(place), answers.accuracies(0)
    r_squared = [regression(answers.scores, accuracies)[2], np.nan, regression(clean, accuracies)[2]]
    known = [None if np.isnan(value) else float(value) for value in r_squared]
    return [*answers.policies(place).values(), *known]


def attack_table(found: Found) -> Table:
    """Accuracies under attack and their relations."""
    rows: Rows = []
    for case in _cases(found):
        answers = case.under_attack
        if answers is None:
            continue
        for place, name in enumerate(answers.names[1:], start=1):
            policies, one = answers.policies(place), answers.relations(place)
            is_over = not answers.is_right[:, place].any()
            sizes: list[Any] = [len(answers.scores), answers.is_right.shape[2], float(name), *policies.values()]
            related = [None if is_over else _cell(one[column]) for column in RELATION_COLUMNS]
            rows.append([case.codebook, case.capacity, *sizes, *related])
    columns = [Column("codebook"), Column("capacity"), Column("assignments"), Column("samples"), Column("radius", "g")]
    columns += [Column(title, ".1f") for title in ("preserving", "random", "breaking")]
    return Table(
        [*columns, *(Column(title) for title in RELATION_COLUMNS.values())],
        rows,
        caption="Accuracy in percent under white-box attacks that may change every pixel by the radius, by tenths of "
        "the score. Empty: nothing is left to compare.",
    )


def error_table(found: Found) -> Table:
    """Errors within and beyond the most confusable pairs, by tenths of the score."""
    rows: Rows = []
    for case in _cases(found):
        for condition, one in (case.compared or {"conditions": {}})["conditions"].items():
            row: list[Any] = [case.codebook, case.capacity, condition_title(condition)]
            for where in ("within", "beyond"):
                errors = one["errors"][where]
                row += [errors["preserving"], errors["breaking"], _cell(errors["difference"])]
            rows.append(row)
    pairs: list[tuple[int, int]] = next((case.compared["pairs"] for case in _cases(found) if case.compared), [])
    columns = [Column("codebook"), Column("capacity"), Column("condition")]
    for where in ("within", "beyond"):
        columns += [
            Column(f"{where}, preserving", ".1f"),
            Column(f"{where}, breaking", ".1f"),
            Column(f"{where}, gain"),
        ]
    return Table(
        columns,
        rows,
        caption="Errors in percent of all samples, within the pairs of classes that are confused most "
        f"({', '.join(f'{first}-{second}' for first, second in pairs)}) and beyond them, of the tenths of the "
        "lowest and the highest scores among the checked assignments. Below 0, preserving makes fewer errors.",
    )


def pairs_table(found: Found) -> Table:
    """Assignments of equal training loss and different score."""
    rows: Rows = []
    for case in _cases(found):
        one = case.pairs
        if one and one["n_pairs"]:
            apart = one["score_difference"]
            better = [_cell(one["points"]), one["share_better"]]
            rows.append([case.codebook, case.capacity, one["n_pairs"], apart, *better, one["per_loss_sd"]])
    columns = [Column("codebook"), Column("capacity"), Column("pairs", ",d"), Column("scores apart, sd", ".2f")]
    columns += [Column("lower score − higher score"), Column("lower score better, %", ".0f")]
    return Table(
        [*columns, Column("per sd of training loss", ".2f")],
        rows,
        caption="Equal training loss, better generalisation? Pairs of assignments whose training losses (average hinge "
        "loss of the bits) are equal within a hundredth of a standard deviation, with scores as different as possible: "
        "how much more accurate the one with the lower score is on clean test samples, in points. For comparison, what "
        "a standard deviation of training loss is worth.",
    )


def check_sentences(found: Found) -> list[str]:
    """What was checked: counts against the decoder, attacks to 0 %, attacks with more steps."""
    cases = _cases(found)
    texts = []
    swept = [case for case in cases if case.swept is not None]
    if swept:
        n_sweeps = sum(len(case.swept or {}) for case in swept)
        texts.append(
            f"Checked: in each of {n_sweeps} sweeps the counts of assignments of all strata of the score were compared "
            "with the decoder's, and were equal."
        )
    attacked = [case.under_attack for case in cases if case.under_attack is not None]
    if attacked:
        n_over = sum(not answers.is_right[:, -1].any() for answers in attacked)
        texts.append(
            f"Attacks of the largest radius leave 0 % to every assignment in {n_over} of {len(attacked)} cases."
        )
    stronger = [case.stronger for case in cases if case.stronger is not None]
    if stronger:
        left = [np.subtract(one["usual"], one["more"])[1:] for one in stronger]
        texts.append(
            f"Four times the steps and twice the restarts, on {stronger[0]['n_assignments']} assignments a case at the "
            f"two smallest radii, lower accuracy by {np.mean(left):.2f} points in the mean, {np.max(left):.2f} at most."
        )
    return texts
