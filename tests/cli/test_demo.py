import json

import pytest

import codekin.demo
from codekin.cli.main import main

pytestmark = pytest.mark.xdist_group("demo")


@pytest.fixture
def demo(quick_result, quick_diagnoses, monkeypatch, tmp_path, capsys):
    """A function: the exit code and what was printed by ``codekin demo`` with the given options."""
    monkeypatch.setattr(codekin.demo, "run_demo", lambda **options: quick_result)
    monkeypatch.setattr(codekin.demo, "run_diagnoses", lambda **options: quick_diagnoses)

    def run(*options):
        code = main(["demo", "--quick", "--output", str(tmp_path / "demo"), *options])
        return code, capsys.readouterr()

    return run


def test_the_last_line_is_the_page(demo, tmp_path):
    code, shown = demo()
    assert code == 0
    assert shown.out.splitlines()[-1] == str(tmp_path / "demo" / "index.html")
    assert (tmp_path / "demo" / "index.html").exists()
    assert "dense_random" in shown.out


def test_json_is_all_that_is_printed_when_asked_for(demo, quick_result, quick_diagnoses):
    _, shown = demo("--json")
    assert json.loads(shown.out) == {**quick_result.as_dict(), "diagnoses": quick_diagnoses.as_dict()}


def test_typed_diagnoses_are_answered_on_the_terminal(demo):
    _, shown = demo()
    assert "E11  Type 2 diabetes mellitus" in shown.out


@pytest.mark.parametrize("options", [("--draws", "1"), ("--n-jobs", "0")])
def test_numbers_that_make_no_sense_are_refused(options, demo):
    code, shown = demo(*options)
    assert code == 2
    assert shown.out == ""
