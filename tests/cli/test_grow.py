"""codekin grow: add samples and classes from a file to a model."""

import json

import pytest

from codekin.storage import load_model


@pytest.fixture(scope="module")
def parts(topics):
    """The training samples of classes below 28, and those of the others."""
    lines = (topics / "train.svm").read_text().splitlines(keepends=True)
    for name, is_part in (("old", lambda label: label < 28), ("new", lambda label: label >= 28)):
        (topics / f"{name}.svm").write_text("".join(line for line in lines if is_part(int(line.split()[0]))))
    return topics


@pytest.fixture
def small_model(parts, succeed, tmp_path):
    succeed("train", parts / "old.svm", tmp_path / "model", "--n-reserved", 6, "--n-features", 400, "--quiet")
    return tmp_path / "model"


def test_a_model_grows_by_classes_and_learns_on(parts, small_model, succeed, tmp_path):
    with_all = tmp_path / "all.svm"
    with_all.write_bytes((parts / "old.svm").read_bytes() + (parts / "new.svm").read_bytes())
    options = ("--output", tmp_path / "grown", "--n-epochs", 3, "--quiet", "--json")
    summary = json.loads(succeed("grow", small_model, with_all, *options))
    assert (summary["n_classes"], summary["n_new_classes"], summary["n_free_codewords"]) == (32, 4, 2)
    accuracies = [
        json.loads(succeed("evaluate", model, parts / "test.svm", "--json", "--quiet"))["accuracy"]
        for model in (small_model, tmp_path / "grown")
    ]
    assert accuracies[1] > accuracies[0]


def test_without_passes_only_codewords_are_found(parts, small_model, succeed):
    before = load_model(small_model).model_.bits.weights.copy()
    shown = succeed("grow", small_model, parts / "new.svm", "--n-epochs", 0, "--quiet")
    assert shown.startswith("32 classes, 4 of them new, 2 free codewords left; ")
    assert (load_model(small_model).model_.bits.weights == before).all()


def test_too_many_classes_are_an_error_that_leaves_the_model_alone(parts, small_model, run, tmp_path):
    many = tmp_path / "many.svm"
    many.write_text("".join(f"{100 + k} 1:1\n" for k in range(9)))
    before = (small_model / "model.json").read_bytes()
    shown = run("grow", small_model, many, "--quiet")
    assert shown.code == 2
    assert "9 new classes need as many free codewords. Got 6 among the 34 of the codebook." in shown.err
    assert (small_model / "model.json").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--rerank", "centroid"), "has several codes or a re-ranking"),
        (("--n-codes", 2), "has several codes or a re-ranking"),
        (
            ("--max-model-bytes", "1MB", "--rerank", "none", "--n-codes", 1, "--width", 2),
            "was chosen within a budget",
        ),
    ],
    ids=["re-ranked", "two codes", "budget"],
)
def test_a_model_that_cannot_grow_is_refused_before_the_samples_are_read(
    options, reason, parts, succeed, run, tmp_path
):
    succeed("train", parts / "old.svm", tmp_path / "model", "--quiet", *options)
    shown = run("grow", tmp_path / "model", tmp_path / "there is no such file", "--quiet")
    assert (shown.code, shown.out, shown.err.count("\n")) == (2, "", 1)
    assert reason in shown.err
    assert shown.err.endswith("codekin train --n-reserved N makes a model that can.\n")


def test_a_model_within_a_budget_takes_new_classes_without_learning_on(parts, succeed, tmp_path):
    options = ("--max-model-bytes", "1MB", "--width", 2, "--n-reserved", 6, "--n-features", 400)
    succeed("train", parts / "old.svm", tmp_path / "model", "--quiet", *options)
    shown = succeed("grow", tmp_path / "model", parts / "new.svm", "--n-epochs", 0, "--quiet")
    assert shown.startswith("32 classes, 4 of them new, 2 free codewords left; ")


def test_samples_that_are_read_several_times_do_not_come_from_a_pipe(parts, small_model, run):
    shown = run("grow", small_model, "-", "--quiet", stdin=(parts / "new.svm").read_bytes())
    assert (shown.code, shown.out) == (2, "")
    assert "they must be in a file. Got - instead." in shown.err


def test_a_single_class_too_many_is_spoken_of_as_one(parts, succeed, run, tmp_path):
    succeed("train", parts / "old.svm", tmp_path / "model", "--code", "trellis", "--quiet")
    (tmp_path / "one.svm").write_text("100 1:1\n")
    shown = run("grow", tmp_path / "model", tmp_path / "one.svm", "--quiet")
    assert shown.code == 2
    assert "1 new class needs a free codeword. Got 0 among the 28" in shown.err
    assert "Train again with more reserved codewords." in shown.err
