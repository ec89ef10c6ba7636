"""Any number of labels per row, in every format that can say so, and never where nothing says so."""

import io
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codekin.data import ReadOptions, iter_data, read_data
from codekin.data.datasets import DataError
from codekin.data.training_samples import SampleReader

LABELS = ("role::dev, data", "a", "007", "http://x/y")
NUMBERS = ("0", "7", "11")
ROWS = st.lists(st.lists(st.sampled_from(LABELS), unique=True), min_size=1, max_size=6)
NUMBERED = st.lists(st.lists(st.sampled_from(NUMBERS), unique=True), min_size=1, max_size=6)


def read(text, format="auto", **options):
    return read_data(io.BytesIO(text.encode()), format, options=ReadOptions(**options))


def sets_of(data):
    y = data.encoded_labels
    return [set(map(str, y.classes[row.nonzero()[0]])) for row in y.indicator.toarray()]


def quoted(cell):
    return '"' + cell.replace('"', '""') + '"'


WRITERS = {
    "csv": lambda rows: "label,text\n" + "".join(f"{quoted('; '.join(row))},some text\n" for row in rows),
    "tsv": lambda rows: "".join(f"{';'.join(row)}\tsome text\n" for row in rows),
    "jsonl": lambda rows: "".join(json.dumps({"label": row, "text": "some text"}) + "\n" for row in rows),
}
OF_NUMBERS = {
    "fasttext": lambda rows: "".join("".join(f"__label__{label} " for label in row) + "some text\n" for row in rows),
    "annif": lambda rows: "".join(f"some text\t{' '.join(f'<{label}>' for label in row)}\n" for row in rows),
    "xmc": lambda rows: f"{len(rows)} 9 12\n" + "".join(f"{','.join(row)} 3:0.5\n" for row in rows),
    "svmlight": lambda rows: "".join(f"{','.join(row)} 3:0.5\n" for row in rows),
    "vw": lambda rows: "".join(f"{','.join(row)} | 3:0.5\n" for row in rows),
}


@settings(max_examples=30)
@pytest.mark.parametrize("format", WRITERS)
@given(rows=ROWS)
def test_what_is_written_with_a_separator_or_as_lists_is_read_again(format, rows):
    options = {"multilabel": "all"} if format == "jsonl" else {"label_separator": ";"}
    data = read(WRITERS[format](rows), format, **options)
    assert sets_of(data) == [set(row) for row in rows]
    assert set(data.texts) == {"some text"}


@settings(max_examples=30)
@pytest.mark.parametrize("format", OF_NUMBERS)
@given(rows=NUMBERED)
def test_formats_that_have_several_labels_need_no_separator(format, rows):
    data = read(OF_NUMBERS[format](rows), format, multilabel="all")
    assert sets_of(data) == [set(row) for row in rows]
    assert data.encoded_labels.classes.dtype.kind == ("i" if any(rows) else data.encoded_labels.classes.dtype.kind)


@given(NUMBERED, st.integers(1, 4))
def test_chunks_have_the_labels_of_the_whole_file(rows, n):
    text = OF_NUMBERS["xmc"](rows).encode()
    chunks = iter_data(io.BytesIO(text), "xmc", chunk_rows=n, options=ReadOptions(multilabel="all"))
    assert [own for chunk in chunks for own in sets_of(chunk)] == [set(row) for row in rows]


def test_a_comma_in_a_label_separates_nothing_unless_somebody_says_so():
    text = "ham, eggs\tone\nham\ttwo\n"
    assert read(text).labels.tolist() == ["ham, eggs", "ham"]
    assert sets_of(read(text, multilabel="all")) == [{"ham, eggs"}, {"ham"}]
    assert sets_of(read(text, label_separator=",")) == [{"ham", "eggs"}, {"ham"}]


@pytest.mark.parametrize("policy", ["first", "drop"])
def test_a_separator_reads_all_labels(policy):
    with pytest.raises(ValueError, match=f"needs multilabel='all'. Got '{policy}' instead"):
        ReadOptions(label_separator=";", multilabel=policy)


def test_a_row_without_labels_is_kept_or_left_out():
    text = "a,b\tone\n\ttwo\nb\tthree\n"
    assert sets_of(read(text, label_separator=",")) == [{"a", "b"}, set(), {"b"}]
    assert sets_of(read(text, label_separator=",", missing_labels="drop")) == [{"a", "b"}, {"b"}]


def test_labels_that_are_not_known_get_columns_behind_the_others():
    data = read("a,x\tone\nb,a\ttwo\n", label_separator=",")
    assert data.indicator_among(np.array(["b", "c", "a"])).toarray().tolist() == [[0, 0, 1, 1], [1, 0, 1, 0]]
    numbers = read("7,8\tone\n7,9\ttwo\n", multilabel="all")
    assert numbers.indicator_among(np.array(["9", "7"])).toarray().tolist() == [[0, 1, 1], [1, 1, 0]]


