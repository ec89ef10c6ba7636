"""The verdict of a study of robustness, in three sentences that its numbers write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from codekin_studies.robustness.pictures import Z, condition_relations
from codekin_studies.robustness.results import Case
from codekin_studies.robustness.sweeping import CLEAN

LIMITS = (
    "Limits: small pictures, one training set and seed, few codebooks, least squares and small networks that were not "
    "trained against attacks; changes of single pixels up to a radius are the only attacks; random features and "
    "corruptions are one draw each."
)

SMALLEST = 1.0
"""Cases in which all assignments together are below this many percent do not count."""


def verdict(data: str, found: Mapping[str, Sequence[Case]]) -> str:
    """Whether breaking buys robustness, what clean accuracy says about it, and what capacity changes."""
    cases = [case for of_code in found.values() for case in of_code]
    related = [one for case in cases for one in _robust_relations(case)]
    better, worse = (_share_beyond([one["difference"] for one in related], sign) for sign in (1, -1))
    slopes = [one["slope"] for one in related if one["slope"] is not None]
    more, less = (_share_beyond([one["at_equal_accuracy"] for one in related], sign) for sign in (1, -1))
    sentences = [
        f"On {data}, preserving assignments are more accurate than breaking ones in {better} of {len(related)} "
        f"corrupted or attacked cases and less accurate in {worse}, beyond chance.",
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


def _clean_gains(cases: Sequence[Case]) -> str:
    """What preserving gains on clean samples, by capacity; empty if that is not known yet."""
    clean = {case.capacity: condition_relations(case).get(CLEAN, {}).get("difference") for case in cases}
    gains = ((f"{value[0]:.1f}".replace("-", "−"), name) for name, value in clean.items() if value is not None)
    return ", ".join(f"{gain} ({name})" for gain, name in gains)


def _robust_relations(case: Case) -> list[Mapping[str, list[float] | None]]:
    """The relations under all conditions but the clean one, and under attacks, that leave something."""
    found: list[Mapping[str, list[float] | None]] = [
        one
        for name, one in condition_relations(case).items()
        if name != CLEAN and mean_accuracy(case, name) >= SMALLEST
    ]
    answers = case.under_attack
    if answers is not None:
        places = range(1, len(answers.names))
        found += [answers.relations(place) for place in places if answers.accuracies(place).mean() >= SMALLEST]
    return found


def mean_accuracy(case: Case, condition: str) -> float:
    """The mean accuracy of all assignments under a condition, or of all networks."""
    if case.compared is not None:
        return float(case.compared["conditions"][condition]["mean"])
    answers = case.under_conditions
    assert answers is not None
    return float(answers.accuracies(list(answers.names).index(condition)).mean())


def _share_beyond(values: Sequence[Sequence[float] | None], sign: int) -> int:
    """How many values are above zero, or below it, beyond chance."""
    return sum(value is not None and sign * value[0] > Z * value[1] for value in values)
