"""Tables on the command line: columns, numbers and categories, what is shown and remembered, mistakes and pipes."""

import bz2
import csv
import gzip
import io
import json
import lzma
import subprocess
import sys

import pytest

from codekin import ExtremeClassifier, TextClassifier, save_model
from codekin.data import ReadOptions, TextVectorizer, read_data
from codekin.storage import ModelInput
from tests.estimators.test_rows import pets

OPTIONS = ("--label", "pet", "--text", "title:2,text", "--numbers", "kg", "--categories", "home")


def as_csv(table, **options):
    return table.to_csv(index=False, **options).encode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


@pytest.fixture(scope="module")
def files(folder):
    """Training and test rows as CSV."""
    for name, table in {"train": pets(150), "test": pets(50, seed=1)}.items():
        (folder / f"{name}.csv").write_bytes(as_csv(table))
    return folder


@pytest.fixture(scope="module")
def model(files):
    from codekin.cli.main import main

    assert main(["train", f"{files / 'train.csv'}", f"{files / 'model'}", *OPTIONS, "--quiet"]) == 0
    return files / "model"


def test_the_command_and_a_program_make_the_same_model(files, model, tmp_path):
    table, columns = pets(150), {"numbers": ["kg"], "categories": ["home"]}
    own = TextClassifier(text={"title": 2, "text": 1}, **columns, random_state=0).fit(table, table["pet"])
    loaded = TextClassifier.load(model)
    assert loaded.get_params()["text"] == {"title": 2.0, "text": 1.0}
    test = pets(50, seed=1)
    assert loaded.predict_proba(test).tolist() == own.predict_proba(test).tolist()


def test_the_first_rows_are_shown_before_training(files, run, tmp_path):
    shown = run("train", files / "train.csv", tmp_path / "m", *OPTIONS)
    assert shown.code == 0
    rows = "\n".join(line for line in shown.err.splitlines() if line.startswith(("  ", str(files))))
    assert "150 samples; CSV separated by commas, with a header" in rows
    assert "text: title, text" in rows
    assert "numbers: kg" in rows
    assert "categories: home" in rows
    assert pets(150)["title"][0] in rows
    assert "a page to type texts into" in shown.out
    assert run("export", tmp_path / "m", tmp_path / "page", "--quiet").code == 0
    assert '<div id="row"' in (tmp_path / "page" / "index.html").read_text(encoding="utf-8")


