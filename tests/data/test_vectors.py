"""Vectors of samples: columns of a table and files beside it, and everything that can be wrong with them."""

import io
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from codekin.data import DataError, ReadOptions, iter_data, read_data
from codekin.data.columns import samples_of
from codekin.data.datasets import TableColumns

E = np.arange(12, dtype=np.float32).reshape(4, 3) / 4
TABLE = "label,title\n" + "".join(f"{pet},a {pet}\n" for pet in ("cat", "dog", "cat", "cow"))
VECTOR = TableColumns((), embeddings=("v",))


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def npz(save=np.savez, **arrays):
    stream = io.BytesIO()
    save(stream, **arrays)
    return stream.getvalue()


@pytest.fixture
def beside(tmp_path):
    """A function: what is read from a table of four rows with a file of vectors beside it."""

    def beside(content, name="v.npy", table=TABLE, source="t.csv", **options):
        (tmp_path / name).write_bytes(content)
        (tmp_path / source).write_text(table)
        given = str(tmp_path / name) + options.pop("array", "")
        return read_data(tmp_path / source, options=ReadOptions(embeddings=given, **options))

    return beside


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8])
@pytest.mark.parametrize("save", [None, np.savez, np.savez_compressed])
def test_files_of_all_numbers_give_the_same_vectors(beside, dtype, save):
    given = E.astype(dtype)
    name, content = ("v.npy", npy(given)) if save is None else ("v.npz", npz(save, v=given, ids=np.arange(4)))
    data = beside(content, name)
    assert data.table.embeddings == ("embedding",)
    assert data.table.text == ("title",)
    assert np.array_equal(data.vectors["embedding"], given)
    assert data.vectors["embedding"].dtype == (np.float16 if dtype == np.float16 else np.float32)
    assert data.labels.tolist() == ["cat", "dog", "cat", "cow"]


def test_one_of_several_arrays_is_chosen_by_name(beside):
    content = npz(X_train=E, X_val=2 * E)
    assert np.array_equal(beside(content, "v.npz", array=":X_val").vectors["embedding"], 2 * E)
    with pytest.raises(DataError, match=r"2 arrays may be the vectors\. There are X_train, X_val; say which: .*:NAME"):
        beside(content, "v.npz")
    with pytest.raises(DataError, match="the array 'X_test' is missing. The archive has X_train, X_val"):
        beside(content, "v.npz", array=":X_test")


def test_rows_without_a_label_leave_with_their_vectors(beside):
    data = beside(npy(E), table=TABLE.replace("dog,", ","), missing_labels="drop")
    assert np.array_equal(data.vectors["embedding"], E[[0, 2, 3]])


def test_lines_of_label_and_text_may_have_vectors(beside):
    data = beside(npy(E), table=TABLE.partition("\n")[2].replace(",", "\t"), source="t.tsv")
    assert data.texts == ("a cat", "a dog", "a cat", "a cow")
    assert np.array_equal(data.vectors["embedding"], E)


def test_labels_alone_are_a_table_where_there_are_vectors(beside):
    labels = "\n".join(line.partition(",")[0] for line in TABLE.splitlines())
    for options in ({"label": "label"}, {"text": "none"}):
        data = beside(npy(E), table=labels if "label" in options else TABLE, **{"label": "label", **options})
        assert (data.table.text, data.table.label) == ((), "label")
        assert data.labels.tolist() == ["cat", "dog", "cat", "cow"]
    with pytest.raises(DataError, match="samples need texts, or vectors"):
        read_data(io.BytesIO(TABLE.encode()), "csv", options=ReadOptions(label="label", text="none"))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (npy(E[:3]), "there are 3 vectors, and more samples than that."),
        (npy(np.vstack([E, E])), "there are 8 vectors, but 4 samples."),
        (npy(np.where(E == 1.25, np.nan, E)), "row 2 has nan at place 3 of its vector; numbers must be finite."),
        (npy(np.where(E == 1.25, 1e300, E.astype(float))), "row 2 has 1e+300 at place 3 of its vector"),
        (npy(E[0]), "vectors are a matrix of numbers with a row for each sample. Got an array of shape (3,)"),
        (npy(E.astype(str)), "vectors are a matrix of numbers"),
        (npy(E.astype(object)), "holds Python objects, which are not read."),
        (npy(E[:, :0]), "vectors are a matrix of numbers"),
        (npy(E)[:-5], "the array 'vectors' is cut off"),
        (npy(np.asfortranarray(E)), "must be in C order."),
        (npy(E).replace(b"(4, 3)", b"(4,-3)"), "vectors are a matrix of numbers"),
        (b"junk", "has a damaged header."),
        (b"", "has a damaged header."),
    ],
)
def test_damaged_or_unfitting_files_give_one_sentence(beside, content, sentence):
    with pytest.raises(DataError) as caught:
        beside(content)
    assert "v.npy: " in str(caught.value)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_damaged_archives_give_one_sentence(beside):
    whole = npz(v=np.tile(E, (100, 1)))
    for n_bytes in range(3, len(whole), 97):
        with pytest.raises(DataError, match=r"v\.npz: "):
            beside(whole[:n_bytes], "v.npz")


