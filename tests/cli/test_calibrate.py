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


def test_labels_that_are_not_sure_enough_are_left_out(succeed, run, topics, model):
    asked = ("predict", model, topics / "test.svm", "--quiet")
    every = [json.loads(line) for line in succeed(*asked, "--json", "--probabilities").splitlines()]
    summary = json.loads(
        succeed("calibrate", model, topics / "test.svm", "--min-precision=0.8", "--json", "--quiet"),
    )
    least = summary["min_probability"]
    expected = [one if one["probability"] >= least else {"label": None, "probability": None} for one in every]
    assert [json.loads(line) for line in succeed(*asked, "--json", "--probabilities").splitlines()] == expected
    assert succeed(*asked).splitlines() == ["" if one["label"] is None else str(one["label"]) for one in expected]
    assert summary["answered"] == sum(one["label"] is not None for one in expected) / len(every)
    assert None not in [
        json.loads(line)["label"] for line in succeed(*asked, "--json", "--min-probability=0").splitlines()
    ]
    refused = run("calibrate", model, topics / "test.svm", "--min-precision=1.2")
    assert refused.code == 2
    assert "The 'min_precision' parameter must be between 0 and 1. Got 1.2 instead." in refused.err


def test_groups_of_classes_are_answers_where_no_label_is_sure(succeed, run, topics, model):
    labels = sorted({line.split()[0] for line in (topics / "train.svm").read_text().splitlines()}, key=int)
    tree = model.parent / "tree.tsv"
    tree.write_text("".join(f"{['even', 'odd'][int(label) % 2]} classes\t{label}\n" for label in labels))
    options = ("--min-precision=0.8", f"--taxonomy={tree}", "--json", "--quiet")
    summary = json.loads(succeed("calibrate", model, topics / "test.svm", *options))
    assert summary["n_groups"] == 2
    asked = ("predict", model, topics / "test.svm", "--quiet", "--min-probability=0.9")
    shown = [json.loads(line) for line in succeed(*asked, "--json", "--probabilities").splitlines()]
    groups = [one for one in shown if "node" in one]
    assert groups
    assert all(one["label"] is None and one["probability"] >= 0.9 for one in groups)
    assert {one["node"] for one in groups} <= {"even classes", "odd classes"}
    assert {one["n_classes"] for one in groups} <= {sum(int(k) % 2 == odd for k in labels) for odd in (0, 1)}
    expected = [one.get("node") or ("" if one["label"] is None else str(one["label"])) for one in shown]
    assert succeed(*asked).splitlines() == expected
    sets = succeed("predict", model, topics / "test.svm", "--coverage=0.8", "--json", "--quiet").splitlines()
    assert max(len(one["labels"]) + len(one.get("nodes", [])) for one in map(json.loads, sets)) <= 3
    refused = run("calibrate", model, topics / "test.svm", "--taxonomy-layout=paths")
    assert refused.code == 2
    assert "--taxonomy" in refused.err