@pytest.mark.parametrize(
    ("text", "format", "options", "message"),
    [
        ("2 3 4\n0,9 1:1\n", "xmc", {"multilabel": "all"}, "line 2: label 9, but the header promises 4 labels"),
        ("1,x\tone\n", "tsv", {"label_separator": ",", "labels": "int"}, "line 1: the label 'x' is not an integer"),
        ("1,2 1:1\n", "svmlight", {}, "line 1: 2 labels .1,2. where one is expected; .* all reads them all"),
        ("one\t<a> <b>\n", "annif", {}, "line 1: 2 labels .a, b. where one is expected"),
        ("one\n", "annif", {}, "line 1: there is no label behind a tab"),
        ("a b\n", "fasttext", {"label_separator": " "}, "'label_separator' option of a reader is for csv, tsv"),
    ],
)
def test_errors_name_the_line_the_rule_and_the_value(text, format, options, message):
    with pytest.raises(ValueError, match=message):
        read(text, format, **options)


@pytest.mark.parametrize("separator", ["", "\t", "\n"])
def test_a_separator_is_within_a_line(separator):
    with pytest.raises(ValueError, match="'label_separator' option of a reader must be characters within a line"):
        ReadOptions(label_separator=separator)


def test_archives_and_folders_have_one_label_per_sample(tmp_path):
    (tmp_path / "ham").mkdir()
    (tmp_path / "ham" / "1.txt").write_text("one")
    with pytest.raises(ValueError, match="format folder have one label each"):
        read_data(tmp_path, options=ReadOptions(multilabel="all"))


def test_one_label_and_several_are_two_things():
    with pytest.raises(ValueError, match="several labels each. Take their encoded_labels"):
        _ = read("a,b\tone\n", label_separator=",").labels
    with pytest.raises(ValueError, match="one label each. Read them with multilabel='all'"):
        read("a\tone\n").indicator_among(np.array(["a"]))


def reader(said, **options):
    return SampleReader(said.append, "auto", None, ReadOptions(**options), shows_rows=True)


def test_training_samples_are_shown_with_all_their_labels(tmp_path):
    (tmp_path / "train.tsv").write_text("a,b\tone\nb\ttwo\n\tthree\n")
    said = []
    samples = reader(said, label_separator=",").samples(str(tmp_path / "train.tsv"), None, None, None, 0)
    assert samples.data.encoded_labels.indicator.sum() == 3
    assert "a, b" in said[0]
    assert "1 of 3 samples have no label, which is learned, too." in said[1]


def test_a_share_of_the_samples_with_several_labels_is_held_back(tmp_path):
    (tmp_path / "train.xmc").write_text("40 3 4\n" + "0,1 0:1\n2 1:1\n1,3 2:1\n 0:1 1:1\n" * 10)
    samples = reader([], multilabel="all").samples(str(tmp_path / "train.xmc"), 0.2, None, None, 0)
    X, y = samples.held_out
    assert (X.shape[0], len(y)) == (8, 8)
    assert samples.given.shape[0] == len(samples.data.encoded_labels) == 32
    assert (y.indicator.sum(axis=0) + samples.data.indicator.sum(axis=0)).tolist() == [10, 20, 10, 10]


def test_validation_samples_have_several_labels_too(tmp_path):
    (tmp_path / "train.xmc").write_text("2 3 4\n0,1 0:1\n2 1:1\n")
    (tmp_path / "val.xmc").write_text("2 3 4\n1,3 2:1\n0 1:1\n")
    options = str(tmp_path / "train.xmc"), str(tmp_path / "val.xmc"), None, None, 0
    assert sets_of_encoded(reader([], multilabel="all").samples(*options).held_out[1]) == [{1, 3}, {0}]


def sets_of_encoded(y):
    return [set(y.classes[row.nonzero()[0]].tolist()) for row in y.indicator.toarray()]


def test_a_file_where_no_row_has_several_labels_needs_no_option(tmp_path):
    (tmp_path / "train.tsv").write_text("a,b\tone\nb,c\ttwo\n\tthree\n")
    with pytest.raises(DataError, match="no sample has more than one label; .* --label-separator"):
        reader([], multilabel="all").samples(str(tmp_path / "train.tsv"), None, None, None, 0)


@pytest.mark.parametrize("rows", ["sport; food,one\nfood,two\n", "sport; food,one\n,two\nfood,three\n"])
def test_a_separator_that_is_between_no_labels_is_named_with_the_column(tmp_path, rows):
    (tmp_path / "own.csv").write_text(f"tags,title\n{rows}")
    options = {"label": "tags", "text": "title", "label_separator": "|"}
    with pytest.raises(DataError, match=r"own.csv: no sample has .*'\|' is between no two labels in column 'tags'"):
        reader([], **options).samples(str(tmp_path / "own.csv"), None, None, None, 0)


def test_samples_without_any_label_are_not_said_to_have_one(tmp_path):
    (tmp_path / "train.tsv").write_text("\tone\n\ttwo\n\tthree\n")
    with pytest.raises(DataError, match="None of the 3 samples has a label"):
        reader([], label_separator=";").samples(str(tmp_path / "train.tsv"), None, None, None, 0)