def test_columns_are_remembered_whatever_their_order_and_format(files, model, succeed, tmp_path):
    expected = succeed("predict", model, files / "test.csv", "--quiet")
    test = pets(50, seed=1)
    (tmp_path / "other.csv").write_bytes(as_csv(test[["home", "kg", "text", "title"]].assign(more=1), sep=";"))
    lines = [{k: v for k, v in row.items() if v == v and v is not None} for row in test.to_dict("records")]
    (tmp_path / "other.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
    for name in ("other.csv", "other.jsonl"):
        assert succeed("predict", model, tmp_path / name, "--quiet") == expected
    report = json.loads(succeed("evaluate", model, files / "test.csv", "--json"))
    assert report["accuracy"] > 0.9


@pytest.mark.parametrize(
    ("packed", "end"),
    [(bytes, ""), (gzip.compress, ".gz"), (bz2.compress, ".bz2"), (lzma.compress, ".xz")],
    ids=["plain", "gz", "bz2", "xz"],
)
def test_files_and_the_standard_input_may_be_compressed(packed, end, files, model, succeed, tmp_path):
    content = packed((files / "test.csv").read_bytes())
    expected = succeed("predict", model, files / "test.csv", "--quiet")
    assert succeed("predict", model, "-", "--quiet", stdin=content) == expected
    (tmp_path / f"rows.csv{end}").write_bytes(content)
    assert succeed("predict", model, tmp_path / f"rows.csv{end}", "--quiet") == expected


def test_zstd_is_read_or_refused_with_a_sentence(files):
    from pyarrow import compress

    content = (files / "test.csv").read_bytes()
    packed = io.BytesIO(compress(content, codec="zstd", asbytes=True))
    try:
        from compression import zstd as _
    except ImportError:
        try:
            import zstandard as _  # noqa: F401
        except ImportError:
            with pytest.raises(ValueError, match="this is zstd, which needs Python 3.14 or the package zstandard"):
                read_data(packed, "csv")
            return
    options = ReadOptions(label="pet", text="title")
    assert read_data(packed, options=options).texts == read_data(io.BytesIO(content), options=options).texts


def test_a_share_of_the_samples_is_held_back(files, topics, succeed, run, tmp_path):
    for data, options, n in ((files / "train.csv", OPTIONS, 15), (topics / "train.svm", (), 60)):
        summary = json.loads(succeed("train", data, tmp_path / "m", *options, "--validation", "10%", "--json"))
        whole = json.loads(succeed("train", data, tmp_path / "m", *options, "--json"))
        assert summary["n_samples"] == whole["n_samples"] - n
        assert summary["validation_accuracy"] > 0.5
        assert whole["validation_accuracy"] is None
    for wrong in ("0%", "100%", "many%"):
        shown = run("train", files / "train.csv", tmp_path / "n", *OPTIONS, "--validation", wrong)
        assert shown.code == 2
        assert "a share above 0% and below 100%" in shown.err
        assert not (tmp_path / "n").exists()


def test_a_table_without_a_header_is_read_by_numbers(files, succeed, tmp_path):
    for name in ("train", "test"):
        table = pets(150) if name == "train" else pets(50, seed=1)
        (tmp_path / f"{name}.csv").write_bytes(as_csv(table, header=False))
    columns = ("--label", "5", "--text", "1:2,2", "--numbers", "3", "--categories", "4")
    succeed("train", tmp_path / "train.csv", tmp_path / "m", "--no-header", *columns, "--quiet")
    predicted = succeed("predict", tmp_path / "m", tmp_path / "test.csv", "--quiet").split()
    assert sum(a == b for a, b in zip(predicted, pets(50, seed=1)["pet"], strict=True)) > 45


def with_line_812(change):
    """A table of 900 rows with a mistake in line 812."""
    lines = ["title,kg,pet", *(f'"a {("cat", "dog")[i % 2]}",{i},{("cat", "dog")[i % 2]}' for i in range(900))]
    lines[811] = change
    return ("\n".join(lines) + "\n").encode()


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('"a "cat,3,cat', "line 812: 'cat,3,cat' at column 5: after a closing quote, the column must end"),
        ("a cat,3", "line 812: 2 columns where the header has 3"),
        ("a, cat,3,cat", "line 812: 4 columns where the header has 3; commas within a text must be quoted"),
        ("a cat,heavy,cat", "line 812: column 'kg' has 'heavy' where a number is expected"),
        ("a cat,3,", "line 812: "),
    ],
)
def test_a_mistake_in_line_812_is_named(line, sentence, run, tmp_path):
    (tmp_path / "pets.csv").write_bytes(with_line_812(line))
    columns = ("--label", "pet", "--text", "title", "--numbers", "kg")
    shown = run("train", tmp_path / "pets.csv", tmp_path / "m", *columns, "--quiet")
    assert shown.code == 2
    assert sentence in shown.err
    assert shown.err.count("\n") == 1
    assert not (tmp_path / "m").exists()


def test_a_byte_and_a_json_line_that_are_wrong_are_named_with_their_column(model, run, tmp_path):
    rows = [json.dumps({"title": "a", "text": "b"})] * 900
    (tmp_path / "pets.jsonl").write_text("\n".join([*rows[:811], '{"title": "a", text: "b"}', *rows[812:]]))
    shown = run("predict", model, tmp_path / "pets.jsonl", "--quiet")
    assert (shown.code, shown.out) == (2, "")
    assert "line 812: expecting property name enclosed in double quotes at column 16" in shown.err
    content = with_line_812("a cat,3,cat").replace(b'"a dog",1,', b'"a d\xff",1,', 1)
    (tmp_path / "pets.csv").write_bytes(content)
    shown = run("train", tmp_path / "pets.csv", tmp_path / "m", "--label", "pet", "--text", "title")
    assert shown.code == 2
    assert "line 3: byte 0xff at column 5 is not UTF-8" in shown.err


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"text,label\na cat,cat\na dog,dog\nboth,cat|dog\n", "pets.csv"),
        (b"text,label\na cat,cat\na dog,dog\nboth,cat; dog\n", "pets.csv"),
        (b'{"text": "a", "label": "cat"}\n{"text": "b", "label": ["cat", "dog"]}\n', "pets.jsonl"),
        (b"__label__cat a\n__label__cat __label__dog b\n", "pets.fasttext"),
    ],
    ids=["bar", "semicolon", "list", "fasttext"],
)
def test_several_labels_of_a_row_are_refused(content, name, run, tmp_path):
    (tmp_path / name).write_bytes(content)
    shown = run("train", tmp_path / name, tmp_path / "m", "--quiet")
    assert shown.code == 2
    assert "cat" in shown.err
    assert "label" in shown.err
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--text", "title:0"), "--text title:0: the weight of a column must be from 1e-6 to 1e6. Got 0."),
        (("--text", "titel"), "there is no column 'titel'. Its columns are"),
        (("--numbers", "home"), "column 'home' has"),
        (("--numbers", "kg", "--categories", "kg"), "the column 'kg' is chosen twice"),
        (("--text", "title,,text"), "must be names of columns, separated by commas"),
    ],
)
def test_columns_that_cannot_be_used_are_one_sentence(options, sentence, files, run, tmp_path):
    given = ("--label", "pet", *(() if "--text" in options else ("--text", "title")))
    shown = run("train", files / "train.csv", tmp_path / "m", *given, *options, "--quiet")
    assert shown.code == 2
    assert sentence in shown.err
    assert not (tmp_path / "m").exists()


