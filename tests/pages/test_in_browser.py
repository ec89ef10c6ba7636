"""The script of a page in a real browser; skipped without a browser."""

import pytest

from codekin.pages.html import Cell, Column, Page, Section, Table, page_html
from tests.browser import seen_by


@pytest.mark.parametrize(
    ("column", "n_clicks", "order"),
    [
        (0, 1, ["b", "c", "d", "e"]),
        (1, 1, ["c", "b", "d", "e"]),
        (1, 2, ["d", "b", "c", "e"]),  # the empty cell stays last
    ],
)
def test_a_click_on_a_heading_sorts(tmp_path, column, n_clicks, order):
    rows = [["d", 10.0], ["c", Cell("−2 ± 1", -2.0)], ["e", None], ["b", 9.5]]
    page = Page("t", "l", [Section("s", [Table([Column("name"), Column("value", ".1f")], rows)])])
    click = f"for (let i = 0; i < {n_clicks}; i++) document.querySelectorAll('th button')[{column}].click();"
    seen = seen_by(f'{click} return {{ rows: texts("td:first-child") }};', page_html(page), tmp_path)
    assert seen["rows"] == order
