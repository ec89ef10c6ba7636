"""The commands and classifiers of parts of classes: some accept them, the others say that they do not."""

import json

import numpy as np
import pytest

from codekin import ECOCClassifier, Predictor, SubclassClassifier, save_model
from codekin.storage import ModelFolderError
from tests.crossed import make_crossed_blobs


def crossed(seed=0):
    """Three classes, and a feature that is always 1."""
    X, y = make_crossed_blobs(3, 300, seed=seed)
    return np.column_stack([X, np.ones(len(X))]), y


@pytest.fixture(scope="module")
def classifier():
    coded = ECOCClassifier(codebook="one_vs_rest", decoding="loss", random_state=0)
    return SubclassClassifier(coded).fit(*crossed())


@pytest.fixture
def folder(classifier, tmp_path):
    return save_model(classifier, tmp_path / "model")


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    X, y = crossed(seed=1)
    lines = [f"{label} 1:{a!r} 2:{b!r} 3:{c!r}\n" for label, (a, b, c) in zip(y.tolist(), X.tolist(), strict=True)]
    path = tmp_path_factory.mktemp("samples") / "test.svm"
    path.write_text("".join(lines))
    return path


def test_the_commands_predict_labels_of_classes(folder, samples, classifier, succeed):
    X, y = crossed(seed=1)
    X = X.astype(np.float32)
    assert succeed("predict", folder, samples, "--quiet").split() == classifier.predict(X).tolist()
    best = [line.split("\t") for line in succeed("predict", folder, samples, "--top-k", 2, "--quiet").splitlines()]
    assert best == classifier.top_k(X, 2)[0].tolist()
    rows = succeed("predict", folder, samples, "--probabilities", "--quiet").splitlines()
    labels, probabilities = classifier.top_k_proba(X, 1)
    assert [row.split("\t")[0] for row in rows] == labels[:, 0].tolist()
    assert [float(row.split("\t")[1]) for row in rows] == pytest.approx(probabilities[:, 0], rel=1e-4)
    measured = json.loads(succeed("evaluate", folder, samples, "--json", "--quiet"))
    assert measured["accuracy"] == pytest.approx(np.mean(classifier.predict(X) == y)) == 1
    assert measured["recall_at_3"] == 1
    assert measured["microseconds_per_prediction"] > 0


def test_inspect_shows_the_parts(classifier, tmp_path, succeed):
    X, _ = crossed()
    classifier.estimator_.report(X, classifier.estimator_.predict(X))
    folder = save_model(classifier, tmp_path / "measured")
    shown = json.loads(succeed("inspect", folder, "--json"))
    assert (shown["kind"], shown["n_classes"], shown["parts"]["n_classes"]) == ("SubclassClassifier", 5, 3)
    assert shown["parts"]["split_labels"] == {"ash": 2, "beech": 2}
    assert shown["parts"]["training_errors"] == classifier.training_errors_.tolist()
    text = succeed("inspect", folder)
    assert "what the report calls classes  5 parts of 3 classes: ash (2), beech (2)\n" in text
    assert "ash, part 2" in text
    assert "cedar, part" not in text
    assert (
        json.loads(succeed("inspect", save_model(classifier.estimator_, tmp_path / "inner"), "--json"))["parts"] is None
    )


@pytest.mark.parametrize("command", ["explain", "calibrate", "grow"])
def test_other_commands_refuse_it_in_one_sentence(command, folder, samples, run):
    shown = run(command, folder, samples)
    assert shown.code != 0
    assert "holds a SubclassClassifier" in shown.err
    assert "codekin predict, evaluate and inspect accept it" in shown.err
    assert shown.err.count("\n") == 1


def test_exports_and_servers_refuse_it_in_one_sentence(folder, run, tmp_path):
    for arguments in (("export", folder, tmp_path / "m.onnx"), ("explore", folder, "-o", tmp_path / "page.html")):
        assert "holds a SubclassClassifier" in run(*arguments).err
    assert "cannot answer one sample at a time" in run("serve", folder, "--port", 0).err
    with pytest.raises(ModelFolderError, match="cannot answer one sample at a time; load_model or codekin predict"):
        Predictor.load(folder)
