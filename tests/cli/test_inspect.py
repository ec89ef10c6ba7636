import json

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB

from codekin import ECOCClassifier, ExtremeClassifier, load_model, save_model
from codekin.data import load_dataset, make_sparse_topics


def test_what_is_shown_is_what_the_model_has(topics_model, succeed):
    shown = json.loads(succeed("inspect", topics_model, "--json", "--bits", 2))
    model = load_model(topics_model)
    report = model.report()
    assert (shown["codebook"], shown["width"], shown["n_bits"]) == ("trellis", 2, 21)
    assert shown["min_distance"] == model.codebook_.min_distance
    assert shown["average_binary_loss"] == report.average_binary_loss
    assert shown["error_bound"] == report.error_bound
    assert shown["model_bytes"] == sum(shown["files"].values())
    assert shown["n_constant_bits"] == 1  # 32 is a power of 2
    hardest = shown["hardest_bits"][0]
    learned = np.delete(np.arange(21), np.flatnonzero(np.ptp(model.model_.coding_matrix, axis=0) == 0))
    assert hardest["bit"] == learned[report.bit_losses[learned].argmax()]
    assert hardest["n_positive"] + hardest["n_negative"] == 32
    side = model.model_.coding_matrix[:, hardest["bit"]]
    assert hardest["positive_labels"] == model.classes_[side > 0][:4].tolist()


def test_text_for_people(topics_model, succeed):
    shown = succeed("inspect", topics_model)
    assert "32 classes, 21 bits" in shown
    assert "hardest bits" in shown
    assert "against" in shown
    assert "hardest bits\n" not in succeed("inspect", topics_model, "--bits", 0)


def test_quiet_shows_the_result_and_no_progress(topics_model, run):
    expected = run("inspect", topics_model, "--json")
    for option in ("--quiet", "-q"):
        shown = run("inspect", topics_model, "--json", option)
        assert (shown.code, shown.out, shown.err) == (0, expected.out, "")


def test_a_model_that_was_never_measured_has_no_easy_and_hard_bits(succeed, tmp_path):
    yeast = load_dataset("yeast")
    classifier = ECOCClassifier(RidgeClassifier(), n_bits=9, random_state=0).fit(yeast.X, yeast.y)
    save_model(classifier, tmp_path / "model")
    assert "not measured" in succeed("inspect", tmp_path / "model")
    assert json.loads(succeed("inspect", tmp_path / "model", "--json"))["hardest_bits"] == []
    classifier.report(yeast.X, yeast.y)
    save_model(classifier, tmp_path / "measured")
    assert "loss 0." in succeed("inspect", tmp_path / "measured")


def test_other_classifiers(succeed, tmp_path):
    yeast = load_dataset("yeast")
    save_model(ECOCClassifier(RidgeClassifier(), n_bits=9, random_state=0).fit(yeast.X, yeast.y), tmp_path / "model")
    shown = json.loads(succeed("inspect", tmp_path / "model", "--json"))
    assert (shown["kind"], shown["width"], shown["n_bits"]) == ("ECOCClassifier", None, 9)
    assert "ECOCClassifier, 8 features" in succeed("inspect", tmp_path / "model")


def test_trees_are_described_by_their_nodes(succeed, tmp_path):
    data = make_sparse_topics(60, 600, n_features=400, rng=0)
    classifier = ExtremeClassifier(code="tree", width=4, random_state=0).fit(data.train.X, data.train.y)
    save_model(classifier, tmp_path / "model")
    sizes = np.diff(classifier.codebook_.tree.first_bits)
    wanted = {"n_nodes": len(sizes), "most_children": sizes.max()}
    assert (
        json.loads(succeed("inspect", tmp_path / "model", "--json"))["nodes"]
        == wanted
        == {"n_nodes": 5, "most_children": 15}
    )
    assert "ExtremeClassifier on a tree of 5 nodes with up to 15 children, 400 features" in succeed(
        "inspect", tmp_path / "model"
    )


@pytest.mark.parametrize("harm", ["missing", "cut off"])
def test_a_broken_model_is_named(harm, topics_model, run, tmp_path):
    for path in topics_model.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes()[: -1 if harm == "cut off" else None])
    if harm == "missing":
        (tmp_path / "arrays.safetensors").unlink()
    shown = run("inspect", tmp_path)
    assert (shown.code, shown.out, shown.err.count("\n")) == (2, "", 1)
    assert str(tmp_path) in shown.err


def test_columns_of_symbols_are_shown_with_the_classes_of_every_symbol(succeed, tmp_path):
    X, y = load_iris(return_X_y=True)
    classifier = ECOCClassifier(GaussianNB(), n_symbols=3).fit(X, y)
    classifier.report(X, y)
    save_model(classifier, tmp_path / "model")
    shown = json.loads(succeed("inspect", tmp_path / "model", "--json"))
    assert [side["labels"] for side in shown["hardest_bits"][0]["symbols"]] == [[0], [1], [2]]
    assert "1 class (0) against 1 class (1) against 1 class (2)" in succeed("inspect", tmp_path / "model")


def test_real_bits_are_shown_with_the_signs_of_their_targets(succeed, tmp_path):
    X, y = load_iris(return_X_y=True)
    classifier = ECOCClassifier(Ridge(), codebook="eigen_targets", n_bits=2).fit(X, y)
    classifier.report(X, y)
    save_model(classifier, tmp_path / "model")
    hardest = json.loads(succeed("inspect", tmp_path / "model", "--json"))["hardest_bits"][0]
    targets = classifier.coding_matrix_[:, hardest["bit"]]
    assert hardest["positive_labels"] == np.flatnonzero(targets > 0).tolist()
    assert hardest["n_positive"] + hardest["n_negative"] == 3
    assert "eigen_targets codebook" in succeed("inspect", tmp_path / "model")
