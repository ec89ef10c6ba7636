"""The tables of docs/measurements, made from the stored results beside them.

    python tools/measurements.py                     write every table of the pages anew from docs/measurements/results
    python tools/measurements.py take NAME < OUTPUT   store the table that a benchmark printed as results/NAME.csv

A page says where a table belongs: ``<!-- results/NAME.csv -->``, and after the table ``<!-- end -->``.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from pathlib import Path

PAGES = Path(__file__).parents[1] / "docs" / "measurements"
PLACE = re.compile(r"<!-- (results/[\w.-]+\.csv) -->\n.*?<!-- end -->", re.DOTALL)
NUMBER = re.compile(r"[-+−×~≤ ]*\d[\d.,]*\s*(%|[a-zµ]*s|[kMG]?B)?(\s*(±|\+-)\s*[\d.,]+)?|")


def rows_of(printed: str) -> list[list[str]]:
    """The cells of a table in Markdown, without its line of dashes; emphasis is left to the reader."""
    lines = [line.strip() for line in printed.splitlines() if line.strip().startswith("|")]
    rows = [[cell.strip().replace("**", "") for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in rows if not all(cell and set(cell) <= set("-:") for cell in row)]


def table_of(rows: list[list[str]]) -> str:
    """A table in Markdown; columns of numbers are aligned at the right."""
    heading, *body = rows
    is_numeric = [all(NUMBER.fullmatch(cell) for cell in column) for column in zip(*body, strict=True)]
    dashes = ["---:" if right else "---" for right in is_numeric]
    return "\n".join(f"| {' | '.join(row)} |".replace("|  |", "| |") for row in (heading, dashes, *body))


def with_results(page: str) -> str:
    """The text of a page with the tables that the stored results give."""

    def table(place: re.Match[str]) -> str:
        rows = list(csv.reader(io.StringIO((PAGES / place[1]).read_text(encoding="utf-8"))))
        return f"<!-- {place[1]} -->\n{table_of(rows)}\n<!-- end -->"

    return PLACE.sub(table, page)


def store(name: str, rows: list[list[str]]) -> None:
    """Write a table as a file of results."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    (PAGES / "results" / f"{name}.csv").write_text(text.getvalue(), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["take"]:
        store(sys.argv[2], rows_of(sys.stdin.read()))
    for path in PAGES.glob("*.md"):
        path.write_text(with_results(path.read_text(encoding="utf-8")), encoding="utf-8")
