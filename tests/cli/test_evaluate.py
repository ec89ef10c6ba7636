import json
import re

import numpy as np
import pytest

from codekin import load_model
from codekin._system.files import bytes_in
from codekin.data import read_data
from tests.reference.calibration import expected_calibration_error


@pytest.fixture
def evaluated(topics, topics_model, succeed):
    return json.loads(succeed("evaluate", topics_model, topics / "test.svm", "--json"))


def test_the_numbers_are_those_of_the_predictions(evaluated, topics, topics_model):
    classifier, test = load_model(topics_model), read_data(topics / "test.svm", n_features=400)
    predicted, best = classifier.predict(test.X), classifier.top_k(test.X, 5)[0]
    is_hit = best == test.labels[:, None]
    assert evaluated["accuracy"] == (predicted == test.labels).mean() == evaluated["precision_at_1"]
    assert evaluated["precision_at_3"] == pytest.approx(is_hit[:, :3].sum() / (3 * len(test)))
    assert evaluated["precision_at_5"] == pytest.approx(is_hit.sum() / (5 * len(test)))
    assert evaluated["recall_at_5"] == pytest.approx(is_hit.any(axis=1).mean())
    assert evaluated["n_samples"] == len(test)
    assert evaluated["model_bytes"] == bytes_in(topics_model)
    assert evaluated["microseconds_per_prediction"] > 0
    levels = evaluated["level_accuracies"]
    assert levels == sorted(levels, reverse=True)
    assert levels[-1] == evaluated["accuracy"]
    assert evaluated["mean_error_distance"] >= 2
    probabilities = classifier.predict_proba(test.X)
    class_index = test.index_among(classifier.classes_)
    assert evaluated["nll"] == pytest.approx(-np.log(probabilities[np.arange(len(test)), class_index]).mean())
    assert evaluated["ece"] == pytest.approx(expected_calibration_error(probabilities, class_index))


def test_text_for_people(topics, topics_model, run):
    shown = run("evaluate", topics_model, topics / "test.svm", "--n-threads", 1)
    assert shown.code == 0
    assert "accuracy by level" in shown.out
    # A table: all values begin in the same column, after two blanks.
    assert len({re.match(r".*?  +", line).end() for line in shown.out.splitlines()}) == 1


def test_there_is_one_time_per_prediction_and_it_says_what_is_counted(topics, topics_model, run, monkeypatch):
    timed = []

    def microseconds_of(predict, X):
        timed.append((predict.__self__.n_classes, X.shape))
        return 12.345

    monkeypatch.setattr("codekin.cli.evaluate.microseconds_of", microseconds_of)
    shown = run("evaluate", topics_model, topics / "test.svm", "--n-threads", 2)
    (line,) = [line for line in shown.out.splitlines() if "microseconds" in line]
    assert re.findall(r"[0-9.]+", line) == ["12.35"]
    assert "features to label on one thread, without reading" in line
    assert timed == [(32, read_data(topics / "test.svm").X.shape)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--taxonomy-layout", "paths"), "--taxonomy-layout paths needs --taxonomy FILE."),
        (("--taxonomy", "-"), "The standard input can be read only once. Got - for DATA and for --taxonomy."),
    ],
)
def test_options_that_would_do_nothing_are_refused(arguments, message, topics_model, run):
    shown = run("evaluate", topics_model, "-", *arguments)
    assert (shown.code, shown.out) == (2, "")
    assert message in shown.err


def test_unknown_labels_are_errors_and_said_to_be(topics, topics_model, succeed, tmp_path):
    lines = (topics / "test.svm").read_text().splitlines()
    (tmp_path / "some.svm").write_text("\n".join([*lines[:10], "77 1:1", "78 2:1"]))
    shown = json.loads(succeed("evaluate", topics_model, tmp_path / "some.svm", "--json"))
    assert (shown["n_samples"], shown["n_unknown_labels"]) == (12, 2)
    assert shown["accuracy"] <= 10 / 12


def test_another_taxonomy_and_a_pipe(topics, topics_model, succeed):
    flat = topics / "flat.txt"
    flat.write_text("".join(f"root {k}\n" for k in range(32)))
    data = (topics / "test.svm").read_bytes()
    shown = json.loads(succeed("evaluate", topics_model, "-", "--taxonomy", flat, "--json", stdin=data))
    assert shown["level_accuracies"] == [shown["accuracy"]]
    assert shown["mean_error_distance"] == 2


def test_a_model_of_texts_is_good_at_diagnoses(icd, succeed, run, tmp_path):
    succeed("train", icd / "train.tsv", tmp_path / "model", "--taxonomy", icd / "taxonomy.txt", "--max-features", 5000)
    shown = json.loads(succeed("evaluate", tmp_path / "model", icd / "test.tsv", "--json"))
    assert shown["accuracy"] > 0.8
    assert len(shown["level_accuracies"]) == 3
    assert np.all(np.diff(shown["level_accuracies"]) <= 0)
    top = succeed("predict", tmp_path / "model", "--top-k", 5, stdin=b"Tuberculosis of spine\n").split()
    assert top[0] == "A18"


def test_labels_of_another_kind_are_named_with_their_line(topics_model, run, tmp_path):
    (tmp_path / "words.svm").write_text("3 1:1\ncat 1:1\n")
    shown = run("evaluate", topics_model, tmp_path / "words.svm", "--quiet")
    assert (shown.code, shown.out) == (2, "")
    assert "words.svm, line 2" in shown.err


def test_the_reliability_is_that_of_the_probabilities(evaluated, topics, topics_model, run, succeed, tmp_path):
    bins = evaluated["reliability"]
    assert sum(each["n_samples"] for each in bins) == evaluated["n_samples"]
    right = sum(each["n_samples"] * each["accuracy"] for each in bins) / evaluated["n_samples"]
    assert right == pytest.approx(evaluated["accuracy"])
    gaps = sum(each["n_samples"] * abs(each["accuracy"] - each["confidence"]) for each in bins)
    assert gaps / evaluated["n_samples"] == pytest.approx(evaluated["ece"])
    shown = succeed("evaluate", topics_model, topics / "test.svm", "--reliability", tmp_path / "picture.svg")
    lines = [line for line in shown.splitlines() if "·" in line or "█" in line]
    assert len(lines) == len(bins)
    assert all(f"of {each['n_samples']:,}" in line for each, line in zip(bins, lines, strict=True))
    assert (tmp_path / "picture.svg").read_text().startswith("<?xml")
    refused = run("evaluate", topics_model, topics / "test.svm", "--reliability", tmp_path / "picture.pdf")
    assert refused.code == 2
    assert "--reliability needs a name that ends in .png or .svg. Got" in refused.err
