"""Report pages: a single HTML file each, figures included, readable on a phone, with sortable tables."""

from codekin.pages.content import Beside, Block, Cell, Column, Command, Page, Paragraph, Picture, Section, Table
from codekin.pages.html import page_html, write_page

__all__ = [
    "Beside",
    "Block",
    "Cell",
    "Column",
    "Command",
    "Page",
    "Paragraph",
    "Picture",
    "Section",
    "Table",
    "page_html",
    "write_page",
]
