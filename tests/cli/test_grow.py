"""codekin grow: further samples and further classes, from a file into a model."""

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
    succeed("train", parts / "old.svm", tmp_path / "model", "--spare", 6, "--n-features", 400, "--quiet")
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
