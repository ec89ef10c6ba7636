import json

import pytest

from codekin.demo import example_views, write_demo

pytestmark = pytest.mark.xdist_group("demo")


@pytest.fixture(scope="module")
def folder(quick_result, quick_diagnoses, tmp_path_factory):
    return write_demo(quick_result, quick_diagnoses, tmp_path_factory.mktemp("demo")).parent


def test_the_folder_holds_the_page_the_numbers_and_the_figures_and_nothing_else(folder):
    names = ("accuracy-digits", "accuracy-yeast", "codewords", "distances")
    expected = {f"figures/{name}.{suffix}" for name in names for suffix in ("png", "svg")} | {
        "index.html",
        "results.json",
    }
    assert {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} == expected


def test_the_page_shows_every_mean_of_the_results(folder, quick_result):
    page = (folder / "index.html").read_text(encoding="utf-8").replace("&nbsp;", " ")
    for comparisons in quick_result.comparisons.values():
        for comparison in comparisons:
            assert str(comparison.mean("random")) in page
            assert str(comparison.mean("preserving")) in page
    assert page.count("<img ") == 4


def test_the_numbers_beside_the_page_are_the_results(folder, quick_result, quick_diagnoses):
    expected = {**quick_result.as_dict(), "diagnoses": quick_diagnoses.as_dict()}
    assert json.loads((folder / "results.json").read_text()) == expected


def test_the_page_shows_what_was_made_of_typed_texts(folder, quick_diagnoses):
    page = (folder / "index.html").read_text(encoding="utf-8")
    for text, candidates in quick_diagnoses.answers.items():
        assert text in page
        assert all(candidate.code in page for candidate in candidates)


def test_the_preserving_assignment_of_the_example_follows_the_classes():
    views = example_views()
    assert views.correlations["preserving"] > 0.4
    assert views.correlations["preserving"] > views.correlations["random"]
