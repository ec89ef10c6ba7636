"""Several labels per sample on the command line: files in, labels with probabilities out, measures, thresholds."""

import csv
import json

import numpy as np
import pytest

from codekin import Predictor, load_model
from codekin.data import ReadOptions, read_data
from codekin.deploy.predictor import BatchPredictor
from codekin.measures.label_sets import f1_scores
from codekin.model.probabilities import probable_labels
from codekin.storage import load_input, load_saved

ANIMALS = {
    "cat": "purrs meows whiskers",
    "dog": "barks fetches tail",
    "cow": "moos grazes milk",
    "hen": "clucks pecks eggs",
}
SPLITS = {"train": 240, "val": 120, "test": 60}


@pytest.fixture(scope="module")
def animals(tmp_path_factory):
    """A folder of texts about one to three animals, as lines, as lists and as features, and a model of each."""
    from codekin.cli.main import main

    folder, rng = tmp_path_factory.mktemp("animals"), np.random.default_rng(0)
    names = list(ANIMALS)
    for split, n in SPLITS.items():
        sets = [sorted(rng.choice(names, rng.integers(1, 4), replace=False).tolist()) for _ in range(n)]
        words = [[rng.choice(ANIMALS[name].split()) for name in own] + ["today", "farm"] for own in sets]
        rows = [(own, " ".join(rng.permutation(text).tolist())) for own, text in zip(sets, words, strict=True)]
        lines = [f"{','.join(own)}\t{text}\n" for own, text in rows]
        (folder / f"{split}.tsv").write_text("".join(lines))
        objects = [json.dumps({"label": own, "text": text}) + "\n" for own, text in rows]
        (folder / f"{split}.jsonl").write_text("".join(objects))
        features = sorted({word for own in ANIMALS.values() for word in own.split()})
        pairs = [
            f"{','.join(str(names.index(name)) for name in own)} "
            + " ".join(f"{i}:1" for i, word in enumerate(features) if word in text.split())
            for own, text in rows
        ]
        (folder / f"{split}.xmc").write_text(
            f"{n} {len(features)} {len(names)}\n" + "".join(f"{row}\n" for row in pairs)
        )
    options = ["--validation", "", "--quiet", "--json"]
    for kind, several in (
        ("tsv", ["--label-separator", ","]),
        ("jsonl", ["--multilabel", "all"]),
        ("xmc", ["--multilabel", "all"]),
    ):
        options[1] = str(folder / f"val.{kind}")
        assert main(["train", str(folder / f"train.{kind}"), str(folder / kind), *several, *options]) == 0
    return folder


def truth_of(folder, split="test"):
    data = read_data(folder / f"{split}.tsv", options=ReadOptions(label_separator=","))
    return data, data.encoded_labels.indicator


def sets_of(shown):
    return [set(line.split("\t")) - {""} for line in shown.splitlines()]


def test_a_model_predicts_all_labels_that_are_probable_best_first(animals, succeed):
    found = sets_of(succeed("predict", animals / "tsv", animals / "test.tsv"))
    data, truth = truth_of(animals)
    classes = data.encoded_labels.classes
    right = [own == set(classes[row.nonzero()[0]].tolist()) for own, row in zip(found, truth.toarray(), strict=True)]
    assert np.mean(right) > 0.9
    shown = succeed("predict", animals / "tsv", animals / "test.tsv", "--probabilities")
    for line in shown.splitlines():
        probabilities = [float(field) for field in line.split("\t")[1::2]]
        assert probabilities == sorted(probabilities, reverse=True)
        assert all(0.5 <= p <= 1 for p in probabilities)


@pytest.mark.parametrize("kind", ["jsonl", "xmc"])
def test_lists_and_features_give_the_labels_of_lines(animals, succeed, kind):
    names = list(ANIMALS)
    own = sets_of(succeed("predict", animals / kind, animals / f"test.{kind}"))
    own = own if kind == "jsonl" else [{names[int(k)] for k in each} for each in own]
    same = [
        a == b for a, b in zip(own, sets_of(succeed("predict", animals / "tsv", animals / "test.tsv")), strict=True)
    ]
    assert np.mean(same) > 0.9


def test_a_smaller_probability_gives_more_labels_and_top_k_limits_them(animals, succeed):
    arguments = "predict", animals / "tsv", animals / "test.tsv"
    usual, more, all_of_them = (
        sets_of(succeed(*arguments, *given)) for given in ((), ("--min-probability", 0.01), ("--min-probability", 0))
    )
    assert all(a <= b <= c for a, b, c in zip(usual, more, all_of_them, strict=True))
    assert {len(own) for own in all_of_them} == {4}
    two = sets_of(succeed(*arguments, "--top-k", 2))
    assert {len(own) for own in two} == {2}
    few = sets_of(succeed(*arguments, "--top-k", 2, "--min-probability", 0.5))
    assert few == [a & b for a, b in zip(two, usual, strict=True)]