def test_a_matrix_with_labels_is_a_table_of_vectors():
    y = np.array(["b", "a", "b", "c"])
    data = read_data(io.BytesIO(npz(X=E.astype(np.float16), y=y)))
    assert data.labels.tolist() == y.tolist()
    assert np.array_equal(data.vectors["embedding"], E.astype(np.float16))
    parts = list(iter_data(io.BytesIO(npz(X=E, y=np.arange(4))), chunk_rows=3))
    assert [part.n_samples for part in parts] == [3, 1]
    assert np.array_equal(np.concatenate([part.vectors["embedding"] for part in parts]), E)
    alone = read_data(io.BytesIO(npy(E)), options=ReadOptions(labels="none"))
    assert np.array_equal(alone.vectors["embedding"], E)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (npy(E), "vectors alone have no labels."),
        (npz(X=E), "the array 'y' is missing. The archive has X."),
        (npz(X=E, y=np.arange(3)), "'y' must be 4 integers or strings, one per row."),
        (npz(X=E[0], y=np.arange(3)), "vectors are a matrix of numbers"),
        (npz(X=E, y=np.arange(4), sample_weight=np.ones(4)), "'sample_weight' is read beside sparse matrices only."),
        (npz(X=np.where(E == 2, np.inf, E), y=np.arange(4)), "row 3 has inf at place 3 of its vector"),
    ],
)
def test_what_is_wrong_with_a_matrix_is_said(content, sentence):
    with pytest.raises(DataError) as caught:
        read_data(io.BytesIO(content))
    assert sentence in str(caught.value)


def frames():
    rows = E.tolist()
    fixed = pa.array(rows, pa.list_(pa.float32(), 3))
    return {
        "matrix": {"v": E},
        "pandas": pd.DataFrame({"v": list(E)}),
        "lists": pd.DataFrame({"v": rows}),
        "JSON": pd.DataFrame({"v": [json.dumps(row) for row in rows]}),
        "polars": pl.DataFrame({"v": rows}),
        "polars, fixed": pl.DataFrame({"v": rows}, schema={"v": pl.Array(pl.Float32, 3)}),
        "Arrow": pa.table({"v": rows}),
        "Arrow, fixed": pa.table({"v": fixed}),
        "Arrow, part": pa.table({"v": [*rows, *rows]}).slice(4),
        "Arrow, fixed, part": pa.table({"v": pa.concat_arrays([fixed, fixed])}).slice(4),
        "objects": [{"v": row} for row in rows],
    }


@pytest.mark.parametrize("kind", frames())
def test_columns_of_all_tables_give_the_same_vectors(kind):
    rows = samples_of(frames()[kind], VECTOR)
    assert np.array_equal(np.array([vector for (vector,) in rows]), E)


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "csv"])
def test_columns_of_files_give_the_same_vectors(tmp_path, suffix):
    table = pd.DataFrame({"pet": ["cat", "dog", "cat", "cow"], "text": "abcd", "v": E.tolist()})
    path = tmp_path / f"t.{suffix}"
    if suffix == "jsonl":
        table.to_json(path, orient="records", lines=True)
    else:
        table.to_parquet(path) if suffix == "parquet" else table.to_csv(path, index=False)
    data = read_data(path, options=ReadOptions(embeddings="v", label="pet"))
    assert (data.table.text, data.table.embeddings) == (("text",), ("v",))
    assert np.array_equal(data.vectors["v"], E)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (None, "has 'None' where a vector"),
        ("no", "has 'no' where a vector"),
        ([1, 2], "has a vector of 2 numbers, where others have 3."),
        (["1", "2", "3"], "where a vector, a list of numbers, is needed."),
        ([[1, 2, 3]], "where a vector, a list of numbers, is needed."),
        ([1, float("nan"), 2], "has nan at place 2 of its vector; numbers must be finite."),
        ([], "has '[]' where a vector"),
    ],
)
def test_the_row_of_a_wrong_vector_is_named(tmp_path, wrong, sentence):
    rows = [*E[:2].tolist(), wrong]
    with pytest.raises(ValueError, match="Column 'v', row 2: it has") as caught:
        samples_of([{"v": row} for row in rows], VECTOR)
    assert sentence in str(caught.value)
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps({"label": k, "v": row}) + "\n" for k, row in enumerate(rows)))
    with pytest.raises(DataError, match="line 3: column 'v' has") as caught:
        read_data(path, options=ReadOptions(embeddings="v"))
    assert sentence in str(caught.value)


def test_vectors_of_later_blocks_have_the_same_length(tmp_path):
    pa.parquet = pytest.importorskip("pyarrow.parquet")
    rows = [[1.0, 2.0]] * 10_000 + [[1.0]] * 2
    pa.parquet.write_table(pa.table({"label": [0, 1] * 5_001, "v": rows}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="row 10001: column 'v' has a vector of 1 numbers, where others have 2"):
        read_data(tmp_path / "t.parquet", options=ReadOptions(embeddings="v"))
