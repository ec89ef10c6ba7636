"""No command replaces what it reads, whatever the output is called."""

import os
import subprocess

import pytest

from tests.cli.conftest import CODEKIN, ENVIRONMENT

# What each command reads from INPUT and writes to OUTPUT; MODEL is a folder.
COMMANDS = {
    "predict": ["predict", "MODEL", "INPUT", "-o", "OUTPUT", "--format=svmlight"],
    "explain": ["explain", "MODEL", "INPUT", "-o", "OUTPUT", "--format=svmlight"],
    "explore": ["explore", "MODEL", "--data", "INPUT", "-o", "OUTPUT", "--format=svmlight"],
    "explore, accuracies": ["explore", "MODEL", "--accuracies", "INPUT", "-o", "OUTPUT"],
    "convert": ["data", "convert", "INPUT", "OUTPUT", "--from=svmlight", "--to=svmlight"],
    "assign, data": ["assign", "--data", "INPUT", "-o", "OUTPUT", "--format=svmlight"],
    "assign, taxonomy": ["assign", "--taxonomy", "INPUT", "-o", "OUTPUT"],
    "assign, distances": ["assign", "--distances", "INPUT", "-o", "OUTPUT"],
    "assign, codebook": ["assign", "--taxonomy", "TAXONOMY", "--codebook", "INPUT", "-o", "OUTPUT"],
}
NAMES = {
    "its own": lambda path: path,
    "another spelling of it": lambda path: path.parent / "." / ".." / path.parent.name / path.name,
    "a symbolic link": lambda path: linked(path, os.symlink),
    "a hard link": lambda path: linked(path, os.link),
}


def linked(path, link):
    alias = path.with_name("alias.html")
    link(path, alias)
    return alias


@pytest.fixture
def samples(topics, tmp_path):
    """A file of samples; explore writes only files of this suffix."""
    path = tmp_path / "samples.html"
    path.write_bytes((topics / "test.svm").read_bytes())
    return path


def check_refused(shown, path, content):
    assert (shown.code, shown.out, shown.err.count("\n")) == (2, "", 1)
    assert shown.err.startswith("codekin: Writing ")
    assert shown.err.endswith("Choose another output.\n")
    assert path.read_bytes() == content


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", COMMANDS)
def test_an_output_that_is_an_input_is_refused(run, topics, topics_model, samples, command, name):
    before = samples.read_bytes()
    given = {
        "MODEL": topics_model,
        "INPUT": samples,
        "OUTPUT": NAMES[name](samples),
        "TAXONOMY": topics / "taxonomy.txt",
    }
    listed = sorted(samples.parent.iterdir())
    check_refused(run(*(given.get(part, part) for part in COMMANDS[command])), samples, before)
    assert sorted(samples.parent.iterdir()) == listed


@pytest.mark.parametrize("command", ["predict", "explain", "explore", "export"])
def test_the_files_of_a_model_are_inputs(run, tmp_path, topics_model, samples, command):
    own = topics_model / "model.json"
    link = tmp_path / ("model.onnx" if command == "export" else "page.html")
    link.symlink_to(own)
    given = {"explore": [], "export": []}.get(command, [samples, "--format=svmlight"])
    output = [link] if command == "export" else ["-o", link]
    check_refused(run(command, topics_model, *given, *output), own, own.read_bytes())


def test_a_data_set_is_not_exported_into_itself(run, tmp_path):
    home = tmp_path / "yeast"
    home.mkdir()
    (home / "train.svm").write_text("1 1:1\n")
    shown = run("data", "export", "yeast", tmp_path / "." / "yeast", "--data-home", tmp_path)
    check_refused(shown, home / "train.svm", b"1 1:1\n")


@pytest.mark.parametrize("command", ["train", "grow", "calibrate"])
def test_samples_in_the_folder_of_a_model_stay(run, succeed, topics, tmp_path, command):
    model = tmp_path / "model"
    succeed(
        "train",
        topics / "train.svm",
        model,
        "--width=2",
        "--quiet",
        "--rerank=none",
        "--n-codes=1",
        "--no-checkpoint",
    )
    data = model / "data.svm"
    data.write_bytes((topics / "test.svm").read_bytes())
    shown = run(command, *([data, model] if command == "train" else [model, data]), "--quiet")
    assert (shown.code, data.read_bytes()) == (2, (topics / "test.svm").read_bytes())
    assert "data.svm besides a model" in shown.err


@pytest.mark.skipif(os.name != "posix", reason="needs a standard input that is a file")
def test_the_standard_input_may_be_the_output_file_too(topics_model, samples):
    before = samples.read_bytes()
    command = [*CODEKIN, "predict", str(topics_model), "-", "-o", str(samples), "--format=svmlight", "--quiet"]
    with samples.open("rb") as stream:
        done = subprocess.run(command, stdin=stream, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert (done.returncode, samples.read_bytes()) == (2, before)
    assert done.stderr == f"codekin: Writing {samples} would replace an input, DATA -. Choose another output.\n"


def test_another_output_beside_the_input_is_written(succeed, topics_model, samples):
    target = samples.with_name("labels.txt")
    for _ in range(2):  # the second time it exists
        succeed("predict", topics_model, samples, "-o", target, "--format=svmlight", "--quiet")
    assert len(target.read_text().splitlines()) == len(samples.read_text().splitlines())
