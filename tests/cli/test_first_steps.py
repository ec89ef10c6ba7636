"""What people with a table of their own meet first: rows without labels, mistyped options, and hints that lead on."""

import json

import pytest

from codekin.cli.main import main

ROWS = [
    *(("the cat purrs", "cat"), ("a dog barks", "dog"), ("my cat sleeps", "cat"), ("dogs bark loudly", "dog")),
    *(("cats purr", "cat"), ("a dog runs", "dog"), ("the red bus", "bus"), ("a bus stops", "bus")),
]


def table(rows, delimiter=","):
    return "".join(f"{delimiter.join(map(str, row))}\n" for row in rows)


@pytest.fixture
def pets(tmp_path):
    """A table of texts and labels, with numbers of rows."""
    path = tmp_path / "pets.csv"
    path.write_text(table([("id", "name", "Category"), *((k, *row) for k, row in enumerate(ROWS))]))
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pets")
    (folder / "pets.csv").write_text(table([("name", "Category"), *ROWS]))
    options = ["--label", "Category", "--text", "name", "--quiet"]
    assert main(["train", str(folder / "pets.csv"), str(folder / "model"), *options]) == 0
    return folder / "model"


def test_rows_without_a_label_can_be_left_out(run, tmp_path):
    path, columns = tmp_path / "messy.csv", ("--label", "Category", "--text", "name")
    path.write_text(table([("name", "Category"), *ROWS, ("what is this", ""), ("nobody knows", " ")]))
    shown = run("train", path, tmp_path / "m", *columns)
    assert shown.code == 2
    assert "line 10: this row has no label; --missing-labels drop leaves such rows out." in shown.err
    shown = run("train", path, tmp_path / "m", *columns, "--missing-labels", "drop")
    assert shown.code == 0
    assert "messy.csv: left out 2 of 10 rows without a label\n" in shown.err
    shown = run("evaluate", tmp_path / "m", path, "--json", "--missing-labels", "drop")
    assert json.loads(shown.out)["n_samples"] == 8
    assert "messy.csv: left out 2 of 10 rows without a label\n" in shown.err
