"""Report pages: one HTML file each, with its figures inside it, readable on a phone, with tables that sort."""

from codekin.pages.content import Block, Cell, Column, Command, Figures, Page, Paragraph, Picture, Section, Table
from codekin.pages.html import page_html, write_page

__all__ = [
    "Block",
    "Cell",
    "Column",
    "Command",
    "Figures",
    "Page",
    "Paragraph",
    "Picture",
    "Section",
    "Table",
    "page_html",
    "write_page",
]
