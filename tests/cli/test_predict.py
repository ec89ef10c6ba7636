import gzip
import json
import subprocess

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline

from codekin import ECOCClassifier, load_model, save_model
from codekin.data import read_data
from tests.cli.conftest import CODEKIN, ENVIRONMENT


@pytest.fixture(scope="module")
def expected(topics, topics_model):
    """The classifier and the samples that it is to predict."""
    return load_model(topics_model), read_data(topics / "test.svm", n_features=400).X


def test_one_label_per_line_in_the_order_of_the_samples(topics, topics_model, succeed, expected):
    classifier, X = expected
    shown = succeed("predict", topics_model, topics / "test.svm")
    assert shown == "".join(f"{label}\n" for label in classifier.predict(X))


def test_chunks_change_nothing(topics, topics_model, succeed):
    whole = succeed("predict", topics_model, topics / "test.svm", "--top-k", 3, "--probabilities")
    assert (
        succeed("predict", topics_model, topics / "test.svm", "--top-k", 3, "--probabilities", "--chunk-rows", 7)
        == whole
    )


def test_the_best_classes_and_their_probabilities_are_columns(topics, topics_model, succeed, expected):
    classifier, X = expected
    rows = [
        line.split("\t") for line in succeed("predict", topics_model, topics / "test.svm", "--top-k", 3).splitlines()
    ]
    assert rows == classifier.top_k(X, 3)[0].astype(str).tolist()
    labels, probabilities = classifier.top_k_proba(X, 2)
    shown = succeed("predict", topics_model, topics / "test.svm", "--top-k", 2, "--probabilities")
    table = np.array([line.split("\t") for line in shown.splitlines()])
    assert table[:, ::2].tolist() == labels.astype(str).tolist()
    np.testing.assert_allclose(table[:, 1::2].astype(float), probabilities, rtol=1e-5)
    best = succeed("predict", topics_model, topics / "test.svm", "--probabilities").splitlines()[0].split("\t")
    assert best == table[0, :2].tolist()


def test_more_classes_than_there_are_cannot_be_named(topics, topics_model, succeed):
    line = succeed("predict", topics_model, topics / "test.svm", "--top-k", 99).splitlines()[0]
    assert len(line.split("\t")) == 32


def test_json_lines(topics, topics_model, succeed, expected):
    classifier, X = expected
    first = [json.loads(line) for line in succeed("predict", topics_model, topics / "test.svm", "--json").splitlines()]
    assert first == [{"label": label} for label in classifier.predict(X).tolist()]
    shown = succeed("predict", topics_model, topics / "test.svm", "--json", "--top-k", 2, "--probabilities")
    one = json.loads(shown.splitlines()[0])
    assert one["label"] == one["top"][0]["label"]
    assert one["top"][0]["probability"] >= one["top"][1]["probability"]


@pytest.mark.parametrize("name", ["labels.txt", "labels.txt.gz"])
def test_an_output_file_is_written_whole(name, topics, topics_model, run, succeed, tmp_path):
    shown = succeed("predict", topics_model, topics / "test.svm")
    assert succeed("predict", topics_model, topics / "test.svm", "-o", tmp_path / name) == ""
    content = (tmp_path / name).read_bytes()
    assert (gzip.decompress(content) if name.endswith(".gz") else content).decode() == shown
    (tmp_path / "bad.svm").write_text("1:1\n" * 9 + "1:x\n")
    failed = run("predict", topics_model, tmp_path / "bad.svm", "-o", tmp_path / "bad.txt", "--chunk-rows", 2)
    assert failed.code == 2
    assert "bad.svm, line 10" in failed.err
    assert not (tmp_path / "bad.txt").exists()


def test_pipes_and_samples_without_labels(topics, topics_model, succeed):
    with_labels = (topics / "test.svm").read_bytes()
    without = b"".join(line.partition(b" ")[2] + b"\n" for line in with_labels.splitlines())
    shown = succeed("predict", topics_model, "-", stdin=with_labels)
    assert succeed("predict", topics_model, stdin=without) == shown


def test_features_that_the_model_has_never_seen_are_left_out(topics_model, succeed):
    assert succeed("predict", topics_model, stdin=b"1:1 2:1\n") == succeed(
        "predict", topics_model, stdin=b"1:1 2:1 999:5\n"
    )


def test_a_reader_who_has_seen_enough_gets_no_complaint(topics, topics_model, tmp_path):
    (tmp_path / "many.svm").write_bytes((topics / "test.svm").read_bytes() * 60)
    command = [*CODEKIN, "predict", str(topics_model), str(tmp_path / "many.svm"), "--quiet", "--chunk-rows", "100"]
    predicting = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert predicting.stdout.readline()
    predicting.stdout.close()
    assert predicting.stderr.read() == b""
    assert predicting.wait() == 0


@pytest.fixture(scope="module")
def texts_model(tmp_path_factory):
    from codekin.cli.main import main

    folder = tmp_path_factory.mktemp("texts")
    lines = [
        "fruit\tred apple",
        "fruit\tgreen apple",
        "weather\tblue sky",
        "weather\tgrey sky",
        "car\tfast car",
        "car\tslow car",
    ]
    (folder / "train.tsv").write_text("\n".join(lines))
    assert main(["train", str(folder / "train.tsv"), str(folder / "model"), "--quiet", "--json"]) == 0
    return folder / "model"


