"""The numbers that the paper prints, for comparison with ours."""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources

from codekin_studies.configuration import PAPER


@cache
def paper_numbers() -> dict[tuple[str, str, str, str], float]:
    """The paper's numbers, by study, data, codebook and quantity."""
    text = (resources.files("codekin_studies") / PAPER / "paper.csv").read_text(encoding="utf-8")
    return {
        (row["study"], row["data"], row["codebook"], row["quantity"]): float(row["value"])
        for row in csv.DictReader(text.splitlines())
    }


def paper_number(study: str, quantity: str, *, data: str = "", codebook: str = "") -> float | None:
    """One number of the paper; None if it prints none.

    >>> paper_number("exhaustive", "best", data="mnist", codebook="dense-8")
    88.5
    """
    return paper_numbers().get((study, data, codebook, quantity))
