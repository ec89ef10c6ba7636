import json

import pytest

from codekin.cli.main import main
from tests.studies.conftest import study_file

__all__ = ["study_file"]


@pytest.fixture
def answer(capsys, study_file, tmp_path, monkeypatch):
    """A function: runs a command of ``codekin study`` on the small study and returns what it printed."""
    monkeypatch.chdir(tmp_path)

    def run(command, *options, code=0):
        assert main(["study", command, str(study_file), "--data-home", str(tmp_path), *options]) == code
        return capsys.readouterr()

    return run


def test_a_study_is_run_once_looked_up_and_shown(answer, tmp_path):
    said = answer("run", "--n-jobs", "1", "--only", "tiny", "--only", "absent")
    assert "5 of 5 tasks are finished, 5 of them just now" in said.out
    assert "skipped absent" in said.err
    assert (tmp_path / "out" / "studies" / "small" / "index.html").exists()
    again = json.loads(answer("run", "--n-jobs", "1", "--only", "tiny", "--no-report", "--json").out)
    assert (again["n_run"], again["n_done"], again["page"]) == (0, 5, None)
    status = answer("status", "--only", "tiny").out
    assert "training all splits                 2 of 2" in status
    assert status.endswith("small: 5 of 5 tasks are finished.\n")
    options = ["--data", "tiny", "--codebook", "dense-6"]
    best = json.loads(answer("show", *options, "--json").out)
    same = json.loads(answer("show", *options, "--assignment", ",".join(map(str, best["assignment"])), "--json").out)
    assert best == same
    shown = answer("show", *options).out
    assert f"accuracy {best['accuracy']:.2f} %" in shown
    assert f"of 120 assignments {best['n_less_accurate']} are less accurate, 0 more accurate" in shown
    assert answer("report").out.split()[-1] == "out/studies/index.html"


def test_a_study_of_ones_own_is_found_again_in_the_output_folder(answer, study_file, tmp_path, capsys):
    answer("run", "--n-jobs", "1", "--only", "tiny", "--no-report", "--quiet")
    text = study_file.read_text()
    study_file.unlink()
    options = ["--data-home", str(tmp_path)]
    assert main(["study", "report", *options]) == 0
    page = tmp_path / "out" / "studies" / "small" / "index.html"
    assert capsys.readouterr().out.split() == ["out/studies/small/index.html", "out/studies/index.html"]
    assert "<code>trees</code> (5 of 5 tasks are left)" in page.read_text(encoding="utf-8")
    assert page.with_name("small.toml").read_text() == text
    assert main(["study", "list", *options, "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert (rows["small"]["n_done"], rows["small"]["n_tasks"]) == (5, 10)
    page.with_name("small.toml").unlink()
    assert main(["study", "report", *options]) == 0
    assert "small has results but not their configuration" in capsys.readouterr().err


def test_only_exhaustive_studies_are_looked_up(capsys):
    assert main(["study", "show", "synthetic", "--data", "a", "--codebook", "b"]) == 2
    assert "The study 'synthetic' is of the kind 'synthetic'." in capsys.readouterr().err


def test_wrong_requests_are_one_sentence(answer):
    answer("run", "--n-jobs", "1", "--only", "tiny", "--no-report", "--quiet")
    for options, message in (
        (["--data", "x", "--codebook", "dense-6"], "The data of the study 'small' are tiny, trees, absent. Got 'x'"),
        (["--data", "tiny", "--codebook", "dense-6", "--assignment", "1,2"], "has 5 numbers. Got 2"),
        (
            ["--data", "tiny", "--codebook", "dense-6", "--assignment", "a"],
            "'--assignment' must be whole numbers separated by commas",
        ),
        (["--data", "trees", "--codebook", "dense-6"], "is not finished. Run the study first"),
    ):
        assert message in answer("show", *options, code=2).err
    assert "uses the data sets tiny, trees, absent. Got 'y'" in answer("run", "--only", "y", code=2).err


def test_the_list_names_the_papers_studies(capsys, tmp_path):
    assert main(["study", "list", "--output", str(tmp_path), "--data-home", str(tmp_path), "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["exhaustive"]["missing"] == ["mnist", "cifar10"]
