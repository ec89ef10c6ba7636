"""Tables for the terminal and for notebooks."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MOST_SHOWN = 60
"""How many characters of an entry the terminal shows."""
CELL = '<td style="text-align: left; vertical-align: top">{}</td>'


@dataclass(frozen=True)
class Listing:
    """A table with a heading: names of columns, and rows of entries."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]

    def text(self) -> str:
        """Lines for the terminal, the heading first; long entries are cut."""
        cells = [[shortened(entry, MOST_SHOWN) for entry in row] for row in (self.columns, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)) for row in cells]
        return "\n".join([self.title, *(f"  {line}".rstrip() for line in lines)])

    def html(self) -> str:
        """The same as HTML, in the colours of whatever shows it."""
        head = "".join(f'<th style="text-align: left">{html.escape(name)}</th>' for name in self.columns)
        body = "".join(f"<tr>{''.join(CELL.format(html.escape(str(each))) for each in row)}</tr>" for row in self.rows)
        title = html.escape(self.title)
        return f"<h4>{title}</h4><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def html_of_lines(text: str) -> str:
    """Lines for the terminal as an HTML table: what stands behind two or more spaces is the second column."""
    rows = [re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in text.splitlines()]
    body = "".join(
        f"<tr>{''.join(CELL.format(html.escape(cell)) for cell in row)}</tr>"
        if len(row) == 2
        else f'<tr><td colspan="2" style="text-align: left">{html.escape(row[0])}</td></tr>'
        for row in rows
    )
    return f"<table><tbody>{body}</tbody></table>"


def shortened(entry: Any, most: int) -> str:
    """An entry in one line of at most so many characters."""
    text = " ".join(str(entry).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"
