"""Render the content of a page as a single HTML file that needs no other file and no network."""

from __future__ import annotations

import base64
import html
import math
import re
from pathlib import Path

from codekin._system.disk import folder_for
from codekin._system.files import whole_file
from codekin.pages.content import Beside, Block, Cell, Column, Command, Page, Paragraph, Picture, Section, Table
from codekin.pages.filling import asset, filled

MEDIA_TYPES = {".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}


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
