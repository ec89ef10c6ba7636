"""The examples run and show what they claim; the first one, `make demo`, writes its page and its numbers."""

import importlib.util
import json
import re
import runpy
import sys

import joblib
import numpy as np
import pytest

from tests.conftest import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
pytestmark = pytest.mark.xdist_group("examples")


def printed_by(name, capsys):
    (path,) = (ROOT / "examples").glob(f"{name}*.py")
    runpy.run_path(str(path), run_name="__main__")
    return capsys.readouterr().out


def test_examples_are_numbered_without_gaps():
    assert [int(path.name[:2]) for path in EXAMPLES] == list(range(1, len(EXAMPLES) + 1))


@pytest.mark.parametrize("path", EXAMPLES[1:], ids=lambda path: path.stem)
def test_examples_after_the_first_are_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) < 60


def test_classes_that_are_close_in_the_taxonomy_get_close_codewords(capsys):
    printed = printed_by("02", capsys)
    siblings, cousins, others = (float(number) for number in re.findall(r"taxonomy: (\S+) bits", printed))
    assert siblings < cousins < others
    assert "password forgotten: password" in printed
    assert "courier with my delivery: pickup" in printed


def test_the_model_takes_no_more_bytes_than_it_may(capsys):
    (used, allowed, accuracy) = re.search(
        r"([\d,]+) of ([\d,]+) bytes, accuracy (\S+)", printed_by("03", capsys)
    ).groups()
    assert int(used.replace(",", "")) <= int(allowed.replace(",", ""))
    assert float(accuracy) > 0.75


# --- The first example -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def demo():
    """Its module, under a name by which other processes can find it, too."""
    spec = importlib.util.spec_from_file_location("assignments_matter", EXAMPLES[0])
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def compared(demo):
    return demo.compare_policies(2, demo.QUICK_CODES, n_jobs=1)


@pytest.fixture(scope="module")
def diagnoses(demo):
    return demo.learn_diagnoses(1)


@pytest.fixture(scope="module")
def folder(demo, compared, diagnoses, tmp_path_factory):
    page = demo.write_results(tmp_path_factory.mktemp("demo"), *compared, diagnoses, command="make demo", seconds=12.0)
    return page.parent


def test_every_code_is_compared_on_every_problem(demo, compared):
    comparisons, _ = compared
    assert list(comparisons) == list(demo.PROBLEMS)
    for some in comparisons.values():
        assert [one.codebook for one in some] == [codebook for codebook, _ in demo.QUICK_CODES]
        assert all(
            {policy: len(values) for policy, values in one.accuracies.items()} == {"random": 2, "preserving": 2}
            for one in some
        )


def test_accuracies_are_percentages_above_chance(compared):
    values = np.concatenate([v for some in compared[0].values() for one in some for v in one.accuracies.values()])
    assert values.min() > 25
    assert values.max() <= 100


def test_equidistant_codebooks_are_known(compared):
    assert compared[1] == {"hadamard"}


def test_the_numbers_do_not_depend_on_the_number_of_workers(demo, compared):
    with joblib.parallel_config(backend="threading"):
        again, _ = demo.compare_policies(2, demo.QUICK_CODES, n_jobs=2)
    for problem, some in compared[0].items():
        for one, other in zip(some, again[problem], strict=True):
            for policy, values in one.accuracies.items():
                np.testing.assert_array_equal(values, other.accuracies[policy])


def test_preserving_assignments_are_better_at_every_width(diagnoses):
    assert [row["width"] for row in diagnoses["accuracy_percent"]] == [2, 5]
    for row in diagnoses["accuracy_percent"]:
        assert np.mean(row["preserving"]) > np.mean(row["random"]) + 0.5
        assert np.mean(row["preserving"]) > 85


def test_typed_diagnoses_find_their_category(diagnoses):
    answers = diagnoses["answers"]
    assert answers["type 2 diabetes with kidney disease"][0]["code"] == "E11"
    assert answers["glaucoma of both eyes"][0]["code"] == "H40"
    for candidates in answers.values():
        probabilities = [candidate["probability"] for candidate in candidates]
        assert probabilities == sorted(probabilities, reverse=True)
        assert 0 < sum(probabilities) <= 1.001


def test_the_preserving_assignment_that_is_drawn_follows_the_classes(demo):
    views = demo.example_views()
    assert views.correlations["preserving"] > 0.4
    assert views.correlations["preserving"] > views.correlations["random"]


def test_the_folder_holds_the_page_the_numbers_and_the_figures_and_nothing_else(folder):
    names = ("accuracy-digits", "accuracy-yeast", "codewords", "distances")
    figures = {f"figures/{name}.{suffix}" for name in names for suffix in ("png", "svg")}
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert found == figures | {"index.html", "results.json"}


def test_the_page_shows_every_mean_and_every_answer(folder, compared, diagnoses):
    page = (folder / "index.html").read_text(encoding="utf-8").replace("&nbsp;", " ")
    for one in (one for some in compared[0].values() for one in some):
        assert str(one.mean("random")) in page
        assert str(one.mean("preserving")) in page
    for text, candidates in diagnoses["answers"].items():
        assert text in page
        assert all(candidate["code"] in page for candidate in candidates)
    assert page.count("<img ") == 4


def test_the_numbers_beside_the_page_are_the_results(folder, compared, diagnoses):
    numbers = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert numbers["diagnoses"] == diagnoses
    first = compared[0]["digits"][0]
    assert numbers["accuracy_percent"][0]["random"] == first.accuracies["random"].round(3).tolist()
    assert len(numbers["accuracy_percent"]) == 4


def test_the_last_line_is_the_page(demo, compared, diagnoses, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "compare_policies", lambda *_: compared)
    monkeypatch.setattr(demo, "learn_diagnoses", lambda _: diagnoses)
    demo.main(["--quick", "--output", str(tmp_path / "demo")])
    assert capsys.readouterr().out.splitlines()[-1] == str(tmp_path / "demo" / "index.html")
    assert (tmp_path / "demo" / "index.html").exists()
