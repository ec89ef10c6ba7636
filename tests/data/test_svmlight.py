import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from tests.reference import parse as reference

from codekin.data import DataError, ReadOptions, blocks, read_data


def read(text, format="svmlight", n_features=None, **options):
    content = text if isinstance(text, bytes) else text.encode()
    return read_data(io.BytesIO(content), format, n_features=n_features, options=ReadOptions(**options))


def as_rows(data, index_base=None):
    """Rows of (label, {index: value}) with the indices that the file had."""
    base = data.encoding["index_base"] if index_base is None else index_base
    labels = data.labels.tolist()
    X = data.X
    return [
        (str(label), dict(zip((X.indices[a:b] + base).tolist(), X.data[a:b].tolist(), strict=True)))
        for label, a, b in zip(labels, X.indptr[:-1], X.indptr[1:], strict=True)
    ]


features = st.dictionaries(st.integers(0, 2**31 - 2), st.floats(-(2.0**120), 2.0**120, width=32), max_size=6).map(
    lambda row: dict(sorted(row.items()))
)
blanks = st.sampled_from([" ", "  ", "\t", " \t "])


@st.composite
def svmlight_texts(draw):
    lines = []
    for label, row in draw(
        st.lists(st.tuples(st.sampled_from(["a", "b#", "x,y", "0", "-3", "07"]), features), min_size=1)
    ):
        blank = draw(blanks)
        end = draw(st.sampled_from(["\n", " \n", "\r\n", " # 3:4 comment\n", "\n\n", "\n# alone\n"]))
        lines.append(blank.join([label, *(f"{k}:{v!r}" for k, v in row.items())]) + end)
    return "".join(lines)


@settings(max_examples=100, deadline=None)
@given(svmlight_texts())
def test_the_reader_agrees_with_its_twin(text):
    expected = reference.svmlight(text.replace("b#", "b"))
    assert [(label.replace("b#", "b"), row) for label, row in as_rows(read(text))] == expected


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("precision", ["%.4g", "%.9g", "%.17g"])
def test_the_reader_agrees_with_scikit_learn(tmp_path, rng, zero_based, precision):
    dense = rng.normal(size=(200, 30)) * (rng.random((200, 30)) < 0.2)
    y = rng.integers(-3, 5, size=200)
    path = tmp_path / "data.svm"
    lines = [
        " ".join([str(label), *(f"{j + (not zero_based)}:{precision % row[j]}" for j in np.flatnonzero(row))])
        for label, row in zip(y, dense, strict=True)
    ]
    path.write_text("\n".join(lines))
    X_expected, y_expected = load_svmlight_file(str(path), dtype=np.float32, n_features=30, zero_based=zero_based)
    data = read_data(path, n_features=30, options=ReadOptions(index_base=0 if zero_based else 1))
    assert np.array_equal(data.labels, y_expected)
    assert np.array_equal(data.X.toarray(), X_expected.toarray())
    assert data.X.dtype == np.float32
    assert data.X.indices.dtype == np.int32
    assert data.X.has_canonical_format


def test_what_scikit_learn_writes_is_read(rng):
    X, y = rng.normal(size=(20, 5)), rng.integers(3, size=20)
    stream = io.BytesIO()
    dump_svmlight_file(X, y, stream, comment="made by a test")
    stream.seek(0)
    data = read_data(stream, "svmlight")
    assert np.array_equal(data.X.toarray(), X.astype(np.float32))
    assert np.array_equal(data.labels, y)


def test_every_sparse_set_agrees_with_scikit_learn(shared_data):
    path = shared_data("icd10cm_small") / "train.svm.gz"
    X, y = load_svmlight_file(str(path), dtype=np.float32)
    data = read_data(path)
    assert (data.X != X).nnz == 0
    assert np.array_equal(data.labels, y)


def test_the_index_base_is_zero_only_if_the_file_holds_that_index():
    assert read("a 1:1\nb 3:1\n").X.shape == (2, 3)
    assert read("a 1:1\nb 0:1 3:1\n").X.shape == (2, 4)
    assert read("a 1:1\n", index_base=0).X.shape == (1, 2)


def test_a_second_file_can_be_read_with_the_features_of_the_first():
    train = read("a 0:1 5:1\n")
    test = read("a 3:1\n", n_features=train.n_features, **train.encoding)
    assert test.X.shape == (1, 6)
    assert test.X.indices.tolist() == [3]


def test_unknown_features_are_dropped_on_request_only():
    with pytest.raises(DataError, match="feature index 9, but there are 4 features, numbered from 1 to 4"):
        read("a 2:1 9:5\n", n_features=4, index_base=1)
    data = read("a 2:1 9:5\nb 9:1\n", n_features=4, index_base=1, unknown_features="drop")
    assert data.X.toarray().tolist() == [[0, 1, 0, 0], [0, 0, 0, 0]]


def test_an_index_that_fits_only_another_base_is_reported_with_its_line():
    with pytest.raises(DataError, match="line 1: feature index 4, but there are 4 features, numbered from 0 to 3"):
        read("a 4:1\nb 0:1\n", n_features=4)