def test_a_model_of_texts_takes_lines_and_files_of_two_columns(texts_model, succeed, tmp_path):
    assert succeed("predict", texts_model, stdin=b"a red apple\nthe sky\n") == "fruit\nweather\n"
    assert succeed("predict", texts_model, stdin=b"?\ta red apple\n?\tmy car\n") == "fruit\ncar\n"
    (tmp_path / "notes").write_text("slow\n")
    assert succeed("predict", texts_model, tmp_path / "notes") == "car\n"


@pytest.mark.parametrize("options", [(), ("--chunk-rows", 1), ("--top-k", 1, "--probabilities")], ids=str)
def test_a_blank_line_is_a_text_without_words_and_gets_a_label(options, texts_model, succeed, tmp_path):
    whole = succeed("predict", texts_model, *options, stdin=b"apple\n\nsky\n").splitlines()
    alone = succeed("predict", texts_model, *options, stdin=b"apple\nsky\n").splitlines()
    assert len(whole) == 3
    assert whole[::2] == alone
    (tmp_path / "lines").write_bytes(b"apple\r\n\r\nsky")
    assert succeed("predict", texts_model, tmp_path / "lines", *options).splitlines() == whole


def test_texts_and_features_are_not_mixed_up(texts_model, topics, topics_model, run):
    shown = run("predict", texts_model, topics / "test.svm")
    assert shown.code == 2
    assert "this model was trained on texts, but there are features in the file" in shown.err
    shown = run("predict", topics_model, "--format", "tsv", stdin=b"red apple\n")
    assert shown.code == 2
    assert "this model was trained on features, but there are texts in the file" in shown.err


def test_texts_have_no_first_feature(texts_model, run):
    shown = run("predict", texts_model, "--index-base", 1, stdin=b"red apple\n")
    assert (shown.code, shown.out) == (2, "")
    assert "--index-base 1 needs features with numbers. Got a model of texts." in shown.err


def test_models_of_other_classifiers_predict_too(topics, succeed, tmp_path):
    train = read_data(topics / "train.svm", n_features=400)
    classifier = ECOCClassifier(RidgeClassifier(), n_bits=12, assignment="random", random_state=0).fit(
        train.X, train.labels
    )
    save_model(classifier, tmp_path / "model")
    shown = succeed("predict", tmp_path / "model", topics / "train.svm", "--top-k", 2, "--probabilities")
    label, probability, *_ = shown.splitlines()[0].split("\t")
    assert label == str(classifier.predict_proba(train.X[:1]).argmax())
    assert 0 < float(probability) < 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("no-model", "x.svm"), "no-model is not a model folder: it has no model.json"),
        (("MODEL", "x.svm"), "x.svm: there is no such file"),
        (("MODEL", "x.svm", "--top-k", "0"), "--top-k"),
        (("MODEL", "x.svm", "--top-k", "many"), "'many'"),
    ],
)
def test_errors_are_one_sentence(arguments, message, topics_model, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = run("predict", *(topics_model if word == "MODEL" else word for word in arguments), "--quiet")
    assert (shown.code, shown.out, shown.err.count("\n")) == (2, "", 1)
    assert message in shown.err


def test_a_code_without_labels_is_refused(topics_model, run, tmp_path):
    save_model(load_model(topics_model).model_, tmp_path / "bare")
    shown = run("predict", tmp_path / "bare", stdin=b"1:1\n")
    assert shown.code == 2
    assert "holds a code without labels" in shown.err


def test_a_classifier_of_no_table_is_inspected_but_predicts_in_python_only(run, succeed, tmp_path):
    texts, labels = ["one a", "two b", "three c", "one d", "two e", "three f"], [1, 2, 3, 1, 2, 3]
    pipeline = make_pipeline(TfidfVectorizer(), RidgeClassifier())
    with pytest.warns(UserWarning, match="Learners of type Pipeline are stored by skops"):
        model = save_model(ECOCClassifier(pipeline, random_state=0).fit(texts, labels), tmp_path / "model")
    succeed("inspect", model, "--trust")
    (tmp_path / "texts.svm").write_text("1 1:1\n")
    shown = run("predict", model, tmp_path / "texts.svm", "--trust")
    assert shown.code == 2
    assert "number of features" in shown.err


@pytest.mark.parametrize(("odd", "options"), [("two\nlines", ()), ("a\rb", ()), ("a\tb", ("--top-k", 2))], ids=str)
def test_labels_that_would_break_the_lines_are_refused_except_as_json(odd, options, run, succeed, tmp_path):
    X, y = np.eye(3, dtype=np.float32)[[0, 1, 2] * 4], np.array(["one", odd, "three"] * 4)
    save_model(ECOCClassifier(RidgeClassifier(), random_state=0).fit(X, y), tmp_path / "model")
    samples = b"1:1\n2:1\n3:1\n"
    shown = run("predict", tmp_path / "model", "--index-base", 1, *options, stdin=samples)
    assert shown.code == 2
    assert f"The label {odd!r} contains a line break or a tab, which separate labels; use --json." in shown.err
    lines = succeed("predict", tmp_path / "model", "--index-base", 1, "--json", *options, stdin=samples).splitlines()
    assert [json.loads(line)["label"] for line in lines] == ["one", odd, "three"]
