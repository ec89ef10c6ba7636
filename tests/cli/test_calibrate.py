"""codekin calibrate and codekin predict --coverage: sets of labels."""

import json
import shutil

import pytest


@pytest.fixture
def model(topics_model, tmp_path):
    return shutil.copytree(topics_model, tmp_path / "model")


def test_calibrated_sets_cover_the_labels(succeed, topics, model):
    summary = json.loads(succeed("calibrate", model, topics / "test.svm", "--json", "--quiet"))
    labels = [line.split()[0] for line in (topics / "test.svm").read_text().splitlines()]
    assert summary["n_samples"] == len(labels)
    lines = succeed("predict", model, topics / "test.svm", "--coverage=0.8", "--quiet").splitlines()
    covered = [label in line.split("\t") for label, line in zip(labels, lines, strict=True)]
    # These are the samples of the calibration themselves.
    assert sum(covered) / len(covered) >= 0.8
    shown = succeed("predict", model, topics / "test.svm", "--coverage=0.8", "--json", "--quiet").splitlines()
    assert [[str(one) for one in json.loads(line)["labels"]] for line in shown] == [line.split("\t") for line in lines]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--coverage=0.9"], "--coverage needs a calibrated model; codekin calibrate"),
        (["--coverage=0.9", "--top-k=2"], "--coverage prints sets of labels. Got --top-k as well."),
        (["--coverage=0.9", "--probabilities"], "--coverage prints sets of labels. Got --probabilities as well."),
    ],
)
def test_sets_without_calibration_are_refused(run, topics, topics_model, options, message):
    shown = run("predict", topics_model, topics / "test.svm", *options)
    assert (shown.code, shown.out) == (2, "")
    assert message in shown.err
