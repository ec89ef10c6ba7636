"""The page about robustness: the verdict, capacity, corruptions, attacks, errors, matched pairs and checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from codekin.pages.html import Block, Cell, Page, Paragraph, Picture, Section, Table
from codekin_studies.page_parts import Report, Rows, in_pairs, table
from codekin_studies.robustness import results
from codekin_studies.robustness.sweeping import CLEAN

Found = Mapping[str, Sequence[results.Case]]

RELATION_COLUMNS = {
    "difference": "preserving − breaking",
    "slope": "slope on clean",
    "at_equal_accuracy": "per sd of score, at equal clean accuracy",
}


RELATED = " | ".join(RELATION_COLUMNS.values())
MEANS = "preserving :.1f | random :.1f | breaking :.1f"
PREDICTED = "r², score :.2f | r², learnability :.2f"


def _cell(found: Sequence[float] | None) -> Cell | None:
    """A value with its 95 % interval, bold if that does not contain 0."""
    if found is None:
        return None
    value, half = found[0], results.Z * found[1]
    return Cell(f"{value:+.2f} ± {half:.2f}".replace("-", "−"), value, is_strong=abs(value) > half)


def _cases(found: Found) -> list[results.Case]:
    return [case for cases in found.values() for case in cases]


def capacity_table(found: Found) -> Table:
    """Clean accuracies by capacity, and what predicts them."""
    rows: Rows = []
    for case in _cases(found):
        clean = case.conditions.get(CLEAN)
        if clean is not None:
            spread = [clean[name] for name in ("min", "mean", "max", "std")]
            spread += [clean["r_squared"][name] for name in ("score", "learnability")]
            one_vs_rest = None if case.one_vs_rest is None else case.one_vs_rest[CLEAN]
            rows.append([case.codebook, case.capacity, one_vs_rest, *spread, _cell(clean["difference"])])
    return table(
        "codebook | capacity | one-vs-rest :.1f | worst :.1f | mean :.1f | best :.1f | sd :.2f | "
        f"{PREDICTED} | {RELATION_COLUMNS['difference']}",
        rows,
        "Clean test accuracy in percent by capacity: of all assignments, and of the trained networks. "
        "r²: how much of its variation the score and learnability predict. Bold differences are beyond chance.",
    )


def condition_table(found: Found) -> Table:
    """Accuracies under every condition and their relations."""
    rows: Rows = []
    for case in _cases(found):
        for condition, one in case.conditions.items():
            if condition != CLEAN:
                names = [case.codebook, case.capacity, results.condition_title(condition)]
                known = [one["r_squared"][name] for name in ("score", "learnability", "clean")]
                rows.append([*names, *_means(one), *known, *(_cell(one[name]) for name in RELATION_COLUMNS)])
    return table(
        f"codebook | capacity | condition | {MEANS} | {PREDICTED} | r², clean :.2f | {RELATED}",
        rows,
        "Accuracy in percent under every condition, of all assignments or of the networks. The slope is in "
        "points per point of clean accuracy. The last column is from a regression on both: above 0, of two assignments "
        "with the same clean accuracy the one that breaks similarity is more robust. Intervals are of 95 %; bold ones "
        "are without 0.",
    )


def _means(one: Mapping[str, Any]) -> list[float]:
    """Mean accuracies by policy."""
    return [one[name] for name in results.POLICIES.values()]


def attack_table(found: Found) -> Table:
    """Accuracies under attack and their relations."""
    rows: Rows = []
    for case in _cases(found):
        answers = case.under_attack
        if answers is None:
            continue
        for name, one in case.attacks.items():
            sizes: list[Any] = [len(answers.scores), answers.is_right.shape[2], float(name)]
            related = [_cell(one[column]) if one["max"] else None for column in RELATION_COLUMNS]
            rows.append([case.codebook, case.capacity, *sizes, *_means(one), *related])
    return table(
        f"codebook | capacity | assignments | samples | radius :g | {MEANS} | {RELATED}",
        rows,
        "Accuracy in percent under white-box attacks that may change every pixel by the radius, by tenths of "
        "the score. Empty: nothing is left to compare.",
    )


def error_table(found: Found) -> Table:
    """Errors within and beyond the most confusable pairs, by tenths of the score."""
    rows: Rows = []
    for case in _cases(found):
        for condition, one in (case.compared or {"conditions": {}})["conditions"].items():
            row: list[Any] = [case.codebook, case.capacity, results.condition_title(condition)]
            for where in ("within", "beyond"):
                errors = one["errors"][where]
                row += [errors["preserving"], errors["breaking"], _cell(errors["difference"])]
            rows.append(row)
    pairs: list[tuple[int, int]] = next((case.compared["pairs"] for case in _cases(found) if case.compared), [])
    return table(
        "codebook | capacity | condition | within, preserving :.1f | within, breaking :.1f | within, gain | "
        "beyond, preserving :.1f | beyond, breaking :.1f | beyond, gain",
        rows,
        "Errors in percent of all samples, within the pairs of classes that are confused most "
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
    return table(
        "codebook | capacity | pairs :,d | scores apart, sd :.2f | lower score − higher score | "
        "lower score better, % :.0f | per sd of training loss :.2f",
        rows,
        "Equal training loss, better generalisation? Pairs of assignments whose training losses (average hinge "
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


QUESTION = "Similar codewords for similar classes make bits easy to learn. Do dissimilar ones make a code more robust?"
METHOD = (
    "Bits are learned by least squares on the plain features, or on random Fourier features of a Gaussian kernel: the "
    "more there are, the more they can learn. Least squares is linear in its targets, so one solve for one-hot targets "
    "gives the margins of all splits of the classes, and a sweep counts exactly what every assignment gets right: on "
    "clean test samples, on corrupted ones, with flipped signs of margins (bits of the code), with flipped bits of "
    "weights stored as int8, and on samples that were attacked by way of a one-vs-rest model of the same capacity.",
    "White-box attacks descend on the gap by which the decoder itself decides, in signed gradient steps from several "
    "starts and with several step sizes. They need a run per assignment, so some were drawn, one from each stratum of "
    "the score; so were the assignments that small networks (one hidden layer, hinge loss, all bits together) were "
    "trained on. The score is the class-codeword score by the confusion of plain one-vs-rest least squares on the "
    "training samples, at every capacity: a low score preserves similarity, a high one breaks it. Preserving and "
    "breaking are the tenths of the assignments with the lowest and the highest scores, random is the mean of all.",
    "Intervals are 95 % intervals over test samples, which were resampled; all assignments are known, so that nothing "
    "about them is uncertain where they were swept. Learnability is the mean squared training error of the bits.",
)


def robustness_page(report: Report) -> Page:
    """The page of a study of robustness, with everything that is finished."""
    study = report.study
    every = {data["name"]: results.found_cases(study, data, report.workspace) for data in study.option("data")}
    cases = {name: found for name, found in every.items() if found}
    lead = f"{QUESTION} {verdict(*next(iter(cases.items())))}" if cases else ""
    return report.page(lead, METHOD, [_data_section(report, name, found) for name, found in cases.items()])


def _data_section(report: Report, name: str, found: Found) -> Section:
    pictures: list[Picture] = []

    def add(stem: str, figure: Any, description: str, caption: str) -> None:
        if figure is not None:
            pictures.append(report.picture(figure, f"{name}-{stem}", description, caption, as_pixels=True))

    for code, cases in found.items():
        add(
            f"{code}-capacity",
            results.capacity_figure(name, code, cases, report.workspace),
            f"Violins of the clean accuracy of all assignments of {code} on {name}, by capacity.",
            "All assignments; dashed lines are medians, dotted ones quartiles, the ends the worst and the best.",
        )
        add(
            f"{code}-differences",
            results.difference_figure(name, code, cases),
            f"What preserving assignments of {code} gain over breaking ones on {name}, by condition and capacity.",
            "The mean of the tenth with the lowest scores minus that of the tenth with the highest. Right of the line "
            "preserving is better.",
        )
        add(
            f"{code}-clouds",
            results.cloud_figure(name, code, cases, report.workspace),
            f"Accuracy under each condition against clean accuracy, for all assignments of {code} on {name}.",
            "Inner and outer contours hold half and nine tenths of the assignments (drawn from one in eleven), lines "
            "are regressions.",
        )
        add(
            f"{code}-attacks",
            results.attack_figure(name, code, cases),
            f"Accuracy under white-box attacks on assignments of {code} on {name}, by radius, capacity and policy.",
            "Pixels are from 0 to 1.",
        )
    tables = [condition_table(found), attack_table(found), error_table(found), pairs_table(found)]
    above: list[Block] = [
        Paragraph(verdict(name, found)),
        Paragraph(LIMITS),
        capacity_table(found),
        *in_pairs(pictures),
    ]
    below = [Paragraph(text) for text in check_sentences(found)]
    return Section(name, [*above, *(one for one in tables if one.rows), *below, report.again(name)])


LIMITS = (
    "Limits: small pictures, one training set and seed, few codebooks, least squares and small networks that were not "
    "trained against attacks; changes of single pixels up to a radius are the only attacks; random features and "
    "corruptions are one draw each."
)

SMALLEST = 1.0
"""Cases in which all assignments together are below this many percent do not count."""


def verdict(data: str, found: Found) -> str:
    """Whether breaking buys robustness, what clean accuracy says about it, and what capacity changes."""
    corrupted = [one for case in _cases(found) for name, one in case.conditions.items() if name != CLEAN]
    attacked = [one for case in _cases(found) for one in case.attacks.values()]
    related = [one for one in (*corrupted, *attacked) if one["mean"] >= SMALLEST]
    better, worse = (_share_beyond([one["difference"] for one in related], sign) for sign in (1, -1))
    slopes = [one["slope"] for one in related if one["slope"] is not None]
    more, less = (_share_beyond([one["at_equal_accuracy"] for one in related], sign) for sign in (1, -1))
    sentences = [
        f"On {data}, preserving assignments are more accurate than breaking ones in {better} of {len(related)} "
        f"corrupted or attacked cases and less accurate in {worse}, beyond chance."
    ]
    if slopes:
        median = float(np.median([slope[0] for slope in slopes]))
        sentences.append(
            "Assignments that are better on clean samples are better under these conditions, too, in "
            f"{_share_beyond(slopes, 1)} of {len(slopes)} cases (median slope {median:.2f}); at equal clean accuracy "
            f"the ones that break similarity are more robust in {more} and less in {less}."
        )
    gains = [f"{_clean_gains(of_code)} with {name}" for name, of_code in found.items() if _clean_gains(of_code)]
    if gains:
        sentences.append(f"On clean samples, preserving gains over breaking, in points: {'; '.join(gains)}.")
    return " ".join(sentences)


def _clean_gains(cases: Sequence[results.Case]) -> str:
    """What preserving gains on clean samples, by capacity; empty if that is not known yet."""
    clean = {case.capacity: case.conditions.get(CLEAN, {}).get("difference") for case in cases}
    gains = ((f"{value[0]:.1f}".replace("-", "−"), name) for name, value in clean.items() if value is not None)
    return ", ".join(f"{gain} ({name})" for gain, name in gains)


def _share_beyond(values: Sequence[Sequence[float] | None], sign: int) -> int:
    """How many values are above zero, or below it, beyond chance."""
    return sum(value is not None and sign * value[0] > results.Z * value[1] for value in values)