def test_columns_to_choose_are_suggested(files, run, tmp_path):
    shown = run("train", files / "train.csv", tmp_path / "m", "--quiet")
    assert "no column is called label" in shown.err
    assert "Choose with --label pet --text text." in shown.err


def test_lines_without_columns_are_refused_and_columns_may_be_chosen_anew(files, model, run, succeed, tmp_path):
    shown = run("predict", model, "-", "--quiet", stdin=b"a cat that purrs\n")
    assert (shown.code, shown.out) == (2, "")
    renamed = pets(50, seed=1).rename(columns={"title": "headline"})
    (tmp_path / "renamed.csv").write_bytes(as_csv(renamed))
    shown = run("predict", model, tmp_path / "renamed.csv", "--quiet")
    assert "there is no column 'title' that the model was trained on" in shown.err
    expected = succeed("predict", model, files / "test.csv", "--quiet")
    assert succeed("predict", model, tmp_path / "renamed.csv", "--text", "headline,text", "--quiet") == expected


def test_columns_that_were_joined_to_one_text_still_are(files, succeed, tmp_path):
    options = ReadOptions(label="pet", text=("title", "text"))
    data = read_data(files / "train.csv", options=options)
    fitted = TextVectorizer().fit(data.texts)
    classifier = ExtremeClassifier(random_state=0).fit(fitted.transform(data.texts), data.labels)
    folder = save_model(classifier, tmp_path / "old", model_input=ModelInput(fitted, columns=data.table))
    test = read_data(files / "test.csv", options=options)
    expected = classifier.predict(fitted.transform(test.texts)).tolist()
    assert succeed("predict", folder, files / "test.csv", "--quiet").split() == expected
    assert TextClassifier.load(folder).predict(list(test.texts)).tolist() == expected


def test_a_model_of_rows_learns_on(files, succeed, tmp_path):
    succeed(
        "train", files / "train.csv", tmp_path / "m", *OPTIONS, "--estimator", "arow", "--rerank", "none", "--quiet"
    )
    before = succeed("inspect", tmp_path / "m", "--json")
    succeed("grow", tmp_path / "m", files / "test.csv", "--quiet")
    assert succeed("inspect", tmp_path / "m", "--json") != before
    report = json.loads(succeed("evaluate", tmp_path / "m", files / "test.csv", "--json", "--quiet"))
    assert report["accuracy"] > 0.9


def test_a_line_that_is_the_name_of_the_column_is_a_header_unless_told_otherwise(succeed, tmp_path):
    rows = io.StringIO()
    csv.writer(rows).writerows([("label", "text"), *[("cat", "it purrs"), ("dog", "it barks")] * 5])
    (tmp_path / "pets.csv").write_text(rows.getvalue())
    succeed("train", tmp_path / "pets.csv", tmp_path / "m", "--quiet")
    assert len(succeed("predict", tmp_path / "m", "-", "--quiet", stdin=b"text\nit purrs\n").splitlines()) == 1
    as_lines = succeed("predict", tmp_path / "m", "-", "--no-header", "--quiet", stdin=b"text\nit purrs\n")
    assert len(as_lines.splitlines()) == 2


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_rows_of_a_pipe_are_answered_as_they_arrive(kind, model):
    command = [sys.executable, "-m", "codekin", "predict", str(model), "-", "--chunk-rows", "1", "--quiet"]
    row = b"barks leash,bone,20,land\n" if kind == "csv" else b'{"title": "barks leash", "text": "bone"}\n'
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        if kind == "csv":
            process.stdin.write(b"title,text,kg,home\n")
            process.stdin.flush()
        for _ in range(3):
            process.stdin.write(row)
            process.stdin.flush()
            assert process.stdout.readline() == b"dog\n"
        process.stdin.close()
        assert process.wait(60) == 0


def test_the_help_does_not_import_what_reads_tables():
    code = "import sys; from codekin.cli.main import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    imported = set(shown.stderr.split())
    assert "codekin.cli.main" in imported
    # Python's shutil, which the help needs, imports bz2 and lzma itself.
    assert not imported & {"csv", "pyarrow", "pandas", "polars", "codekin.data.blocks", "codekin.data.table_formats"}
