"""codekin export: models for programs without codekin."""

import re

import pytest

from codekin import Predictor, load_model
from codekin.deploy.export import padded_rows
from codekin.storage import load_input


@pytest.fixture(scope="module")
def text_model(tmp_path_factory):
    from codekin.cli.main import main

    home = tmp_path_factory.mktemp("texts")
    words = {"cat": "purrs sleeps meows", "dog": "barks runs digs", "cow": "grazes moos chews"}
    lines = [f"{label}\tthe {label} {verb} here\n" for label, verbs in words.items() for verb in verbs.split() * 3]
    (home / "train.tsv").write_text("".join(lines))
    assert main(["train", str(home / "train.tsv"), str(home / "model"), "--quiet"]) == 0
    return home / "model"


def test_an_exported_text_model_answers_like_the_model(text_model, succeed, tmp_path):
    runtime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    target = tmp_path / "model.onnx"
    said = succeed("export", text_model, target, "--top-k", "9")
    assert "sparse input; features of texts are made outside of it" in said
    texts = ["the dog runs", "a cow chews", "", "cat meows"]
    features, values = padded_rows(load_input(text_model).vectorizer.transform(texts))
    session = runtime.InferenceSession(target, providers=["CPUExecutionProvider"])
    labels, probabilities = session.run(["labels", "probabilities"], {"features": features, "values": values})
    predictor = Predictor.load(text_model)
    for i, text in enumerate(texts):
        expected, of_expected = predictor.top_k_proba(text, 3)
        assert labels[i].tolist() == expected
        assert probabilities[i].tolist() == pytest.approx(of_expected, rel=1e-4)


def test_dense_input_can_be_chosen(text_model, succeed, tmp_path):
    runtime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    target = tmp_path / "model.onnx"
    assert succeed("export", text_model, target, "--input", "dense", "--quiet") == ""
    session = runtime.InferenceSession(target, providers=["CPUExecutionProvider"])
    X = load_input(text_model).vectorizer.transform(["a cow moos"])
    (labels,) = session.run(["labels"], {"X": X.toarray()})
    assert labels[0, 0] == load_model(text_model).predict(X)[0] == "cow"


@pytest.mark.parametrize(
    ("target", "words", "sentence"),
    [
        ("model.onnx", ["--title", "Cats"], "--title Cats needs a folder for a page"),
        ("page", ["--input", "dense"], "--input dense needs a target whose name ends in .onnx"),
    ],
)
def test_options_of_the_other_kind_are_refused(text_model, run, tmp_path, target, words, sentence):
    shown = run("export", text_model, tmp_path / target, *words)
    assert (shown.code, sentence in shown.err) == (2, True)
    assert not (tmp_path / target).exists()


def test_a_folder_gets_a_page(text_model, succeed, tmp_path):
    said = succeed("export", text_model, tmp_path / "page", "--title", "Cats & dogs", "--top-k", "2")
    page = tmp_path / "page" / "index.html"
    assert said.startswith(f"{page}: ")
    text = page.read_text(encoding="utf-8")
    assert "<h1>Cats &amp; dogs</h1>" in text
    assert "predict(model, sample, 2)" in text
    assert "@@" not in text
    assert not re.search(r"(src|href)=.https?:|fetch\(|@import", text)


def test_other_names_and_models_without_texts_are_refused(text_model, topics, run, succeed, tmp_path):
    shown = run("export", text_model, tmp_path / "model.pmml")
    assert shown.code == 2
    assert (
        "The name of an exported model must end in .onnx, or be that of a folder for a page, such as page/. Got"
        in shown.err
    )
    shown = run("export", text_model, text_model)
    assert shown.code == 2
    assert "would replace an input, MODEL " in shown.err
    succeed("train", topics / "train.svm", tmp_path / "model", "--quiet", "--rerank", "none")
    shown = run("export", tmp_path / "model", tmp_path / "page")
    assert shown.code == 2
    assert "A page needs a model of texts. Got one of features in" in shown.err
