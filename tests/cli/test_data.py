import json

import pytest

from codekin.data import DATASETS, read_data, registry


def test_the_list_names_every_data_set_and_says_whether_it_is_there(succeed, tmp_path):
    rows = {row["name"]: row for row in json.loads(succeed("data", "list", "--json", "--data-home", tmp_path))}
    assert list(rows) == list(DATASETS)
    assert rows["yeast"]["status"] == "embedded"
    assert rows["mnist"]["status"] == "can be fetched"
    assert rows["wordnet_hypernym"]["status"] == "not there"
    (tmp_path / "mnist").mkdir()
    shown = succeed("data", "list", "--data-home", tmp_path).splitlines()
    assert len(shown) == len(DATASETS)
    assert next(line for line in shown if line.startswith("mnist ")).split()[3] == "available"


def test_converting_there_and_back(topics, succeed, run, tmp_path):
    shown = run("data", "convert", topics / "train.svm", tmp_path / "train.npz")
    assert (shown.code, shown.out, shown.err) == (0, "", "600 samples\n")
    succeed("data", "convert", tmp_path / "train.npz", tmp_path / "train.svm.gz")
    again, before = (
        read_data(tmp_path / "train.svm.gz", n_features=400),
        read_data(topics / "train.svm", n_features=400),
    )
    assert (again.X != before.X).nnz == 0
    assert (again.labels == before.labels).all()


def test_converting_in_a_pipe(succeed):
    assert (
        succeed("data", "convert", "-", "-", "--from", "vw", "--to", "svmlight", stdin=b"cat | 0:1 2:0.5\n")
        == "cat 1:1.0 3:0.5\n"
    )


def test_exported_data_are_the_input_of_a_training(succeed, tmp_path):
    files = succeed("data", "export", "yeast", tmp_path / "yeast").splitlines()
    assert files == [str(tmp_path / "yeast" / "train.svm")]
    assert " 10 classes" in succeed("train", files[0], tmp_path / "model", "--quiet")


def test_fetching_prints_the_folder(monkeypatch, run, tmp_path):
    content = tmp_path / "yeast.data"
    content.write_bytes(b"content")
    source = registry.RemoteSource(
        (registry.RemoteFile(content.as_uri(), "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73"),),
        "CC BY 4.0",
    )
    monkeypatch.setitem(registry.SOURCES, "yeast", source)
    shown = run("data", "fetch", "yeast", "--data-home", tmp_path / "home")
    assert (shown.code, shown.out) == (0, f"{tmp_path / 'home' / 'yeast'}\n")
    assert (tmp_path / "home" / "yeast" / "yeast.data").read_bytes() == b"content"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("fetch", "nothing"), 2, "must be one of"),
        (("export", "nothing", "x"), 2, "must be one of yeast, digits"),
        (("export", "mnist", "x", "--data-home", "."), 2, "is not in ."),
        (("convert", "none.svm", "x.npz"), 2, "none.svm: there is no such file"),
        (("convert", "bad.svm", "x.npz"), 2, "bad.svm, line 1"),
        (("convert", "bad.svm", "x.txt"), 2, "must be one of svmlight, npz, tsv"),
        (("nothing",), 2, "No such command 'nothing'"),
    ],
)
def test_errors(arguments, code, message, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.svm").write_text("a b c\n")
    shown = run("data", *arguments)
    assert (shown.code, shown.out, shown.err.count("\n")) == (code, "", 1)
    assert message in shown.err
    assert [path.name for path in tmp_path.iterdir()] == ["bad.svm"]


def test_a_source_that_does_not_answer_is_no_wrong_input(monkeypatch, run, tmp_path):
    source = registry.RemoteSource((registry.RemoteFile((tmp_path / "none").as_uri(), "0" * 64),), "")
    monkeypatch.setitem(registry.SOURCES, "yeast", source)
    shown = run("data", "fetch", "yeast", "--data-home", tmp_path / "home", "--quiet")
    assert (shown.code, shown.err.count("\n")) == (1, 1)
    assert "cannot be downloaded" in shown.err
