"""Files and models for the tests of several commands, and a function that runs a command line."""

import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from codekin.cli.main import main
from codekin.data import make_sparse_topics
from codekin.data.embedded import load_icd10cm
from codekin.data.writing import export_dataset
from tests.conftest import ROOT

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
CODEKIN = [sys.executable, "-m", "codekin"]


@dataclass
class Shown:
    """What a command line left on the screen."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys, monkeypatch):
    """A function: runs a command line in this process, with the given standard input."""

    def run(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        # Whether imports or compiling take long enough for a sign of life depends on the machine and earlier tests.
        lines = shown.err.splitlines(keepends=True)
        errors = "".join(line for line in lines if not (line.startswith("starting, ") or "compiling kernels" in line))
        return Shown(code, shown.out, errors)

    return run


@pytest.fixture
def succeed(run):
    """A function: what a command line prints, which must work."""

    def succeed(*arguments, stdin=b""):
        shown = run(*arguments, stdin=stdin)
        assert shown.code == 0, shown.err
        return shown.out

    return succeed


@pytest.fixture(scope="session")
def topics(tmp_path_factory) -> Path:
    """A folder: train.svm, test.svm and taxonomy.txt of 32 made-up classes."""
    folder = tmp_path_factory.mktemp("topics")
    export_dataset(make_sparse_topics(32, 600, n_features=400, rng=0), folder)
    return folder


@pytest.fixture(scope="session")
def topics_model(topics) -> Path:
    """A model of them, of width 2."""
    model = topics / "model"
    code = main(
        [
            "train",
            str(topics / "train.svm"),
            str(model),
            "--taxonomy",
            str(topics / "taxonomy.txt"),
            "--width=2",
            "--quiet",
            "--json",
        ]
    )
    assert code == 0
    return model


@pytest.fixture(scope="session")
def icd(tmp_path_factory) -> Path:
    """A folder: train.tsv, validation.tsv, test.tsv and taxonomy.txt of the embedded diagnoses."""
    folder = tmp_path_factory.mktemp("icd")
    export_dataset(load_icd10cm(), folder)
    return folder
