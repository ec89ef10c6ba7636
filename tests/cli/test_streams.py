"""Labels are written to files and pipes unchanged, and to terminals as plain text."""

import json
import os
import sys

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier

from codekin import ECOCClassifier, save_model
from codekin.cli.main import hold_closed_streams

LABELS = ["\x1b]0;title\x07cat", "dog\x9b31m", "plain"]
SHOWN = [r"\u001b]0;title\u0007cat", r"dog\u009b31m", "plain"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labels")
    X, y = np.repeat(np.eye(3), 2, axis=0), np.repeat(LABELS, 2)
    classifier = ECOCClassifier(RidgeClassifier(), codebook="one_vs_rest", random_state=0).fit(X, y)
    classifier.report(X, y)  # which measures the bits that inspect shows
    save_model(classifier, folder / "model")
    (folder / "data.svm").write_text("1 1:1\n1 2:1\n1 3:1\n")
    return folder


@pytest.fixture
def on_terminal(monkeypatch, run):
    """A function: runs a command line that takes stdout for a terminal."""

    def on_terminal(*arguments):
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        return run(*arguments).out

    return on_terminal


@pytest.mark.parametrize("option", [(), ("--top-k", 1), ("--probabilities",)])
def test_predicted_labels_cannot_command_a_terminal(option, model, on_terminal):
    lines = on_terminal("predict", model / "model", model / "data.svm", "--quiet", *option).splitlines()
    assert [line.split("\t")[0] for line in lines] == SHOWN


def test_predicted_labels_reach_files_and_pipes_as_they_are(model, succeed, on_terminal, tmp_path):
    command = ("predict", model / "model", model / "data.svm", "--quiet")
    expected = "".join(f"{label}\n" for label in LABELS)
    assert succeed(*command) == expected
    on_terminal(*command, "-o", tmp_path / "labels.txt")
    assert (tmp_path / "labels.txt").read_bytes().decode() == expected


def test_json_on_a_terminal_is_json_still(model, on_terminal):
    shown = on_terminal("predict", model / "model", model / "data.svm", "--json", "--quiet")
    assert "\x9b" not in shown
    assert [json.loads(line)["label"] for line in shown.splitlines()] == LABELS


def test_an_inspected_model_cannot_command_a_terminal(model, on_terminal, succeed):
    assert LABELS[0] in succeed("inspect", model / "model")
    shown = on_terminal("inspect", model / "model")
    assert SHOWN[0] in shown
    assert not set(shown) & {"\x1b", "\x9b", "\x07"}


def test_errors_cannot_command_a_terminal(run):
    assert r"\u001b[2Jnowhere" in run("inspect", "\x1b[2Jnowhere").err


def test_no_file_gets_the_number_of_a_closed_stream(tmp_path):
    """In a process of its own: the number of stdin is free, and then it is not."""
    child = os.fork()
    if child == 0:
        os.close(0)
        hold_closed_streams()
        number = os.open(tmp_path, os.O_RDONLY)
        os._exit(0 if number > 2 and os.get_inheritable(0) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
