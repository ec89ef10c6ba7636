import gzip
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from codekin.data import DataError, ReadOptions, SparseData, TextData, read_data, write_data
from codekin.data.writing import convert_data

labels = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=8).filter(
    lambda label: not set(label) & set(":,#")
)
rows = st.dictionaries(
    st.integers(0, 2**31 - 2), st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=5
)


def sparse_data(samples, classes):
    """From (number of the class, {column: value})."""
    lengths = [len(row) for _, row in samples]
    columns = [column for _, row in samples for column in sorted(row)]
    values = [row[column] for _, row in samples for column in sorted(row)]
    X = csr_array(
        (np.array(values, np.float32), np.array(columns, np.int32), np.cumsum([0, *lengths])),
        shape=(len(samples), 2**31 - 1),
    )
    return SparseData(X, np.array([k for k, _ in samples]), classes)


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(["svm", "svm.gz", "npz"]), st.sampled_from([0, 1]))
def test_what_is_written_is_read_back(tmp_path_factory, data, suffix, index_base):
    classes = np.array(sorted(data.draw(st.sets(labels, min_size=1, max_size=4))))
    samples = data.draw(st.lists(st.tuples(st.integers(0, len(classes) - 1), rows), min_size=1, max_size=8))
    written = sparse_data(samples, classes)
    path = tmp_path_factory.mktemp("written") / f"data.{suffix}"
    assert write_data(path, written, index_base=index_base) == len(samples)
    options = ReadOptions(labels="str", index_base=index_base)
    read = read_data(path, n_features=2**31 - 1, options=options)
    assert read.labels.tolist() == written.labels.tolist()
    assert read.X.indptr.tolist() == written.X.indptr.tolist()
    assert read.X.indices.tolist() == written.X.indices.tolist()
    assert read.X.data.tobytes() == written.X.data.tobytes()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            labels,
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\0"), max_size=30),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_texts_are_read_back(tmp_path_factory, samples):
    classes = sorted({label for label, _ in samples})
    index = np.array([classes.index(label) for label, _ in samples])
    data = TextData(tuple(text for _, text in samples), index, np.array(classes))
    path = tmp_path_factory.mktemp("written") / "data.tsv"
    write_data(path, data)
    read = read_data(path, options=ReadOptions(labels="str"))
    assert read.texts == data.texts
    assert read.labels.tolist() == data.labels.tolist()


def test_the_same_samples_give_the_same_bytes(tmp_path):
    data = read_data(io.BytesIO(b"a 1:0.1\nb 2:3\n"))
    for name in ("x.svm.gz", "x.npz"):
        write_data(tmp_path / name, data)
        first = (tmp_path / name).read_bytes()
        write_data(tmp_path / f"other-{name}", data)
        assert (tmp_path / f"other-{name}").read_bytes() == first
    assert gzip.decompress((tmp_path / "x.svm.gz").read_bytes()) == b"a 1:0.1\nb 2:3.0\n"


def test_files_are_converted_between_formats(tmp_path):
    source = tmp_path / "data.txt"
    source.write_text("2 4 9\n8 0:1 3:0.5\n1 2:1\n")
    assert convert_data(source, tmp_path / "data.npz") == 2
    assert convert_data(tmp_path / "data.npz", tmp_path / "data.svm") == 2
    assert (tmp_path / "data.svm").read_text() == "8 1:1.0 4:0.5\n1 3:1.0\n"


def test_a_conversion_that_fails_leaves_nothing_behind(tmp_path):
    source = tmp_path / "data.svm"
    source.write_text("1 1:1\n2 1:x\n")
    for target in ("data.npz", "copy.svm.gz"):
        with pytest.raises(DataError, match="line 2"):
            convert_data(source, tmp_path / target)
    assert list(tmp_path.iterdir()) == [source]


@pytest.mark.parametrize("label", ["two words", "a:b", "#a", "a,", ",", "tab\there", "nul\0x"])
def test_labels_that_would_not_be_read_back_are_not_written(tmp_path, label):
    data = SparseData(csr_array(np.ones((1, 1), np.float32)), np.array([0]), np.array([label]))
    with pytest.raises(ValueError, match="so it would not be read back"):
        write_data(tmp_path / "data.svm", data)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("a.svm", TextData(("x",), np.array([0]), np.array(["a"])), "texts cannot be written as svmlight"),
        ("a.npz", TextData(("x",), np.array([0]), np.array(["a"])), "An npz archive is written from one SparseData"),
        ("a.tsv", SparseData(csr_array((1, 1))), "a sparse matrix cannot be written as text"),
        ("a.svm", SparseData(csr_array((1, 1))), "samples without labels cannot be written"),
        ("a.tsv", TextData(("x\ny",), np.array([0]), np.array(["a"])), "holds a line end"),
        ("a.xyz", SparseData(csr_array((1, 1))), "must be one of svmlight, npz, tsv. Got 'auto'"),
        (
            "a.svm",
            SparseData(csr_array((1, 1)), np.array([0]), np.array(["a"]), np.array([2.0])),
            "no place for the samples' weights",
        ),
    ],
)
def test_what_a_format_cannot_hold_is_refused(tmp_path, name, data, sentence):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        write_data(tmp_path / name, data)
    assert sentence in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_missing_folder_is_named(tmp_path):
    data = read_data(io.BytesIO(b"a 1:0.1\n"))
    with pytest.raises(FileNotFoundError, match="nowhere"):
        write_data(tmp_path / "nowhere" / "data.svm", data)
