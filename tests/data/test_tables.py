"""Files with columns: which are the label and the texts, and mistakes in them."""

import bz2
import csv
import io
import lzma

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codekin.data import DataError, ReadOptions, read_data
from codekin.progress import subscribe


def read(content, format="auto", **options):
    content = content.encode() if isinstance(content, str) else content
    return read_data(io.BytesIO(content), format, options=ReadOptions(**options))


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


@given(
    rows=st.lists(st.tuples(st.sampled_from(["cat", "dog, big", 'a "b"']), CELLS, CELLS), min_size=1),
    delimiter=st.sampled_from(",;\t|^"),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_what_csv_writes_is_read_back(rows, delimiter, quoting):
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter, quoting=quoting).writerows([("label", "title", "body"), *rows])
    data = read(stream.getvalue(), "csv", text=["title", "body"], delimiter=delimiter)
    assert data.labels.tolist() == [label for label, _, _ in rows]
    assert data.columns == {"title": tuple(row[1] for row in rows), "body": tuple(row[2] for row in rows)}


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_delimiter_and_encoding_are_found(delimiter, encoding):
    rows = [["id", "category", "title"], ["1", "Käse", "a, b; c"], ["2", "Brot", "c"]]
    text = "".join(delimiter.join(f'"{cell}"' for cell in row) + "\r\n" for row in rows)
    data = read(text.encode(encoding), "csv")
    assert (data.labels.tolist(), data.texts) == (["Käse", "Brot"], ("a, b; c", "c"))


@pytest.mark.parametrize("packed", [bz2.compress, lzma.compress])
def test_compressed_files_are_read(packed):
    assert read(packed(b"label,text\na,b\n")).texts == ("b",)


def test_a_tsv_file_is_a_table_only_with_the_usual_names_or_chosen_columns():
    assert read("label\ttext\na\tx\n", "tsv").texts == ("x",)
    assert read("cat\tpurrs\tloud\n", "tsv").texts == ("purrs\tloud",)
    assert read("k\tv\na\tx\n", "tsv", label="k", text="v").texts == ("x",)


def test_json_lines_fasttext_and_numbers():
    data = read('{"label": true, "text": null, "n": 1.5}\n{"label": 2.5, "text": "x"}\n', numbers="n")
    assert (data.labels.tolist(), data.texts) == (["true", "2.5"], ("", "x"))
    assert data.numbers["n"][0] == 1.5
    assert read("__label__a x y\n__label__b z\n").texts == ("x y", "z")


def test_parquet_is_read(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.table({"label": [1, 2], "text": ["x", None]}), tmp_path / "a.parquet")
    data = read_data(tmp_path / "a.parquet")
    assert (data.labels.tolist(), data.texts) == ([1, 2], ("x", ""))


def test_a_folder_for_each_class_is_read(tmp_path):
    for label, text in [("cat", "purrs\n"), ("dog", "barks")]:
        (tmp_path / label).mkdir()
        (tmp_path / label / "1.txt").write_text(text)
    data = read_data(tmp_path)
    assert (data.labels.tolist(), data.texts) == (["cat", "dog"], ("purrs", "barks"))


@pytest.mark.parametrize(
    ("content", "options", "sentence"),
    [
        ("label,text\na,b\nc\n", {}, "line 3: 1 column where the header has 2."),
        ("label,text\na,b,c\n", {}, "line 2: 3 columns where the header has 2; commas within a text must be quoted."),
        ('label,text\n"a","b"\n"c","d"e\n', {}, "line 3: 'e' at column 8: after a closing quote"),
        ('label,text\na,"b\nc', {}, "line 2: a quote opens in this row and is not closed"),
        ("label,text\n,b\n", {}, "line 2: this row has no label; --missing-labels drop"),
        ("id,name,group\n1,ab,a\n2,cd,a\n", {}, "Choose with --label group --text name."),
        ("id,name,group\n1,ab,a\n2,cd,\n3,ef,a\n4,gh,b\n", {}, "Choose with --label group --text name."),
        ("id,name,Category\n1,ab,a\n2,cd,\n3,ef,b\n", {}, "Choose with --label Category --text name."),
        ("label,text\na,b\n", {"text": "body"}, "there is no column 'body'. Its columns are 'label', 'text'."),
        ("a,x\nb,y\na,z\n", {"label": "1", "text": "2"}, "looks like data, not like names of columns"),
        (
            "label,text,text\na,b,c\n",
            {"text": "text"},
            "no column 'text': 2 columns are called so and got numbers. Its columns are 'label', 'text.1', 'text.2'.",
        ),
        ("label,text,text\na,b,c\n", {}, "'text.1' and 'text.2' could be the text."),
        ("label,text,n\na,b,many\n", {"numbers": "n", "text": "text"}, "line 2: column 'n' has 'many' where a number"),
        ('{"label": "a", "text": "b"}\n{"label": 2 "text": "y"}\n', {}, "line 2: expecting ',' delimiter at column 13"),
        ('{"label": ["a", "b"], "text": "b"}\n', {}, "line 1: 2 labels (a, b) where one is expected"),
    ],
)
def test_mistakes_are_named(content, options, sentence):
    with pytest.raises(DataError) as error:
        read(content, **options)
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    "content",
    [
        "label,text\na,x\n,y\nb,z\n",
        "a\tx\n\ty\nb\tz\n",
        "__label__a x\n__label__ y\n__label__b z\n",
        "__label__a x\ny\n__label__b z\n",
        '{"label": "a", "text": "x"}\n{"label": null, "text": "y"}\n{"label": "b", "text": "z"}\n',
        "a 1:1\n2:1\nb 1:3\n",
        "a | x\n| y\nb | z\n",
    ],
)
def test_rows_without_a_label_are_left_out_on_request_in_every_format(content):
    with pytest.raises(DataError, match="label"):
        read(content)
    heard = []
    with subscribe(heard.append):
        assert read(content, missing_labels="drop").labels.tolist() == ["a", "b"]
    assert any("left out 1 of 3 rows without a label" in progress.detail for progress in heard)