@pytest.mark.parametrize(
    ("text", "labels", "expected"),
    [
        ("1\n-2\n0\n", "auto", [1, -2, 0]),
        ("1\n-2\n+3\n4.0\n", "int", [1, -2, 3, 4]),
        ("1\n01\n", "auto", ["1", "01"]),
        ("0\n-0\n", "auto", ["0", "-0"]),
        ("+1\n1\n1.0\n", "auto", ["+1", "1", "1.0"]),
        ("+1\n1\n1.0\ncat\n", "auto", ["+1", "1", "1.0", "cat"]),
        ("+1\n4.0\n", "str", ["+1", "4.0"]),
        ("1.5\n2\n", "auto", ["1.5", "2"]),
        ("käse\n", "auto", ["käse"]),
        ("n1,n2\n", "auto", ["n1,n2"]),
    ],
)
def test_labels_are_integers_only_if_all_are_and_otherwise_as_written(text, labels, expected):
    assert read(text, labels=labels).labels.tolist() == expected


def test_labels_stay_as_written_where_the_first_blocks_hold_integers_only(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 4)
    assert read("1\n-2\n30\n+1\n1.0\ncat\n").labels.tolist() == ["1", "-2", "30", "+1", "1.0", "cat"]


def test_labels_need_not_be_read():
    data = read("1:0.5 2:1\nx 2:1\n3:1\n", labels="none")
    assert data.X.toarray().tolist() == [[0.5, 1, 0], [0, 1, 0], [0, 0, 1]]
    assert not data.has_labels
    with pytest.raises(ValueError, match="read without labels"):
        data.labels  # noqa: B018


def test_rows_of_several_labels_are_refused_cut_or_dropped():
    text = "3,4 1:1\n5 2:1\n6, 7 3:1\n"
    with pytest.raises(DataError, match=r"line 1: 2 labels \(3,4\) where one is expected"):
        read(text)
    first = read(text, multilabel="first")
    assert first.labels.tolist() == [3, 5, 6]
    assert first.X.shape == (3, 3)
    dropped = read(text, multilabel="drop")
    assert dropped.labels.tolist() == [5]
    assert dropped.X.indices.tolist() == [1]


def test_features_in_any_order_are_sorted_on_request_only():
    with pytest.raises(DataError, match="feature index 2 after 7; indices must increase within a line"):
        read("a 7:1 2:3\n")
    data = read("a 7:1 2:3\nb 1:1\n", feature_order="any")
    assert data.X.indices.tolist() == [1, 6, 0]
    assert data.X.data.tolist() == [3, 1, 1]
    with pytest.raises(DataError, match="line 2: feature index 5 occurs twice"):
        read("a 1:1\nb 5:1 3:1 5:2\n", feature_order="any")


def test_values_that_are_halfway_between_two_floats_round_as_python_rounds_them():
    text = "0.5000000298023223876953125"
    assert read(f"a 1:{text}\n").X.data[0] == np.float32(float(text))


def test_long_lines_are_no_problem():
    data = read("a " + " ".join(f"{k}:1" for k in range(1, 200_001)) + "\n")
    assert data.X.nnz == 200_000


# ----- the extreme classification repository's format ---------------------------------------------------------------

XMC = "3 10 4\n0,3 0:1 9:2\n2 4:0.5\n 3:1\n"


def test_an_xmc_file_counts_features_and_labels_from_zero():
    data = read("2 10 4\n3 0:1 9:2\n2 4:0.5\n", "xmc")
    assert data.X.shape == (2, 10)
    assert data.labels.tolist() == [3, 2]
    assert data.X.indices.tolist() == [0, 9, 4]


@pytest.mark.parametrize(("policy", "expected"), [("first", [0, 2]), ("drop", [2])])
def test_an_xmc_row_with_other_than_one_label_follows_the_policy(policy, expected):
    assert read(XMC, "xmc", multilabel=policy).labels.tolist() == expected


@pytest.mark.parametrize("labels", ["auto", "int", "str"])
@pytest.mark.parametrize(("label", "policy"), [("-1", "error"), ("4", "error"), ("+4", "error"), ("-1,2", "first")])
def test_an_xmc_label_that_the_header_does_not_promise_is_an_error(label, policy, labels):
    with pytest.raises(DataError, match="line 3: label -?[14], but the header promises 4 labels, numbered from 0"):
        read(f"2 10 4\n0 1:1\n{label} 0:1\n", "xmc", labels=labels, multilabel=policy)


def test_an_xmc_file_can_be_read_without_labels():
    data = read(XMC, "xmc", labels="none")
    assert data.X.shape == (3, 10)


def test_a_blank_xmc_line_is_a_row_and_blank_lines_at_the_end_are_none():
    data = read("3 4 2\n1 0:1\n\n0 1:1\n\n\n", "xmc", labels="none")
    assert data.X.toarray().tolist() == [[1, 0, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0]]
