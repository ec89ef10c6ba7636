"""A report in a real browser: it shows figures and sortable tables without errors and fits a phone.

Skipped without a browser."""

import pytest
from tests.browser import seen_by

from codekin_studies import load_study, run_study, write_report

LOOK = """
const images = [...document.images];
const heading = document.querySelector("table.sortable th:last-child button");
const cells = () => [...document.querySelectorAll("table.sortable")[0].tBodies[0].rows].map(
  (row) => row.cells[row.cells.length - 1].dataset.sort ?? row.cells[row.cells.length - 1].textContent);
heading.click();
const up = cells();
heading.click();
return {
  images: images.length,
  shown: images.filter((image) => image.complete && image.naturalWidth > 0).length,
  tables: document.querySelectorAll("table.sortable").length,
  up: up,
  down: cells(),
};
"""


@pytest.mark.parametrize("width", [390, 1280])
def test_a_report_is_whole_in_a_browser(study_file, tmp_path, width):
    study = load_study(str(study_file))
    run_study(study, tmp_path / "out", only=["tiny"], n_jobs=1)
    page = write_report(study, tmp_path / "out", data_home=tmp_path)
    seen = seen_by(LOOK, page.read_text(encoding="utf-8"), tmp_path, width=width)
    assert seen["images"] == seen["shown"] == 4
    assert seen["tables"] == 4
    assert [float(value) for value in seen["up"]] == sorted(float(value) for value in seen["up"])
    assert seen["down"] == seen["up"][::-1]
