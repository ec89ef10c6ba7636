"""Print the tables of docs/measurements/robustness.md from a finished study: one data set, in Markdown.

python tools/robustness_tables.py out/studies/robustness mnist
"""

from __future__ import annotations

import argparse
from pathlib import Path

from codekin_studies import load_study
from codekin_studies.engine.workspace import Workspace
from codekin_studies.robustness.page import SMALLEST, check_sentences, verdict
from codekin_studies.robustness.results import Case, Z, condition_title, found_cases
from codekin_studies.robustness.sweeping import CLEAN


def capacity(case: Case) -> str:
    return case.capacity.removesuffix(" features").replace("plain", "pixels")


def interval(found: list[float] | None, digits: int = 1) -> str:
    """A value with its 95 % interval, bold if that does not contain 0."""
    if found is None:
        return ""
    value, half = found[0], Z * found[1]
    text = f"{value:+.{digits}f} ± {half:.{digits}f}".replace("-", "−")
    return f"**{text}**" if abs(value) > half else text


def table(headings: list[str], rows: list[list[str]]) -> None:
    if not rows:
        return
    print(f"\n| {' | '.join(headings)} |")
    print("|---|" + "---:|" * (len(headings) - 1))
    for row in rows:
        print(f"| {' | '.join(row)} |")


def clean_rows(code: str, cases: list[Case]) -> list[list[str]]:
    rows = []
    for case in cases:
        clean = case.conditions.get(CLEAN)
        if clean is None:
            continue
        levels = [clean[name] for name in ("min", "mean", "max")]
        known = [clean["r_squared"][name] for name in ("score", "learnability")]
        r_squared = ["" if one is None else f"{one:.2f}" for one in known]
        difference = interval(clean["difference"], 2)
        rows.append([code if not rows else "", capacity(case), *(f"{x:.1f}" for x in levels), difference, *r_squared])
    return rows


def condition_rows(cases: list[Case]) -> list[list[str]]:
    known = [(case, case.conditions) for case in cases]
    names = [name for name in known[0][1] if name != CLEAN]
    return [[condition_title(name), *(interval(one[name]["difference"]) for _, one in known)] for name in names]


def attack_rows(code: str, cases: list[Case], n_radii: int) -> list[list[str]]:
    rows = []
    for case in cases:
        answers = case.under_attack
        if answers is None:
            continue
        cells = []
        for one in list(case.attacks.values())[:n_radii]:
            if not one["max"]:
                cells.append("0")
                continue
            cells.append(f"{one['preserving']:.1f} / {one['breaking']:.1f}, {interval(one['difference'])}")
        size = f"{len(answers.scores)} × {answers.is_right.shape[2]}"
        rows.append([code if not rows else "", capacity(case), size, *cells])
    return rows


def pair_rows(code: str, cases: list[Case]) -> list[list[str]]:
    rows = []
    for case in cases:
        one = case.pairs
        if one and one["n_pairs"]:
            numbers = [f"{one['n_pairs']:,}", f"{one['score_difference']:.1f}", interval(one["points"], 2)]
            numbers += [f"{one['share_better']:.0f}", f"{one['per_loss_sd']:.2f}".replace("-", "−")]
            rows.append([code if not rows else "", capacity(case), *numbers])
    return rows


def error_rows(code: str, cases: list[Case], conditions: list[str]) -> list[list[str]]:
    rows = []
    for case in cases:
        if case.compared is None:
            continue
        found = case.compared["conditions"]
        cells = [
            interval(found[name]["errors"][where]["difference"])
            for name in conditions
            for where in ("within", "beyond")
        ]
        rows.append([code if not rows else "", capacity(case), *cells])
    return rows


def counts(found: dict[str, list[Case]]) -> None:
    """How many cases are beyond chance, by their kinds."""
    print("\n| | cases | preserving ahead | breaking ahead |\n|---|---:|---:|---:|")
    swept = [case for cases in found.values() for case in cases if case.compared is not None]
    networks = [case for cases in found.values() for case in cases if case.under_conditions is not None]
    for title, some in (("all assignments, corrupted or transferred", swept), ("networks, likewise", networks)):
        differences = [
            one["difference"]
            for case in some
            for name, one in case.conditions.items()
            if name != CLEAN and one["mean"] >= SMALLEST
        ]
        print(_counted(title, differences))
    for title, some in (("least squares under attack", swept), ("networks under attack", networks)):
        found_there = [one for case in some for one in case.attacks.values()]
        differences = [one["difference"] for one in found_there if one["mean"] >= SMALLEST]
        print(_counted(title, differences))


def _counted(title: str, differences: list[list[float] | None]) -> str:
    known = [one for one in differences if one is not None]
    ahead, behind = (sum(sign * value > Z * error for value, error in known) for sign in (1, -1))
    return f"| {title} | {len(known)} | {ahead} | {behind} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("data")
    parser.add_argument("--n-radii", type=int, default=3)
    arguments = parser.parse_args()
    study = load_study("robustness")
    data = next(one for one in study.option("data") if one["name"] == arguments.data)
    found = found_cases(study, data, Workspace(arguments.folder))
    print(verdict(arguments.data, found))
    counts(found)
    rows = [row for code, cases in found.items() for row in clean_rows(f"`{code}`", cases)]
    headings = ["codebook", "features", "worst", "mean", "best", "preserving − breaking", "r² score", "r² learnability"]
    table(headings, rows)
    for code, cases in found.items():
        under_conditions = [case for case in cases if case.compared or case.under_conditions]
        table([f"`{code}`", *(capacity(case) for case in under_conditions)], condition_rows(under_conditions))
    rows = [row for code, cases in found.items() for row in attack_rows(f"`{code}`", cases, arguments.n_radii)]
    radii = [f"{radius:g}" for radius in data["radii"][: arguments.n_radii]]
    table(["codebook", "features", "assignments × samples", f"radius {radii[0]}", *radii[1:]], rows)
    conditions = [CLEAN, "noise", f"transfer {data['transfer'][-1]:g}"]
    rows = [row for code, cases in found.items() for row in error_rows(f"`{code}`", cases, conditions)]
    headings = [f"{title}, {where}" for title in conditions for where in ("within", "beyond")]
    table(["codebook", "features", *headings], rows)
    rows = [row for code, cases in found.items() for row in pair_rows(f"`{code}`", cases)]
    headings = ["pairs", "scores apart, sd", "lower − higher score, points", "lower score better, %"]
    table(["codebook", "features", *headings, "per sd of training loss, points"], rows)
    print()
    for sentence in check_sentences(found):
        print(sentence)


if __name__ == "__main__":
    main()