def test_less_probable_labels_of_one_label_per_sample_are_left_out_too(topics, topics_model, succeed):
    arguments = "predict", topics_model, topics / "test.svm"
    rows = [line.split("\t") for line in succeed(*arguments, "--probabilities").splitlines()]
    least = sorted(float(p) for _, p in rows)[len(rows) // 2]
    found = succeed(*arguments, "--min-probability", least).splitlines()
    assert found == [label if float(p) >= least else "" for label, p in rows]


def test_json_has_lists_of_labels_and_probabilities(animals, succeed):
    shown = succeed("predict", animals / "tsv", animals / "test.tsv", "--json", "--probabilities").splitlines()
    for line, own in zip(shown, sets_of(succeed("predict", animals / "tsv", animals / "test.tsv")), strict=True):
        answer = json.loads(line)
        assert set(answer["labels"]) == own
        assert len(answer["probabilities"]) == len(own)


def test_columns_are_kept_beside_the_best_labels(animals, succeed):
    shown = succeed("predict", animals / "jsonl", animals / "test.jsonl", "--keep", "text", "--top-k", 2)
    rows = list(csv.reader(shown.splitlines()))
    assert rows[0] == ["text", "label_1", "label_2"]
    assert {len(row) for row in rows} == {3}


def test_measures_are_those_of_several_labels_and_read_the_file_as_in_training(animals, succeed):
    result = json.loads(succeed("evaluate", animals / "tsv", animals / "test.tsv", "--json"))
    model, (data, truth) = load_saved(animals / "tsv"), truth_of(animals)
    X = load_input(animals / "tsv").features(data)
    assert (result["micro_f1"], result["macro_f1"]) == f1_scores(probable_labels(model.coded, X), truth)
    assert result["precision_at"]["1"] > 0.95
    counts = model.coded.marginals.training_counts
    assert counts.tolist() == [*truth_of(animals, "train")[1].sum(axis=0), SPLITS["train"]]
    assert result["propensity_precision_at"]["1"] > 0.95
    shown = succeed("evaluate", animals / "tsv", animals / "test.tsv")
    for name in ("nDCG at 1, 3, 5", "F1 of all, mean F1 of labels", "calibration error", "microseconds per prediction"):
        assert name in shown


def test_an_evaluation_counts_different_unknown_labels_and_samples_without_any(animals, succeed, tmp_path):
    (tmp_path / "new.tsv").write_text("cat,fox\tpurrs\ndog,fox\tbarks\n\tgrazes\nox\tmoos\n")
    shown = succeed("evaluate", animals / "tsv", tmp_path / "new.tsv")
    assert "4 with 1.25 labels on average; 2 labels without training samples" in shown
    assert "  without labels                1; they count as 0 in precision, recall and nDCG" in shown
    assert "without labels" not in succeed("evaluate", animals / "tsv", animals / "test.tsv")


def test_the_report_of_training_has_the_same_measures(animals, succeed, tmp_path):
    for kind in ("tsv", "xmc"):
        several = ("--label-separator", ",") if kind == "tsv" else ("--multilabel", "all")
        files = animals / f"train.{kind}", tmp_path / kind, "--validation", animals / f"val.{kind}"
        shown = succeed("train", *files, *several, "--quiet")
        assert "precision at 1, 3, 5" in shown
        assert "codekin export" not in shown
        held = succeed("train", files[0], tmp_path / kind, "--validation", "20%", *several, "--quiet")
        assert "samples                         48 with" in held


def test_thresholds_are_chosen_on_other_samples_and_kept_in_the_model(animals, succeed, tmp_path):
    arguments = "calibrate", animals / "tsv", animals / "val.tsv", "--output", tmp_path / "model", "--json"
    one = json.loads(succeed(*arguments))
    assert (one["aim"], len(one["thresholds"]), one["n_samples"]) == ("micro_f1", 1, 120)
    assert load_saved(tmp_path / "model").coded.marginals.thresholds.tolist() == one["thresholds"]
    each = json.loads(succeed(*arguments, "--thresholds", "macro_f1", "--per-label"))
    assert len(each["thresholds"]) == 4
    data, truth = truth_of(animals, "val")
    X = load_input(animals / "tsv").features(data)
    reached = {
        name: f1_scores(probable_labels(load_saved(path).coded, X), truth)[1]
        for name, path in (("chosen", tmp_path / "model"), ("default", animals / "tsv"))
    }
    assert reached["chosen"] >= reached["default"]
    strict = json.loads(succeed(*arguments, "--thresholds", "0.99"))
    predicted = probable_labels(load_saved(tmp_path / "model").coded, X)
    assert (predicted.multiply(truth)).sum() >= 0.99 * predicted.sum()
    assert strict["aim"] == 0.99
    text = succeed("calibrate", animals / "tsv", animals / "val.tsv", "--output", tmp_path / "model", "--per-label")
    assert "in the median of 4 labels" in text


def test_a_predictor_and_a_server_answer_with_the_same_labels(animals, succeed):
    expected = [line.split("\t") for line in succeed("predict", animals / "tsv", animals / "test.tsv").splitlines()]
    texts = read_data(animals / "test.tsv").texts
    predictor = Predictor.load(animals / "tsv")
    assert [set(predictor.predict(text)) for text in texts] == [set(own) - {""} for own in expected]
    batch = BatchPredictor.of(load_saved(animals / "tsv"))
    labels, probabilities = batch.best([batch.row(text) for text in texts], 0, has_probabilities=True)
    assert [own or [""] for own in labels] == expected
    assert [len(own) for own in probabilities] == [len(own) for own in labels]
    assert batch.best([batch.row(texts[0])], 2, has_probabilities=False)[0] == [predictor.top_k(texts[0], 2)[0]]


def test_an_explanation_is_of_the_most_probable_label(animals, succeed):
    first = succeed("explain", animals / "tsv", animals / "test.tsv", "--quiet").splitlines()[0]
    best = succeed("predict", animals / "tsv", animals / "test.tsv", "--top-k", 1).splitlines()[0]
    assert first.startswith(f"sample 1: {best}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("export", "{tsv}", "{out}"), "holds a model of several labels per sample"),
        (("explore", "{tsv}", "--output", "{out}.html"), "holds a model of several labels per sample"),
        (("grow", "{tsv}", "{test}", "--output", "{out}"), "holds a model of several labels per sample"),
        (("predict", "{tsv}", "{test}", "--coverage", "0.9"), "--coverage is for models of one label per sample"),
        (("predict", "{jsonl}", "{lists}", "--keep", "text"), "--keep needs --top-k"),
        (("evaluate", "{tsv}", "{test}", "--multilabel", "first"), "--multilabel first needs a model of one label"),
        (("evaluate", "{topics}", "{svm}", "--multilabel", "all"), "--multilabel all needs a model of several labels"),
        (("calibrate", "{topics}", "{svm}", "--per-label"), "--per-label needs a model of several labels"),
        (("calibrate", "{tsv}", "{test}", "--thresholds", "f1"), "must be 'micro_f1', 'macro_f1' or a precision"),
        (("calibrate", "{tsv}", "{unknown}"), "unknown.tsv: none of its 2 samples has a label that the model knows"),
        (("evaluate", "{tsv}", "{unknown}"), "unknown.tsv: none of its 2 samples has a label that the model knows"),
        (("evaluate", "{tsv}", "{without}"), "without.tsv: none of its 1 samples has a label that the model knows"),
        (("train", "{test}", "{out}", "--multilabel", "all"), "no sample has more than one label"),
        (("train", "{test}", "{out}", "--label-separator", "|"), "'|' is between no two labels"),
        (
            ("train", "{test}", "{out}", "--label-separator", ",", "--multilabel", "first"),
            "needs multilabel='all'",
        ),
    ],
)
def test_what_does_not_fit_is_said_in_one_sentence(animals, topics, topics_model, run, tmp_path, arguments, message):
    places = {"tsv": animals / "tsv", "jsonl": animals / "jsonl", "test": animals / "test.tsv", "out": tmp_path / "out"}
    places |= {name: tmp_path / f"{name}.tsv" for name in ("unknown", "without")}
    places["unknown"].write_text("fox,ox\tbarks\nox\tmoos\n")
    places["without"].write_text("\tbarks\n")
    places |= {"lists": animals / "test.jsonl", "topics": topics_model, "svm": topics / "test.svm"}
    shown = run(*(argument.format(**places) for argument in arguments), "--quiet")
    assert shown.code == 2
    assert message in shown.err
    assert shown.err.strip().count("\n") == 0


def test_a_classifier_of_one_label_has_no_thresholds(topics_model):
    with pytest.raises(ValueError, match="Thresholds are for models of several labels per sample"):
        load_model(topics_model).choose_thresholds(np.zeros((1, 400)), [["a", "b"]])
