"""The script of a page in a real browser; skipped without a browser."""

import re
import shutil
import subprocess

import pytest

from codekin.pages import Cell, Column, Page, Section, Table, page_html

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--dump-dom",
    "--virtual-time-budget=2000",
]


@pytest.fixture
def page_after(tmp_path):
    """A function: the page's HTML after a script has run in it."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip("needs Chromium or Chrome")

    def run(page, script):
        path = tmp_path / "page.html"
        path.write_text(page_html(page).replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
        command = [browser, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", path.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        return done.stdout

    return run


@pytest.mark.parametrize(
    ("column", "n_clicks", "order"),
    [
        (0, 1, ["b", "c", "d", "e"]),
        (1, 1, ["c", "b", "d", "e"]),
        (1, 2, ["d", "b", "c", "e"]),  # the empty cell stays last
    ],
)
def test_a_click_on_a_heading_sorts(page_after, column, n_clicks, order):
    rows = [["d", 10.0], ["c", Cell("−2 ± 1", -2.0)], ["e", None], ["b", 9.5]]
    page = Page("t", "l", [Section("s", [Table([Column("name"), Column("value", ".1f")], rows)])])
    click = f"for (let i = 0; i < {n_clicks}; i++) document.querySelectorAll('th button')[{column}].click();"
    shown = page_after(page, click)
    assert re.findall(r"<tr><td>(\w)</td>", shown) == order
