"""What a report page consists of: values that know nothing of HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Paragraph:
    """Running text. What stands between backquotes is shown as code; `[text](file)` links to a file nearby."""

    text: str


@dataclass(frozen=True)
class Command:
    """A command that a reader can copy."""

    text: str


@dataclass(frozen=True)
class Picture:
    """A figure that was saved before.

    ``path``: an SVG, PNG or JPEG file; its content goes into the page. ``description``: what it shows, for those who
    cannot see it. ``caption``: what to look for, below the figure. Backquotes mark code.
    """

    path: Path
    description: str
    caption: str = ""


@dataclass(frozen=True)
class Cell:
    """One cell of a table that shows something else than it sorts by.

    ``text``: what is shown. ``value``: what it sorts by; the text by default. ``is_strong``: whether to print it bold,
    such as the best of its row.
    """

    text: str
    value: float | str | None = None
    is_strong: bool = False


@dataclass(frozen=True)
class Column:
    """One column of a table.

    ``title``: its heading, with the unit where there is one. ``format``: how numbers are shown, as in
    ``format(value, ".1f")``.
    """

    title: str
    format: str = ""


@dataclass(frozen=True)
class Table:
    """Rows that a reader can sort by any column.

    ``columns``: from left to right. The first one names the row. ``rows``: one entry per column; None is an empty cell,
    and sorts last. ``caption``: what the table says, above it. Backquotes mark code.
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
    """Blocks side by side where there is room, below each other on a phone."""

    blocks: Sequence[Paragraph | Command | Picture | Table]


Block = Paragraph | Command | Picture | Table | Beside


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Page:
    """A report.

    ``title``: the heading of the page and of its browser tab. ``lead``: the one paragraph that a hurried reader reads.
    Backquotes mark code. ``footer``: versions, seeds, times: what is needed to repeat it.
    """

    title: str
    lead: str
    sections: Sequence[Section]
    footer: str = ""
