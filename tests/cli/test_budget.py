"""Budgets count the whole folder, for every kind of input."""

import json

import pytest

from codekin._system.files import bytes_in
from codekin.data import read_data, write_data
from codekin.storage import load_input

ONE_TRIAL = (
    "--time-limit",
    0.01,
    "--rerank",
    "none",
    "--n-codes",
    1,
    "--assignment",
    "random",
    "--estimator",
    "arow",
)


@pytest.mark.parametrize("name", ["train.svm", "train.npz", "texts.tsv"])
@pytest.mark.parametrize("budget", [25_000, 60_000])
def test_a_budget_holds_on_disk_for_svmlight_npz_and_texts(name, budget, topics, icd, succeed, tmp_path):
    data = topics / "train.svm"
    if name == "train.npz":
        data = tmp_path / name
        write_data(data, read_data(topics / "train.svm"))
    if name == "texts.tsv":
        data = tmp_path / name
        data.write_text("".join((icd / "test.tsv").read_text(encoding="utf-8").splitlines(keepends=True)[:1500]))
    shown = json.loads(
        succeed("train", data, tmp_path / "model", "--max-model-bytes", budget, *ONE_TRIAL, "--json", "--quiet")
    )
    on_disk = sum(path.stat().st_size for path in (tmp_path / "model").iterdir())
    assert on_disk == shown["model_bytes"] == bytes_in(tmp_path / "model") <= budget
    chosen = min((t for t in shown["trials"] if t["fits"]), key=lambda t: (-t["accuracy"], t["n_bytes"]))
    assert on_disk <= chosen["n_bytes"] <= budget
    assert json.loads(succeed("inspect", tmp_path / "model", "--json"))["model_bytes"] == on_disk


def test_a_vocabulary_gives_way_to_a_budget_and_that_is_said(icd, run, tmp_path):
    shown = run("train", icd / "test.tsv", tmp_path / "model", "--max-model-bytes", "50kB", *ONE_TRIAL, "--width", 2)
    assert shown.code == 0
    n_features = load_input(tmp_path / "model").vectorizer.n_features
    assert f"keeping the {n_features:,} most frequent of " in shown.err
    assert "terms: they take 30% of the budget" in shown.err
    assert bytes_in(tmp_path / "model") <= 50_000


def test_a_budget_below_labels_and_vocabulary_is_refused_before_training(icd, run, tmp_path):
    shown = run("train", icd / "test.tsv", tmp_path / "model", "--max-model-bytes", "5kB", "--quiet")
    assert (shown.code, shown.out, shown.err.count("\n")) == (2, "", 1)
    assert "There is no model within 4.9 KiB: labels and everything else besides the weights take" in shown.err
    assert not (tmp_path / "model.checkpoint").exists()


def test_a_vocabulary_stays_whole_where_the_whole_model_fits(icd, run, tmp_path):
    for name, budget in (("large", "2MB"), ("small", "280kB")):  # of which the vocabulary takes more than 30 %
        options = ("--max-model-bytes", budget, "--n-codes", 1, "--features", "words")
        shown = run("train", icd / "test.tsv", tmp_path / name, *options)
        assert shown.code == 0
        assert "keeping the" not in shown.err
    small, large = (load_input(tmp_path / name).vectorizer.n_features for name in ("small", "large"))
    assert small == large
    assert bytes_in(tmp_path / "small") <= 280_000
