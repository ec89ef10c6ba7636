"""What people with a table of their own meet first: rows without labels, mistyped options, and hints that lead on."""

import json

import pytest

from codekin.cli.main import main

ROWS = [
    *(("the cat purrs", "cat"), ("a dog barks", "dog"), ("my cat sleeps", "cat"), ("dogs bark loudly", "dog")),
    *(("cats purr", "cat"), ("a dog runs", "dog"), ("the red bus", "bus"), ("a bus stops", "bus")),
]


def table(rows, delimiter=","):
    return "".join(f"{delimiter.join(map(str, row))}\n" for row in rows)


@pytest.fixture
def pets(tmp_path):
    """A table of texts and labels, with numbers of rows."""
    path = tmp_path / "pets.csv"
    path.write_text(table([("id", "name", "Category"), *((k, *row) for k, row in enumerate(ROWS))]))
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pets")
    (folder / "pets.csv").write_text(table([("name", "Category"), *ROWS]))
    options = ["--label", "Category", "--text", "name", "--quiet"]
    assert main(["train", str(folder / "pets.csv"), str(folder / "model"), *options]) == 0
    return folder / "model"


def test_rows_without_a_label_can_be_left_out(run, tmp_path):
    path, columns = tmp_path / "messy.csv", ("--label", "Category", "--text", "name")
    path.write_text(table([("name", "Category"), *ROWS, ("what is this", ""), ("nobody knows", " ")]))
    shown = run("train", path, tmp_path / "m", *columns)
    assert shown.code == 2
    assert "line 10: this row has no label; --missing-labels drop leaves such rows out." in shown.err
    shown = run("train", path, tmp_path / "m", *columns, "--missing-labels", "drop")
    assert shown.code == 0
    assert "messy.csv: left out 2 of 10 rows without a label\n" in shown.err
    shown = run("evaluate", tmp_path / "m", path, "--json", "--missing-labels", "drop")
    assert json.loads(shown.out)["n_samples"] == 8
    assert "messy.csv: left out 2 of 10 rows without a label\n" in shown.err


def test_the_next_steps_are_those_that_work(pets, run, monkeypatch, tmp_path):
    train = ("train", pets, tmp_path / "m", "--label", "Category", "--quiet", "--text")
    monkeypatch.setattr("codekin.cli.train.find_spec", lambda name: name)
    shown = run(*train, "name").out
    assert shown.endswith("answers over HTTP\n")
    assert "m page/               a page to type texts into\n" in shown
    monkeypatch.setattr("codekin.cli.train.find_spec", lambda name: None)
    shown = run(*train, "name,id").out
    assert shown.endswith("answers over HTTP (needs: pip install starlette uvicorn)\n")
    assert "m page/               a page to type texts into\n" in shown


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--validation", "0.1"), "must be a file, or a share such as 10%. Got '0.1'; say 10%."),
        (
            ("--encoding", "utf8x"),
            "(--encoding) must be one that Python knows, such as 'latin-1'. Got 'utf8x' instead.",
        ),
        (("--delimiter", ";"), "there is one column, 'id,name,Category', where a label and a text are needed."),
        (("--label", "Kategory"), "there is no column 'Kategory'. Its columns are 'id', 'name', 'Category'."),
        ((), "no column is called text. Its columns are 'id', 'name', 'Category'. Choose with --label Category"),
    ],
)
def test_mistakes_are_named_with_what_to_type(options, sentence, pets, run, tmp_path):
    shown = run("train", pets, tmp_path / "m", *options, "--quiet")
    assert shown.code == 2
    assert sentence in shown.err


def test_names_of_columns_may_differ_in_capitals_and_blanks(pets, run, tmp_path):
    options = ("--text", "Name", "--quiet")
    assert run("train", pets, tmp_path / "m", "--label", "cate gory", *options).code == 0
    pets.write_text(table([("ID", "NAME"), (1, "the cat")]))
    assert run("predict", tmp_path / "m", pets, "--quiet").out == "cat\n"


