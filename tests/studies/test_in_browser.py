"""A report in a real browser: it shows figures and sortable tables without errors and fits a phone.

Skipped without a browser."""

import json
import re
import shutil
import subprocess

import pytest
from tests.pages.test_in_browser import BROWSERS, FLAGS

from codekin.studies import load_study, run_study, write_report

LOOK = """
<script>
window.addEventListener("error", (event) => document.body.dataset.error = event.message);
window.addEventListener("load", () => {
  const images = [...document.images];
  const heading = document.querySelector("table.sortable th:last-child button");
  const cells = () => [...document.querySelectorAll("table.sortable")[0].tBodies[0].rows].map(
    (row) => row.cells[row.cells.length - 1].dataset.sort ?? row.cells[row.cells.length - 1].textContent);
  heading.click();
  const up = cells();
  heading.click();
  const note = document.createElement("pre");
  note.id = "seen";
  note.textContent = JSON.stringify({
    images: images.length,
    shown: images.filter((image) => image.complete && image.naturalWidth > 0).length,
    tables: document.querySelectorAll("table.sortable").length,
    up: up,
    down: cells(),
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    error: document.body.dataset.error ?? null,
  });
  document.body.append(note);
});
</script></head>
"""


@pytest.mark.parametrize("width", [390, 1280])
def test_a_report_is_whole_in_a_browser(study_file, tmp_path, width):
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip("needs Chromium or Chrome")
    study = load_study(str(study_file))
    run_study(study, tmp_path / "out", only=["tiny"], n_jobs=1)
    page = write_report(study, tmp_path / "out", data_home=tmp_path)
    watched = tmp_path / "watched.html"
    watched.write_text(page.read_text(encoding="utf-8").replace("</head>", LOOK), encoding="utf-8")
    flags = [*FLAGS, f"--window-size={width},900", f"--user-data-dir={tmp_path / 'profile'}"]
    done = subprocess.run([browser, *flags, watched.as_uri()], capture_output=True, text=True, check=True, timeout=60)
    seen = json.loads(re.search(r'<pre id="seen">(.*?)</pre>', done.stdout)[1])
    assert seen["error"] is None
    assert seen["images"] == seen["shown"] == 4
    assert seen["tables"] == 4
    assert [float(value) for value in seen["up"]] == sorted(float(value) for value in seen["up"])
    assert seen["down"] == seen["up"][::-1]
    assert seen["overflow"] <= 0
