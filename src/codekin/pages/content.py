"""The content of a report page, independent of HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Paragraph:
    """Running text. Backquotes mark code; `[text](file)` links to a file, relative to the page."""

    text: str


@dataclass(frozen=True)
class Command:
    """A command that a reader can copy."""

    text: str


@dataclass(frozen=True)
class Picture:
    """A figure from a file.

    ``path``: an SVG, PNG or JPEG file, which is embedded in the page. ``description``: what it shows, for readers who
    cannot see it. ``caption``: what to look for, shown below the figure. Backquotes mark code.
    """

    path: Path
    description: str
    caption: str = ""


@dataclass(frozen=True)
class Cell:
    """A table cell whose text differs from the value it is sorted by.

    ``text``: what is shown. ``value``: the sort key; the text by default. ``is_strong``: whether to print it bold, for
    example as the best of its row.
    """

    text: str
    value: float | str | None = None
    is_strong: bool = False


@dataclass(frozen=True)
class Column:
    """One column of a table.

    ``title``: its heading, with the unit if there is one. ``format``: how numbers are shown, as in
    ``format(value, ".1f")``.
    """

    title: str
    format: str = ""


@dataclass(frozen=True)
class Table:
    """Rows that a reader can sort by any column.

    ``columns``: from left to right; the first one names the row. ``rows``: one entry per column; None is an empty cell
    and is sorted last. ``caption``: what the table says, shown above it. Backquotes mark code.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell | str | float | None]]
    caption: str = ""

    def __post_init__(self) -> None:
        """Check that every row has a cell for every column."""
        for number, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ValueError(f"Row {number} of the table has {len(row)} cells for {len(self.columns)} columns.")


@dataclass(frozen=True)
class Beside:
    """Blocks side by side if there is room, below each other on a phone."""

    blocks: Sequence[Paragraph | Command | Picture | Table]


Block = Paragraph | Command | Picture | Table | Beside


@dataclass(frozen=True)
class Section:
    """A heading and the blocks below it."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Page:
    """A report.

    ``title``: the heading of the page and of its browser tab. ``lead``: the summary in one paragraph; backquotes mark
    code. ``footer``: what is needed to reproduce it: versions, seeds, times. ``opening``: a picture above everything
    but the lead.
    """

    title: str
    lead: str
    sections: Sequence[Section]
    footer: str = ""
    opening: Picture | None = None
