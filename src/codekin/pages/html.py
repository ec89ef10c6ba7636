"""Report pages: their content, and how it becomes a single HTML file that needs no other file and no network."""

from __future__ import annotations

import base64
import hashlib
import html
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from codekin._system.files import folder_for, whole_file

MEDIA_TYPES = {".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}
POLICY = "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'"
"""A browser runs and loads nothing but what the template of a page holds."""


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


def write_page(page: Page, path: str | Path) -> Path:
    """Write a page as one file, which appears whole or not at all. Its folder is created if necessary."""
    target = Path(path)
    text = page_html(page)
    with folder_for(target.parent), whole_file(target) as stream:
        stream.write(text.encode("utf-8"))
    return target


def page_html(page: Page) -> str:
    """The page as HTML, including its style, script and figures.

    >>> page = Page("Yeast", "Where do proteins go?", [Section("Data", [Paragraph("From `yeast.data`.")])])
    >>> "<p>From <code>yeast.data</code>.</p>" in page_html(page)
    True
    """
    values = {
        "title": html.escape(page.title),
        "lead": _inline(page.lead),
        "opening": "" if page.opening is None else _picture(page.opening) + "\n",
        "style": asset("codekin.pages", "page.css"),
        "script": asset("codekin.pages", "page.js"),
        "contents": _contents(page),
        "sections": "\n".join(_section(section, number) for number, section in enumerate(page.sections)),
        "footer": _inline(page.footer),
    }
    return filled(asset("codekin.pages", "page.html"), values)


def _contents(page: Page) -> str:
    # Two sections need no table of contents.
    if len(page.sections) < 3:
        return ""
    links = "".join(
        f'<li><a href="#section-{number}">{html.escape(section.title)}</a></li>'
        for number, section in enumerate(page.sections)
    )
    return f'<nav aria-label="Contents"><ol>{links}</ol></nav>\n'


def _section(section: Section, number: int) -> str:
    blocks = "\n".join(_block(block) for block in section.blocks)
    return f'<section id="section-{number}">\n<h2>{html.escape(section.title)}</h2>\n{blocks}\n</section>'


def _block(block: Block) -> str:
    match block:
        case Paragraph(text):
            return f"<p>{_inline(text)}</p>"
        case Command(text):
            return f"<pre><code>{html.escape(text)}</code></pre>"
        case Picture():
            return _picture(block)
        case Table():
            return _table(block)
        case Beside(blocks):
            return '<div class="beside">\n' + "\n".join(_block(part) for part in blocks) + "\n</div>"


def _picture(picture: Picture) -> str:
    path = Path(picture.path)
    media_type = MEDIA_TYPES.get(path.suffix.lower())
    if media_type is None:
        raise ValueError(f"A picture of a page must be one of {', '.join(MEDIA_TYPES)}. Got {path.name!r} instead.")
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    caption = f"\n<figcaption>{_inline(picture.caption)}</figcaption>" if picture.caption else ""
    image = f'<img src="data:{media_type};base64,{data}" alt="{html.escape(picture.description, quote=True)}">'
    return f"<figure>\n{image}{caption}\n</figure>"


def _table(table: Table) -> str:
    heading = "".join(
        f'<th scope="col"><button type="button">{html.escape(column.title)}</button></th>' for column in table.columns
    )
    rows = "\n".join(
        "<tr>" + "".join(_cell(cell, column) for cell, column in zip(row, table.columns, strict=True)) + "</tr>"
        for row in table.rows
    )
    # Not a <caption>: it would be as wide as the table and scroll with it on a phone.
    caption = f"<figcaption>{_inline(table.caption)}</figcaption>\n" if table.caption else ""
    return (
        f'<figure class="table">\n{caption}<div class="scroll">\n<table class="sortable">\n'
        f"<thead><tr>{heading}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n</div>\n</figure>"
    )


def _cell(content: Cell | str | float | None, column: Column) -> str:
    cell = _as_cell(content, column)
    is_number = isinstance(cell.value, int | float)
    attributes = ' class="number"' if is_number else ""
    if cell.value is not None:
        # NaN cannot be ordered; like an empty cell it is sorted last.
        is_undefined = isinstance(cell.value, float) and math.isnan(cell.value)
        attributes += f' data-sort="{"" if is_undefined else html.escape(str(cell.value), quote=True)}"'
    # A narrow column may break the line before ±, not after it.
    text = _inline(cell.text).replace("± ", "±&nbsp;")
    return f"<td{attributes}>{f'<strong>{text}</strong>' if cell.is_strong else text}</td>"


def _as_cell(content: Cell | str | float | None, column: Column) -> Cell:
    if isinstance(content, Cell):
        return content
    if content is None:
        return Cell("", "")
    if isinstance(content, str):
        return Cell(content)
    return Cell(format(content, column.format), content)


def _inline(text: str) -> str:
    with_code = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))
    return re.sub(r"\[([^\]]+)\]\(([\w./-]+)\)", r'<a href="\2">\1</a>', with_code)


def filled(template: str, values: Mapping[str, str]) -> str:
    """The template with its places, ``@@name@@``, filled in; ``@@policy@@`` by a Content-Security-Policy.

    Only the scripts and styles of the template itself are used, by their hashes: one that is smuggled into a value does
    not run, and neither does a handler in an attribute. Nothing is loaded from anywhere.
    """

    def fill(text: str) -> str:
        return re.sub(r"@@(\w+)@@", lambda place: values[place[1]], text)

    hashes: dict[str, list[str]] = {"script": [], "style": []}
    for kind, content in re.findall(r"<(script|style)>(.*?)</\1>", template, re.DOTALL):
        digest = base64.b64encode(hashlib.sha256(fill(content).encode("utf-8")).digest()).decode()
        hashes[kind].append(f"'sha256-{digest}'")
    return fill(template.replace("@@policy@@", POLICY.format(*map(" ".join, hashes.values()))))


def asset(package: str, name: str) -> str:
    """The text of a file in a package."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")
