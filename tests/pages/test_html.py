import re
from html.parser import HTMLParser

import pytest

from codekin.pages.html import (
    Beside,
    Cell,
    Column,
    Command,
    Page,
    Paragraph,
    Picture,
    Section,
    Table,
    page_html,
    write_page,
)

PIXEL = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"><rect width="1" height="1" fill="#0072b2"/></svg>'
)
VOID = {"meta", "link", "img", "br", "input", "hr"}


class Outline(HTMLParser):
    """The start tags with their attributes, and a check that every element is closed in its turn."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture
def page(tmp_path):
    picture = tmp_path / "figure.svg"
    picture.write_bytes(PIXEL)
    table = Table(
        [Column("codebook"), Column("accuracy, %", ".1f"), Column("gain")],
        [
            ["dense <10>", 81.25, Cell("+3.0 ± 0.4", 3.0, is_strong=True)],
            ["hadamard", 90, None],
            ["spectral", float("nan"), Cell("−1.0 ± 0.1", -1.0)],
        ],
        caption="Over `10` draws",
    )
    return Page(
        "A & B",
        "What `random_state=0` gives.",
        [
            Section("Data", [Paragraph("x < y"), Command("make demo && true")]),
            Section("Figure", [Beside([Picture(picture, 'a "blue" pixel', "One."), Paragraph("Two.")])]),
            Section("Table", [table]),
        ],
        footer="codekin 1.0",
    )


def test_every_element_is_closed_in_its_turn(page):
    assert Outline(page_html(page)).open == []


def test_a_page_needs_no_other_file(page):
    outline = Outline(page_html(page))
    references = [attributes[name] for _, attributes in outline.tags for name in ("src", "href") if name in attributes]
    assert references
    assert all(reference.startswith(("data:", "#")) for reference in references)
    assert "url(" not in page_html(page)
    assert "@import" not in page_html(page)


def test_a_page_is_laid_out_for_the_width_of_a_phone(page):
    viewports = [meta["content"] for meta in Outline(page_html(page)).all("meta") if meta.get("name") == "viewport"]
    assert viewports == ["width=device-width, initial-scale=1"]


def test_text_is_never_taken_for_markup(page):
    text = page_html(page)
    assert "<title>A &amp; B</title>" in text
    assert "x &lt; y" in text
    assert "make demo &amp;&amp; true" in text
    assert "dense &lt;10&gt;" in text
    assert Outline(text).all("img")[0]["alt"] == 'a "blue" pixel'


def test_cells_sort_by_their_value_and_empty_ones_last(page):
    cells = [attributes.get("data-sort") for attributes in Outline(page_html(page)).all("td")]
    assert cells == [None, "81.25", "3.0", None, "90", "", None, "", "-1.0"]


def test_numbers_are_shown_as_the_column_says(page):
    assert re.search(r">81\.2<|>81\.3<", page_html(page))
    assert ">90.0<" in page_html(page)


def test_every_section_can_be_reached_from_the_contents(page):
    outline = Outline(page_html(page))
    assert [a["href"] for a in outline.all("a")] == [f"#{section['id']}" for section in outline.all("section")]


def test_a_row_with_a_missing_cell_is_refused():
    with pytest.raises(ValueError, match="Row 1 of the table has 1 cells for 2 columns"):
        Table([Column("a"), Column("b")], [["x", 1], ["y"]])


def test_a_picture_of_unknown_kind_is_refused(tmp_path):
    picture = Picture(tmp_path / "figure.pdf", "a figure")
    with pytest.raises(ValueError, match=r"must be one of \.svg, \.png, \.jpg, \.jpeg\. Got 'figure\.pdf' instead"):
        page_html(Page("t", "l", [Section("s", [picture])]))


def test_writing_makes_the_folder_and_returns_the_file(page, tmp_path):
    path = write_page(page, tmp_path / "new" / "index.html")
    assert path.read_text(encoding="utf-8") == page_html(page)