def test_sheets_and_a_single_sample_are_refused_in_words(run, tmp_path):
    (tmp_path / "pets.xlsx").write_bytes(b"PK\x03\x04")
    shown = run("train", tmp_path / "pets.xlsx", tmp_path / "m", "--quiet")
    assert (shown.code, shown.err) == (
        2,
        f"codekin: {tmp_path}/pets.xlsx: Excel files are not read; save the sheet as CSV.\n",
    )
    (tmp_path / "one.tsv").write_text("cat\tpurrs\n")
    shown = run("train", tmp_path / "one.tsv", tmp_path / "m", "--quiet")
    assert shown.err.endswith("samples of at least 2 classes are needed. There is one sample.\n")


def test_a_label_of_nearly_every_row_is_doubted(run, tmp_path):
    path = tmp_path / "names.csv"
    path.write_text(table([("text", "label"), *((f"text {k}", f"label {min(k, 17)}") for k in range(20))]))
    shown = run("train", path, tmp_path / "m", "--n-epochs", 1)
    assert "17 of 18 classes have a single sample, and there are 20 samples. Is that the label?" in shown.err


def test_evaluate_prints_percents_and_help_begins_for_people(model, succeed):
    shown = succeed("evaluate", model, model.parent / "pets.csv", "--quiet")
    assert "accuracy                     100.0%\nprecision at 1, 3, 5         100.0%, 33.3%, 20.0%\n" in shown
    assert "Learn to sort texts and other samples into classes" in succeed("--help")


@pytest.mark.parametrize("command", ["predict", "explain"])
def test_a_text_in_place_of_a_file_is_told_to_come_through_a_pipe(command, model, run):
    for text in ("the cat", "cat", "cat " * 100):
        shown = run(command, model, text)
        assert shown.code == 2
        assert "there is no such file. To pass a text, pipe it into this command: echo TEXT | codekin" in shown.err
    assert "cat" in run(command, model, stdin=b"the cat\n").out


def test_predict_says_how_many_texts_have_no_known_word(model, run):
    shown = run("predict", model, stdin=b"the cat\nxyz\n\n")
    assert shown.err == "2 of 3 texts had no word that the model knows\n"
    assert run("predict", model, "--quiet", stdin=b"xyz\n").err == ""


def test_columns_are_kept_beside_the_label(model, succeed, run, tmp_path):
    path, rows = tmp_path / "new.csv", [("id", "name", "label"), (7, '"a cat, ""Tom"""', "x"), (8, "the dog", "y")]
    path.write_text(table(rows))
    predict = ("predict", model, path, "--quiet", "--keep")
    assert succeed(*predict, "id,name") == 'id,name,label\n7,"a cat, ""Tom""",cat\n8,the dog,dog\n'
    assert succeed(*predict, "id", "-o", tmp_path / "out.csv", "--chunk-rows", 1) == ""
    assert (tmp_path / "out.csv").read_text() == "id,label\n7,cat\n8,dog\n"
    assert succeed(*predict, "LABEL") == "label,predicted_label\nx,cat\ny,dog\n"
    best = succeed(*predict, "id", "--top-k", 2, "--probabilities").splitlines()
    assert best[0] == "id,label_1,probability_1,label_2,probability_2"
    assert best[1].startswith("7,cat,")
    assert [len(line.split(",")) for line in best] == [5, 5, 5]
    assert succeed(*predict, "id", "--min-known", 3) == "id,label\n7,\n8,\n"
    lines = map(json.loads, succeed(*predict, "id", "--json").splitlines())
    assert [(line["kept"], line["label"]) for line in lines] == [({"id": "7"}, "cat"), ({"id": "8"}, "dog")]
    (tmp_path / "new.jsonl").write_text('{"id": 7, "name": "a cat"}\n')
    assert succeed("predict", model, tmp_path / "new.jsonl", "--keep", "id", "--quiet") == "id,label\n7,cat\n"
    assert "there is no column 'number'. Its columns are 'id', 'name', 'label'." in run(*predict, "number").err
    assert "--coverage prints sets of labels. Got --keep as well." in run(*predict, "id", "--coverage", 0.9).err
    assert "'keep' option of a reader is for csv, tsv" in run("predict", model, model.parent, "--keep", "id").err
