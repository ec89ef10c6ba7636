"""The measured numbers, read from their tables, for pictures and for the page about the choice."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

GUIDES = Path(__file__).parents[1] / "docs" / "measurements"


@dataclass(frozen=True)
class Contender:
    """A row of a table of texts: accuracy in percent, megabytes, seconds of training, microseconds of a prediction."""

    accuracy: float
    megabytes: float
    seconds: float
    microseconds: float


def rows_of(guide: str) -> list[dict[str, str]]:
    """The rows of all tables of a guide, by their headings; a row also knows the heading "section" it stands under."""
    rows: list[dict[str, str]] = []
    section, headings = "", None
    for line in (GUIDES / f"{guide}.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            section = line.lstrip("# ")
        if not line.startswith("|"):
            headings = None
            continue
        cells = [cell.strip().strip("*") for cell in line.strip("|").split("|")]
        if headings is None:
            headings = cells
        elif not set(line) <= set("|-: "):
            row = {"section": section}
            for heading, cell in zip(headings, cells, strict=True):
                row.setdefault(heading, cell)  # of columns with the same heading, the first
            rows.append(row)
    return rows


def row_of(guide: str, **wanted: str) -> dict[str, str]:
    """The only row with these cells. ``name`` is the first, unnamed column. A ``section`` may be shortened."""
    texts = {"" if key == "name" else key: text for key, text in wanted.items()}
    section = texts.pop("section", "")
    found = [
        row
        for row in rows_of(guide)
        if row["section"].startswith(section) and all(row.get(key) == text for key, text in texts.items())
    ]
    if len(found) != 1:
        raise LookupError(f"docs/measurements/{guide}.md has {len(found)} rows with {wanted}, where one is expected.")
    return found[0]


def number(cell: str) -> float:
    """The first number of a cell, without its standard error."""
    return float(re.match(r"[-\d.,]+", cell)[0].replace(",", ""))


def contender(data_name: str, name: str) -> Contender:
    """What a contender does on a data set, by ``docs/measurements/frontier.md``.

    A row of today's default is preferred to one of the large tables, which may be older.
    """
    try:
        default = "the default" if name == "ours, default" else name
        row = row_of("frontier", name=f"{data_name}, {default}")
    except LookupError:
        row = row_of("frontier", section=f"{data_name},", name=name)
    return Contender(*(number(row[key]) for key in ("accuracy", "MB", "training, s", "batch, µs")))
